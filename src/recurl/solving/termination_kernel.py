"""Compiled parts of Newton's method under control, for 1-exit rows."""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALLS, EXITS, STEP
from recurl.solving.rows import Rows


@numba.njit(cache=True)
def action_values(rows: Rows, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every action the probability f(x) to end, calls being worth x(en) x(ret); and f'(x) w."""
    r = rows
    value = np.zeros(len(r.transition_start) - 1)
    slope = np.zeros(len(value))
    for a in range(len(value)):
        for i in range(r.transition_start[a], r.transition_start[a + 1]):
            p, at, back = r.prob[i], r.landing[i], r.push[i]
            if r.move[i] == STEP:
                value[a] += p * x[at]
                slope[a] += p * w[at]
            elif r.move[i] == EXITS:
                value[a] += p
            else:
                value[a] += p * x[at] * x[back]
                slope[a] += p * (x[at] * w[back] + w[at] * x[back])
    return value, slope


@numba.njit(cache=True)
def sweep(rows: Rows, x: np.ndarray, order: np.ndarray, sign: float, sweeps: int) -> None:
    """Gauss-Seidel sweeps from below: x becomes the best (or least, by sign) action's f(x)."""
    r = rows
    for _ in range(sweeps):
        for v in order:
            best = -np.inf
            for a in range(r.action_start[v], r.action_start[v + 1]):
                total = 0.0
                for i in range(r.transition_start[a], r.transition_start[a + 1]):
                    if r.move[i] == STEP:
                        total += r.prob[i] * x[r.landing[i]]
                    elif r.move[i] == EXITS:
                        total += r.prob[i]
                    else:
                        total += r.prob[i] * x[r.landing[i]] * x[r.push[i]]
                best = max(best, sign * total)
            x[v] = max(x[v], min(sign * best, 1.0))


@numba.njit(cache=True)
def slope_system(
    rows: Rows, x: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR matrix of f'(x) for the action chosen at each place; rows of places with -1 are empty."""
    r = rows
    start = np.zeros(len(x) + 1, np.int32)
    column, weight = np.empty(2 * len(r.prob), np.int32), np.empty(2 * len(r.prob))
    size = 0
    for v in range(len(x)):
        a = chosen[v]
        if a >= 0:
            for i in range(r.transition_start[a], r.transition_start[a + 1]):
                if r.move[i] == EXITS:
                    continue
                other = x[r.push[i]] if r.move[i] == CALLS else 1.0
                if other > 0.0:
                    column[size], weight[size] = r.landing[i], r.prob[i] * other
                    size += 1
                if r.move[i] == CALLS and x[r.landing[i]] > 0.0:
                    column[size], weight[size] = r.push[i], r.prob[i] * x[r.landing[i]]
                    size += 1
        start[v + 1] = size
    return start, column[:size], weight[:size]
