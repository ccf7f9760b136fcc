"""An environment that draws from the learner's own random numbers, in the kernel's order."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numba
import numpy as np
from gymnasium import spaces

from recurl.model.rmdp import RMDP
from recurl.model.tables import CALLS, STEP
from recurl.simulation.random import next_float


@numba.njit
def draw(random: np.ndarray) -> float:
    return next_float(random)


class SharedEnv(gym.Env[Any, Any]):
    metadata = {"root_as_callee": True}  # it shows a model  # noqa: RUF012

    def __init__(self, model: RMDP, random: np.ndarray, coding: str = "index") -> None:
        self.tables, self.random, self.coding = model.tables, random, coding
        self.outcomes = model.outcomes
        self.action_space = spaces.Discrete(model.tables.max_actions)
        size = model.tables.n_vertices
        self.observation_space: spaces.Space[Any] = spaces.Discrete(size)
        if coding == "onehot":
            self.observation_space = spaces.Box(0, 1, (size,), np.float64)

    def show(self, vertex: int) -> Any:
        return vertex if self.coding == "index" else np.eye(self.tables.n_vertices)[vertex]

    def mask(self) -> np.ndarray:
        start = self.tables.action_start
        count = start[self.vertex + 1] - start[self.vertex]
        return (np.arange(self.action_space.n) < count).astype(np.int8)

    def pick(self, below: np.ndarray) -> int:
        return 0 if len(below) == 1 else int(np.searchsorted(below, draw(self.random), "right"))

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.stack: list[int] = []
        self.vertex = int(self.outcomes.start[self.pick(self.outcomes.start_below)])
        return self.show(self.vertex), {"event": None, "action_mask": self.mask()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        t = self.tables
        number = t.action_start[self.vertex] + action
        begin, end = t.transition_start[number], t.transition_start[number + 1]
        i = int(begin) + self.pick(self.outcomes.below[begin:end])
        info: dict[str, Any] = {"event": None}
        landing, reward = int(t.landing[i]), float(t.reward[i])
        if t.move[i] == STEP:
            self.vertex = landing
        elif t.move[i] == CALLS:
            box = int(t.move_box[i])
            self.stack.append(box)
            self.vertex = landing
            ports = range(t.box_return[box], t.box_return[box] + t.n_exits[t.box_component[box]])
            info = {"event": "call", "exits": tuple(self.show(port) for port in ports)}
        elif self.stack:
            self.vertex = int(t.box_return[self.stack.pop()]) + landing
            info = {"event": "return", "exit": landing}
        else:
            return self.show(self.vertex), reward, True, False, info
        return self.show(self.vertex), reward, False, False, {**info, "action_mask": self.mask()}
