"""Compiled sweeps for the probabilities with which every policy leaves by each exit."""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import EXITS, STEP
from recurl.solving.rows import Rows


@numba.njit(cache=True)
def raise_reach(rows: Rows, p: np.ndarray, order: np.ndarray, slack: float) -> float:
    """One sweep of p = min_a sum p' - slack from below, never below 0; the greatest change."""
    r = rows
    change = 0.0
    for v in order:
        for k in range(r.n_exits[v]):
            least = np.inf
            for a in range(r.action_start[v], r.action_start[v + 1]):
                least = min(least, _reached(r, p, a, k))
            if least < np.inf and least - slack > p[v, k]:
                change = max(change, least - slack - p[v, k])
                p[v, k] = least - slack
    return change


@numba.njit(cache=True)
def _reached(r: Rows, p: np.ndarray, a: int, k: int) -> float:
    """How often an action leads to exit k, calls leaving as p says."""
    total = 0.0
    for i in range(r.transition_start[a], r.transition_start[a + 1]):
        at = r.landing[i]
        if r.move[i] == STEP:
            total += r.prob[i] * p[at, k]
        elif r.move[i] == EXITS:
            total += r.prob[i] * (at == k)
        else:
            for j in range(r.n_returns[i]):
                total += r.prob[i] * p[at, j] * p[r.push[i] + j, k]
    return total
