"""Environments whose outermost call is paid at its end, and shows what the calls inside show."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

Result = tuple[Any, float, bool, bool, dict[str, Any]]


class Paid(gym.Env[int, int]):
    """The common part: a state, and the states of the callers.

    Attributes:
        best: What the best policy is worth.
        tolerance: How far the mean of a thousand runs of a good policy is from it, at most.
    """

    best: float
    tolerance = 0.0

    def __init__(self, states: int, actions: int) -> None:
        self.observation_space = spaces.Discrete(states)
        self.action_space = spaces.Discrete(actions)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.state, self.callers = 0, list[int]()
        return 0, {"event": None}

    def call(self, reward: float, after: int) -> Result:
        self.callers.append(after)
        self.state = 0
        return 0, reward, False, False, {"event": "call", "exits": (after,)}

    def leave(self, paid: float) -> Result:
        """The end of the run, which is paid, or a return for nothing."""
        if not self.callers:
            return self.state, paid, True, False, {"event": None}
        self.state = self.callers.pop()
        return self.state, 0.0, False, False, {"event": "return", "exit": 0}


class Answer(Paid):
    """Call for 1, or answer: that pays 10 at the root."""

    best = 10.0

    def __init__(self) -> None:
        super().__init__(1, 2)

    def step(self, action: int) -> Result:
        return self.leave(10.0) if action else self.call(-1.0, 0)


class Confirm(Paid):
    """The same, but at the root an answer has to be confirmed, and that is what pays."""

    best = 10.0

    def __init__(self) -> None:
        super().__init__(2, 2)

    def step(self, action: int) -> Result:
        if not action and self.state == 0:
            return self.call(-1.0, 0)
        if self.callers or self.state == 1:
            return self.leave(10.0)
        self.state = 1
        return 1, 0.0, False, False, {"event": None}


class Phone(Paid):
    """Answer, or ask first, which makes a right answer likelier; asking again helps nobody."""

    best = 16.5  # ask (-1), then answer: 0.9 * 20 - 0.1 * 5
    tolerance = 0.8

    def __init__(self) -> None:
        super().__init__(2, 2)

    def step(self, action: int) -> Result:
        if not action:
            return self.call(-1.0, 1)
        right = self.np_random.random() < (0.7, 0.9)[self.state]
        return self.leave(20.0 if right else -5.0)


class Fees(Paid):
    """Leaving costs something at the root, less after a call; inside it is free."""

    best = -2.0  # call (-1), which returns at once, then leave for 1

    def __init__(self) -> None:
        super().__init__(2, 2)

    def step(self, action: int) -> Result:
        return self.leave((-8.0, -1.0)[self.state]) if action else self.call(-1.0, 1)


class Crawl(gym.Env[int, int]):
    """Find something in folders of three kinds: list, descend, or say "found" or "missing".

    A folder that is left with "found" was right if something was listed, or by luck; at the root
    a right "found" pays 10 and a wrong one costs 5.
    """

    best, tolerance = 7.873, 2.0  # 7.87291 by `recurl.solve` of the same as a program
    observation_space = spaces.Discrete(24)
    action_space = spaces.Discrete(4)
    shares = (0.1, 0.3, 0.6)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.callers = list[tuple[int, int, bool]]()
        self.at = (0, 3, False)
        return self.show(*self.at), {"event": None, "action_mask": self.mask()}

    def show(self, kind: int, tries: int, has: bool) -> int:
        return 8 * kind + 2 * tries + has

    def mask(self) -> Any:
        return np.array([self.at[1] > 0] * 2 + [1, 1], np.int8)

    def result(self, reward: float, **info: Any) -> Result:
        info = {"event": None, "action_mask": self.mask(), **info}
        return self.show(*self.at), reward, False, False, info

    def step(self, action: int) -> Result:
        kind, tries, has = self.at
        if action == 0:
            self.at = (kind, tries - 1, has or self.np_random.random() < self.shares[kind])
            return self.result(-1.0)
        if action == 1:
            self.callers.append((kind, tries - 1, has))
            self.at = (int(self.np_random.integers(3)), 3, False)
            after = (self.show(kind, tries - 1, has), self.show(kind, tries - 1, True))
            return self.result(-0.2, event="call", exits=after)
        right = action == 2 and (has or self.np_random.random() < 0.05)
        if not self.callers:
            paid = 0.0 if action == 3 else 10.0 if right else -5.0
            return self.show(*self.at), paid, True, False, {"event": None}
        kind, tries, has = self.callers.pop()
        self.at = (kind, tries, has or right)
        return self.result(0.0, event="return", exit=int(right))


class Review(Paid):
    """Judge a document, or read for 1 what it cites; a right verdict on the first one pays 10."""

    best = 6.75  # read: -1 + 0.3 * 6 + 0.7 * (7 + 2.5 * 0.6), where what is cited is judged at once
    tolerance = 0.5
    right = (0.6, 0.95, 0.7, 0.6)

    def __init__(self) -> None:
        super().__init__(4, 2)

    def step(self, action: int) -> Result:
        if not action and self.state == 0:
            if self.np_random.random() < 0.3:
                self.state = 3
                return 3, -1.0, False, False, {"event": None}
            self.callers.append(0)
            return 0, -1.0, False, False, {"event": "call", "exits": (1, 2)}
        right = self.np_random.random() < self.right[self.state]
        if not self.callers:
            return self.state, 10.0 * right, True, False, {"event": None}
        self.callers.pop()
        self.state = 1 if right else 2
        return self.state, 0.0, False, False, {"event": "return", "exit": self.state - 1}


PAID = (Answer, Confirm, Phone, Fees, Review, Crawl)
