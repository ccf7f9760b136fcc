"""Compiled longest paths through a deterministic model."""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALL, EXIT, Tables


@numba.njit(cache=True, nogil=True)
def longest_paths(
    t: Tables, reward: np.ndarray, order: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Greatest reward on a way from each vertex to each exit, and the choice that begins it.

    The choice is an action counted within the vertex, or the exit to leave a box by. Sweeps until
    nothing changes; False if that has not happened after ``most`` of them.
    """
    best = np.full((len(t.vertex_kind), t.n_exits.max()), -np.inf)
    choice = np.zeros(best.shape, np.int32)
    for _ in range(most):
        changed = False
        for q in order:
            for k in range(t.n_exits[t.vertex_component[q]]):
                value, first = _from(t, reward, best, q, k)
                if value > best[q, k]:
                    best[q, k], choice[q, k] = value, first
                    changed = True
        if not changed:
            return best, choice, True
    return best, choice, False


@numba.njit(cache=True, nogil=True, inline="always")
def _from(t: Tables, reward: np.ndarray, best: np.ndarray, q: int, k: int) -> tuple[float, int]:
    """The best way on from a vertex to exit k, and its first choice."""
    value, first = -np.inf, 0
    if t.vertex_kind[q] == EXIT:
        value = 0.0 if t.vertex_port[q] == k else -np.inf
    elif t.vertex_kind[q] == CALL:
        box = t.vertex_box[q]
        callee = t.box_component[box]
        entry = t.component_start[callee] + t.vertex_port[q]
        for j in range(t.n_exits[callee]):
            total = best[entry, j] + best[t.box_return[box] + j, k]
            if total > value:
                value, first = total, j
    else:
        for a in range(t.action_start[q], t.action_start[q + 1]):
            i = t.transition_start[a]
            total = reward[i] + best[t.target[i], k]
            if total > value:
                value, first = total, a - t.action_start[q]
    return value, first
