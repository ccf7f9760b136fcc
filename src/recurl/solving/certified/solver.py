"""Certified bounds on the optimum of any proper model: by whole sets of points, and by trials."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recurl.solving.budget import SPENT, seconds_left
from recurl.solving.certified.evidence import (
    certificate_of,
    interval_of,
    points_of,
    policy_of,
    values_of,
)
from recurl.solving.certified.lost import PRICES
from recurl.solving.certified.points import HULL_EXITS, LINE_EXITS, MESH_EXITS
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.certified.search import (
    BestBounds,
    PointSearch,
    first_bounds,
    near_bounds,
    newton_effort,
)
from recurl.solving.certified.trials import Trials
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.solving.certified.lower import Lower
    from recurl.solving.certified.upper import Upper
    from recurl.solving.question import Question

Callback = Callable[[float, float, dict[str, float]], None]

_PATIENCE = 8
_HASTY, _PATIENT = (0.67, 3), (0.97, 12)
"""Share of the gap, and bundles of trials: they stop if that many leave more, sooner if there is a
way on."""
_DEAR = 8
"""Steps of Newton's method that a trial may take without leading to half of the gap."""
_COARSEST, _FINEST = 3e-2, 3e-6
"""Shares of the width asked for below which gaps of calls are ignored, at first and at last."""
_LITTLE = 0.5
"""Share of the gap, and of what causes it, that a round leaves if it brings little."""
_LOST = 4
"""Times the effort of rounds that trials get after one that found no fixed point."""
_FEW_EXITS = 4
_TOGETHER, _MIXED = 500, 3000
"""Points with more than a few exits beyond which solving them together takes too long, and the same
for points that are mixed."""


def solve_certified(
    model: RMDP,
    question: Question,
    epsilon: float,
    *,
    at_least: float | None = None,
    near: Sequence[Floats] = (),
    callback: Callback | None = None,
    time_limit: float = 300.0,
) -> Solution:
    """Bounds for a proper model with any exits, as close as ``epsilon``, time and memory allow.

    Without a limit of time (`budget`) it stops after ``time_limit`` seconds.

    Models with two exits per component have sets of points solved together, connected by
    interpolation, with more points wherever that errs; trials only help where it stalls. Others
    begin with trials, which go from the start to where both bounds are apart. With three to sixteen
    exits, the points that they visit are the first to be solved together; where that brings little,
    trials get as much effort. With more exits, or if that takes too many points, they are solved
    together now and then, and trials go on.

    Raises:
        NotProperError: Some policy does not end, or none of the tests shows that all do.
        LimitError: Time or memory ended before there were bounds on both sides.
    """
    began, run = time.monotonic(), None
    own, spent = seconds_left(), ""
    deadline = began + (own if math.isfinite(own) else time_limit)
    for price in PRICES:
        try:
            problem = SearchProblem.of(model, question, price)
            new = _Run(problem, epsilon, deadline, question.sign, at_least, near, callback)
            spent = new.search()
        except SPENT as error:
            if run is None:
                raise
            spent = str(error)
        else:
            run = new if run is None or new.found.gap < run.found.gap else run
        if run.done or spent or problem.lost is None:
            break
    assert run is not None
    found = run.found
    assert found.lower is not None
    assert found.upper is not None
    ends = interval_of(question, found.upper, found.lower)
    values = [question.sign * end for end in values_of(found.upper, found.lower)]
    return Solution(
        model,
        question,
        ends[0],
        ends[1],
        method="certified",
        reason=spent or run.reason(),
        policy=policy_of(model, found.lower),
        values_lower=np.minimum(*values),
        values_upper=np.maximum(*values),
        points=points_of(found.upper),
        work=run.work,
        seconds=time.monotonic() - began,
        _certify=partial(certificate_of, model, question, found.upper, found.lower),
    )


@dataclass(slots=True)
class _Run:
    """One search: what is known so far, and when to stop."""

    problem: SearchProblem
    epsilon: float
    deadline: float
    sign: float
    at_least: float | None = None
    near: Sequence[Floats] = ()
    callback: Callback | None = None
    found: BestBounds = field(default_factory=BestBounds)
    told: tuple[float, float] = (-np.inf, np.inf)
    work: dict[str, float] = field(default_factory=lambda: {"trials": 0, "rounds": 0, "points": 0})

    def search(self) -> str:
        """Search until done; why it stopped early, if time or memory ended.

        Raises:
            TimeUpError: That is over before there are bounds on both sides.
            MemoryLimitError: That is not enough for them.
        """
        try:
            self._search()
        except SPENT as error:
            if self.found.lower is None or self.found.upper is None:
                raise
            return str(error)
        return ""

    def _search(self) -> None:
        upper, lower = self._begin()
        if self.done:
            return
        exits, trials = self.problem.tables.max_exits, self._trials(upper, lower)
        if exits <= HULL_EXITS:
            upper, lower = self._follow(trials, *_HASTY, dear=_DEAR)
            if not self.done:
                connected, seeds = exits <= MESH_EXITS, _leading(upper)
                search = PointSearch(self.problem, self.epsilon, seeds, lower, connected=connected)
                self._solve_together(search, rounds=1000, trials=trials)
        if not self.done:
            self._alternate(trials)

    def _begin(self) -> tuple[Upper, Lower]:
        """Bounds at the points of a similar problem or at crude ones; with two exits, at more."""
        exits = self.problem.tables.max_exits
        known = near_bounds(self.problem, self.near, self.problem.slack(self.epsilon))
        upper, lower = self._keep(known or first_bounds(self.problem))
        if known and self.done:
            return known
        if exits <= LINE_EXITS:
            search = PointSearch(self.problem, self.epsilon, _leading(upper), lower, connected=True)
            self._solve_together(search, rounds=1000)
        elif known is None and not self.done:
            search = PointSearch(self.problem, self.epsilon, None, lower, connected=False)
            upper, _ = search.solve(self.found)
        return upper, lower

    def _keep(self, bounds: tuple[Upper, Lower]) -> tuple[Upper, Lower]:
        """Take bounds where they are better than before."""
        self.found.keep_upper(bounds[0])
        self.found.keep_lower(bounds[1])
        return bounds

    def _trials(self, upper: Upper, lower: Lower) -> Trials:
        return Trials(upper, lower, tolerance=_COARSEST * self.epsilon)

    def _alternate(self, trials: Trials) -> None:
        """Trials as long as they help, their points solved together, and again."""
        while not self.done:
            before = self.found.gap
            upper, lower = self._follow(trials, *_PATIENT, finest=_FINEST)
            if self.done or sum(map(len, seeds := _leading(upper))) > _TOGETHER:
                break
            search = PointSearch(self.problem, self.epsilon, seeds, lower, connected=False)
            self._solve_together(search, rounds=1)
            assert search.last is not None
            trials = self._trials(search.last, search.lower)
            if self.found.gap > 0.9 * before:
                break

    @property
    def done(self) -> bool:
        """Whether the interval is narrow enough, decides the threshold, or time is up."""
        return self.found.gap <= self.epsilon or self._over(self.found.low, self.found.high)

    def _over(self, low: float, high: float) -> bool:
        """Whether there is no need, or no time, to go on with such an interval."""
        return self._decided(low, high) or time.monotonic() > self.deadline

    def _decided(self, low: float, high: float) -> bool:
        if self.at_least is None:
            return False
        ends = self._ends(low, high)
        return ends[0] >= self.at_least or ends[1] < self.at_least

    def _ends(self, low: float, high: float) -> tuple[float, float]:
        """The interval in the sense of the question."""
        return (low, high) if self.sign > 0 else (-high, -low)

    def reason(self) -> str:
        """Why it stopped."""
        if self.found.gap <= self.epsilon:
            return "multi-exit: the interval is as narrow as asked"
        decided = self._decided(self.found.low, self.found.high)
        if decided:
            return "the interval decides the threshold"
        in_time = time.monotonic() < self.deadline
        return "more points no longer bring the bounds together" if in_time else "the time is up"

    def _follow(
        self,
        trials: Trials,
        enough: float,
        span: int,
        finest: float = _COARSEST,
        effort: float = math.inf,
        dear: float = math.inf,
    ) -> tuple[Upper, Lower]:
        """Bounds by trials as long as they help: until ``span`` leave ``enough`` of the gap.

        Then they turn back later, as small gaps of many calls may add up, down to ``finest``. They
        stop as well when they have taken some ``effort``, and where those that do not halve the gap
        take more than ``dear`` steps of Newton's method.
        """
        gaps = [np.inf] * span
        while True:
            before = trials.effort
            trials.run()
            self.work["trials"] += 1
            self.work["points"] = float(sum(map(len, trials.vectors())))
            low, high = trials.bounds()
            gaps.append(high - low)
            self._report(max(low, self.found.low), min(high, self.found.high))
            stalled = gaps[-1] > enough * gaps[-1 - span]
            if stalled and trials.tolerance > finest * self.epsilon:
                trials.go_deeper()
                gaps, stalled = [np.inf] * span, False
            most = dear * newton_effort(sum(values.size for values in trials.values))
            seen = gaps[-1] > 0.5 * gaps[-2] and math.isfinite(gaps[-1 - span])
            slow = seen and trials.effort - before > most
            stalled = stalled or slow or trials.effort > effort
            if stalled or gaps[-1] <= 0.9 * self.epsilon or self._over(low, high):
                break
        return self._keep((trials.upper(), trials.lower()))

    def _solve_together(
        self, search: PointSearch, rounds: int, trials: Trials | None = None
    ) -> None:
        """Rounds of solving all points together, as long as the gap or what causes it shrinks.

        After a round that brings little, trials get as much effort as all rounds took; more after
        one that found no fixed point. If they come to rest then, another round would find none.
        """
        marks = [np.full(2, np.inf)] * (_PATIENCE - 1) + [np.array([self.found.gap, np.inf])]
        for _ in range(rounds):
            search.round(self.found)
            self.work["rounds"] += 1
            self.work["points"] = float(sum(map(len, search.vectors)))
            self._report(self.found.low, self.found.high)
            marks.append(np.array([self.found.gap, search.gaps.sum()]))
            stalled = (marks[-1] > 0.9 * marks[-1 - _PATIENCE]).all()
            if self.done or search.finished or stalled or self._too_many():
                break
            little = not search.found or (marks[-1] > _LITTLE * marks[-2]).all()
            effort = search.effort * (1 if search.found else _LOST)
            if trials is not None and little and effort > trials.effort:
                self._follow(trials, *_PATIENT, effort=effort)
                if self.done or (not search.found and trials.effort <= effort):
                    break

    def _too_many(self) -> bool:
        """Whether the number of points makes it better to go on with trials."""
        exits = self.problem.tables.max_exits
        limit = _MIXED if MESH_EXITS < exits <= HULL_EXITS else _TOGETHER
        return exits > _FEW_EXITS and self.work["points"] > limit

    def _report(self, low: float, high: float) -> None:
        """Report an interval, never wider than the last one: rounding is not news."""
        self.told = max(low, self.told[0]), min(high, self.told[1])
        if self.callback is not None:
            self.callback(*self._ends(*self.told), self.work)


def _leading(upper: Upper) -> list[Floats]:
    """Exit values, by component, of the points that the start leads to."""
    pairs = zip(upper.contexts.points, upper.used, strict=True)
    return [points.vectors[own] for points, own in pairs]
