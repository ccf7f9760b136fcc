"""A small environment that a pushdown machine watches, with counterfactual steps or without."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium import spaces

from recurl.automaton import Machine, MachineEnv, rule


def machine_line(counterfactual: bool) -> Any:
    """Four cells in a row; a machine pays for the east end once the west end was visited."""

    class Line(gym.Env[Any, Any]):
        observation_space = spaces.Discrete(4)
        action_space = spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.x = 1
            return self.x, {}

        def step(self, action: Any) -> Any:
            self.x = min(max(self.x + (1 if action else -1), 0), 3)
            return self.x, -1.0, False, False, {}

    rules = [rule("out", "west", "back", push="load _"), rule("back", "east", "home", push="",
             top="load", reward=10), rule("home", "east", "done", reward=5)]  # fmt: skip
    machine = Machine("trip", rules, final="done", exclusive=[["west", "east"]])

    def labels(here: int, action: int, there: int) -> list[str]:
        return ["west"] if there == 0 else ["east"] if there == 3 else []

    return MachineEnv(Line(), machine, labels, counterfactual=counterfactual)
