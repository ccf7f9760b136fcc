"""The search over whole sets of points: solve all together, then add points where it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import Floats, Ints, Tables
from recurl.solving.certified import policy_kernel
from recurl.solving.certified.lower import Lower, improved, lower_bound
from recurl.solving.certified.points import (
    CLOUD,
    MESH_EXITS,
    Points,
    arranged,
    call_slots,
    make_points,
)
from recurl.solving.certified.refine import (
    Calls,
    gaps_of_calls,
    interpolation_errors,
    visits_of_calls,
    worst_calls,
)
from recurl.solving.certified.upper import Links, Upper, no_hint, start_above, upper_bound

if TYPE_CHECKING:
    from recurl.solving.certified.problem import Problem


_SLOW = 0.85
"""Share of the gap that a round leaves if it is a slow one."""


@dataclass(slots=True, eq=False)
class Found:
    """The best bounds so far, each with what proves it."""

    low: float = -np.inf
    high: float = np.inf
    lower: Lower | None = None
    upper: Upper | None = None

    @property
    def gap(self) -> float:
        """Width of the interval."""
        return self.high - self.low

    def keep_upper(self, problem: Problem, upper: Upper) -> None:
        """Take an upper bound if it is better than before."""
        high = start_above(problem, upper)
        if high < self.high:
            self.high, self.upper = high, upper

    def keep_lower(self, problem: Problem, lower: Lower) -> None:
        """Take a lower bound if it is sound and better than before."""
        low = lower.start(problem)
        if lower.sound and low > self.low:
            self.low, self.lower = low, lower


class Search:
    """Rounds of: solve all points together, evaluate the policy, add points where the gap is.

    The policy is evaluated only when the errors of the calls add up to much less than the gap.
    """

    def __init__(
        self,
        problem: Problem,
        epsilon: float,
        seeds: list[Floats] | None,
        lower: Lower,
        *,
        connected: bool,
    ) -> None:
        self.problem, self.epsilon, self.connected = problem, epsilon, connected
        self.lower = lower
        self.last: Upper | None = None
        self.slow = False
        t = problem.tables
        crude = [problem.crude(c)[0] for c in range(t.n_components)]
        self.anchors = crude if connected else None
        self.vectors = [self._first_vectors(c) for c in range(t.n_components)]
        if seeds is not None:
            self.vectors = [np.concatenate(pair) for pair in zip(self.vectors, seeds, strict=True)]
        self.vectors = [arranged(v, connected=connected) for v in self.vectors]

    def _first_vectors(self, c: int) -> Floats:
        t = self.problem.tables
        vectors = self.problem.crude(c)[0][None, :]
        if c == t.start_component:
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

    def round(self, found: Found) -> None:
        """Add points where the last round left a gap, solve, and keep the better bounds."""
        problem, before = self.problem, found.gap
        if self.last is not None:
            self._refine(self.last)
        points = make_points(problem.tables, self.vectors, self.anchors)
        upper, slack = self._solved(points, found)
        links = Links.of(problem, points, upper.entries, upper.values, no_hint(points))
        self.calls = Calls.of(problem, points, upper.values)
        visits = visits_of_calls(problem, upper, links)
        self.gaps = visits * interpolation_errors(upper, links, self.calls, links.flow.arrive)
        self.last = upper
        promising = max(0.8 * self.epsilon, 0.1 * found.gap)
        if not self.connected or float(self.gaps.sum()) <= promising:
            self._descend(found, upper, links, visits, slack)
        self.slow = found.gap > _SLOW * before

    def _solved(self, points: Points, found: Found) -> tuple[Upper, float]:
        """The upper bound at all points, kept, and its slack: a share of the gap that it leaves."""
        problem, slack = self.problem, self._slack(found.gap)
        upper = upper_bound(problem, points, self._start(points), slack)
        if upper.rest is not None and not upper.rest.found:
            upper = upper_bound(problem, points, self._from_above(points), slack)
        found.keep_upper(problem, upper)
        finer = self._slack(found.gap)
        if finer < 0.1 * slack:
            upper, slack = upper_bound(problem, points, upper.values, finer), finer
            found.keep_upper(problem, upper)
        return upper, slack

    def _slack(self, gap: float) -> float:
        return self.problem.slack(max(self.epsilon, 0.1 * min(gap, self.problem.size)))

    def _descend(
        self, found: Found, upper: Upper, links: Links, visits: Floats, slack: float
    ) -> None:
        """Evaluate the policy that an upper bound suggests, and see better where the gap is.

        A bit of the gap between the bounds leads on where there is nothing to interpolate yet.
        """
        lower = self._policy(upper, links, slack)
        found.keep_lower(self.problem, lower)
        if lower.sound:
            self.lower = lower
            errors = interpolation_errors(upper, links, self.calls, lower.entry_reach)
            gaps = gaps_of_calls(upper, links, self.calls, lower)
            self.gaps = visits * np.maximum(errors, 0.02 * gaps)

    def _policy(self, upper: Upper, links: Links, slack: float) -> Lower:
        """The policy that an upper bound suggests."""
        t, pts = self.problem.tables, upper.points
        callee = np.zeros(len(upper.values), np.int32)
        callee[call_slots(t, pts)] = links.heaviest
        lower = lower_bound(self.problem, pts, links.action, callee, slack)
        if lower.sound and (pts.mode == CLOUD).any():
            lower = improved(self.problem, lower, links.nodes, slack)
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
        chosen = worst_calls(self.problem, last.points, self.calls, self.gaps, self.epsilon)
        seen = [self.calls.vector]
        if self.slow:
            below = Calls.of(self.problem, last.points, self._from_below(last.points))
            seen.append(below.vector)
        for c, calls in chosen.items():
            known = self.vectors[c]
            new = [vectors[calls, : known.shape[1]] for vectors in seen]
            self.vectors[c] = arranged(np.concatenate([known, *new]), connected=self.connected)

    def _start(self, points: Points) -> Floats:
        """Values to start from: those of the last round, continued to the new points.

        The first round starts from below: from there, the upper bound comes to the least of its
        fixed points. So do rounds after a slow one, which may be stuck at a greater one, and points
        that are not connected always, since they have more of them.
        """
        if self.last is None or self.slow or not self.connected:
            return self._from_below(points)
        t, old = self.problem.tables, self.last
        slots, rises = [], []
        for c in range(t.n_components):
            size = int(t.component_start[c + 1] - t.component_start[c])
            near, rise = _nearest(old.points, points, c)
            slots.append((old.points.slot[near][:, None] + np.arange(size)).ravel())
            rises.append(np.repeat(rise, size))
        values: Floats = old.values[np.concatenate(slots)] + np.concatenate(rises)
        return values

    def _from_above(self, points: Points) -> Floats:
        """What the first bound says at all points."""
        t = self.problem.tables
        values = []
        for c in range(t.n_components):
            anchor, crude = self.problem.crude(c)
            own = points.vector[points.first[c] : points.first[c + 1], : len(anchor)]
            values.append(((own - anchor).max(axis=1)[:, None] + crude).ravel())
        return np.concatenate(values)

    def _from_below(self, points: Points) -> Floats:
        """What the best pieces so far earn at all points."""
        t, old = self.problem.tables, self.lower
        slots = []
        for c in range(t.n_components):
            size = int(t.component_start[c + 1] - t.component_start[c])
            best = _best_pieces(t, old, c, points.vector[points.first[c] : points.first[c + 1]])
            slots.append((old.points.slot[best][:, None] + np.arange(size)).ravel())
        from_slot = np.concatenate(slots)
        values: Floats = policy_kernel.lower_values(
            t, points, old.reach[from_slot], old.rewards[from_slot]
        )
        return values


def _nearest(old: Points, new: Points, c: int) -> tuple[Ints, Floats]:
    """For each new context of a component, the nearest old one, and max(v - v_old)."""
    known = old.vector[old.first[c] : old.first[c + 1]]
    vectors = new.vector[new.first[c] : new.first[c + 1]]
    near = np.abs(vectors[:, None, :] - known[None, :, :]).max(axis=2).argmin(axis=1)
    rise: Floats = (vectors - known[near]).max(axis=1)
    return (old.first[c] + near).astype(np.int32), rise


def _best_pieces(t: Tables, lower: Lower, c: int, vectors: Floats) -> Ints:
    """For each of some exit values of a component, the context whose piece is best at entries."""
    pts, exits = lower.points, int(t.n_exits[c])
    contexts = np.arange(pts.first[c], pts.first[c + 1])
    rows = pts.entry[contexts][:, None] + np.arange(t.n_entries[c])
    rest = vectors[:, :exits] - vectors[:, :exits].min(axis=1, keepdims=True)
    reach = lower.entry_reach[rows][:, :, :exits].sum(axis=1)
    worth = rest @ reach.T + lower.entry_rewards[rows].sum(axis=1)
    best: Ints = contexts[worth.argmax(axis=1)]
    return best
