"""Points and pieces of trials: where they are kept, and what they say of exit values."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from recurl.model.tables import EXIT, Tables

_NEAR = 1e-13
VECTORS = {"nnan", "nsz", "reassoc"}
"""Lets sums and maxima over exits be taken side by side."""


class Store(NamedTuple):
    """Room for points and pieces of every component.

    Attributes:
        room: How many of each kind a component has room for. ``[C]``
        first: Number of a component's first point, and of its first piece. ``[C]``
        slot: Its first slot; each point or piece takes one per vertex. ``[C]``
        points: Points in use. ``[C]``
        pieces: Pieces in use. ``[C]``
        vector: Exit values of the points, normalised to minimum 0. ``[X, K]``
        above: Values of the points. ``[slots]``
        action: Actions of the pieces. ``[slots]``
        callee: Pieces that the calls of the pieces enter. ``[slots]``
        rewards: R of the pieces. ``[slots]``
        reach: p of the pieces. ``[slots, K]``
    """

    room: np.ndarray
    first: np.ndarray
    slot: np.ndarray
    points: np.ndarray
    pieces: np.ndarray
    vector: np.ndarray
    above: np.ndarray
    action: np.ndarray
    callee: np.ndarray
    rewards: np.ndarray
    reach: np.ndarray


@numba.njit(cache=True, nogil=True, inline="always")
def block(t: Tables, s: Store, c: int, number: int) -> int:
    """What to add to a vertex of component c to get its slot in a point or piece."""
    size = t.component_start[c + 1] - t.component_start[c]
    return s.slot[c] + (number - s.first[c]) * size - t.component_start[c]


@numba.njit(cache=True, nogil=True)
def above_at(t: Tables, s: Store, c: int, v: np.ndarray, entry: int) -> tuple[int, float]:
    """Point with the least u_i + max(v - v_i) at an entry, and that bound."""
    best, value = -1, np.inf
    for x in range(s.first[c], s.first[c] + s.points[c]):
        own = s.above[block(t, s, c, x) + entry]
        largest = -np.inf
        for k in range(t.n_exits[c]):
            largest = max(largest, v[k] - s.vector[x, k])
            if own + largest >= value:
                break
        if own + largest < value:
            best, value = x, own + largest
    return best, value


@numba.njit(cache=True, nogil=True, fastmath=VECTORS)
def below_at(t: Tables, s: Store, c: int, v: np.ndarray, entry: int) -> tuple[int, float]:
    """Piece with the greatest R + p.v + (1 - sum p) min v at an entry, and that bound."""
    exits = t.n_exits[c]
    least = v[:exits].min()
    best, value = -1, -np.inf
    for x in range(s.first[c], s.first[c] + s.pieces[c]):
        i = block(t, s, c, x) + entry
        own, total = s.reach[i], s.rewards[i] + least
        for k in range(exits):
            total += own[k] * (v[k] - least)
        if total > value:
            best, value = x, total
    return best, value


@numba.njit(cache=True, nogil=True)
def point_at(t: Tables, s: Store, c: int, v: np.ndarray) -> int:
    """The point at exit values v, made if need be; -1 if there is no room."""
    exits = t.n_exits[c]
    least = v[:exits].min()
    spread = v[:exits].max() - least
    for x in range(s.first[c], s.first[c] + s.points[c]):
        apart = 0.0
        for k in range(exits):
            apart = max(apart, abs(v[k] - least - s.vector[x, k]))
        if apart <= _NEAR * (1.0 + spread):
            return x
    if s.points[c] == s.room[c]:
        return -1
    x = s.first[c] + s.points[c]
    for k in range(exits):
        s.vector[x, k] = v[k] - least
    shift = block(t, s, c, x)
    for q in range(t.component_start[c], t.component_start[c + 1]):
        s.above[shift + q] = above_at(t, s, c, s.vector[x], q)[1]
        if t.vertex_kind[q] == EXIT:
            s.above[shift + q] = s.vector[x, t.vertex_port[q]]
    s.points[c] += 1
    return x


@numba.njit(cache=True, nogil=True)
def start_bounds(t: Tables, s: Store, root: np.ndarray) -> tuple[float, float]:
    """Both bounds at the start, with exits worth ``root``."""
    c = t.start_component
    low = high = 0.0
    for entry in range(len(t.start_prob)):
        q = t.component_start[c] + entry
        low += t.start_prob[entry] * below_at(t, s, c, root, q)[1]
        high += t.start_prob[entry] * above_at(t, s, c, root, q)[1]
    return low, high
