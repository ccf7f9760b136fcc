"""An environment written by hand: the gambler, from a generator of its own, with no model."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium import spaces

IN, BETWEEN, AFTER, OVER = range(4)


class Gamble(gym.Env[Any, Any]):
    """With `p` play twice more, else leave; every step pays 1: (1 + 2p) / (1 - 2p) on average."""

    observation_space = spaces.Discrete(4)
    action_space = spaces.Discrete(1)
    metadata: dict[str, Any] = {"render_modes": [], "generative": True}  # noqa: RUF012

    def __init__(self, p: float = 0.25) -> None:
        self.p, self.resets, self.steps = p, 0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.resets += 1
        self.stack: list[int] = []
        self.at = IN if options is None else int(options["state"])
        return self.at, {"event": None}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.at == BETWEEN or (self.at == IN and self.np_random.random() < self.p):
            back = AFTER if self.at == BETWEEN else BETWEEN
            self.stack.append(back)
            self.at = IN
            return IN, 1.0, False, False, {"event": "call", "exits": (back,)}
        if not self.stack:
            return OVER, 1.0, True, False, {"event": None}
        self.at = self.stack.pop()
        return self.at, 1.0, False, False, {"event": "return", "exit": 0}


class Stubborn(Gamble):
    """One that says it can begin anywhere, and does not."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        return super().reset(seed=kwargs.get("seed"))
