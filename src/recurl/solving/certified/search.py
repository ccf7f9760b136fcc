"""The search over whole sets of points: solve all together, then add points where it matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import NotProperError
from recurl.model.tables import Floats, Ints
from recurl.solving.certified.contexts import Contexts
from recurl.solving.certified.linear import Inverses, solve_from_identity
from recurl.solving.certified.lower import Lower, improved, lower_bound
from recurl.solving.certified.points import (
    LINE_EXITS,
    MESH_EXITS,
    Cloud,
    Hull,
    arranged,
    make_points,
)
from recurl.solving.certified.upper import Upper, residual_for, upper_bound

if TYPE_CHECKING:
    from recurl.solving.certified.problem import SearchProblem

_NOTHING = 1e-12
"""Share of a lower bound by which rounding alone may raise it."""
_SLOW = 0.85
"""Share of the gap that a round leaves if it is a slow one."""
_FAR = 100
"""Times the residual allowed beyond which a bound is looked for from above."""
_TERMS, _ENDLESS = 30, 1e100
"""Terms of a series that does not converge, and the size beyond which they are left out."""
_NEWTON, _CALLS = 30, 2000
"""Times the effort of a sweep that a step of Newton's method takes, and slots that take about as
long as calling its functions."""
_SAME = 0.02
"""Difference of shares that is not worth computing an inverse again for visits."""


@dataclass(slots=True, eq=False)
class BestBounds:
    """The best bounds so far, each with what proves it."""

    low: float = -np.inf
    high: float = np.inf
    lower: Lower | None = None
    upper: Upper | None = None

    @property
    def gap(self) -> float:
        """Width of the interval."""
        return self.high - self.low

    def keep_upper(self, upper: Upper) -> None:
        """Take an upper bound if it is better than before."""
        high = upper.start()
        if high < self.high:
            self.high, self.upper = high, upper

    def keep_lower(self, lower: Lower) -> None:
        """Take a lower bound if it is sound and better than before, by more than rounding.

        A policy with more contexts that is better by less is only harder to read.
        Where some policy does not end, its own has to be known to end.
        """
        low = lower.start()
        if lower.sound and low > self.low + _NOTHING * abs(low) and lower.ends:
            self.low, self.lower = low, lower


def first_bounds(problem: SearchProblem) -> tuple[Upper, Lower]:
    """One crude point per component, and the pieces of the stackless policy that it suggests."""
    crude = [problem.crude(c) for c in range(len(problem.components))]
    contexts = Contexts(problem, [Cloud(vector[None, :]) for vector, _ in crude])
    upper = Upper.of(contexts, np.concatenate([values for _, values in crude]))
    callee = np.zeros(int(contexts.call_base[-1]), np.int64)
    action = (
        upper.links.action if problem.first is None else stackless_actions(problem, problem.first)
    )
    for slack in (1e-13, 1e-10, 1e-8):
        lower = lower_bound(contexts, action, callee, slack)
        if lower.sound and lower.ends:
            return upper, lower
    raise NotProperError("no policy could be evaluated: the model is too close to improper")


def near_bounds(
    problem: SearchProblem, near: Sequence[Floats], slack: float
) -> tuple[Upper, Lower] | None:
    """Bounds at the points of a similar problem, by the policy that they suggest.

    None if the points do not fit the problem, or lead to no bounds.

    Args:
        problem: The problem.
        near: Values of all vertices at the points of each component. ``[vertices, n]`` each
        slack: How far the bounds may be from fixed points.
    """
    parts = problem.components
    shapes = [own.shape[:-1] if own.size else () for own in near]
    if shapes != [(part.size,) for part in parts]:
        return None
    known = [Cloud(own[part.exits].T) for own, part in zip(near, parts, strict=True)]
    connected = problem.tables.max_exits <= LINE_EXITS
    vectors = [arranged(cloud.vectors, connected=connected) for cloud in known]
    contexts = contexts_at(problem, vectors, connected=connected)
    pairs = zip(known, near, contexts.points, strict=True)
    values = [cloud.least(own.T, new.vectors).T.ravel() for cloud, own, new in pairs]
    upper = upper_bound(contexts, np.concatenate(values), slack)
    if not upper.found:
        return None
    links = upper.links
    lower = lower_bound(contexts, links.action, links.heaviest, slack, upper.inverses)
    return (upper, lower) if lower.sound and lower.ends else None


def contexts_at(problem: SearchProblem, vectors: list[Floats], *, connected: bool) -> Contexts:
    """Contexts at exit values of each component, connected or not."""
    anchors = [problem.crude(c)[0] if connected else None for c in range(len(vectors))]
    return Contexts(problem, [make_points(*pair) for pair in zip(vectors, anchors, strict=True)])


def stackless_actions(problem: SearchProblem, chosen: Ints) -> list[np.ndarray]:
    """Actions by vertex as a policy with one context per component has them."""
    return [(part.begin + chosen[part.first + part.states])[:, None] for part in problem.components]


class PointSearch:
    """Rounds of: solve all points together, evaluate the policy, add points where the gap is.

    The policy is evaluated only when the errors of the calls add up to much less than the gap.

    Attributes:
        found: Whether the last round found a fixed point.
        effort: What rounds took so far (see `Batch.settle`).
    """

    def __init__(
        self,
        problem: SearchProblem,
        epsilon: float,
        seeds: list[Floats] | None,
        lower: Lower,
        *,
        connected: bool,
    ) -> None:
        self.problem, self.epsilon, self.connected = problem, epsilon, connected
        self.lower = lower
        self.last: Upper | None = None
        self.slow, self.found, self.effort = False, True, 0
        every = range(len(problem.components))
        self.vectors = [self._first_vectors(c) for c in every]
        if seeds is not None:
            self.vectors = [np.concatenate(pair) for pair in zip(self.vectors, seeds, strict=True)]
        self.vectors = [arranged(v, connected=connected) for v in self.vectors]

    def _first_vectors(self, c: int) -> Floats:
        vectors = self.problem.crude(c)[0][None, :]
        if c == self.problem.start:
            vectors = np.concatenate([vectors, self.problem.root[None, :]])
        exits = vectors.shape[1]
        if self.connected and 2 <= exits <= MESH_EXITS:
            vectors = np.concatenate([vectors, self._scales(exits)])
        return vectors

    def _scales(self, exits: int) -> Floats:
        """Differences of all sizes that exit values may have, to all sides."""
        size = max(self.problem.size, 1e-3)
        most = 4.0 * size * float(self.problem.steps.max(initial=1.0))
        sizes = np.geomspace(1e-2 * size, most, 9 if exits == 2 else 5)
        sides = np.concatenate([np.eye(exits), -np.eye(exits)])[: 2 * exits - (exits == 2)]
        around = (sizes[:, None, None] * sides[None]).reshape(-1, exits)
        return np.concatenate([around, np.zeros((1, exits))])

    def round(self, found: BestBounds) -> None:
        """Add points where the last round left a gap, solve, and keep the better bounds."""
        before = found.gap
        if self.last is not None:
            self._refine(self.last)
        upper, slack = self.solve(found)
        self.calls = Calls.of(upper)
        inverses = inverses_of(upper)
        visits = visits_of_calls(upper, inverses)
        arrive = arrivals(upper, inverses)
        self.gaps = weighted(visits, interpolation_errors(upper, self.calls, arrive))
        self.last = upper
        promising = max(0.8 * self.epsilon, 0.1 * found.gap)
        self.found = upper.residual <= _FAR * residual_for(upper.contexts, slack)
        if not self.connected or (self.found and float(self.gaps.sum()) <= promising):
            self._descend(found, upper, visits, slack)
        self.effort += upper.contexts.applied * newton_effort(len(upper.values))
        self.slow = found.gap > _SLOW * before

    def solve(self, found: BestBounds) -> tuple[Upper, float]:
        """The upper bound at all points, kept, and its slack: a share of the gap that it leaves."""
        contexts = contexts_at(self.problem, self.vectors, connected=self.connected)
        slack = self._slack(found.gap)
        upper = upper_bound(contexts, *self._start(contexts, slack))
        if upper.residual > _FAR * residual_for(contexts, slack):
            upper = upper_bound(contexts, self._from_above(contexts), slack)
        found.keep_upper(upper)
        finer = self._slack(found.gap)
        if finer < 0.1 * slack:
            slack = finer
            if upper.residual > residual_for(contexts, finer):
                upper = upper_bound(contexts, upper.values, finer, upper.inverses)
                found.keep_upper(upper)
        return upper, slack

    def _slack(self, gap: float) -> float:
        return self.problem.slack(max(self.epsilon, 0.1 * min(gap, self.problem.size)))

    def _descend(self, found: BestBounds, upper: Upper, visits: Floats, slack: float) -> None:
        """Evaluate the policy that an upper bound suggests, and see better where the gap is.

        A bit of the gap between the bounds leads on where there is nothing to interpolate yet.
        """
        lower = self._policy(upper, slack)
        found.keep_lower(lower)
        if lower.sound:
            self.lower = lower
            reach = lower.reach[upper.contexts.entry_slots]
            errors = interpolation_errors(upper, self.calls, reach)
            gaps = gaps_of_calls(upper, self.calls, lower)
            self.gaps = weighted(visits, np.maximum(errors, 0.02 * gaps))

    def _policy(self, upper: Upper, slack: float) -> Lower:
        """The policy that an upper bound suggests."""
        links = upper.links
        lower = lower_bound(upper.contexts, links.action, links.heaviest, slack, upper.inverses)
        if lower.sound and any(type(points) in (Cloud, Hull) for points in upper.contexts.points):
            lower = improved(lower, slack, upper.inverses)
        return lower

    @property
    def finished(self) -> bool:
        """Whether no call is left at which more points would help."""
        return self.last is not None and not (self.gaps > 0.0).any()

    def _refine(self, last: Upper) -> None:
        """Add the exit values of the worst calls.

        They are as much too high as the upper bound is. Where the best choice changes close to the
        true ones, that makes rounds slow: then what the lower bound says of them is added too.
        """
        chosen = worst_calls(last.contexts, self.calls, self.gaps, self.epsilon)
        seen = [self.calls.vector]
        if self.slow:
            seen.append(last.contexts.exit_values(self._from_below(last.contexts)))
        for c, calls in chosen.items():
            known = self.vectors[c]
            new = [vectors[calls, : known.shape[1]] for vectors in seen]
            self.vectors[c] = arranged(np.concatenate([known, *new]), connected=self.connected)

    def _start(self, contexts: Contexts, slack: float) -> tuple[Floats, float, Inverses | None]:
        """Values to start from: those of the last round, continued to the new points.

        The first round starts from below: from there, the upper bound comes to the least of its
        fixed points. So do rounds after a slow one, which may be stuck at a greater one, and points
        that are not connected always, since they have more of them.
        """
        if self.last is None or self.slow or not self.connected:
            return self._from_below(contexts), slack, None
        old, values = self.last, np.empty(int(contexts.base[-1]))
        near = _nearest(old.contexts, contexts)
        for c, own in enumerate(near):
            known = old.contexts.points[c].vectors[own]
            rise = (contexts.points[c].vectors - known).max(axis=1)
            contexts.view(values, c)[:] = old.contexts.view(old.values, c)[:, own] + rise
        assert old.inverses is not None
        return values, slack, old.inverses.carried(contexts, near)

    def _from_above(self, contexts: Contexts) -> Floats:
        """The first bound at all points."""
        values = np.empty(int(contexts.base[-1]))
        for c, points in enumerate(contexts.points):
            anchor, crude = self.problem.crude(c)
            rise = (points.vectors - anchor).max(axis=1)
            contexts.view(values, c)[:] = crude[:, None] + rise
        return values

    def _from_below(self, contexts: Contexts) -> Floats:
        """The values of the best pieces so far at all points."""
        values = np.empty(int(contexts.base[-1]))
        for c, points in enumerate(contexts.points):
            part = self.problem.components[c]
            worth = self.lower.at(c, points.vectors, part.entry_rows).sum(axis=1)
            best = worth.argmax(axis=1)
            own = self.lower.of_pieces(c, best, points.vectors)
            contexts.view(values, c)[:] = own
        return values


def newton_effort(slots: int) -> int:
    """Effort of a step of Newton's method with a number of slots (see `Batch.settle`)."""
    return _NEWTON * (slots + _CALLS)


def _nearest(old: Contexts, new: Contexts) -> list[np.ndarray]:
    """For each new context of each component, the nearest old one."""
    near = []
    for known, points in zip(old.points, new.points, strict=True):
        apart = np.abs(points.vectors[:, None, 0] - known.vectors[None, :, 0])
        for k in range(1, known.vectors.shape[1]):
            np.maximum(apart, np.abs(points.vectors[:, None, k] - known.vectors[:, k]), out=apart)
        near.append(apart.argmin(axis=1))
    return near


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """The calls of all contexts, as an upper bound values them.

    Attributes:
        vector: Exit values of each call, padded with 0. ``[calls, K]``
        value: The bound there.
    """

    vector: Floats
    value: Floats

    @classmethod
    def of(cls, upper: Upper) -> Calls:
        """Read them off an upper bound."""
        ctx = upper.contexts
        return cls(ctx.exit_values(upper.values), upper.values[ctx.call_slots])


def weighted(visits: Floats, gaps: Floats) -> Floats:
    """Gaps of calls times their visits; 0 without visits, even where a gap is infinite.

    Example:
        >>> weighted(np.array([0.0, 2.0]), np.array([np.inf, 3.0])).tolist()
        [0.0, 6.0]
    """
    return np.multiply(visits, gaps, out=np.zeros(len(visits)), where=visits > 0.0)


def interpolation_errors(upper: Upper, calls: Calls, reach: Floats) -> Floats:
    """The bound at each call, less the tangent at the context with the greatest weight.

    That is its upper value continued along the probabilities to leave through each exit (by entry
    number), which leaves out what the context itself lacks.
    """
    ctx, near = upper.contexts, upper.links.heaviest
    entry = ctx.called(near)
    apart = np.where(ctx.call_inside, calls.vector - ctx.called_vectors(near), np.inf)
    least = apart.min(axis=1)
    along = np.where(ctx.call_inside, apart - least[:, None], 0.0)
    tangent = upper.entries[entry] + least + (reach[entry] * along).sum(axis=1)
    errors: Floats = np.maximum(calls.value - tangent, 0.0)
    return errors


def gaps_of_calls(upper: Upper, calls: Calls, lower: Lower) -> Floats:
    """The bound at each call, less what the context with the greatest weight earns; 0 if at it."""
    ctx, near = upper.contexts, upper.links.heaviest
    slot = ctx.entry_slots[ctx.called(near)]
    inside = ctx.call_inside
    low = np.where(inside, calls.vector, np.inf).min(axis=1)
    along = np.where(inside, calls.vector - low[:, None], 0.0)
    below = lower.rewards[slot] + low + (lower.reach[slot] * along).sum(axis=1)
    apart = calls.vector - ctx.called_vectors(near)
    wide = np.where(inside, apart, -np.inf).max(axis=1)
    wide -= np.where(inside, apart, np.inf).min(axis=1)
    other = wide > 1e-12 * (1.0 + np.abs(calls.vector).max(axis=1))
    gaps: Floats = np.maximum(calls.value - below, 0.0) * other
    return gaps


def inverses_of(upper: Upper) -> Inverses:
    """The inverses of an upper bound, nearly up to date."""
    upper.inverses = upper.inverses or Inverses(upper.contexts)
    upper.links.update(upper.inverses, [np.arange(n) for n in upper.contexts.count], _SAME)
    return upper.inverses


def arrivals(upper: Upper, inverses: Inverses) -> Floats:
    """Probability to leave through each exit, from each entry, as the upper bound has it."""
    ctx = upper.contexts
    exits = ctx.only_exits()
    arrive = inverses.solve(exits)
    for _ in range(_TERMS):
        left = exits + upper.links.follow(arrive) - arrive
        arrive = arrive + inverses.solve(left)
        if not 1e-5 < np.abs(left).max() < 1.0:
            break
    arrive = np.maximum(arrive[ctx.entry_slots], 0.0)
    scaled: Floats = arrive / np.maximum(arrive.sum(axis=1, keepdims=True), 1e-300)
    return scaled


def visits_of_calls(upper: Upper, inverses: Inverses) -> Floats:
    """Expected number of visits of each call in a run from the start."""
    ctx = upper.contexts
    start = np.zeros(int(ctx.entry_base[-1]))
    prob = ctx.problem.tables.start_prob
    for entry, (c, mix) in enumerate(upper.start_mixes()):
        for x, weight in mix:
            ctx.view_entries(start, c)[entry, x] += prob[entry] * weight
    visits = inverses.visits()
    entries = _forward((visits @ upper.links.matrix).T, start)
    found: Floats = np.maximum(visits.T @ entries, 0.0)
    return found


def _forward(matrix: Any, start: Floats) -> Floats:
    """Start + matrix start + matrix^2 start + ..., or its first terms if there is no end."""
    total = solve_from_identity(matrix, start, rtol=1e-10)
    if total.min(initial=0.0) >= -1e-6 * total.max(initial=1.0):
        return np.maximum(total, 0.0)
    total = term = start
    for _ in range(_TERMS):
        term = matrix @ term
        if not np.abs(term).max(initial=0.0) < _ENDLESS:
            break
        total = total + term
    return total


def worst_calls(
    contexts: Contexts, calls: Calls, gaps: Floats, epsilon: float
) -> dict[int, np.ndarray]:
    """Calls, by component, whose exit values make up nearly all of the gap."""
    if not (gaps > 0.0).any():
        return {}
    order = np.argsort(-gaps, kind="stable")
    total = np.cumsum(gaps[order])
    left = np.clip(0.2 * epsilon, 0.01 * total[-1], 0.1 * total[-1])
    enough = int(np.searchsorted(total, total[-1] - left))
    order = order[: enough + 1]
    order = order[gaps[order] > 0.0]
    callee = contexts.call_callee[order]
    found = {}
    for c in np.unique(callee).tolist():
        mine, points = order[callee == c], contexts.points[c]
        vectors = calls.vector[mine][:, : points.vectors.shape[1]]
        _, firsts = np.unique(points.cells(vectors), return_index=True)
        found[c] = mine[np.sort(firsts)][: max(64, len(points))]
    return found
