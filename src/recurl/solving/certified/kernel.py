"""Compiled sweeps over all contexts at once.

``u`` and its kin hold values at the entries of every context, ``w`` and its kin at every slot.
A sweep takes the entries' values as given when it meets a call, and solves each component at each
of its vectors to the end; the maps from entries to entries that come of it have their fixed points
sought by acceleration (`fixed_point`).
"""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALL, EXIT, Tables
from recurl.solving.certified.points import CLOUD, LINE, MESH, Points

_SWEEPS = 10_000
NOISE = 4e-15
"""Relative change that rounding alone can keep up."""


@numba.njit(cache=True, nogil=True, inline="always")
def locate(
    pts: Points, c: int, v: np.ndarray, exits: int, nodes: np.ndarray, weights: np.ndarray
) -> int:
    """Contexts of component c around exit values v, and their convex weights (not for clouds)."""
    first, last = pts.first[c], pts.first[c + 1] - 1
    if pts.mode[c] == LINE:
        y = v[0] - v[1]
        if y <= pts.vector[first, 0] or y >= pts.vector[last, 0]:
            nodes[0] = first if y <= pts.vector[first, 0] else last
            weights[0] = 1.0
            return 1
        low, high = first, last
        while high - low > 1:
            middle = (low + high) // 2
            if pts.vector[middle, 0] <= y:
                low = middle
            else:
                high = middle
        share = (y - pts.vector[low, 0]) / (pts.vector[high, 0] - pts.vector[low, 0])
        nodes[0], nodes[1] = low, high
        weights[0], weights[1] = 1.0 - share, share
        return 2
    if pts.mode[c] == MESH:
        return _locate_in_mesh(pts, c, v, exits - 1, nodes, weights)
    nodes[0] = first
    weights[0] = 1.0
    return 1


@numba.njit(cache=True, nogil=True)
def _locate_in_mesh(
    pts: Points, c: int, v: np.ndarray, axes: int, nodes: np.ndarray, weights: np.ndarray
) -> int:
    """The simplex around v, by walking across the face that v is farthest beyond."""
    cell = pts.cells[c]
    for _ in range(pts.cells[c + 1] - pts.cells[c]):
        rest, farthest, beyond_it = 1.0, -1, -1e-12
        for i in range(axes):
            weights[i] = 0.0
            for j in range(axes):
                offset = v[j] - v[axes] - pts.barycentric[cell, axes, j]
                weights[i] += pts.barycentric[cell, i, j] * offset
            rest -= weights[i]
        weights[axes] = rest
        for i in range(axes + 1):
            if not weights[i] >= beyond_it:  # a flat simplex has no weights at all
                farthest, beyond_it = i, weights[i]
        if farthest < 0:
            return _settled(pts, cell, axes, nodes, weights)
        if pts.neighbour[cell, farthest] < 0:
            break
        cell = pts.neighbour[cell, farthest]
    nodes[0] = _closest(pts, c, v, axes + 1)
    weights[0] = 1.0
    return 1


@numba.njit(cache=True, nogil=True)
def _settled(pts: Points, cell: int, axes: int, nodes: np.ndarray, weights: np.ndarray) -> int:
    """Corners of a simplex, with weights made nonnegative."""
    total = 0.0
    for i in range(axes + 1):
        nodes[i] = pts.corner[cell, i]
        weights[i] = max(weights[i], 0.0)
        total += weights[i]
    for i in range(axes + 1):
        weights[i] /= total
    return axes + 1


@numba.njit(cache=True, nogil=True)
def _closest(pts: Points, c: int, v: np.ndarray, exits: int) -> int:
    """Context with the least max(v - v_i) - min(v - v_i)."""
    best, least = -1, np.inf
    for x in range(pts.first[c], pts.first[c + 1]):
        high, low = -np.inf, np.inf
        for k in range(exits):
            high = max(high, v[k] - pts.vector[x, k])
            low = min(low, v[k] - pts.vector[x, k])
        if high - low < least:
            best, least = x, high - low
    return best


@numba.njit(cache=True, nogil=True, inline="always")
def beyond(
    pts: Points, v: np.ndarray, exits: int, nodes: np.ndarray, weights: np.ndarray, n: int
) -> float:
    """max_ex (v[ex] - sum_j l_j v_j[ex])."""
    largest = -np.inf
    for k in range(exits):
        inside = 0.0
        for j in range(n):
            inside += weights[j] * pts.vector[nodes[j], k]
        largest = max(largest, v[k] - inside)
    return largest


@numba.njit(cache=True, nogil=True, inline="always")
def from_anchor(pts: Points, c: int, v: np.ndarray, exits: int) -> float:
    """max(v - v_i) for the anchor of a component: keeps interpolation from running away."""
    largest = -np.inf
    for k in range(exits):
        largest = max(largest, v[k] - pts.vector[pts.anchor[c], k])
    return largest


@numba.njit(cache=True, nogil=True)
def nearest(
    pts: Points, c: int, v: np.ndarray, exits: int, u: np.ndarray, entry: int
) -> tuple[int, float]:
    """Context of a cloud with the least u_i + max(v - v_i), and that bound."""
    best, value = -1, np.inf
    for x in range(pts.first[c], pts.first[c + 1]):
        own = u[pts.entry[x] + entry]
        largest = -np.inf
        for k in range(exits):
            largest = max(largest, v[k] - pts.vector[x, k])
            if own + largest >= value:
                break
        if own + largest < value:
            best, value = x, own + largest
    return best, value


@numba.njit(cache=True, nogil=True)
def upper_step(
    t: Tables,
    pts: Points,
    gain: np.ndarray,
    order: np.ndarray,
    u: np.ndarray,
    w: np.ndarray,
    tol: float,
    out: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Solve some contexts with calls worth what ``u`` says; ``out`` gets their entries' values.

    The contexts of a component are swept side by side: a row per vertex, a column per context.
    """
    for c in range(len(pts.mode)):
        low, high = max(begin, pts.first[c]), min(end, pts.first[c + 1])
        if low >= high:
            continue
        size = t.component_start[c + 1] - t.component_start[c]
        values = np.empty((size, high - low))
        for x in range(low, high):
            for i in range(size):
                values[i, x - low] = w[pts.slot[x] + i]
            for k in range(t.n_exits[c]):
                values[t.n_entries[c] + k, x - low] = pts.vector[x, k]
        for _ in range(_SWEEPS):
            if _sweep_upper(t, pts, gain, order, u, values, c) <= tol:
                break
        for x in range(low, high):
            for i in range(size):
                w[pts.slot[x] + i] = values[i, x - low]
            for entry in range(t.n_entries[c]):
                out[pts.entry[x] + entry] = values[entry, x - low]


@numba.njit(cache=True, nogil=True)
def _sweep_upper(
    t: Tables,
    pts: Points,
    gain: np.ndarray,
    order: np.ndarray,
    u: np.ndarray,
    values: np.ndarray,
    c: int,
) -> float:
    """One sweep over a component; returns the greatest change beyond rounding."""
    first, n = t.component_start[c], values.shape[1]
    total, best = np.empty(n), np.empty(n)
    change = 0.0
    for place in range(first, t.component_start[c + 1]):
        q = order[place]
        if t.vertex_kind[q] == EXIT:
            continue
        if t.vertex_kind[q] == CALL:
            if t.vertex_port[q] == 0:
                change = max(change, _call_upper(t, pts, u, values, t.vertex_box[q]))
            continue
        best[:] = -np.inf
        for a in range(t.action_start[q], t.action_start[q + 1]):
            total[:] = gain[a]
            for i in range(t.transition_start[a], t.transition_start[a + 1]):
                p, row = t.prob[i], t.target[i] - first
                for x in range(n):
                    total[x] += p * values[row, x]
            for x in range(n):
                best[x] = max(best[x], total[x])
        for x in range(n):
            moved = abs(best[x] - values[q - first, x])
            change = max(change, moved - NOISE * abs(best[x]))
            values[q - first, x] = best[x]
    return change


@numba.njit(cache=True, nogil=True)
def _call_upper(t: Tables, pts: Points, u: np.ndarray, values: np.ndarray, box: int) -> float:
    """Set the upper values of all call ports of a box; returns the greatest change, likewise."""
    c, first = t.box_component[box], t.component_start[t.box_owner[box]]
    exits, width = t.n_exits[c], pts.vector.shape[1]
    nodes, weights, v = np.empty(width + 1, np.int64), np.empty(width + 1), np.empty(width)
    ret, call = t.box_return[box] - first, t.box_call[box] - first
    n, offset, anchored = 0, 0.0, 0.0
    change = 0.0
    for x in range(values.shape[1]):
        for k in range(exits):
            v[k] = values[ret + k, x]
        if pts.mode[c] != CLOUD:
            n = locate(pts, c, v, exits, nodes, weights)
            offset = beyond(pts, v, exits, nodes, weights, n)
            anchored = from_anchor(pts, c, v, exits)
        for entry in range(t.n_entries[c]):
            if pts.mode[c] == CLOUD:
                value = nearest(pts, c, v, exits, u, entry)[1]
            else:
                value = offset
                for j in range(n):
                    value += weights[j] * u[pts.entry[nodes[j]] + entry]
                value = min(value, anchored + u[pts.entry[pts.anchor[c]] + entry])
            moved = abs(value - values[call + entry, x])
            change = max(change, moved - NOISE * abs(value))
            values[call + entry, x] = value
    return change


@numba.njit(cache=True, nogil=True)
def best_action(
    t: Tables, gain: np.ndarray, w: np.ndarray, shift: int, q: int
) -> tuple[int, float]:
    """Best action of a state, counted within it, and its value."""
    best, value = -1, -np.inf
    for a in range(t.action_start[q], t.action_start[q + 1]):
        total = gain[a]
        for i in range(t.transition_start[a], t.transition_start[a + 1]):
            total += t.prob[i] * w[shift + t.target[i]]
        if total > value:
            best, value = a - t.action_start[q], total
    return best, value


@numba.njit(cache=True, nogil=True)
def upper_excess(t: Tables, pts: Points, gain: np.ndarray, u: np.ndarray, w: np.ndarray) -> float:
    """The most by which some inequality fails: F(w) - w, with u being w at the entries."""
    width = pts.vector.shape[1]
    nodes, weights, v = np.empty(width + 1, np.int64), np.empty(width + 1), np.empty(width)
    worst = 0.0
    for x in range(len(pts.component)):
        c = pts.component[x]
        shift = pts.slot[x] - t.component_start[c]
        for q in range(t.component_start[c], t.component_start[c + 1]):
            if t.vertex_kind[q] == EXIT:
                continue
            if t.vertex_kind[q] == CALL:
                value = call_value(t, pts, u, w, shift, q, nodes, weights, v)
            else:
                value = best_action(t, gain, w, shift, q)[1]
            worst = max(worst, value - w[shift + q])
    return worst


@numba.njit(cache=True, nogil=True)
def call_value(
    t: Tables,
    pts: Points,
    u: np.ndarray,
    w: np.ndarray,
    shift: int,
    q: int,
    nodes: np.ndarray,
    weights: np.ndarray,
    v: np.ndarray,
) -> float:
    """Upper bound at a call port; leaves the contexts and weights it used in ``nodes, weights``.

    Unused places of ``nodes`` are set to -1.
    """
    box = t.vertex_box[q]
    c = t.box_component[box]
    exits = t.n_exits[c]
    for k in range(exits):
        v[k] = w[shift + t.box_return[box] + k]
    nodes[:] = -1
    if pts.mode[c] == CLOUD:
        nodes[0], value = nearest(pts, c, v, exits, u, t.vertex_port[q])
        weights[0] = 1.0
        return value
    n = locate(pts, c, v, exits, nodes, weights)
    value = beyond(pts, v, exits, nodes, weights, n)
    for j in range(n):
        value += weights[j] * u[pts.entry[nodes[j]] + t.vertex_port[q]]
    anchored = from_anchor(pts, c, v, exits) + u[pts.entry[pts.anchor[c]] + t.vertex_port[q]]
    if anchored < value:
        nodes[:] = -1
        nodes[0], weights[0] = pts.anchor[c], 1.0
        return anchored
    return value


@numba.njit(cache=True, nogil=True)
def links(
    t: Tables, pts: Points, gain: np.ndarray, u: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Best action of each slot; contexts and weights that bound each call from above."""
    width = pts.vector.shape[1]
    v = np.empty(width)
    action = np.zeros(len(w), np.int32)
    nodes = np.full((len(w), width + 1), -1, np.int64)
    weights = np.zeros((len(w), width + 1))
    for x in range(len(pts.component)):
        c = pts.component[x]
        shift = pts.slot[x] - t.component_start[c]
        for q in range(t.component_start[c], t.component_start[c + 1]):
            if t.vertex_kind[q] == CALL:
                call_value(t, pts, u, w, shift, q, nodes[shift + q], weights[shift + q], v)
                for k in range(width + 1):
                    if nodes[shift + q, k] < 0:
                        weights[shift + q, k] = 0.0  # what the search for a simplex left there
            elif t.vertex_kind[q] != EXIT:
                action[shift + q] = best_action(t, gain, w, shift, q)[0]
    return action, nodes, weights


@numba.njit(cache=True, nogil=True)
def cells_of(pts: Points, c: int, vectors: np.ndarray) -> np.ndarray:
    """Contexts around each of some vectors: equal rows lie in the same segment or simplex."""
    exits = vectors.shape[1]
    nodes = np.full((len(vectors), exits + 1), -1, np.int64)
    weights = np.empty(exits + 1)
    for i in range(len(vectors)):
        locate(pts, c, vectors[i], exits, nodes[i], weights)
        nodes[i].sort()
    return nodes
