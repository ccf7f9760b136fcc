"""The upper bound at a set of points: the least values that all inequalities allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.model.tables import Floats, Ints
from recurl.solving.certified import kernel, places_kernel
from recurl.solving.certified.flow import Flow, flow_of
from recurl.solving.certified.newton import Fineness, Rest, fixed_point
from recurl.solving.certified.points import CLOUD, CORNERS, call_slots, entry_values, slot_vertices
from recurl.solving.certified.threads import spread

if TYPE_CHECKING:
    from recurl.solving.certified.points import Points
    from recurl.solving.certified.problem import Problem

Mix = list[tuple[int, float]]
"""Contexts with their weights."""


@dataclass(slots=True, eq=False)
class Upper:
    """An upper bound: points whose values satisfy the inequalities up to some excess.

    Attributes:
        points: The points.
        values: Upper values by slot.
        entries: Those of entries.
        excess: The most by which an inequality fails at a point that the start leads to.
        rest: How they were found, if by a search for a fixed point.
    """

    points: Points
    values: Floats
    entries: Floats
    excess: float
    rest: Rest | None = None

    @classmethod
    def of(
        cls, problem: Problem, points: Points, values: Floats, rest: Rest | None = None
    ) -> Upper:
        """Take values as they are, and see by how much they fail where the start leads."""
        upper = cls(points, values, entry_values(points, values), 0.0, rest)
        start = [context for mix in start_mixes(problem, upper) for context, _ in mix]
        upper.excess = upper.excess_from(problem, start)
        return upper

    def excess_from(self, problem: Problem, contexts: Sequence[int]) -> float:
        """The most by which an inequality fails at the points that some contexts lead to."""
        excess = kernel.upper_excess(
            problem.tables, self.points, problem.gain, self.entries, self.values,
            np.array(contexts),
        )  # fmt: skip
        return float(excess) + 2e-14 * float(np.abs(self.values).max(initial=1.0))

    def settled(self, problem: Problem, excess: float | None = None) -> Upper:
        """The same bound raised by excess times d, exit values included: nothing fails any more.

        With d(q) >= 1 + sum p d(q') and d(call) >= 1 + d(en) + max (d(ret) - d(ex)), every
        inequality gains at least the excess: its own, if no other is given.
        """
        t, pts = problem.tables, self.points
        rise = (self.excess if excess is None else excess) * problem.steps
        vector = pts.vector.copy()
        for c in range(t.n_components):
            first = t.component_start[c] + t.n_entries[c]
            own = slice(pts.first[c], pts.first[c + 1])
            vector[own, : t.n_exits[c]] += rise[first : first + t.n_exits[c]]
        values = self.values + rise[slot_vertices(t, pts)]
        raised = pts._replace(vector=vector)
        return Upper(raised, values, entry_values(raised, values), 0.0)


def upper_bound(problem: Problem, points: Points, start: Floats, slack: float) -> Upper:
    """The fixed point of the upper operator on all points, from given values."""
    t, gain, order = problem.tables, problem.gain, problem.order
    values = start.copy()
    least = slack * max(1.0, problem.size)
    fine = Fineness(0.01 * least)
    given, hint = entry_values(points, values), no_hint(points)

    def step(entries: Floats) -> Floats:
        given[:] = entries
        out = np.empty_like(entries)
        spread(
            len(points.component),
            len(values),
            lambda a, b: kernel.upper_step(
                t, points, gain, order, entries, values, hint, fine.now, out, a, b
            ),
        )
        return fine.after(out, entries)

    def slopes() -> Any:
        return Links.of(problem, points, given, values, hint).matrix(problem, points)

    rest = fixed_point(step, slopes, given.copy(), 0.3 * least)
    if not rest.found:
        step(rest.x)  # the values are those of the last step, not of the best
    return Upper.of(problem, points, values, rest)


def no_hint(points: Points) -> np.ndarray:
    """Nothing known yet of where the calls of all contexts are found."""
    return np.full(int(points.call[-1]), -1)


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """What upper values are made of: the best actions, and the contexts that bound each call.

    Attributes:
        action: Best action of each slot, counted within its vertex.
        nodes: Contexts that bound each call, -1 where there are fewer. ``[calls, CORNERS]``
        weights: Their convex weights.
        share: How a call's bound moves with the worth of each return port. ``[calls, K]``
        flow: Where runs go that follow them.
    """

    action: Ints
    nodes: np.ndarray
    weights: Floats
    share: Floats
    flow: Flow

    @classmethod
    def of(
        cls, problem: Problem, points: Points, entries: Floats, values: Floats, hint: np.ndarray
    ) -> Links:
        """Read them off values; ``hint`` says where calls were found before (see `locate`)."""
        t, calls = problem.tables, int(points.call[-1])
        action = np.zeros(len(values), np.int32)
        nodes, weights = np.empty((calls, CORNERS), np.int64), np.empty((calls, CORNERS))
        share = np.empty((calls, t.max_exits))
        spread(
            len(points.component),
            len(values),
            lambda a, b: kernel.links(
                t, points, problem.gain, entries, values, action, nodes, weights, share, hint, a, b
            ),
        )
        return cls(action, nodes, weights, share, flow_of(problem, points, action, share))

    @property
    def heaviest(self) -> np.ndarray:
        """The context with the greatest weight at each call."""
        chosen: np.ndarray = self.nodes[np.arange(len(self.nodes)), self.weights.argmax(axis=1)]
        return chosen

    def matrix(self, problem: Problem, points: Points) -> Any:
        """How the values of entries move with each other."""
        t = problem.tables
        port = t.vertex_port[slot_vertices(t, points)[call_slots(t, points)]]
        column = points.entry[self.nodes] + port[:, None]
        return self.flow.matrix(column, self.weights, int(points.entry[-1]))


def start_above(problem: Problem, upper: Upper) -> float:
    """What an upper bound proves of the start, its excess counted."""
    t = problem.tables
    first = int(t.component_start[t.start_component])
    total = 0.0
    for entry, prob in enumerate(t.start_prob):
        value, _ = start_mix(problem, upper, entry)
        total += prob * (value + upper.excess * problem.steps[first + entry])
    return float(total)


def start_mixes(problem: Problem, upper: Upper) -> list[Mix]:
    """The mix of points that bounds each entry of the start component."""
    return [start_mix(problem, upper, e)[1] for e in range(len(problem.tables.start_prob))]


def start_mix(problem: Problem, upper: Upper, entry: int) -> tuple[float, Mix]:
    """Upper bound at an entry of the start component, and the mix of points that gives it."""
    pts, c, root = upper.points, problem.tables.start_component, problem.root
    if pts.mode[c] == CLOUD:
        context, value = places_kernel.nearest(pts, c, root, len(root), upper.entries, entry)
        return value, [(int(context), 1.0)]
    nodes, weights = np.full(CORNERS, -1, np.int64), np.zeros(CORNERS)
    n, _ = places_kernel.locate(pts, c, root, len(root), nodes, weights, -1)
    value = places_kernel.beyond(pts, root, len(root), nodes, weights, n)
    value += float(weights[:n] @ upper.entries[pts.entry[nodes[:n]] + entry])
    return value, list(zip(nodes[:n].tolist(), weights[:n].tolist(), strict=True))
