"""An environment that keeps the protocol, or breaks it in a given way at a given step."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

MISSING = object()

BREACHES: list[tuple[dict[str, Any], str]] = [
    ({"reward": np.nan}, r"the reward must be finite, not nan"),
    ({"reward": np.inf}, r"the reward must be finite, not inf"),
    ({"reward": "much"}, r"the reward must be a number, not 'much'"),
    ({"reward": "1"}, r"the reward must be a number, not '1'"),
    ({"reward": 10**400}, r"the reward must be finite, not inf"),
    ({"info": None}, r"the info of step must be a dictionary, not None"),
    ({"info": []}, r"the info of step must be a dictionary, not \[\]"),
    (
        {"result": (0, 1.0, True, {})},
        r"step must return \(observation, .*\), not \(0, 1.0, True, {}",
    ),
    ({"mask": np.zeros(2)}, r"info\['action_mask'\] leaves no action"),
    ({"mask": np.ones(3)}, r"info\['action_mask'\] must have .* each of 2 actions, not array"),
    ({"mask": np.array([1, np.nan])}, r"info\['action_mask'\] must have .*, not array"),
    ({"mask": np.array([1, -1])}, r"info\['action_mask'\] must have .*, not array"),
    ({"mask": "11"}, r"info\['action_mask'\] must have .* each of 2 actions, not '11'"),
    ({"mask": [[1], [0, 1]]}, r"info\['action_mask'\] must have .* each of 2 actions, not \[\["),
    ({"exit": 1}, r"info\['exit'\] must be an index 0, the only one announced, not 1"),
    ({"exit": 5}, r"info\['exit'\] must .* not 5"),
    ({"exit": 63}, r"info\['exit'\] must .* not 63"),
    ({"exit": -1}, r"info\['exit'\] must .* not -1"),
    ({"exit": "0"}, r"info\['exit'\] must .* not '0'"),
    ({"exit": None}, r"info\['exit'\] must .* not None"),
    ({"exit": MISSING}, r"info\['exit'\] must .* it is missing"),
    ({"exits": ()}, r"info\['exits'\] must be a list .* not \(\)"),
    ({"exits": 3}, r"info\['exits'\] must be a list .* not 3"),
    ({"exits": MISSING}, r"info\['exits'\] must be a list .* it is missing"),
    ({"event": "cal"}, r"info\['event'\] must be one of .*'return'\), not 'cal'"),
    ({"event": np.array(["call"] * 2)}, r"info\['event'\] must be one of .*, not array\(\['call'"),
    ({"event": np.array("call")}, r"info\['event'\] must be one of .*, not array\('call'"),
    ({"event": ["call"]}, r"info\['event'\] must be one of .*, not \['call'\]"),
    ({"event": MISSING}, r"info has no 'event': give 'call', 'return' or None with every step"),
    ({"after": 1.0}, r"exit 0 was announced as .* but the observation is "),
    ({"after": np.nan}, r"the observation must be finite"),
    ({"seen": None}, r"the observation is not in the .* space: None is not of Box"),
    ({"seen": "there"}, r"the observation is not in the .* space: 'there' is not of Box"),
    ({"seen": np.zeros(3)}, r"the observation is not in the .* space: array.* is not of Box"),
    ({"seen": np.array(["a", "b"])}, r"the observation is not in the .* space: array.* of Box"),
    ({"exits": ("there",)}, r"the observation is not in the .* space: 'there' is not of Box"),
    ({"last": "return"}, r"a run ends with the event None, but info\['event'\] is 'return'"),
]
"""What is changed, and what must be said of it."""

STEPS_BEFORE = 31
"""Steps of the learner before the breach: a call after an odd number, a return after an even."""


class Breach(gym.Env[Any, Any]):
    """Calls and returns in turn, ten steps an episode.

    Args:
        at: Step, counted over all episodes, from which on changes are told.
        changes: What is told instead.
    """

    observation_space = spaces.Box(-2, 2, (2,))
    action_space = spaces.Discrete(2)

    def __init__(self, at: float = np.inf, **changes: Any) -> None:
        self.at, self.changes, self.step_number = at, changes, 0

    def show(self, number: float) -> np.ndarray:
        return np.array([number, 1], np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.place = 0
        return self.show(0), {"event": None}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        broken = self.changes if self.step_number >= self.at else {}
        self.step_number += 1
        self.place += 1
        reward = broken.get("reward", -1.0 - action)
        if self.place % 2:
            seen, info = self.show(0.5), {"event": "call", "exits": (self.show(-1),)}
        else:
            seen = broken.get("seen", self.show(broken.get("after", -1)))
            info = {"event": "return", "exit": 0}
        info |= {key: value for key, value in broken.items() if key in (*info, "event")}
        info = {key: value for key, value in info.items() if value is not MISSING}
        if self.place == 11:
            return self.show(0.5), reward, True, False, {"event": broken.get("last")}
        if "mask" in broken:
            info["action_mask"] = broken["mask"]
        result: Any = seen, reward, False, False, broken.get("info", info)
        return broken.get("result", result)


class LateToTell(Breach):
    """Reports its events with every step, but none on reset."""

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return super().reset()[0], {}
