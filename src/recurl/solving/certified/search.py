"""The search over whole sets of points: solve all together, then add points where it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import Floats, Tables
from recurl.solving.certified import kernel
from recurl.solving.certified.bounds import Lower, Problem, Upper, lower_bound, upper_bound
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
        upper = upper_bound(problem, points, self._below(points, self.lower), slack)
        suggested, lower = lower_bound(problem, upper, slack)
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

    def _below(self, points: Points, lower: Lower) -> Floats:
        """Values below the fixed point for all points: what the best piece says there.

        From below, iteration comes to the least of the fixed points.
        """
        t = self.problem.tables
        values = np.empty(int(points.slot[-1]))
        for c in range(t.n_components):
            exits, entries = int(t.n_exits[c]), int(t.n_entries[c])
            span = slice(int(points.slot[points.first[c]]), int(points.slot[points.first[c + 1]]))
            vectors = points.vector[points.first[c] : points.first[c + 1], :exits]
            rewards, reach = _pieces_of(t, lower, c)
            values[span] = _best_pieces(rewards, reach[:, :, :exits], vectors, entries).ravel()
        return values


def _pieces_of(t: Tables, lower: Lower, c: int) -> tuple[Floats, Floats]:
    """R and p of a component's pieces: a row each, by vertex."""
    pts = lower.points
    count = int(pts.first[c + 1] - pts.first[c])
    span = slice(int(pts.slot[pts.first[c]]), int(pts.slot[pts.first[c + 1]]))
    rewards, reach = lower.rewards[span], lower.reach[span]
    return rewards.reshape(count, -1), reach.reshape(count, -1, reach.shape[1])


def _best_pieces(rewards: Floats, reach: Floats, vectors: Floats, entries: int) -> Floats:
    """Values of all vertices at some exit values, by the piece that is best at the entries."""
    least = vectors.min(axis=1)
    rest = vectors - least[:, None]
    worth = np.einsum("jek,ik->ij", reach[:, :entries], rest) + rewards[:, :entries].sum(axis=1)
    best = worth.argmax(axis=1)
    values: Floats = rewards[best] + np.einsum("iqk,ik->iq", reach[best], rest) + least[:, None]
    return values


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
