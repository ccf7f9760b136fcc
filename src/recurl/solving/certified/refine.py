"""Where to put more points: at the exit values of calls that are visited and not yet closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL, Floats, Ints
from recurl.solving.certified import kernel, policy_kernel
from recurl.solving.certified.bounds import slot_vertices
from recurl.solving.certified.fixed_point import fixed_point
from recurl.solving.certified.points import LINE, MESH

if TYPE_CHECKING:
    from recurl.solving.certified.bounds import Lower, Problem, Upper
    from recurl.solving.certified.points import Points


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """The calls that a policy makes: how often, at which exit values, and what is open there.

    Attributes:
        component: Component called.
        vector: Exit values of the call under the upper bound, padded with 0.
        visits: Expected number of such calls in a run.
        gap: Visits times how far the upper bound may be off there.
    """

    component: Ints
    vector: Floats
    visits: Floats
    gap: Floats


def visited_calls(problem: Problem, upper: Upper, lower: Lower, tolerance: float) -> Calls:
    """The calls that a run of the policy makes."""
    t, pts = problem.tables, upper.points
    visits = _slot_visits(problem, lower)
    vertex = slot_vertices(t, pts)
    slots = np.flatnonzero((t.vertex_kind[vertex] == CALL) & (visits > tolerance))
    box = t.vertex_box[vertex[slots]]
    component = t.box_component[box]
    exits = t.n_exits[component]
    ports = (slots + t.box_return[box] - vertex[slots])[:, None] + np.arange(t.max_exits)
    inside = np.arange(t.max_exits) < exits[:, None]
    vector = np.where(inside, upper.values[np.where(inside, ports, 0)], 0.0)
    gap: Floats = visits[slots] * _open(problem, upper, lower, slots, vector, inside)
    return Calls(component, vector, visits[slots], gap)


def _open(
    problem: Problem,
    upper: Upper,
    lower: Lower,
    slots: np.ndarray,
    vector: Floats,
    inside: np.ndarray,
) -> Floats:
    """How far the bound may be off at calls: the error of interpolation, and a bit of the gap.

    The first is the bound less the tangent at the context entered, its upper value continued along
    the policy's p: it leaves out what the context itself still lacks. The second leads on where
    there is nothing to interpolate yet.
    """
    t, pts = problem.tables, upper.points
    vertex = slot_vertices(t, pts)[slots]
    entry = pts.entry[lower.callee[slots]] + t.vertex_port[vertex]
    apart = np.where(inside, vector - pts.vector[lower.callee[slots]], np.inf)
    least = apart.min(axis=1)
    along = np.where(inside, apart - least[:, None], 0.0)
    reach = lower.entry_reach[entry]
    tangent = upper.entries[entry] + least + (reach * along).sum(axis=1)
    low = np.where(inside, vector, np.inf).min(axis=1)
    below = lower.entry_rewards[entry] + low
    below += (reach * np.where(inside, vector - low[:, None], 0.0)).sum(axis=1)
    elsewhere = along.max(axis=1) > 1e-12 * (1.0 + np.abs(vector).max(axis=1))
    gap = np.maximum(upper.values[slots] - below, 0.0)
    error: Floats = np.maximum(upper.values[slots] - tangent, 0.02 * gap * elsewhere)
    return error


def _slot_visits(problem: Problem, lower: Lower) -> Floats:
    """Expected visits of each slot in a run of the policy from the start."""
    t, pts = problem.tables, lower.points
    start = np.zeros(int(pts.entry[-1]))
    contexts, _ = lower.at(t, t.start_component, problem.root)
    for entry, context in enumerate(contexts):
        start[pts.entry[context] + entry] = t.start_prob[entry]
    visits = np.zeros(int(pts.slot[-1]))

    def step(entries: Floats) -> Floats:
        out: Floats = policy_kernel.visit_step(
            t, pts, problem.order, lower.action, lower.callee, lower.entry_reach,
            np.maximum(entries, 0.0), start, visits, 1e-12,
        )  # fmt: skip
        return out

    fixed_point(step, start, 1e-9, limit=100)
    return visits


def new_vectors(problem: Problem, upper: Upper, calls: Calls, epsilon: float) -> dict[int, Floats]:
    """Vectors worth adding, by component: those that make up nearly all of the gap."""
    pts = upper.points
    order = np.argsort(-calls.gap, kind="stable")
    total = np.cumsum(calls.gap[order])
    enough = int(np.searchsorted(total, max(0.99 * total[-1], total[-1] - 0.1 * epsilon)))
    order = order[: enough + 1] if len(order) else order
    order = order[calls.gap[order] > 0.0]
    found = {}
    for c in np.unique(calls.component[order]).tolist():
        mine = order[calls.component[order] == c]
        vectors = calls.vector[mine][:, : problem.tables.n_exits[c]]
        count = max(64, int(pts.first[c + 1] - pts.first[c]))
        found[c] = vectors[_one_per_cell(pts, c, vectors)][:count]
    return found


def _one_per_cell(pts: Points, c: int, vectors: Floats) -> np.ndarray:
    """Of vectors in falling order of worth, the first in each segment or simplex."""
    if pts.mode[c] not in (LINE, MESH):
        return np.arange(len(vectors))
    cells = kernel.cells_of(pts, c, vectors)
    _, firsts = np.unique(cells, axis=0, return_index=True)
    return np.sort(firsts)
