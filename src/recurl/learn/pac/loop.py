"""The loop of every learner with a guarantee: sets, bounds, scores, samples.

Observations give confidence sets, sets give bounds, and the gap between the bounds says which pairs
to sample next. A learner is a source of samples and a way from observations to bounds; a plan made
beforehand replaces the loop by one round.

A checkpoint holds the counts and the bounds *before* these counts were evaluated. So a resumed run
repeats the evaluation, goes on as the run would have, and ends with the same digits.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recurl.errors import LimitError, ModelError, NotProperError
from recurl.learn.pac.confidence import ALL_TIMES, sets_of
from recurl.learn.pac.guarantee import Guarantee

if TYPE_CHECKING:
    from recurl.learn.pac.confidence import Sets
    from recurl.learn.pac.criteria import Criterion, Enclosure
    from recurl.learn.pac.observed import Observed
    from recurl.learn.pac.plan import DiscoveryPlan, Longs, Plan
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.policy import Policy

Callback = Callable[[float, float, dict[str, float]], None]
Numbers = dict[str, float | str]


@dataclass(frozen=True)
class PACTask:
    """A question to a learner.

    Attributes:
        epsilon: Precision of the value.
        delta: Probability with which the answer may be wrong.
        steps: K, a bound on the expected steps from any vertex to the exit of its component, in all
            models close to the true one; None to find one.
        reward_bound: Greatest reward in absolute value; None for that of the model.
        intervals: Family of confidence sets.
        seed: Seed of all draws.
        most: Samples after which to stop, None for no limit.
        checkpoint: File for the counts; sampling continues from it where it exists.
        callback: Called with every new interval.
        support: Most outcomes of a pair of an environment.
        starts: Most starts of an environment; None for as many as `support`.
    """

    epsilon: float
    delta: float
    steps: float | None = None
    reward_bound: float | None = None
    intervals: str = "clopper-pearson"
    seed: int = 0
    most: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    callback: Callback | None = None
    support: int | None = None
    starts: int | None = None

    def basis(self, criterion: Criterion) -> str:
        """The settings that bounds rest on: with other ones, only counts can be taken over."""
        given = self.delta, self.intervals, self.steps, self.reward_bound, self.support, self.starts
        return f"{criterion.name}: {given}"


class SetBounds(Protocol):
    """A way from observations to bounds."""

    @property
    def observed(self) -> Observed:
        """The observations that were evaluated last."""

    @property
    def levels_at_once(self) -> int:
        """Levels by which a pair may be raised between two evaluations: more, if they are slow."""

    def tighten(self, observed: Observed, gap: float) -> tuple[float, float]:
        """Lower and upper bound on the optimum; the gap so far says how precise to be."""

    def scores(self) -> Floats:
        """How much of the gap is due to each pair."""

    def wanted(self) -> Longs | None:
        """Draws of each pair that bets are on; None if there are no bets."""

    def start_score(self) -> float:
        """How much of the gap is due to the start distribution."""

    def optimistic(self) -> tuple[Ints, Ints]:
        """Vertices, and the actions there that are best by the upper bound."""

    def policy(self) -> tuple[Policy | None, float]:
        """A policy, and its least value over all models that the last sets allow."""

    def numbers(self) -> Numbers:
        """Numbers that the bounds rest on."""

    def state(self) -> dict[str, np.ndarray]:
        """The state to continue from."""

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a state."""


class SampleSource(Protocol):
    """A model or an environment that samples are drawn from."""

    @property
    def truth(self) -> RMDP | None:
        """The model that is drawn from, for policies to refer to; None for an environment."""

    @property
    def limit(self) -> int:
        """Samples after which to stop, where no limit is given."""

    @property
    def levels(self) -> str:
        """How delta is split by levels."""

    @property
    def shares(self) -> str:
        """How a plan splits delta, where it is not split evenly."""

    @property
    def samples(self) -> int:
        """Samples so far."""

    def observed(self) -> Observed:
        """The observations so far."""

    def sample(self, bounds: SetBounds | None, ratio: float, most: int) -> bool:
        """Draw where the gap comes from; whether there was anything to draw."""

    def fulfil(self, plan: Any, most: int | None) -> None:
        """Draw what a plan for such a source asks for."""

    def planned(self, plan: Any) -> int | None:
        """Samples of a plan, as far as they can be counted."""

    def numbers(self) -> Numbers:
        """Numbers that statements rest on."""

    def work(self) -> dict[str, float]:
        """The work so far, for a progress display."""

    def unobserved(self, observed: Observed, sets: Sets) -> tuple[str, ...]:
        """Things that were never observed, in words."""

    def contradictions(self, observed: Observed) -> tuple[str, ...]:
        """Observations that contradict the settings, in words."""

    def save(
        self, path: str | os.PathLike[str], basis: str, state: Mapping[str, np.ndarray]
    ) -> None:
        """Write the counts and the state of a learner."""

    def load(self, path: str | os.PathLike[str]) -> tuple[str, dict[str, np.ndarray]]:
        """Take over the counts of a file, if there is one; its basis and state."""


class Loop:
    """Samples a source until the interval is narrow, or no more samples are allowed.

    Args:
        source: Where samples come from.
        bounds: The way from observations to bounds.
        task: The task.
        criterion: The quantity to learn.

    Attributes:
        lower: The optimum is at least this.
        upper: The optimum is at most this.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.bounds import RobustIteration
        >>> from recurl.learn.pac.criteria import TotalReward
        >>> from recurl.learn.pac.model_access import ModelAccess
        >>> task = PACTask(epsilon=0.2, delta=0.05)
        >>> source = ModelAccess(recurl.zoo.gambler(p=0.25), seed=1)
        >>> loop = Loop(source, RobustIteration(task), task, TotalReward())
        >>> loop.run()
        >>> loop.lower <= 3 <= loop.upper, loop.upper - loop.lower <= 0.2
        (True, True)
    """

    def __init__(
        self, source: SampleSource, bounds: SetBounds, task: PACTask, criterion: Criterion
    ) -> None:
        self.source, self.bounds, self.task, self.criterion = source, bounds, task, criterion
        self.lower, self.upper = -math.inf, math.inf

    @property
    def gap(self) -> float:
        """Width of the interval so far."""
        return self.upper - self.lower

    @property
    def reached(self) -> bool:
        """Whether the interval is as narrow as asked."""
        return self.gap <= self.task.epsilon

    def run(self) -> None:
        """Sample and evaluate, until one of both is enough."""
        source, task = self.source, self.task
        most = source.limit if task.most is None else task.most
        self._load()
        if source.samples == 0:
            source.sample(None, math.inf, most)
            self._save()
        while True:
            self._tighten()
            ratio = self.gap / task.epsilon
            if self.reached or source.samples >= most:
                return
            if not source.sample(self.bounds, ratio, most):
                return
            self._save()

    def _tighten(self) -> None:
        lower, upper = self.bounds.tighten(self.source.observed(), self.gap)
        self.lower, self.upper = max(self.lower, lower), min(self.upper, upper)
        if self.task.callback is not None:
            self.task.callback(self.lower, self.upper, self.source.work())

    def _load(self) -> None:
        if self.task.checkpoint is None:
            return
        basis, state = self.source.load(self.task.checkpoint)
        if basis == self.task.basis(self.criterion):
            self.lower, self.upper = state["interval"].tolist()
            self.bounds.restore(state)

    def _save(self) -> None:
        if self.task.checkpoint is not None:
            interval = np.array([self.lower, self.upper])
            state = {"interval": interval, **self.bounds.state()}
            self.source.save(self.task.checkpoint, self.task.basis(self.criterion), state)


def learn_adaptively(
    source: SampleSource,
    bounds: SetBounds,
    task: PACTask,
    criterion: Criterion,
    *,
    planned: int | None = None,
    warnings: tuple[str, ...] = (),
) -> Guarantee:
    """Draw where it matters until the interval is as narrow as asked.

    Args:
        source: Where samples come from.
        bounds: The way from observations to bounds.
        task: The task.
        criterion: The quantity to learn.
        planned: Samples that a plan would take; None to ask the source for its own plan.
        warnings: What is known to contradict the assumptions.
    """
    loop = Loop(source, bounds, task, criterion)
    loop.run()
    policy, attained = bounds.policy()
    endless = "the data do not rule out a policy that never ends"
    return _guarantee(
        source,
        task,
        (loop.lower, loop.upper, (loop.lower + loop.upper) / 2),
        _policy_for(policy, source, criterion),
        method="adaptive",
        loss=loop.upper - attained,
        reached=loop.reached,
        planned=source.planned(None) if planned is None else planned,
        numbers={**bounds.numbers(), "Confidence sets": _family(source, task)},
        warnings=(*warnings, *(() if math.isfinite(loop.gap) else (endless,))),
    )


def learn_planned(
    source: SampleSource,
    plan: Plan | DiscoveryPlan,
    task: PACTask,
    criterion: Criterion,
    *,
    warnings: tuple[str, ...] = (),
) -> Guarantee:
    """Draw as planned, then solve the learned model.

    Args:
        source: Where samples come from.
        plan: The plan.
        task: The task.
        criterion: The quantity to learn.
        warnings: What is known to contradict the assumptions.
    """
    if task.checkpoint is not None:
        source.load(task.checkpoint)
    try:
        source.fulfil(plan, task.most)
    finally:
        if task.checkpoint is not None and source.samples:
            source.save(task.checkpoint, "", {})
    found = criterion.enclose(source.observed().learned(), task.epsilon - plan.room)
    lower, upper = found.lower - plan.room, found.upper + plan.room
    return _guarantee(
        source,
        task,
        (lower, upper, found.value),
        _policy_for(found.policy, source, criterion),
        method="plan",
        loss=upper - lower,
        reached=upper - lower <= 2 * task.epsilon * (1 + 1e-9),
        planned=source.planned(plan),
        numbers={**plan.numbers, **_errors(plan, found), "Rule": criterion.rule + source.shares},
        warnings=warnings,
    )


def _family(source: SampleSource, task: PACTask) -> str:
    """The confidence sets, and how delta is split among them."""
    if task.intervals == ALL_TIMES:
        return f"{task.intervals}, at all times together, delta split over pairs alone"
    return f"{task.intervals}, {source.levels}"


def _errors(plan: Plan | DiscoveryPlan, found: Enclosure) -> Numbers:
    return {
        "Closeness of every pair (sum of differences)": plan.closeness,
        "Error from sampling": plan.room,
        **found.numbers,
    }


def planned_total(plan: Callable[[], Plan]) -> int | None:
    """Samples that a plan would take; None where there is no plan."""
    try:
        return plan().total
    except (NotProperError, LimitError, ModelError):
        return None


def _policy_for(policy: Policy | None, source: SampleSource, criterion: Criterion) -> Policy | None:
    """The policy for the true model; for that of the observations if there is no other."""
    if policy is None or source.truth is None:
        return policy
    return criterion.policy_for(policy, source.truth)


def _guarantee(
    source: SampleSource,
    task: PACTask,
    interval: tuple[float, float, float],
    policy: Policy | None,
    *,
    method: str,
    loss: float,
    reached: bool,
    planned: int | None,
    numbers: Numbers,
    warnings: tuple[str, ...],
) -> Guarantee:
    """The statement of a learner: the only place where one is written."""
    observed = source.observed()
    sets = sets_of(observed, task.intervals, task.delta)
    lower, upper, value = interval
    return Guarantee(
        observed.learned(),
        lower,
        upper,
        value,
        policy,
        loss=loss,
        epsilon=task.epsilon,
        delta=task.delta,
        reached=reached,
        samples=source.samples,
        planned=planned,
        method=method,
        numbers={**source.numbers(), **numbers},
        unseen=source.unobserved(observed, sets),
        warnings=(*warnings, *source.contradictions(observed)),
    )
