"""Generative access to an environment: a run can be begun at any state that was seen.

An environment gives it by ``reset(options={"state": observation})``: the run then stands at that
state, with no call pending, and one step draws an outcome of the pair taken. A step that leaves the
component ends such a run. ``metadata["generative"] = True`` says that an environment can do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import ProtocolError

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.pac.atlas import Atlas, Pair
    from recurl.learn.pac.look import Look

_NEAR = 0.1


class Generative:
    """Draws from the pairs that the gap is due to.

    Args:
        env: The environment.
        atlas: What was seen.
        seed: Seed of the environment.
    """

    name = "generative"

    def __init__(self, env: gym.Env[Any, Any], atlas: Atlas, seed: int) -> None:
        self.env, self.atlas = env, atlas
        self._seed: int | None = seed

    def more(self, look: Look | None, most: int) -> None:
        """Draw what was never looked at up to its first level, else what is worth most."""
        self._open()
        new = [i for i, pair in enumerate(self.atlas.pairs) if pair.level == 0]
        if self.atlas.start.level == 0:
            self._begin(self.atlas.start.due - self.atlas.start.total)
        elif look is not None and not new:
            new = self._worthwhile(look)
        for pair in new:
            self._draw(pair, most)

    def complete(self, most: int) -> bool:
        """Draw every pair as often as it is due; whether that took no more than allowed."""
        self._begin(max(self.atlas.start.due - self.atlas.start.total, 1))
        while not self.atlas.complete:
            if self.atlas.samples >= most:
                return False
            self.more(None, most)
        return True

    def _open(self) -> None:
        """Stand at every state that was announced, to learn which actions it has."""
        if not self.atlas.observations:
            self._begin(1)
        for state, pairs in enumerate(self.atlas.pairs_of):
            if not pairs:
                self._stand(state)

    def _begin(self, count: int) -> None:
        """Begin runs where the environment begins them."""
        for _ in range(count):
            observation, info = self.env.reset(seed=self._seed)
            self._seed = None
            self.atlas.begin(observation, info.get("action_mask"))

    def _stand(self, state: int) -> None:
        observation, info = self.env.reset(
            seed=self._seed, options={"state": self.atlas.observations[state]}
        )
        self._seed = None
        if self.atlas.visit(observation, info.get("action_mask")) != state:
            raise ProtocolError(
                "reset(options={'state': ...}) did not begin at the state given: the environment "
                "has no generative access; learn from episodes instead"
            )

    def _draw(self, number: int, most: int) -> None:
        """Draw a pair until it is due to be looked at."""
        pair = self.atlas.pairs[number]
        level = pair.level
        while pair.level == level and self.atlas.samples < most:
            self._stand(pair.state)
            self.atlas.record(number, self.env.step(pair.action))

    def _worthwhile(self, look: Look) -> list[int]:
        """Pairs near the greatest share of the gap per sample; the start is drawn at once."""
        scores, start = look.scores()
        per_sample = scores / np.array([_samples(pair) for pair in self.atlas.pairs])
        own = start / _samples(self.atlas.start)
        best = max(float(per_sample.max()), own)
        if best <= 0:
            return list(range(len(self.atlas.pairs)))
        if own >= _NEAR * best:
            self._begin(self.atlas.start.due - self.atlas.start.total)
        return np.flatnonzero(per_sample >= _NEAR * best).tolist()


def _samples(pair: Pair) -> int:
    return max(pair.total, 1)
