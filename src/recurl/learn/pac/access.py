"""Generative access: any pair of a model can be drawn from, its probabilities stay hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.learn.pac.intervals import level_size
from recurl.model.numbers import ExactNumbers
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    from recurl.learn.pac.plan import Longs
    from recurl.model.tables import Floats, Ints


class View(NamedTuple):
    """What a learner has seen of a model.

    Attributes:
        model: Vertices, actions and outcomes; its probabilities mean nothing.
        counts: How often each outcome was seen, up to the level of its pair. ``[T]``
        level: How often each pair has been looked at. ``[A]``
        support: How many outcomes a pair has at most. ``[A]``
        share: Share of delta that belongs to each pair. ``[A]``
    """

    model: RMDP
    counts: Longs
    level: Ints
    support: Ints
    share: Floats

    @property
    def failure(self) -> Floats:
        """Probability, as a part of delta, with which each pair's present level may mislead."""
        level = np.maximum(self.level, 1)
        return self.share / (level * (level + 1.0))


def with_probabilities(
    model: RMDP,
    prob: Floats,
    reward: Floats | None = None,
    *,
    labels: Mapping[int, str] | None = None,
    start: Floats | None = None,
) -> RMDP:
    """The same model with other probabilities, and perhaps other rewards, labels and starts."""
    t = model.tables
    tables = t._replace(
        prob=prob,
        reward=t.reward if reward is None else reward,
        start_prob=t.start_prob if start is None else start,
    )
    floats = (tables.start_prob, tables.prob, tables.reward, tables.transition_start)
    exact = ExactNumbers(None, None, None, floats=floats)
    described = model.labels if labels is None else labels
    return RMDP(model.name, tables, model.names, exact=exact, labels=described)


def even_probabilities(model: RMDP) -> Floats:
    """Probabilities that say nothing: all outcomes of a pair alike."""
    sizes = np.diff(model.tables.transition_start)
    even: Floats = np.repeat(1 / sizes, sizes)
    return even


class ModelAccess:
    """Draws outcomes of pairs of a model; the learner sees outcomes, counts and rewards.

    Many draws of one pair are one multinomial draw, which is the same in distribution.

    Args:
        model: The model.
        seed: Seed of all draws; the draws of a round depend on it and the round only.

    Example:
        >>> import recurl
        >>> access = ModelAccess(recurl.zoo.gambler(p=0.25), seed=1)
        >>> access.draw(np.full(3, 1000))
        >>> access.samples, access.counts.tolist()
        (3000, [246, 754, 1000, 1000])
    """

    def __init__(self, model: RMDP, seed: int = 0) -> None:
        self._model, self.seed = model, seed
        self.model = with_probabilities(model, even_probabilities(model))
        t = model.tables
        self.support = np.diff(t.transition_start).astype(np.int32)
        self.counts = np.zeros(t.n_transitions, np.int64)
        self.level = np.zeros(t.n_actions, np.int32)
        self.round = 0

    @property
    def truth(self) -> RMDP:
        """The model that is drawn from: for simulation, and for policies to refer to."""
        return self._model

    @property
    def samples(self) -> int:
        """Draws so far."""
        return sum(self.counts.tolist())

    def pair_samples(self) -> Longs:
        """Draws of each pair so far."""
        total: Longs = np.add.reduceat(self.counts, self.model.tables.transition_start[:-1])
        return total

    def view(self) -> View:
        """What has been seen; pairs with a single outcome need no sample."""
        random = self.support > 1
        share = np.where(random, 1 / max(int(random.sum()), 1), 1.0)
        return View(self.model, self.counts, self.level, self.support, share)

    def draw(self, wanted: Longs) -> None:
        """Draw each pair so many times more."""
        t = self._model.tables
        random = np.random.default_rng([self.seed, self.round])
        self.round += 1
        drawn = np.flatnonzero(wanted > 0)
        left, mass = wanted[drawn].copy(), np.ones(len(drawn))
        first, sizes = t.transition_start[drawn], self.support[drawn]
        for place in range(int(sizes.max(initial=0))):
            within = np.flatnonzero(sizes > place)
            at = first[within] + place
            chance = np.clip(t.prob[at] / np.maximum(mass[within], 1e-300), 0.0, 1.0)
            chance = np.where(sizes[within] == place + 1, 1.0, chance)
            hits = random.binomial(left[within], chance)
            self.counts[at] += hits
            left[within] -= hits
            mass[within] -= t.prob[at]

    def raise_levels(self, pairs: np.ndarray, by: int = 1) -> None:
        """Draw some pairs up to the size of their next level, or a later one."""
        wanted = np.zeros(len(self.level), np.int64)
        sizes = [level_size(j + by) - level_size(j) for j in self.level[pairs].tolist()]
        wanted[pairs] = sizes
        self.draw(wanted)
        self.level[pairs] += by
