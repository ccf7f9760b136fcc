"""Trajectory access: episodes of a 1-exit environment whose structure is not known beforehand.

A run that stands at a state draws from one of its pairs, and by the Markov property the draws of a
pair are independent, whenever they come up: so counts of visits serve as samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.pac.atlas import Atlas
    from recurl.learn.pac.look import Sight

_FIRST, _GROWTH, _CURIOUS = 500, 1.4, 0.3


class Episodes:
    """Plays episodes that go where the upper bound is best, now and then to what is tried least.

    Args:
        env: The environment.
        atlas: What was seen.
        seed: Seed of the choices, and of the environment.
    """

    name = "episodes"

    def __init__(self, env: gym.Env[Any, Any], atlas: Atlas, seed: int) -> None:
        self.env, self.atlas = env, atlas
        self._seed: int | None = seed
        self._random = np.random.default_rng([seed, 1])
        self._best: dict[int, int] = {}
        self._state: int | None = None

    def more(self, look: Sight | None, most: int) -> None:
        """Play on until there are some more samples, no more than allowed."""
        if look is not None:
            self._best |= look.best_pairs()
        wanted = max(_FIRST, math.ceil(_GROWTH * self.atlas.samples))
        self._play(min(wanted, most))

    def complete(self, most: int) -> bool:
        """Play until every pair was looked at; whether that took no more than allowed."""
        while self.atlas.samples < most:
            self._play(min(self.atlas.samples + _FIRST, most))
            if self.atlas.complete:
                return True
        return self.atlas.complete

    def _play(self, samples: int) -> None:
        while self.atlas.samples < samples:
            if self._state is None:
                observation, info = self.env.reset(seed=self._seed)
                self._seed = None
                self._state = self.atlas.begin(observation, info.get("action_mask"))
            pair = self._choose(self._state)
            result = self.env.step(self.atlas.pairs[pair].action)
            after = self.atlas.record(pair, result)
            self._state = None if result[3] else after

    def _choose(self, state: int) -> int:
        pairs = self.atlas.pairs_of[state]
        if state in self._best and self._random.random() >= _CURIOUS:
            return self._best[state]
        least = min(pairs, key=lambda p: self.atlas.pairs[p].total)
        if self.atlas.pairs[least].level == 0:
            return least
        return int(self._random.choice(pairs))
