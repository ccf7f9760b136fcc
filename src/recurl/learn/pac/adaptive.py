"""Sampling where it matters until the interval is narrow: the anytime version for 1-exit models.

Rounds: confidence sets from the counts, robust bounds from the sets, then more samples for the
pairs that the gap is due to. If a pair adds c / sqrt(n) to the gap, then samples are spent best
where the share of the gap per sample, c n^(-3/2), is greatest; so pairs near the greatest get more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.pac.intervals import confidence_sets
from recurl.learn.pac.robust import RobustBounds

if TYPE_CHECKING:
    from recurl.learn.pac.access import ModelAccess, View
    from recurl.learn.pac.kernel import Sets
    from recurl.model.tables import Floats

Callback = Callable[[float, float, dict[str, float]], None]
ENDLESS = 10**12
"""Samples after which a run without a limit gives up, as on a model whose runs may not end."""
_NEAR = 0.1


def sets_of(view: View, family: str, delta: float) -> Sets:
    """The confidence sets of what was seen, valid together with probability 1 - delta."""
    return confidence_sets(
        family,
        view.counts,
        view.model.tables.transition_start,
        failure=delta * view.failure,
        support=view.support,
    )


class Adaptive:
    """Learns a 1-exit model by generative access, pair by pair, to an interval of width epsilon.

    Args:
        access: What is drawn from; counts that are already there are used.
        epsilon: Width of the interval to reach.
        delta: Probability with which it may be wrong.
        family: Family of confidence sets.
        steps: K, if it is known.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.access import ModelAccess
        >>> access = ModelAccess(recurl.zoo.gambler(p=0.25), seed=1)
        >>> run = Adaptive(access, epsilon=0.2, delta=0.05)
        >>> run.run()
        >>> run.bounds.lower <= 3 <= run.bounds.upper, run.bounds.upper - run.bounds.lower <= 0.2
        (True, True)
    """

    def __init__(
        self,
        access: ModelAccess,
        epsilon: float,
        delta: float,
        *,
        family: str = "clopper-pearson",
        steps: float | None = None,
    ) -> None:
        self.access, self.epsilon, self.delta, self.family = access, epsilon, delta, family
        self.bounds = RobustBounds(access.model, steps)
        self.sets = sets_of(access.view(), family, delta)

    @property
    def gap(self) -> float:
        """Width of the interval so far."""
        return self.bounds.upper - self.bounds.lower

    @property
    def reached(self) -> bool:
        """Whether the interval is as narrow as asked."""
        return self.gap <= self.epsilon

    def run(self, most: int | None = None, callback: Callback | None = None) -> None:
        """Sample until the interval is narrow, or the next round would take too many samples."""
        self._look()
        most = ENDLESS if most is None else most
        while not self.reached and self.access.samples < most:
            self.access.raise_levels(self._worthwhile())
            self._look()
            if callback is not None:
                work = {"samples": float(self.access.samples), "rounds": float(self.access.round)}
                callback(self.bounds.lower, self.bounds.upper, work)

    def _look(self) -> None:
        self.sets = sets_of(self.access.view(), self.family, self.delta)
        self.bounds.tighten(self.sets, tolerance=1e-4 * self.epsilon)

    def _worthwhile(self) -> np.ndarray:
        """The pairs that get more samples; all that are random while there is no bound at all."""
        random = self.access.support > 1
        first = random & (self.access.level == 0)
        if first.any() or not self.bounds.bounded:
            return np.flatnonzero(first if first.any() else random)
        worth = self._per_sample()
        return np.flatnonzero(random & (worth >= _NEAR * worth.max()))

    def _per_sample(self) -> Floats:
        scores = self.bounds.scores(self.sets)
        worth: Floats = scores / np.maximum(self.access.pair_samples(), 1)
        if not math.isfinite(worth.max()) or worth.max() <= 0:
            return np.ones_like(worth)
        return worth
