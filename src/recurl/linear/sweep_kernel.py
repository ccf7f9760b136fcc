"""Compiled Gauss-Seidel sweeps for large blocks.

Every row uses the new values of the rows before it, so whole arrays will not do; on blocks of
100,000 rows that halves the sweeps, and the iterations of GMRES. Smaller blocks do without, so that
small models wait for no compiler. Indices are unsigned: numba then need not ask at every access
whether one counts from the end, which takes a third of a sweep.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numba
import numpy as np

_UNIT = 2.0**-53


@numba.njit(cache=True)
def improve_rows(
    action_start: np.ndarray,
    start: np.ndarray,
    column: np.ndarray,
    weight: np.ndarray,
    gain: np.ndarray,
    x: np.ndarray,
    choice: np.ndarray,
    first: int,
    last: int,
) -> tuple[float, int]:
    """``x(q) = max_a gain(a) + P_a x`` for rows in order; greatest change, rows that switched.

    An action is kept unless another one is better by more than rounding.
    """
    change, switched = 0.0, 0
    for q in range(first, last):
        kept = found = choice[q]
        best = own = -np.inf
        for a in range(action_start[q], action_start[q + 1]):
            value = gain[a]
            for e in range(start[a], start[a + 1]):
                value += weight[e] * x[column[e]]
            if a == kept:
                own = value
            if value > best:
                best, found = value, a
        if found != kept and best > own + 8 * _UNIT * abs(own):
            choice[q] = found
            switched += 1
        difference = abs(best - x[q])
        if not difference <= change:
            change = difference
        x[q] = best
    return change, switched


@numba.njit(cache=True)
def sweep_rows(
    start: np.ndarray,
    column: np.ndarray,
    weight: np.ndarray,
    gain: np.ndarray,
    x: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out = gain + P x`` for rows in order.

    If ``out`` is a part of x, rows use the new values of those before them.
    """
    for q in range(len(out)):
        total = gain[q]
        for e in range(start[q], start[q + 1]):
            total += weight[e] * x[column[e]]
        out[q] = total
