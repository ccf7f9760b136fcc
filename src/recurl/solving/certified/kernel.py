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
from recurl.solving.certified.places_kernel import (
    NOWHERE,
    beyond,
    farthest,
    from_anchor,
    locate,
    nearest,
    on_line,
    whole,
)
from recurl.solving.certified.points import CLOUD, LINE, Points

_SWEEPS = 10_000
_PATIENCE = 50
"""Sweeps after which changes must be less than before."""
_MOST = 0.75
"""Share of contexts that are still restless, up to which it pays to leave the others aside."""
NOISE = 4e-15
"""Relative change that rounding alone can keep up."""


@numba.njit(cache=True, nogil=True)
def upper_step(
    t: Tables,
    pts: Points,
    gain: np.ndarray,
    order: np.ndarray,
    u: np.ndarray,
    w: np.ndarray,
    hint: np.ndarray,
    tol: float,
    out: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Solve some contexts with calls worth what ``u`` says; ``out`` gets their entries' values.

    The contexts of a component are swept side by side: a row per vertex, a column per context.
    Those that have come to rest are swept no more, nor those that never will: in a mesh, a call may
    go to and fro between simplices.
    """
    for c in range(len(pts.mode)):
        contexts = np.arange(max(begin, pts.first[c]), min(end, pts.first[c + 1]))
        values, before = _columns(t, pts, w, c, contexts), np.inf
        for sweep in range(_SWEEPS):
            moved = _sweep_upper(t, pts, gain, order, u, values, hint, c, contexts)
            restless = np.flatnonzero(moved > tol)
            if len(restless) <= _MOST * len(contexts):
                _put_back(t, pts, values, c, contexts, w, out)
                values, contexts = values[:, restless].copy(), contexts[restless]
            if len(contexts) == 0:
                break
            if sweep % _PATIENCE == _PATIENCE - 1:
                if moved.max() >= before:
                    break
                before = moved.max()
        _put_back(t, pts, values, c, contexts, w, out)


@numba.njit(cache=True, nogil=True)
def _columns(t: Tables, pts: Points, w: np.ndarray, c: int, contexts: np.ndarray) -> np.ndarray:
    """Values of some contexts of a component side by side, those of exits as they must be."""
    size = t.component_start[c + 1] - t.component_start[c]
    values = np.empty((size, len(contexts)))
    for i, x in enumerate(contexts):
        for q in range(size):
            values[q, i] = w[pts.slot[x] + q]
        for k in range(t.n_exits[c]):
            values[t.n_entries[c] + k, i] = pts.vector[x, k]
    return values


@numba.njit(cache=True, nogil=True)
def _put_back(
    t: Tables,
    pts: Points,
    values: np.ndarray,
    c: int,
    contexts: np.ndarray,
    w: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the values of contexts side by side to their slots, and those of their entries."""
    for i, x in enumerate(contexts):
        for q in range(len(values)):
            w[pts.slot[x] + q] = values[q, i]
        for entry in range(t.n_entries[c]):
            out[pts.entry[x] + entry] = values[entry, i]


@numba.njit(cache=True, nogil=True)
def _sweep_upper(
    t: Tables,
    pts: Points,
    gain: np.ndarray,
    order: np.ndarray,
    u: np.ndarray,
    values: np.ndarray,
    hint: np.ndarray,
    c: int,
    contexts: np.ndarray,
) -> np.ndarray:
    """One sweep over a component; returns the greatest change of each context beyond rounding."""
    first, n = t.component_start[c], values.shape[1]
    total, best, moved = np.empty(n), np.empty(n), np.zeros(n)
    for place in range(first, t.component_start[c + 1]):
        q = order[place]
        if t.vertex_kind[q] == EXIT:
            continue
        if t.vertex_kind[q] == CALL:
            if t.vertex_port[q] == 0:
                call = q - pts.call_vertex[c]
                _call_upper(t, pts, u, values, t.vertex_box[q], hint, call, contexts, moved)
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
            change = abs(best[x] - values[q - first, x]) - NOISE * abs(best[x])
            moved[x] = max(moved[x], change)
            values[q - first, x] = best[x]
    return moved


@numba.njit(cache=True, nogil=True)
def _call_upper(
    t: Tables,
    pts: Points,
    u: np.ndarray,
    values: np.ndarray,
    box: int,
    hint: np.ndarray,
    call: int,
    contexts: np.ndarray,
    moved: np.ndarray,
) -> None:
    """Set the upper values of all call ports of a box, and note the changes, likewise."""
    c, first = whole(t.box_component[box]), t.component_start[t.box_owner[box]]
    exits, mode = whole(t.n_exits[c]), pts.mode[c]
    corners = pts.corner.shape[1]
    nodes, weights, v = np.empty(corners, np.int64), np.empty(corners), np.empty(exits)
    ret, port, anchor = t.box_return[box] - first, t.box_call[box] - first, pts.anchor[c]
    n, offset, anchored = 0, 0.0, 0.0
    for x in range(values.shape[1]):
        for k in range(exits):
            v[k] = values[ret + k, x]
        place = pts.call[contexts[x]] + call
        if mode == LINE:
            n, offset, hint[place] = on_line(pts, c, v, nodes, weights, hint[place])
            anchored = v[1] + max(v[0] - v[1] - pts.vector[anchor, 0], 0.0)
        elif mode != CLOUD:
            n, hint[place] = locate(pts, c, v, exits, nodes, weights, hint[place])
            offset = beyond(pts, v, exits, nodes, weights, n)
            anchored = from_anchor(pts, c, v, exits)
        for entry in range(whole(t.n_entries[c])):
            if mode == CLOUD:
                value = nearest(pts, c, v, exits, u, entry)[1]
            else:
                value = offset
                for j in range(n):
                    value += weights[j] * u[pts.entry[nodes[j]] + entry]
                value = min(value, anchored + u[pts.entry[anchor] + entry])
            change = abs(value - values[port + entry, x]) - NOISE * abs(value)
            moved[x] = max(moved[x], change)
            values[port + entry, x] = value


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
def upper_excess(
    t: Tables, pts: Points, gain: np.ndarray, u: np.ndarray, w: np.ndarray, start: np.ndarray
) -> float:
    """The most by which some inequality fails: F(w) - w, with u being w at the entries.

    Counts the contexts that calls lead to from those in ``start``: nothing rests on the others.
    """
    width, corners = pts.vector.shape[1], pts.corner.shape[1]
    nodes, weights = np.empty(corners, np.int64), np.empty(corners)
    share, v = np.empty(width), np.empty(width)
    queue, seen = np.empty(len(pts.component), np.int64), np.zeros(len(pts.component), np.bool_)
    waiting = _line_up(start, queue, seen, 0)
    worst = 0.0
    while waiting:
        waiting -= 1
        x = queue[waiting]
        c = pts.component[x]
        shift = pts.slot[x] - t.component_start[c]
        for q in range(t.component_start[c], t.component_start[c + 1]):
            if t.vertex_kind[q] == EXIT:
                continue
            if t.vertex_kind[q] == CALL:
                value = call_value(t, pts, u, w, shift, q, nodes, weights, share, v, NOWHERE)
                waiting = _line_up(nodes, queue, seen, waiting)
            else:
                value = best_action(t, gain, w, shift, q)[1]
            worst = max(worst, value - w[shift + q])
    return worst


@numba.njit(cache=True, nogil=True)
def _line_up(contexts: np.ndarray, queue: np.ndarray, seen: np.ndarray, waiting: int) -> int:
    """Append contexts that were not seen before; returns how many are waiting."""
    for x in contexts:
        if x >= 0 and not seen[x]:
            seen[x] = True
            queue[waiting] = x
            waiting += 1
    return waiting


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
    share: np.ndarray,
    v: np.ndarray,
    hint: int,
) -> float:
    """Upper bound at a call port.

    Leaves behind what it is made of: contexts and their weights (-1 and 0 in unused places), and
    how it moves with the worth of each return port (``share``, a distribution).
    """
    box = t.vertex_box[q]
    c, port = whole(t.box_component[box]), whole(t.vertex_port[q])
    exits = whole(t.n_exits[c])
    for k in range(exits):
        v[k] = w[shift + t.box_return[box] + k]
    nodes[:], weights[:], share[:] = -1, 0.0, 0.0
    if pts.mode[c] == CLOUD:
        nodes[0], value = nearest(pts, c, v, exits, u, port)
        weights[0] = 1.0
        share[farthest(pts, nodes[0], v, exits)] = 1.0
        return value
    n, cell = locate(pts, c, v, exits, nodes, weights, hint)
    value = beyond(pts, v, exits, nodes, weights, n)
    for j in range(n):
        value += weights[j] * u[pts.entry[nodes[j]] + port]
    anchored = from_anchor(pts, c, v, exits) + u[pts.entry[pts.anchor[c]] + port]
    if anchored < value:
        nodes[:], weights[:] = -1, 0.0
        nodes[0], weights[0] = pts.anchor[c], 1.0
        value, n = anchored, 1
    if n == 1:
        nodes[1:], weights[1:] = -1, 0.0  # what the search for a simplex left there
        share[farthest(pts, nodes[0], v, exits)] = 1.0
    else:
        _slopes(pts, u, port, cell, exits, nodes, share)
    return value


@numba.njit(cache=True, nogil=True)
def _slopes(
    pts: Points,
    u: np.ndarray,
    port: int,
    cell: int,
    exits: int,
    nodes: np.ndarray,
    share: np.ndarray,
) -> None:
    """Slopes of the interpolation between contexts, made a distribution."""
    axes = exits - 1
    total = 0.0
    for j in range(axes):
        if exits == 2:
            low, high = nodes[0], nodes[1]
            rise = u[pts.entry[high] + port] - u[pts.entry[low] + port]
            share[j] = rise / (pts.vector[high, 0] - pts.vector[low, 0])
        else:
            for i in range(axes):
                rise = u[pts.entry[nodes[i]] + port] - u[pts.entry[nodes[axes]] + port]
                share[j] += pts.barycentric[cell, i, j] * rise
        share[j] = min(max(share[j], 0.0), 1.0)
        total += share[j]
    share[axes] = max(1.0 - total, 0.0)
    for j in range(exits):
        share[j] /= total + share[axes]


@numba.njit(cache=True, nogil=True)
def links(
    t: Tables,
    pts: Points,
    gain: np.ndarray,
    u: np.ndarray,
    w: np.ndarray,
    action: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
    share: np.ndarray,
    hint: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Best action of each slot of some contexts, and what bounds each call (see `call_value`)."""
    v = np.empty(pts.vector.shape[1])
    for x in range(begin, end):
        c = pts.component[x]
        shift = pts.slot[x] - t.component_start[c]
        for q in range(t.component_start[c], t.component_start[c + 1]):
            if t.vertex_kind[q] == CALL:
                i = pts.call[x] + q - pts.call_vertex[c]
                call_value(t, pts, u, w, shift, q, nodes[i], weights[i], share[i], v, hint[i])
            elif t.vertex_kind[q] != EXIT:
                action[shift + q] = best_action(t, gain, w, shift, q)[0]
