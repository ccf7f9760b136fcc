"""Compiled trials: go where the bounds are apart, back both up on the way out.

Points above and pieces below live in a `Store`: room for so many of each component, of which
``count`` are in use. Both only grow, and a piece refers to older pieces only, so that whatever is
there is a valid bound at any time.
"""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALL, EXIT, Tables
from recurl.solving.certified.store_kernel import (
    VECTORS,
    Store,
    above_at,
    below_at,
    block,
    point_at,
)

_SWEEPS = 10_000


@numba.njit(cache=True, nogil=True, inline="always")
def _returns(t: Tables, values: np.ndarray, shift: int, box: int, v: np.ndarray) -> None:
    for k in range(t.n_exits[t.box_component[box]]):
        v[k] = values[shift + t.box_return[box] + k]


@numba.njit(cache=True, nogil=True, inline="always")
def _best_action(
    t: Tables, gain: np.ndarray, w: np.ndarray, shift: int, q: int
) -> tuple[int, float]:
    best, value = -1, -np.inf
    for a in range(t.action_start[q], t.action_start[q + 1]):
        total = gain[a]
        for i in range(t.transition_start[a], t.transition_start[a + 1]):
            total += t.prob[i] * w[shift + t.target[i]]
        if total > value:
            best, value = a, total
    return best, value


@numba.njit(cache=True, nogil=True)
def back_up_above(
    t: Tables, s: Store, gain: np.ndarray, order: np.ndarray, x: int, c: int, tol: float
) -> None:
    """Lower the values of a point as far as the bounds of its calls allow."""
    shift = block(t, s, c, x)
    v = np.empty(s.vector.shape[1])
    apart = np.empty(s.points.max())
    for _ in range(_SWEEPS):
        change = 0.0
        for place in range(t.component_start[c], t.component_start[c + 1]):
            q = order[place]
            if t.vertex_kind[q] == EXIT:
                continue
            if t.vertex_kind[q] == CALL:
                if t.vertex_port[q] == 0:
                    box = t.vertex_box[q]
                    _returns(t, s.above, shift, box, v)
                    change = max(change, _lower_calls(t, s, box, v, apart, shift))
                continue
            value = _best_action(t, gain, s.above, shift, q)[1]
            # Values only fall: what was a bound before stays one.
            if value < s.above[shift + q]:
                change = max(change, s.above[shift + q] - value)
                s.above[shift + q] = value
        if change <= tol:
            break


@numba.njit(cache=True, nogil=True, fastmath=VECTORS)
def _lower_calls(
    t: Tables, s: Store, box: int, v: np.ndarray, apart: np.ndarray, shift: int
) -> float:
    """Lower the values of all call ports of a box, whose points are equally far from v."""
    c = t.box_component[box]
    first = s.first[c]
    for i in range(s.points[c]):
        own, largest = s.vector[first + i], -np.inf
        for k in range(t.n_exits[c]):
            largest = max(largest, v[k] - own[k])
        apart[i] = largest
    change = 0.0
    size = t.component_start[c + 1] - t.component_start[c]
    for entry in range(t.n_entries[c]):
        value = np.inf
        for i in range(s.points[c]):
            value = min(value, s.above[s.slot[c] + i * size + entry] + apart[i])
        q = shift + t.box_call[box] + entry
        if value < s.above[q]:
            change = max(change, s.above[q] - value)
            s.above[q] = value
    return change


@numba.njit(cache=True, nogil=True)
def settle(
    t: Tables, s: Store, gain: np.ndarray, order: np.ndarray, tol: float, rounds: int
) -> None:
    """Back up all points, round by round, until little changes."""
    for _ in range(rounds):
        fallen = 0.0
        for c in range(len(s.room)):
            entries = t.component_start[c], t.component_start[c] + t.n_entries[c]
            for x in range(s.first[c], s.first[c] + s.points[c]):
                shift = block(t, s, c, x)
                before = s.above[shift + entries[0] : shift + entries[1]].copy()
                back_up_above(t, s, gain, order, x, c, tol)
                now = s.above[shift + entries[0] : shift + entries[1]]
                fallen = max(fallen, (before - now).max())
        if fallen <= tol:
            break


@numba.njit(cache=True, nogil=True)
def back_up_below(
    t: Tables,
    s: Store,
    gain: np.ndarray,
    order: np.ndarray,
    v0: np.ndarray,
    c: int,
    tol: float,
    slack: float,
) -> float:
    """Add the piece of the policy that looks best at exit values v0; returns what it gains.

    It is kept only if it improves on the pieces that are there at some entry, at v0.
    """
    if s.pieces[c] == s.room[c]:
        return 0.0
    start, end = t.component_start[c], t.component_start[c + 1]
    x = s.first[c] + s.pieces[c]
    shift = block(t, s, c, x)
    low = np.empty(end - start)
    _values_below(t, s, gain, order, v0, c, low, tol)
    hope = 0.0
    for entry in range(t.n_entries[c]):
        hope = max(hope, low[entry] - below_at(t, s, c, v0, start + entry)[1])
    if hope <= tol:
        return 0.0
    v = np.empty(s.vector.shape[1])
    for q in range(start, end):
        if t.vertex_kind[q] == CALL:
            box = t.vertex_box[q]
            callee = t.box_component[box]
            _returns(t, low, -start, box, v)
            s.callee[shift + q] = below_at(
                t, s, callee, v, t.component_start[callee] + t.vertex_port[q]
            )[0]
        elif t.vertex_kind[q] != EXIT:
            s.action[shift + q] = _best_action(t, gain, low, -start, q)[0] - t.action_start[q]
    _solve_piece(t, s, gain, order, x, c, slack)
    gained = 0.0
    exits = t.n_exits[c]
    least = v0[:exits].min()
    for entry in range(start, start + t.n_entries[c]):
        value = s.rewards[shift + entry] + least
        for k in range(exits):
            value += s.reach[shift + entry, k] * (v0[k] - least)
        gained = max(gained, value - below_at(t, s, c, v0, entry)[1])
    if gained > tol and sound_piece(t, s, gain, x, c):
        s.pieces[c] += 1
        return gained
    return 0.0


@numba.njit(cache=True, nogil=True)
def _values_below(
    t: Tables,
    s: Store,
    gain: np.ndarray,
    order: np.ndarray,
    v0: np.ndarray,
    c: int,
    low: np.ndarray,
    tol: float,
) -> None:
    """Values with exits worth v0 and calls worth their best piece, from below."""
    start, end = t.component_start[c], t.component_start[c + 1]
    v = np.empty(s.vector.shape[1])
    for q in range(start, end):
        low[q - start] = (
            v0[t.vertex_port[q]] if t.vertex_kind[q] == EXIT else below_at(t, s, c, v0, q)[1]
        )
    for _ in range(_SWEEPS):
        change = 0.0
        for place in range(start, end):
            q = order[place]
            if t.vertex_kind[q] == EXIT:
                continue
            if t.vertex_kind[q] == CALL:
                box = t.vertex_box[q]
                callee = t.box_component[box]
                _returns(t, low, -start, box, v)
                value = below_at(t, s, callee, v, t.component_start[callee] + t.vertex_port[q])[1]
            else:
                value = _best_action(t, gain, low, -start, q)[1]
            if value > low[q - start]:
                change = max(change, value - low[q - start])
                low[q - start] = value
        if change <= tol:
            break


@numba.njit(cache=True, nogil=True)
def _solve_piece(
    t: Tables, s: Store, gain: np.ndarray, order: np.ndarray, x: int, c: int, slack: float
) -> None:
    """R and p of a piece from its actions and callees, a little below the solution."""
    start, end = t.component_start[c], t.component_start[c + 1]
    shift = block(t, s, c, x)
    exits = t.n_exits[c]
    first_exit = start + t.n_entries[c]
    s.rewards[shift + start : shift + end] = 0.0
    s.reach[shift + start : shift + end] = 0.0
    for k in range(exits):
        s.reach[shift + first_exit + k, k] = 1.0
    p = np.empty(exits)
    for _ in range(_SWEEPS):
        change = 0.0
        for place in range(start, end):
            q = order[place]
            if t.vertex_kind[q] == EXIT:
                continue
            r = _compose(t, s, gain, shift, q, exits, p)
            own = slack * max(1.0, abs(r))
            change = max(change, abs(r - own - s.rewards[shift + q]) / max(1.0, abs(r)))
            s.rewards[shift + q] = r - own
            for k in range(exits):
                value = 1.0 if exits == 1 else max(p[k] - slack, 0.0)
                change = max(change, abs(value - s.reach[shift + q, k]))
                s.reach[shift + q, k] = value
        if change <= 0.02 * slack:
            break


@numba.njit(cache=True, nogil=True)
def _compose(
    t: Tables, s: Store, gain: np.ndarray, shift: int, q: int, exits: int, p: np.ndarray
) -> float:
    """What a piece's own choices give at a vertex: R, and p in place."""
    p[:] = 0.0
    if t.vertex_kind[q] != CALL:
        a = t.action_start[q] + s.action[shift + q]
        r = gain[a]
        for i in range(t.transition_start[a], t.transition_start[a + 1]):
            r += t.prob[i] * s.rewards[shift + t.target[i]]
            for k in range(exits):
                p[k] += t.prob[i] * s.reach[shift + t.target[i], k]
        return r
    box = t.vertex_box[q]
    callee = t.box_component[box]
    inner = block(t, s, callee, s.callee[shift + q]) + t.component_start[callee] + t.vertex_port[q]
    r, rest, least = s.rewards[inner], 1.0, np.inf
    for j in range(t.n_exits[callee]):
        share, ret = s.reach[inner, j], shift + t.box_return[box] + j
        r += share * s.rewards[ret]
        rest -= share
        least = min(least, s.rewards[ret])
        for k in range(exits):
            p[k] += share * s.reach[ret, k]
    return r + max(rest, 0.0) * least


@numba.njit(cache=True, nogil=True)
def sound_piece(t: Tables, s: Store, gain: np.ndarray, x: int, c: int) -> bool:
    """Whether a piece is at most what its own choices give, everywhere."""
    shift = block(t, s, c, x)
    exits = t.n_exits[c]
    p = np.empty(exits)
    for q in range(t.component_start[c], t.component_start[c + 1]):
        if t.vertex_kind[q] == EXIT:
            continue
        r = _compose(t, s, gain, shift, q, exits, p)
        if s.rewards[shift + q] >= r:
            return False
        for k in range(exits):
            if exits > 1 and s.reach[shift + q, k] > 0.0 and s.reach[shift + q, k] >= p[k]:
                return False
    return True


@numba.njit(cache=True, nogil=True)
def _visits(
    t: Tables,
    s: Store,
    gain: np.ndarray,
    order: np.ndarray,
    x: int,
    c: int,
    mass: np.ndarray,
    tol: float,
) -> np.ndarray:
    """Expected visits of the vertices of a point's component under the actions that look best."""
    start, end = t.component_start[c], t.component_start[c + 1]
    shift = block(t, s, c, x)
    visits = np.zeros(end - start)
    pending = np.zeros(end - start)
    pending[: t.n_entries[c]] = mass[: t.n_entries[c]]
    v = np.empty(s.vector.shape[1])
    total = 1.0
    for _ in range(200):
        if total <= tol:
            break
        total = 0.0
        for place in range(end - 1, start - 1, -1):
            q = order[place]
            weight = pending[q - start]
            if weight == 0.0 or t.vertex_kind[q] == EXIT:
                continue
            pending[q - start] = 0.0
            visits[q - start] += weight
            total += weight
            if t.vertex_kind[q] == CALL:
                box = t.vertex_box[q]
                callee = t.box_component[box]
                _returns(t, s.above, shift, box, v)
                entry = t.component_start[callee] + t.vertex_port[q]
                inner = block(t, s, callee, below_at(t, s, callee, v, entry)[0]) + entry
                for j in range(t.n_exits[callee]):
                    pending[t.box_return[box] + j - start] += weight * s.reach[inner, j]
            else:
                a = _best_action(t, gain, s.above, shift, q)[0]
                for i in range(t.transition_start[a], t.transition_start[a + 1]):
                    pending[t.target[i] - start] += weight * t.prob[i]
    return visits


@numba.njit(cache=True, nogil=True)
def _widest_call(t: Tables, s: Store, x: int, c: int, visits: np.ndarray) -> tuple[int, float]:
    """Call port with the greatest visits times gap, and that number."""
    start = t.component_start[c]
    shift = block(t, s, c, x)
    v = np.empty(s.vector.shape[1])
    best, widest = -1, 0.0
    for q in range(start, t.component_start[c + 1]):
        if t.vertex_kind[q] != CALL or visits[q - start] <= 0.0:
            continue
        box = t.vertex_box[q]
        callee = t.box_component[box]
        _returns(t, s.above, shift, box, v)
        entry = t.component_start[callee] + t.vertex_port[q]
        gap = above_at(t, s, callee, v, entry)[1] - below_at(t, s, callee, v, entry)[1]
        if visits[q - start] * gap > widest:
            best, widest = q, visits[q - start] * gap
    return best, widest


@numba.njit(cache=True, nogil=True)
def trial(
    t: Tables,
    s: Store,
    gain: np.ndarray,
    order: np.ndarray,
    root: np.ndarray,
    tol: float,
    slack: float,
    depth: int,
) -> bool:
    """One trial from the start, with exits worth ``root``; False when it ran out of room."""
    path = np.empty(depth, np.int64)
    owner = np.empty(depth, np.int64)
    mass = np.zeros(int(t.n_entries.max()))
    mass[: len(t.start_prob)] = t.start_prob
    v = np.empty(s.vector.shape[1])
    c = t.start_component
    x = point_at(t, s, c, root)
    size, weight, room = 0, 1.0, True
    while True:
        path[size], owner[size] = x, c
        size += 1
        back_up_above(t, s, gain, order, x, c, tol)
        if size == depth:
            break
        visits = _visits(t, s, gain, order, x, c, mass, 1e-6)
        call, widest = _widest_call(t, s, x, c, visits)
        if call < 0 or weight * widest <= tol:
            break
        weight *= min(1.0, visits[call - t.component_start[c]])
        box = t.vertex_box[call]
        _returns(t, s.above, block(t, s, c, x), box, v)
        c = t.box_component[box]
        x = point_at(t, s, c, v)
        if x < 0:
            room = False
            break
        mass[:] = 0.0
        mass[t.vertex_port[call]] = 1.0
    for i in range(size - 1, -1, -1):
        back_up_above(t, s, gain, order, path[i], owner[i], tol)
        back_up_below(t, s, gain, order, s.vector[path[i]], owner[i], tol, slack)
        room = room and s.pieces[owner[i]] < s.room[owner[i]]
    return room
