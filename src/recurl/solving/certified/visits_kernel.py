"""Compiled visits: how often a run inside a context comes to each of its calls and exits."""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALL, EXIT, Tables
from recurl.solving.certified.points import Points

_SWEEPS = 10_000


@numba.njit(cache=True, nogil=True)
def call_visits(
    t: Tables,
    pts: Points,
    order: np.ndarray,
    action: np.ndarray,
    share: np.ndarray,
    tol: float,
    visit: np.ndarray,
    arrive: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Follow runs from each entry of some contexts until no more than ``tol`` is left of them.

    A call returns at its k-th exit with probability ``share[call, k]``. Visits of calls go to
    ``visit``, a row per entry and a column per call of the context; those of exits to ``arrive``.
    """
    size = (t.component_start[1:] - t.component_start[:-1]).max()
    pending, visits = np.zeros(size), np.zeros(size)
    for x in range(begin, end):
        c = pts.component[x]
        calls = pts.call[x + 1] - pts.call[x]
        for entry in range(t.n_entries[c]):
            _follow(t, pts, order, action, share, tol, x, entry, pending, visits)
            row = pts.visit[x] + entry * calls
            for i in range(calls):
                visit[row + i] = visits[pts.call_vertex[c] - t.component_start[c] + i]
            for k in range(t.n_exits[c]):
                arrive[pts.entry[x] + entry, k] = visits[t.n_entries[c] + k]


@numba.njit(cache=True, nogil=True)
def _follow(
    t: Tables,
    pts: Points,
    order: np.ndarray,
    action: np.ndarray,
    share: np.ndarray,
    tol: float,
    x: int,
    entry: int,
    pending: np.ndarray,
    visits: np.ndarray,
) -> None:
    """Expected visits of all vertices of a context's component, from one of its entries."""
    c = pts.component[x]
    first, last = t.component_start[c], t.component_start[c + 1]
    pending[: last - first] = 0.0
    visits[: last - first] = 0.0
    pending[entry] = 1.0
    for _ in range(_SWEEPS):
        left = 0.0
        for place in range(last - 1, first - 1, -1):
            q = order[place]
            mass = pending[q - first]
            if mass == 0.0:
                continue
            pending[q - first] = 0.0
            visits[q - first] += mass
            if t.vertex_kind[q] == CALL:
                call = pts.call[x] + q - pts.call_vertex[c]
                ret = t.box_return[t.vertex_box[q]] - first
                for k in range(t.n_exits[t.box_component[t.vertex_box[q]]]):
                    pending[ret + k] += mass * share[call, k]
            elif t.vertex_kind[q] != EXIT:
                a = t.action_start[q] + action[pts.slot[x] + q - first]
                for i in range(t.transition_start[a], t.transition_start[a + 1]):
                    pending[t.target[i] - first] += mass * t.prob[i]
        for i in range(last - first):
            left += pending[i]
        if left <= tol:
            break
