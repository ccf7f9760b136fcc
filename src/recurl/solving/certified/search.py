"""The search over whole sets of points: solve all together, then add points where it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import Floats, Ints, Tables
from recurl.solving.certified import kernel, policy_kernel
from recurl.solving.certified.bounds import (
    Lower,
    Problem,
    Upper,
    entry_slots,
    lower_bound,
    upper_bound,
)
from recurl.solving.certified.points import CLOUD, MESH_EXITS, Points, arranged, make_points
from recurl.solving.certified.refine import new_vectors, visited_calls

if TYPE_CHECKING:
    from recurl.solving.certified.refine import Calls


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

    def keep(self, problem: Problem, upper: Upper, lower: Lower) -> None:
        """Take what is better than before."""
        high = start_above(problem, upper)
        low = lower.start(problem)
        if high < self.high:
            self.high, self.upper = high, upper
        if lower.sound and low > self.low:
            self.low, self.lower = low, lower


class Search:
    """Rounds of: solve all points together, evaluate the policy, add points where the gap is."""

    def __init__(
        self,
        problem: Problem,
        epsilon: float,
        seeds: list[Floats],
        lower: Lower,
        *,
        connected: bool,
    ) -> None:
        self.problem, self.epsilon, self.connected = problem, epsilon, connected
        self.lower = lower
        self.rounds = self.sweeps = 0
        self.last: Upper | None = None
        self.calls: Calls | None = None
        t = problem.tables
        crude = [problem.crude(c)[0] for c in range(t.n_components)]
        self.anchors = crude if connected else None
        self.vectors = [
            arranged(np.concatenate([self._first_vectors(c), seeds[c]]), connected=connected)
            for c in range(t.n_components)
        ]

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

    def round(self, found: Found) -> tuple[Upper, Lower]:
        """Add points where the last round left a gap, solve, and keep the better bounds.

        Returns the bounds of this round.
        """
        if self.calls is not None:
            self._refine(self.calls)
        problem = self.problem
        slack = problem.slack(max(self.epsilon, 0.1 * min(found.gap, problem.size)))
        points = make_points(problem.tables, self.vectors, self.anchors)
        warm = self._warm(points)
        below = policy_kernel.lower_values(problem.tables, points, warm.reach, warm.rewards)
        upper = upper_bound(problem, points, below, slack)
        suggested, lower = lower_bound(problem, upper, slack, warm)
        found.keep(problem, upper, lower)
        self.rounds += 1
        self.sweeps += upper.sweeps + lower.sweeps
        self.last = upper
        if lower.sound:
            self.lower = lower
        self.calls = visited_calls(problem, upper, suggested, 1e-9)
        return upper, lower

    @property
    def finished(self) -> bool:
        """Whether no call is left at which more points would help."""
        return self.calls is not None and not (self.calls.gap > 0.0).any()

    def _refine(self, calls: Calls) -> None:
        assert self.last is not None
        for c, vectors in new_vectors(self.problem, self.last, calls, self.epsilon).items():
            merged = np.concatenate([self.vectors[c], vectors])
            self.vectors[c] = arranged(merged, connected=self.connected)

    def _warm(self, points: Points) -> Lower:
        """The best pieces so far at all points, as a start for both bounds.

        From values below, the upper bound comes to the least of its fixed points.
        """
        t, old = self.problem.tables, self.lower
        slots = []
        for c in range(t.n_components):
            size = int(t.component_start[c + 1] - t.component_start[c])
            best = _best_pieces(t, old, c, points.vector[points.first[c] : points.first[c + 1]])
            slots.append((old.points.slot[best][:, None] + np.arange(size)).ravel())
        from_slot = np.concatenate(slots)
        warm = Lower.of(t, points, old.action[from_slot].copy(), old.callee[from_slot].copy())
        warm.reach[:], warm.rewards[:] = old.reach[from_slot], old.rewards[from_slot]
        entry = entry_slots(points)
        warm.entry_reach[:], warm.entry_rewards[:] = warm.reach[entry], warm.rewards[entry]
        return warm


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


def start_above(problem: Problem, upper: Upper) -> float:
    """What an upper bound proves of the start, its excess counted."""
    t = problem.tables
    first = int(t.component_start[t.start_component])
    total = 0.0
    for entry, prob in enumerate(t.start_prob):
        value, _ = start_mix(problem, upper, entry)
        total += prob * (value + upper.excess * problem.steps[first + entry])
    return float(total)


def start_mix(problem: Problem, upper: Upper, entry: int) -> tuple[float, list[tuple[int, float]]]:
    """Upper bound at an entry of the start component, and the mix of points that gives it."""
    pts, c, root = upper.points, problem.tables.start_component, problem.root
    if pts.mode[c] == CLOUD:
        context, value = kernel.nearest(pts, c, root, len(root), upper.entries, entry)
        return value, [(int(context), 1.0)]
    nodes, weights = np.full(len(root) + 1, -1, np.int64), np.zeros(len(root) + 1)
    n = kernel.locate(pts, c, root, len(root), nodes, weights)
    value = kernel.beyond(pts, root, len(root), nodes, weights, n)
    value += float(weights[:n] @ upper.entries[pts.entry[nodes[:n]] + entry])
    return value, list(zip(nodes[:n].tolist(), weights[:n].tolist(), strict=True))
