"""Compiled geometry: which contexts lie around given exit values, and with which weights."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from recurl.solving.certified.points import LINE, MESH, Points

whole: Any = np.int64
"""Makes a number 64 bits wide, here and where these functions are called: for each other
type, and for every number that is written out, they would be compiled once more."""
NOWHERE = whole(-1)
_MOVES = 200
"""Simplices that a walk through a mesh may cross."""
_TOUCHING, _NEARLY_TOUCHING = 1e-12, 1e-9
"""How far beyond a face counts as on it: in a walk, and where it was in vain."""


@numba.njit(cache=True, nogil=True)
def locate(
    pts: Points,
    c: int,
    v: np.ndarray,
    exits: int,
    nodes: np.ndarray,
    weights: np.ndarray,
    hint: int,
) -> tuple[int, int]:
    """Contexts of component c around exit values v, and their convex weights (not for clouds).

    Returns how many there are, and their place: the lower end of a segment, or a simplex. A place
    found before is a good ``hint`` where to look; -1 is none.
    """
    if pts.mode[c] == LINE:
        y = v[0] - v[1]
        low = _segment(pts, c, y, hint)
        nodes[0], nodes[1] = low, low + 1
        share = (y - pts.vector[low, 0]) / (pts.vector[low + 1, 0] - pts.vector[low, 0])
        if share <= 0.0 or share >= 1.0:
            nodes[0], weights[0] = low + (share >= 1.0), 1.0
            return 1, low
        weights[0], weights[1] = 1.0 - share, share
        return 2, low
    if pts.mode[c] == MESH:
        return _locate_in_mesh(pts, c, v, exits - 1, nodes, weights, hint)
    nodes[0], weights[0] = pts.first[c], 1.0
    return 1, -1


@numba.njit(cache=True, nogil=True)
def _segment(pts: Points, c: int, y: float, hint: int) -> int:
    """Lower end of the segment of a line that a difference lies in, or is nearest to."""
    low, high = pts.first[c], pts.first[c + 1] - 1
    if low <= hint < high and pts.vector[hint, 0] <= y <= pts.vector[hint + 1, 0]:
        return hint
    while high - low > 1:
        middle = (low + high) // 2
        if pts.vector[middle, 0] <= y:
            low = middle
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def _locate_in_mesh(
    pts: Points,
    c: int,
    v: np.ndarray,
    axes: int,
    nodes: np.ndarray,
    weights: np.ndarray,
    hint: int,
) -> tuple[int, int]:
    """The simplex around v; the closest context if there is none."""
    first, last = whole(pts.cells[c]), whole(pts.cells[c + 1])
    cell = _walk(pts, v, axes, weights, hint if first <= hint < last else first)
    if cell < 0:
        cell = _look_everywhere(pts, v, axes, weights, first, last)
    if cell >= 0:
        return _settled(pts, cell, axes, nodes, weights), cell
    nodes[0] = _closest(pts, c, v, axes + 1)
    weights[0] = 1.0
    return 1, cell


@numba.njit(cache=True, nogil=True)
def _walk(pts: Points, v: np.ndarray, axes: int, weights: np.ndarray, cell: int) -> int:
    """Go from a simplex to the one around v, across the face that v is farthest beyond.

    Gives -1 where it leads out of the mesh, to a flat simplex, which does not tell the way, or in
    circles between nearly flat ones: none of them proves that there is no simplex around v.
    """
    for _ in range(_MOVES):
        farthest, beyond_it = _weigh(pts, v, axes, weights, cell)
        if beyond_it >= -_TOUCHING:
            return cell
        cell = whole(pts.neighbour[cell, farthest])
        if cell < 0 or np.isnan(beyond_it):
            break
    return NOWHERE


@numba.njit(cache=True, nogil=True)
def _look_everywhere(
    pts: Points, v: np.ndarray, axes: int, weights: np.ndarray, first: int, last: int
) -> int:
    """The simplex of a mesh that v lies in most, or -1."""
    best, most = NOWHERE, -_NEARLY_TOUCHING
    for cell in range(first, last):
        least = _weigh(pts, v, axes, weights, cell)[1]
        if least >= most:
            best, most = cell, least
    if best >= 0:
        _weigh(pts, v, axes, weights, best)
    return best


@numba.njit(cache=True, nogil=True)
def _weigh(
    pts: Points, v: np.ndarray, axes: int, weights: np.ndarray, cell: int
) -> tuple[int, float]:
    """Weights with which the corners of a simplex mix to v, and the least: nan if it is flat."""
    rest = 1.0
    for i in range(axes):
        weights[i] = 0.0
        for j in range(axes):
            offset = v[j] - v[axes] - pts.barycentric[cell, axes, j]
            weights[i] += pts.barycentric[cell, i, j] * offset
        rest -= weights[i]
    weights[axes] = rest
    least = 0
    for i in range(1, axes + 1):
        if weights[i] < weights[least]:
            least = i
    return least, weights[least]


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
def on_line(
    pts: Points, c: int, v: np.ndarray, nodes: np.ndarray, weights: np.ndarray, hint: int
) -> tuple[int, float, int]:
    """What `locate` and `beyond` say on a line, in the fewest operations: sweeps live on it."""
    y = v[0] - v[1]
    low = _segment(pts, c, y, hint)
    left, right = pts.vector[low, 0], pts.vector[low + 1, 0]
    share = min(max((y - left) / (right - left), 0.0), 1.0)
    nodes[0], nodes[1] = low, low + 1
    weights[0], weights[1] = 1.0 - share, share
    rest = y - (1.0 - share) * left - share * right
    return 2, v[1] + max(rest, 0.0), low


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
def farthest(pts: Points, x: int, v: np.ndarray, exits: int) -> int:
    """The exit with the greatest v - v_x."""
    best = 0
    for k in range(1, exits):
        if v[k] - pts.vector[x, k] > v[best] - pts.vector[x, best]:
            best = k
    return best


@numba.njit(cache=True, nogil=True)
def cells_of(pts: Points, c: int, vectors: np.ndarray) -> np.ndarray:
    """Contexts around each of some vectors, -1 where there are fewer than in other rows."""
    exits, corners = vectors.shape[1], pts.corner.shape[1]
    nodes = np.full((len(vectors), corners), -1, np.int64)
    weights = np.empty(corners)
    for i in range(len(vectors)):
        locate(pts, c, vectors[i], exits, nodes[i], weights, NOWHERE)
    return nodes
