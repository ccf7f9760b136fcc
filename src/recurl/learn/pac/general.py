"""Any model, adaptively: robust bounds by a solver that knows nothing of sets.

The optimum of the model in which nature's choices are actions bounds that of every model in the
confidence sets from above. The policy that is best for what was observed is, in all of them, worth
at least the least total of its own worst case. Both are questions for the certified solver, with
several exits, discounted or not. Samples go where the value of the two policies hangs on
probabilities that are not known well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from recurl.errors import NotProperError
from recurl.learn.pac.access import ModelAccess
from recurl.learn.pac.adaptive import ENDLESS, sets_of
from recurl.learn.pac.contexts import for_model, of_pairs, without_lanes, worst_cases
from recurl.learn.pac.corners import opened
from recurl.learn.pac.counts import load_counts, save_counts
from recurl.learn.pac.guarantee import Guarantee
from recurl.learn.pac.influence import influence
from recurl.learn.pac.intervals import level_size
from recurl.learn.pac.one_exit import Task, endless, learned_model
from recurl.learn.pac.unseen import unseen
from recurl.solving.api import solve

if TYPE_CHECKING:
    from recurl.learn.pac.kernel import Sets
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.policy import Policy
    from recurl.solving.solution import Solution

_NEAR, _MORE, _SOLVED, _LEAP = 0.1, 0.25, 0.05, 6


class Frame(Protocol):
    """How a model is valued: as it is, discounted, or cut with paying lanes."""

    @property
    def discount(self) -> float:
        """What comes after a step counts this much."""

    def upper(self, model: RMDP) -> RMDP:
        """A model whose optimum is at least the optimum that is asked for."""

    def lower(self, model: RMDP) -> RMDP:
        """A model in which no policy is worth more than what is asked for."""

    def adjust(self, learned: RMDP, epsilon: float) -> None:
        """Make the two models differ less where they differ too much for epsilon."""


class Plain:
    """The model as it is."""

    discount = 1.0

    def upper(self, model: RMDP) -> RMDP:
        """The model."""
        return model

    lower = upper

    def adjust(self, learned: RMDP, epsilon: float) -> None:
        """Nothing can be adjusted."""


class General:
    """Learns any model by generative access to an interval of width epsilon.

    Args:
        access: What is drawn from; counts that are already there are used.
        task: What is asked for.
        frame: How the model is valued.

    Attributes:
        lower: The optimum is at least this, as is the value of `policy`.
        upper: The optimum is at most this.
        policy: A policy for ``frame.lower`` of what was observed; None before there is one.

    Example:
        >>> import recurl
        >>> run = General(ModelAccess(recurl.zoo.cloud(), seed=1), Task(0.5, 0.05), Plain())
        >>> run.run()
        >>> run.lower <= -5.3425 <= run.upper, run.upper - run.lower <= 0.5
        (True, True)
    """

    def __init__(self, access: ModelAccess, task: Task, frame: Frame) -> None:
        self.access, self.task, self.frame = access, task, frame
        self.lower, self.upper = -math.inf, math.inf
        self.policy: Policy | None = None

    @property
    def gap(self) -> float:
        """Width of the interval so far."""
        return self.upper - self.lower

    @property
    def reached(self) -> bool:
        """Whether the interval is as narrow as asked."""
        return self.gap <= self.task.epsilon

    def run(self) -> None:
        """Sample until the interval is narrow, or no more samples are allowed."""
        task, access = self.task, self.access
        if task.checkpoint is not None:
            load_counts(task.checkpoint, access)
        most = ENDLESS if task.most is None else task.most
        random = np.flatnonzero(access.support > 1)
        # Counts that were resumed may be enough: then only a precise look can tell.
        rough = 50.0 if access.samples == 0 else 1.0
        self._raise(random[access.level[random] == 0])
        while True:
            worth = self._look(rough)
            rough = 50.0
            if self.reached or access.samples >= most or len(random) == 0:
                return
            self._raise(*self._worthwhile(worth, random))

    def _raise(self, pairs: np.ndarray, by: int = 1) -> None:
        self.access.raise_levels(pairs, by)
        if self.task.checkpoint is not None:
            save_counts(self.task.checkpoint, self.access)

    def _worthwhile(self, worth: Floats, random: np.ndarray) -> tuple[np.ndarray, int]:
        """Pairs worth most per sample, enough of them to make another look worth its time."""
        level, by = self.access.level[random], self._leap()
        per_sample = worth[random] / np.maximum(self.access.pair_samples()[random], 1)
        order = np.argsort(-per_sample, kind="stable")
        sizes = [level_size(j + by) - level_size(j) for j in level[order].tolist()]
        enough = int(np.searchsorted(np.cumsum(sizes), _MORE * self.access.samples)) + 1
        near = int((per_sample >= _NEAR * per_sample.max()).sum())
        return random[np.sort(order[: max(enough, near)])], by

    def _leap(self) -> int:
        """Levels by which to go on: a gap twice as wide takes four times the samples."""
        if not math.isfinite(self.gap):
            return 2
        ratio = math.log(self.gap / self.task.epsilon) / math.log(1.4)
        return min(max(int(ratio), 1), _LEAP)

    def _look(self, rough: float) -> Floats:
        """New bounds, and what each pair adds to the gap, nearly.

        Args:
            rough: Gap, in units of epsilon, that the solver may take for granted at most.
        """
        sets = sets_of(self.access.view(), self.task.intervals, self.task.delta)
        precise = _SOLVED * max(self.task.epsilon, min(self.gap, rough * self.task.epsilon) / 2)
        try:
            self.frame.adjust(learned_model(self.access), self.task.epsilon)
            worth = self._above(sets, precise) + self._below(sets, precise)
        except NotProperError:
            worth = np.ones(len(self.access.level))
        if self.task.callback is not None:
            work = {"samples": float(self.access.samples), "rounds": float(self.access.round)}
            self.task.callback(self.lower, self.upper, work)
        return worth

    def _above(self, sets: Sets, precise: float) -> Floats:
        wide = opened(self.access.model, sets)
        solution = solve(self.frame.upper(wide.model), epsilon=precise)
        self.upper = min(self.upper, solution.upper)
        if solution.policy is None:
            return np.ones(len(self.access.level))
        own = without_lanes(solution.policy, wide.model)
        return self._doubts(of_pairs(own, self.access.model, wide.pair), sets)

    def _below(self, sets: Sets, precise: float) -> Floats:
        learned = learned_model(self.access)
        best = solve(self.frame.lower(learned), epsilon=precise).policy
        if best is None:
            return np.zeros(len(self.access.level))
        policy = without_lanes(best, learned)
        lower = sum(
            weight * self._least(model, precise).lower
            for weight, model in worst_cases(policy, sets)
        )
        if lower > self.lower:
            self.lower, self.policy = lower, best
        return self._doubts(policy, sets)

    def _least(self, model: RMDP, precise: float) -> Solution:
        return solve(self.frame.lower(model), epsilon=precise, objective="min")

    def _doubts(self, policy: Policy, sets: Sets) -> Floats:
        """What the sets leave open of the value of a policy, by pair."""
        learned, t = learned_model(self.access), self.access.model.tables
        gain = influence(for_model(policy, learned), self.frame.discount)
        first, sizes = t.transition_start[:-1], np.diff(t.transition_start)
        mean = np.add.reduceat(learned.tables.prob * gain, first)
        off = np.abs(gain - np.repeat(mean, sizes))
        width = np.minimum(sets.high - sets.low, np.repeat(sets.radius, sizes) / 2)
        doubt: Floats = np.add.reduceat(width * off, first)
        return doubt


def guarantee_of(
    run: General,
    policy: Policy | None,
    planned: int | None,
    numbers: dict[str, float | str],
    *,
    warnings: tuple[str, ...] = (),
) -> Guarantee:
    """What a run has found, beside the samples of a plan."""
    task, access = run.task, run.access
    sets = f"{task.intervals}, one per pair and level, level j with delta/(N j (j+1))"
    return Guarantee(
        learned_model(access),
        run.lower,
        run.upper,
        (run.lower + run.upper) / 2,
        policy,
        loss=run.gap,
        epsilon=task.epsilon,
        delta=task.delta,
        reached=run.reached,
        samples=access.samples,
        planned=planned,
        method="adaptive",
        numbers={
            **numbers,
            "Confidence sets": sets,
            "Random pairs N": float((access.support > 1).sum()),
            "Most samples of a pair": float(access.pair_samples().max()),
            "Rounds": float(access.round),
        },
        unseen=unseen(access.view()),
        warnings=(*warnings, *endless(run.gap)),
    )


def learn_general(model: RMDP, task: Task) -> Guarantee:
    """The optimum of any model, undiscounted, nothing assumed but that samples tell."""
    run = General(ModelAccess(model, task.seed), task, Plain())
    run.run()
    policy = None if run.policy is None else for_model(run.policy, model)
    return guarantee_of(run, policy, None, {})
