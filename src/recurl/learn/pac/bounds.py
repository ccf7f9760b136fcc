"""From observations to bounds on the optimum: two ways.

`RobustIteration` is for one exit. `CertifiedBounds` is for any model: the optimum of the model in
which nature's choices are actions bounds that of every model in the confidence sets from above. The
policy that is best for the observed frequencies is, in all of them, worth at least the least total
of its own worst case. Both are questions for the certified solver.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import NotProperError
from recurl.learn.pac.betting import SETS_SHARE, PairBets
from recurl.learn.pac.confidence import ALL_TIMES, sets_of
from recurl.learn.pac.nature import of_pairs, opened, without_lanes, worst_cases
from recurl.learn.pac.observed import from_vertex
from recurl.learn.pac.robust import RobustBounds, Starts
from recurl.learn.pac.sensitivity import sensitivity
from recurl.policy import Policy
from recurl.policy.merged import merged
from recurl.solving.api import solve
from recurl.solving.properness import step_evidence

if TYPE_CHECKING:
    from recurl.learn.pac.criteria import Criterion
    from recurl.learn.pac.loop import PACTask
    from recurl.learn.pac.observed import Observed
    from recurl.learn.pac.plan import Longs
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.solving.solution import Solution

_SOLVED, _ROUGH, _PASSES = 0.05, 50.0, 3
_FAR = 2.0
"""Multiples of epsilon beyond which a gap is not worth a precise search."""
_ENOUGH = 20.0
"""Multiples of epsilon by which bounds may differ from the learned optimum while the gap is rough:
closer ones are not looked for, nor is anything where they cannot be that close."""


class RobustIteration:
    """Bounds of a 1-exit model or environment from observations, by robust value iteration.

    Args:
        task: The task; with `steps` and `reward_bound` if observations may be incomplete.
        rewards: Least and greatest reward there may be; None for those of the model.
    """

    levels_at_once = 1
    observed: Observed

    def __init__(self, task: PACTask, rewards: tuple[float, float] | None = None) -> None:
        self.task, self.rewards = task, rewards
        self._bounds: RobustBounds | None = None
        self._bets: PairBets | None = None
        self._state: dict[str, np.ndarray] = {}

    def tighten(self, observed: Observed, gap: float) -> tuple[float, float]:
        """New bounds; those of the same model are tightened further."""
        family, delta = self.task.intervals, self.task.delta
        bets = family == ALL_TIMES and observed.starts is None
        self.observed = observed
        self.sets = sets_of(observed, family, SETS_SHARE * delta if bets else delta)
        if self._bounds is None or self._bounds.model is not observed.model:
            self._bounds = self._new(observed)
            self._restore(self._bounds)
        part = 1e-4 if observed.starts is None else 1e-3
        self._bounds.tighten(self.sets, tolerance=part * self.task.epsilon)
        if bets:
            self._bet(self._bounds, part * self.task.epsilon)
        return self._bounds.lower, self._bounds.upper

    def _bet(self, bounds: RobustBounds, tolerance: float) -> None:
        """Tighten the bounds by the bets that were made, and make new ones."""
        if self._bets is None:
            self._bets = PairBets(bounds.model, self.task.epsilon, self.task.delta)
            self._bets.restore(self._state)
        bets = self._bets
        bets.settle(self.observed.counts, self.sets.centre)
        for _ in range(_PASSES if bounds.bounded else 0):
            rewards = bets.rewards(bounds, self.sets)
            bounds.tighten(self.sets, tolerance, rewards=rewards)
        bets.prepare(bounds, self.sets, self.scores())

    def wanted(self) -> Longs | None:
        """Draws of each pair that the bets are on; None if there are no bets."""
        return None if self._bets is None else self._bets.wanted

    def _new(self, observed: Observed) -> RobustBounds:
        starts = Starts.of(observed, self.task.intervals, self.task.delta)
        return RobustBounds(observed.model, self.task.steps, self.rewards, starts=starts)

    @property
    def bounds(self) -> RobustBounds:
        """The bounds; there are some after `tighten`."""
        assert self._bounds is not None
        return self._bounds

    def scores(self) -> Floats:
        """How much of the gap is due to each pair; all alike before there are bounds."""
        if not self.bounds.bounded:
            return np.ones(len(self.observed.level))
        return self.bounds.scores(self.sets)

    def start_score(self) -> float:
        """How much of the gap is due to the start distribution."""
        found, starts = self.bounds, self.bounds.starts
        if starts is None:
            return 0.0
        reach = found.rewards[1] * float(self.task.steps or 0.0)
        return starts.doubt(found.above, found.below, reach)

    def optimistic(self) -> tuple[Ints, Ints]:
        """State vertices, and the actions there that are best by the upper bound."""
        states = np.flatnonzero(self.observed.model.tables.states).astype(np.int32)
        return states, self.bounds.choice(self.sets, 1.0)[states]

    def policy(self) -> tuple[Policy | None, float]:
        """The pessimistic policy of the last sets, and its value in all of their models.

        The bounds may owe something to earlier sets, under which other actions were best.
        """
        last = self.bounds
        if self.observed.starts is None:
            last = self._new(self.observed)
            tolerance = 1e-6 * self.task.epsilon
            last.tighten(self.sets, tolerance, rewards=self.bounds.paid)
        return Policy.stackless(self.observed.learned(), last.choice(self.sets, -1.0)), last.lower

    def numbers(self) -> dict[str, float | str]:
        """Numbers that the bounds rest on."""
        if self.observed.starts is not None:
            return {}
        known = "given" if self.task.steps is not None else "found from the data"
        steps = math.inf if self.bounds.steps is None else self.bounds.steps
        return {f"Bound K on expected steps, {known}": steps}

    def state(self) -> dict[str, np.ndarray]:
        """The bounds so far, to continue from."""
        found = self._bounds
        bets = {} if self._bets is None else self._bets.state()
        if found is None or not found.bounded or self.observed.starts is not None:
            return bets
        steps = np.array([found.steps], np.float64)
        ends = {"above": found.above, "below": found.below, "paid": np.stack(found.paid)}
        return {**ends, "steps": steps, **bets}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from the bounds of a checkpoint."""
        self._state = state

    def _restore(self, bounds: RobustBounds) -> None:
        if "above" not in self._state:
            return
        plain = np.stack(bounds.paid)
        paid = self._state.get("paid", plain)
        ends = (self._state["above"], bounds.above), (self._state["below"], bounds.below)
        if any(one.shape != own.shape for one, own in (*ends, (paid, plain))):
            raise ValueError("the bounds have another size")
        bounds.above = np.array(self._state["above"], np.float64)
        bounds.below = np.array(self._state["below"], np.float64)
        bounds.steps = float(self._state["steps"][0])
        bounds.paid = paid[0], paid[1]


class CertifiedBounds:
    """Bounds of any model or environment from observations, by the certified solver.

    Args:
        task: The task; with `reward_bound` if observations may be incomplete.
        criterion: The quantity to bound.
        beyond: Greatest worth of an outcome or start that was never seen, in absolute value; the
            run leaves all calls with it.
    """

    levels_at_once = 6
    observed: Observed

    def __init__(self, task: PACTask, criterion: Criterion, beyond: float = 0.0) -> None:
        self.task, self.criterion, self.beyond = task, criterion, beyond
        self._policy: Policy | None = None
        self._attained = -math.inf
        self._optimistic: list[Policy] = []
        self._is_bounded = False
        self._near: dict[str, tuple[Floats, ...]] = {}

    def tighten(self, observed: Observed, gap: float) -> tuple[float, float]:
        """New bounds; the solver is as precise as the gap so far calls for."""
        task = self.task
        self.observed, self.sets = observed, sets_of(observed, task.intervals, task.delta)
        self._policy, self._attained, self._optimistic = None, -math.inf, []
        precise = _SOLVED * max(task.epsilon, gap / 2)
        if gap > _FAR * task.epsilon:
            precise = min(gap, _ROUGH * task.epsilon) / 8
        # From several starts, the optimum says nothing of each of them.
        rough = gap > _ROUGH * task.epsilon and observed.starts is None
        room = _ENOUGH * task.epsilon
        learned, upper = observed.learned(), math.inf
        try:
            self.criterion.adjust(learned, task.epsilon)
            fine = _SOLVED * task.epsilon if rough else precise
            best = self._solve("learned", self.criterion.lower(learned), fine)
            high, low = (best.upper + room, best.lower - room) if rough else (None, None)
            wide = self._started(observed.model)
            above = [self._above(*m, precise, high, bounded=gap < math.inf) for m in wide]
            upper = self._bound(1.0, above)
            self._policy = best.policy and merged(best.policy)
            below = [self._below(*m, precise, low) for m in self._started(learned)]
            self._attained = self._bound(-1.0, below)
        except NotProperError:
            self._policy = None
        self._is_bounded = math.isfinite(upper)
        return self._attained, upper

    def _solve(self, name: str, model: RMDP, precise: float, **options: Any) -> Solution:
        """Solve a model, beginning with the points of the last one of the same name."""
        found = solve(model, epsilon=precise, near=self._near.get(name, ()), **options)
        self._near[name] = found.points
        return found

    def _started(self, model: RMDP) -> list[tuple[int, RMDP]]:
        """The model once for each observed start; as it is, if its start distribution is known."""
        starts = self.observed.starts
        if starts is None:
            return [(-1, model)]
        return [(vertex, from_vertex(model, vertex)) for vertex in starts.vertices.tolist()]

    def _bound(self, sign: float, values: list[float]) -> float:
        """Greatest (sign 1) or least (-1) value over the start distributions that are allowed."""
        starts = Starts.of(self.observed, self.task.intervals, self.task.delta)
        if starts is None:
            return values[0]
        reach = sign * self.beyond
        x = np.full(self.observed.model.tables.n_vertices, reach)
        x[starts.vertices] = sign * np.minimum(sign * np.array(values), self.beyond)
        return starts.expectation(x, reach, sign)

    def _above(
        self, start: int, model: RMDP, precise: float, enough: float | None, *, bounded: bool
    ) -> float:
        """The upper bound; before there are bounds, only of sets that make all policies end.

        It is not made tighter once it is known which side of ``enough`` it will be on.
        """
        wide = opened(model, self.sets, self.beyond)
        asked = self.criterion.upper(wide.model)
        if not bounded and step_evidence(asked.tables) is None:
            raise NotProperError("the sets allow policies that do not end")
        solution = self._solve(f"above {start}", asked, precise, at_least=enough)
        if solution.policy is not None:
            own = without_lanes(solution.policy, wide.model)
            self._optimistic.append(of_pairs(own, model, wide.pair))
        return solution.upper

    def _below(self, start: int, learned: RMDP, precise: float, enough: float | None) -> float:
        if self._policy is None:
            return -math.inf
        cases = worst_cases(without_lanes(self._policy, learned), self.sets, -self.beyond)
        enough = enough if len(cases) == 1 else None
        total = 0.0
        for number, (weight, model) in enumerate(cases):
            name, asked = f"below {start} {number}", self.criterion.lower(model)
            found = self._solve(name, asked, precise, objective="min", at_least=enough)
            total += weight * found.lower
        return total

    def scores(self) -> Floats:
        """The part of the values of both policies that the sets leave open, by pair.

        While the sets allow policies that do not end, every pair may be the one to blame.
        """
        if self._policy is None or not self._is_bounded:
            return np.ones(len(self.observed.level))
        own = without_lanes(self._policy, self.observed.model)
        return sum((self._doubts(policy) for policy in self._optimistic), self._doubts(own))

    def _doubts(self, policy: Policy) -> Floats:
        """The part of the value of a policy that the sets leave open, by pair."""
        learned, t, sets = self.observed.learned(), self.observed.model.tables, self.sets
        gain = sensitivity(policy.changed(learned), self.criterion.discount)
        first, sizes = t.transition_start[:-1], np.diff(t.transition_start)
        mean = np.add.reduceat(learned.tables.prob * gain, first)
        off = np.abs(gain - np.repeat(mean, sizes))
        width = np.minimum(sets.high - sets.low, np.repeat(sets.radius, sizes) / 2)
        doubt: Floats = np.add.reduceat(width * off, first)
        return doubt

    def wanted(self) -> None:
        """No draws in particular: there are no bets."""

    def start_score(self) -> float:
        """Nothing: start distributions are learned from episodes, which draw them anyway."""
        return 0.0

    def optimistic(self) -> tuple[Ints, Ints]:
        """State vertices, and actions there that are best where nature is kind."""
        parts = [np.zeros((2, 0), np.int32)]
        for policy in self._optimistic:
            states = self.observed.model.tables.states[policy.slot_vertex]
            parts.append(np.stack([policy.slot_vertex[states], policy.actions[states]]))
        vertices, actions = np.concatenate(parts, axis=1)
        return vertices, actions

    def policy(self) -> tuple[Policy | None, float]:
        """The policy that is best by the observed frequencies, and its least value."""
        return self._policy, self._attained

    def numbers(self) -> dict[str, float | str]:
        """Numbers that the bounds rest on."""
        return self.criterion.numbers() if self.observed.starts is None else {}

    def state(self) -> dict[str, np.ndarray]:
        """The state of the criterion, and the points that searches begin with."""
        found = self.criterion.state()
        for name, points in self._near.items():
            found |= {f"{name}: {c}": own for c, own in enumerate(points)}
        return found

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from the state of a checkpoint."""
        self.criterion.restore(state)
        for label, own in state.items():
            name, colon, _ = label.partition(": ")
            if colon:
                self._near[name] = (*self._near.get(name, ()), own)
