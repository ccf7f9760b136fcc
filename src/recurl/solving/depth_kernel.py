"""Compiled loops over stack heights."""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import EXITS, STEP
from recurl.solving.rows import Rows


@numba.njit(cache=True)
def local_graph(rows: Rows, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CSR graph of where a place goes on within its component: steps, and returns of calls."""
    r = rows
    inside = np.zeros(len(r.n_exits), np.bool_)
    inside[places] = True
    start = np.zeros(len(r.n_exits) + 1, np.int32)
    target = np.empty(len(r.prob) + r.n_returns.sum(), np.int32)
    size = 0
    for v in range(len(r.n_exits)):
        if inside[v]:
            for i in range(
                r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
            ):
                if r.move[i] == STEP:
                    target[size] = r.landing[i]
                    size += 1
                for j in range(r.n_returns[i]):
                    target[size] = r.push[i] + j
                    size += 1
        start[v + 1] = size
    return start, target[:size]


@numba.njit(cache=True)
def raise_height(rows: Rows, below: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Probabilities to leave by each exit when calls must leave as ``below`` says.

    Sweeps in an order in which places follow those that they lead to: one sweep is enough unless
    a component has loops, and from the values of the level below few are needed then.
    """
    r = rows
    x = below.copy()
    change = 1.0
    while change > 1e-16:
        change = 0.0
        for v in order:
            for k in range(r.n_exits[v]):
                total = 0.0
                for i in range(
                    r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
                ):
                    if r.move[i] == STEP:
                        total += r.prob[i] * x[r.landing[i], k]
                    elif r.move[i] == EXITS:
                        total += r.prob[i] * (r.landing[i] == k)
                    else:
                        for j in range(r.n_returns[i]):
                            total += r.prob[i] * below[r.landing[i], j] * x[r.push[i] + j, k]
                change = max(change, total - x[v, k])
                x[v, k] = max(total, x[v, k])
    return x
