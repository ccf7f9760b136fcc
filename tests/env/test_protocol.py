from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl.errors import ProtocolError

MISSING = object()


class Scripted(gym.Env[int, int]):
    """Calls, then returns by the second exit, then ends; what it says can be changed."""

    observation_space = spaces.Discrete(5)
    action_space = spaces.Discrete(2)

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def _said(self, name: str, info: dict[str, Any]) -> dict[str, Any]:
        info = info | {"action_mask": np.array([0, 1], np.int8)} | self.changes.get(name, {})
        return {key: value for key, value in info.items() if value is not MISSING}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        return 0, self._said("reset", {"event": None})

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert action == 1 or "free" in self.changes
        self.place += 1
        name, info = [
            ("call", {"event": "call", "exits": (2, 3)}),
            ("back", {"event": "return", "exit": 1}),
            ("end", {"event": None}),
        ][self.place - 1]
        return [1, 3, 4][self.place - 1], -1.0, name == "end", False, self._said(name, info)


def test_what_keeps_the_protocol_passes() -> None:
    recurl.check_recursive_env(Scripted())
    never = {"action_mask": MISSING}
    recurl.check_recursive_env(Scripted(reset=never, call=never, back=never, end=never, free={}))
    arrays = {"exits": np.array([2, 3])}
    recurl.check_recursive_env(Scripted(call=arrays))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reset": {"event": "call"}}, r"^reset: info\['event'\] must be None, not 'call'"),
        ({"call": {"event": MISSING}}, r"^step 0: info has no 'event'"),
        ({"call": {"event": "jump"}}, r"step 0: .* one of \(None, 'call', 'return'\), not 'jump'"),
        ({"call": {"exits": MISSING}}, r"step 0: info\['exits'\] comes with a call"),
        ({"back": {"exits": (1,)}}, r"step 1: info\['exits'\] comes with a call"),
        ({"call": {"exits": ()}}, "must list an observation for each exit"),
        ({"call": {"exits": (2, 7)}}, r"info\['exits'\]\[1\] is not in the observation space"),
        ({"back": {"exit": 2}}, r"step 1: info\['exit'\] must be below 2, not 2"),
        ({"back": {"exit": "left"}}, r"must be below 2, not 'left'"),
        ({"back": {"exit": 0}}, "exit 0 was announced as 2, but the observation is 3"),
        ({"call": {"event": None, "exits": MISSING}}, "step 1: a return without a pending call"),
        ({"end": {"event": "return", "exit": 0}}, "step 2: a run ends with the event None"),
        ({"call": {"action_mask": MISSING}}, "comes always or never"),
        ({"call": {"action_mask": np.ones(2, bool)}}, r"int8 array of shape \(2,\)"),
        ({"call": {"action_mask": np.ones(3, np.int8)}}, r"int8 array of shape \(2,\)"),
        ({"call": {"action_mask": np.zeros(2, np.int8)}}, "leaves no action"),
    ],
)
def test_what_breaks_it_is_told_with_its_step(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        recurl.check_recursive_env(Scripted(**changes))
