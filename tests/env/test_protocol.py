from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

import recurl
from recurl.env.protocol import finite_observation
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
        told = self._said(name, info)
        observation = told.pop("observation", [1, 3, 4][self.place - 1])
        return observation, told.pop("reward", -1.0), name == "end", False, told


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
        ({"call": {"exits": MISSING}}, r"step 0: .*info\['exits'\] must .* it is missing"),
        ({"back": {"exits": (1,)}}, r"step 1: info\['exits'\] comes with a call"),
        ({"call": {"exits": ()}}, r"info\['exits'\] must be a list .*, not \(\)"),
        ({"call": {"exits": (2, 7)}}, r"info\['exits'\]\[1\] is not in the observation space"),
        ({"back": {"exit": 2}}, r"step 1: .*info\['exit'\] must be .* 0 to 1, not 2"),
        ({"back": {"exit": "left"}}, r"from 0 to 1, not 'left'"),
        ({"back": {"exit": "0"}}, r"from 0 to 1, not '0'"),
        ({"back": {"exit": -1}}, r"from 0 to 1, not -1"),
        ({"back": {"exit": MISSING}}, r"step 1: .*info\['exit'\] .* it is missing"),
        ({"back": {"exit": 0}}, "exit 0 was announced as 2, but the observation is 3"),
        ({"call": {"event": None, "exits": MISSING}}, "step 1: .*'return', but no call is pending"),
        ({"end": {"event": "return", "exit": 0}}, "step 2: a run ends with the event None"),
        ({"call": {"action_mask": MISSING}}, "comes always or never"),
        ({"call": {"action_mask": np.array([0.5, 1])}}, "a 0 or a 1 for each of 2 actions"),
        ({"call": {"action_mask": np.ones(3, np.int8)}}, "a 0 or a 1 for each of 2 actions"),
        ({"call": {"action_mask": np.zeros(2, np.int8)}}, "leaves no action"),
        ({"back": {"reward": np.nan}}, "step 1: the reward must be finite, not nan"),
        ({"end": {"reward": -np.inf}}, "step 2: the reward must be finite, not -inf"),
        ({"back": {"reward": "much"}}, "step 1: the reward must be a number, not 'much'"),
        ({"back": {"reward": None}}, "step 1: the reward must be a number, not None"),
        ({"call": {"observation": 9}}, "step 0: the observation is not in the .* space: 9"),
        ({"end": {"observation": -1}}, "step 2: the observation is not in the .* space: -1"),
    ],
)
def test_what_breaks_it_is_told_with_its_step(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        recurl.check_recursive_env(Scripted(**changes))


@pytest.mark.parametrize("env", ["recurl/Cloud-v0", Scripted, SyncVectorEnv([Scripted])])
def test_one_environment_is_checked(env: Any) -> None:
    with pytest.raises(TypeError, match="takes one Gymnasium environment, not"):
        recurl.check_recursive_env(env)


def test_steps_and_resets_have_their_parts() -> None:
    env = Scripted()
    env.step = lambda action: (0, 1.0, False, {})  # type: ignore[assignment, return-value]
    with pytest.raises(ProtocolError, match=r"^step 0: step must return \(observation, reward, "):
        recurl.check_recursive_env(env)
    env.reset = lambda **_: 0  # type: ignore[assignment, return-value]
    with pytest.raises(ProtocolError, match=r"^reset: reset must return \(observation, info\)"):
        recurl.check_recursive_env(env)


class Slow(gym.Env[Any, Any]):
    """Calls at once and returns, by an exit that was never announced, 3,000 steps later."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,))
    action_space = spaces.Discrete(1)

    def __init__(self, seen: float = 0.0) -> None:
        self.seen = seen

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.place = 0
        return np.zeros(1, np.float32), {"event": None}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place += 1
        seen = np.array([self.seen if self.place == 2 else 0], np.float32)
        info: dict[str, Any] = {"event": None}
        if self.place == 1:
            info = {"event": "call", "exits": (np.zeros(1, np.float32),)}
        elif self.place == 3000:
            info = {"event": "return", "exit": 1}
        return seen, 0.0, self.place == 4000, False, info


def test_play_goes_on_until_a_call_has_returned() -> None:
    with pytest.raises(ProtocolError, match=r"step 2999: .*info\['exit'\] must be .*0, the only"):
        recurl.check_recursive_env(Slow(), steps=400)


def test_observations_that_are_nan_are_found() -> None:
    with pytest.raises(ProtocolError, match="step 1: the observation must be finite"):
        recurl.check_recursive_env(Slow(np.nan))


@pytest.mark.parametrize("inside", [lambda x: x, lambda x: {"a": x}, lambda x: (0, [x])])
def test_numbers_that_are_not_finite_are_found_in_parts_of_an_observation(inside: Any) -> None:
    finite_observation(inside(np.zeros(2)))
    with pytest.raises(ProtocolError, match="must be finite"):
        finite_observation(inside(np.array([0.0, np.inf])))


class Masked(gym.Env[int, int]):
    """Two states in turn; the mask of the first changes if asked to."""

    observation_space, action_space = spaces.Discrete(2), spaces.Discrete(3)

    def __init__(self, kind: Any, changes: bool = False) -> None:
        self.kind, self.changes, self.at, self.runs = kind, changes, 0, 0

    def info(self) -> dict[str, Any]:
        marks = [1, int(self.changes and self.runs % 2), 1]
        return {"event": None, "action_mask": np.array(marks, self.kind)}

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.at, self.runs = 0, self.runs + 1
        return 0, self.info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert self.info()["action_mask"][action]
        self.at += 1
        return 1, 0.0, self.at == 2, False, self.info()


@pytest.mark.parametrize("kind", [np.int8, bool, np.int64])
def test_a_check_takes_the_masks_that_learners_take(kind: Any) -> None:
    recurl.check_recursive_env(Masked(kind), steps=50)
    recurl.QLearning(Masked(kind)).learn(50)


def test_a_check_warns_of_masks_that_change_and_tables_refuse() -> None:
    with pytest.warns(UserWarning, match="has changed.*tables refuse this, networks take it"):
        recurl.check_recursive_env(Masked(np.int8, changes=True), steps=50)
    with pytest.raises(ProtocolError, match="has changed"):
        recurl.QLearning(Masked(np.int8, changes=True)).learn(50)
