"""Where to put more points: at the exit values of calls that are visited and not yet closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.model.tables import Floats, Ints
from recurl.solving.certified import places_kernel
from recurl.solving.certified.newton import solve_from_identity
from recurl.solving.certified.points import LINE, MESH, call_slots, slot_vertices
from recurl.solving.certified.upper import Links, start_mixes

if TYPE_CHECKING:
    from recurl.solving.certified.lower import Lower
    from recurl.solving.certified.points import Points
    from recurl.solving.certified.problem import Problem
    from recurl.solving.certified.upper import Upper

_TERMS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """The calls of all contexts, as a bound values them.

    Attributes:
        component: Component called.
        vector: Exit values of the call, padded with 0. ``[calls, K]``
        value: The bound there.
        port: Entry called, counted within the component.
        inside: Which exits there are. ``[calls, K]``
    """

    component: Ints
    vector: Floats
    value: Floats
    port: Ints
    inside: np.ndarray

    @classmethod
    def of(cls, problem: Problem, pts: Points, values: Floats) -> Calls:
        """Read them off values by slot."""
        t = problem.tables
        slots = call_slots(t, pts)
        vertex = slot_vertices(t, pts)[slots]
        box = t.vertex_box[vertex]
        component = t.box_component[box]
        inside = np.arange(t.max_exits) < t.n_exits[component][:, None]
        ports = (slots + t.box_return[box] - vertex)[:, None] + np.arange(t.max_exits)
        vector = np.where(inside, values[np.where(inside, ports, 0)], 0.0)
        return cls(component, vector, values[slots], t.vertex_port[vertex], inside)


def interpolation_errors(upper: Upper, links: Links, calls: Calls, reach: Floats) -> Floats:
    """The bound at each call, less the tangent at the context with the greatest weight.

    That is its upper value continued along the probabilities to leave through each exit, which
    leaves out what the context itself lacks.
    """
    pts = upper.points
    entry = pts.entry[links.heaviest] + calls.port
    apart = np.where(calls.inside, calls.vector - pts.vector[links.heaviest], np.inf)
    least = apart.min(axis=1)
    along = np.where(calls.inside, apart - least[:, None], 0.0)
    tangent = upper.entries[entry] + least + (reach[entry] * along).sum(axis=1)
    errors: Floats = np.maximum(calls.value - tangent, 0.0)
    return errors


def gaps_of_calls(upper: Upper, links: Links, calls: Calls, lower: Lower) -> Floats:
    """The bound at each call, less what the context with the greatest weight earns; 0 if at it."""
    pts = upper.points
    entry = pts.entry[links.heaviest] + calls.port
    low = np.where(calls.inside, calls.vector, np.inf).min(axis=1)
    along = np.where(calls.inside, calls.vector - low[:, None], 0.0)
    below = lower.entry_rewards[entry] + low + (lower.entry_reach[entry] * along).sum(axis=1)
    apart = calls.vector - pts.vector[links.heaviest]
    wide = np.where(calls.inside, apart, -np.inf).max(axis=1)
    wide -= np.where(calls.inside, apart, np.inf).min(axis=1)
    elsewhere = wide > 1e-12 * (1.0 + np.abs(calls.vector).max(axis=1))
    gaps: Floats = np.maximum(calls.value - below, 0.0) * elsewhere
    return gaps


def visits_of_calls(problem: Problem, upper: Upper, links: Links) -> Floats:
    """Expected number of visits of each call in a run from the start."""
    t, pts = problem.tables, upper.points
    start = np.zeros(int(pts.entry[-1]))
    for entry, mix in enumerate(start_mixes(problem, upper)):
        for context, weight in mix:
            start[pts.entry[context] + entry] += t.start_prob[entry] * weight
    entries = _forward(links.matrix(problem, pts).T, start)
    flow = links.flow
    weights = entries[flow.row] * flow.visit
    visits = np.bincount(flow.call, weights=weights, minlength=int(pts.call[-1]))
    return visits.astype(np.float64)


def _forward(matrix: Any, start: Floats) -> Floats:
    """Start + matrix start + matrix^2 start + ..., or its first terms if there is no end."""
    total = solve_from_identity(matrix, start)
    if total.min(initial=0.0) >= -1e-6 * total.max(initial=1.0):
        return np.maximum(total, 0.0)
    total = term = start
    for _ in range(_TERMS):
        term = matrix @ term
        total = total + term
    return total


def worst_calls(
    problem: Problem, points: Points, calls: Calls, gaps: Floats, epsilon: float
) -> dict[int, np.ndarray]:
    """Calls, by component, whose exit values make up nearly all of the gap."""
    order = np.argsort(-gaps, kind="stable")
    total = np.cumsum(gaps[order])
    enough = int(np.searchsorted(total, max(0.99 * total[-1], total[-1] - 0.1 * epsilon)))
    order = order[: enough + 1] if len(order) else order
    order = order[gaps[order] > 0.0]
    found = {}
    for c in np.unique(calls.component[order]).tolist():
        mine = order[calls.component[order] == c]
        vectors = calls.vector[mine][:, : problem.tables.n_exits[c]]
        count = max(64, int(points.first[c + 1] - points.first[c]))
        found[c] = mine[_one_per_cell(points, c, vectors)][:count]
    return found


def _one_per_cell(pts: Points, c: int, vectors: Floats) -> np.ndarray:
    """Of vectors in falling order of worth, the first in each segment or simplex."""
    if pts.mode[c] not in (LINE, MESH):
        return np.arange(len(vectors))
    cells = np.sort(places_kernel.cells_of(pts, c, vectors), axis=1)
    _, firsts = np.unique(cells, axis=0, return_index=True)
    return np.sort(firsts)
