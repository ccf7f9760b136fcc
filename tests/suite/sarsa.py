"""An agent of two methods, as anyone might write it."""

from __future__ import annotations

from typing import Any

import numpy as np


class Sarsa:
    """Tabular SARSA that sees nothing but the observation."""

    memoryless = True

    def __init__(self, observation_space: Any, action_space: Any, seed: int) -> None:
        self.q: dict[Any, np.ndarray] = {}
        self.actions = int(action_space.n)
        self.random = np.random.default_rng(seed)
        self.last: tuple[Any, int, float] | None = None

    def act(self, observation: Any, info: dict[str, Any], explore: bool = True) -> int:
        legal = np.flatnonzero(info["action_mask"])
        row = self.q.setdefault(np.asarray(observation).tobytes(), np.zeros(self.actions))
        wild = explore and self.random.random() < 0.1
        action = int(self.random.choice(legal) if wild else legal[row[legal].argmax()])
        if explore:
            self.learn(row[action])
            self.here = row, action
        return action

    def observe(
        self,
        observation: Any,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        self.last = (*self.here, reward)
        if terminated or truncated:
            self.learn(0.0)

    def learn(self, after: float) -> None:
        if self.last is not None:
            row, action, reward = self.last
            row[action] += 0.1 * (reward + after - row[action])
        self.last = None


class Counting(Sarsa):
    """The same with a memory, so that it is tested on episodes."""

    memoryless = False
