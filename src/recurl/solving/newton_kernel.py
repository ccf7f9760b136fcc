"""Compiled Newton's method for the probabilities to leave by each exit.

The unknowns are pairs (place, exit) that are possible at all. Their equations:
``P(q, k) = sum p P(q', k)``, with 1 or 0 for leaving, and ``sum_j P(en, j) P(ret_j, k)`` for calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from recurl.model.tables import EXITS, STEP
from recurl.solving.linear_kernel import solve_monotone
from recurl.solving.rows import Rows


class Polynomials(NamedTuple):
    """Equations ``x_n = constant_n + sum weight x_first x_second`` of a block of unknowns.

    Attributes:
        start: First term of each equation; one more at the end.
        constant: Constants.
        weight: Coefficient of each term.
        first: First unknown of a term.
        second: Second unknown of a term, or -1.
    """

    start: np.ndarray
    constant: np.ndarray
    weight: np.ndarray
    first: np.ndarray
    second: np.ndarray


@numba.njit(cache=True)
def unknown_graph(
    rows: Rows, number: np.ndarray, place: np.ndarray, exit_index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """CSR graph of which unknowns the equation of each unknown speaks of."""
    r = rows
    start = np.zeros(len(place) + 1, np.int32)
    target = np.empty(0, np.int32)
    for fill in range(2):
        size = 0
        for n in range(len(place)):
            v, k = place[n], exit_index[n]
            for i in range(
                r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
            ):
                if r.move[i] == STEP and number[r.landing[i], k] >= 0:
                    if fill:
                        target[size] = number[r.landing[i], k]
                    size += 1
                for j in range(r.n_returns[i]):
                    a, b = number[r.landing[i], j], number[r.push[i] + j, k]
                    if a >= 0 and b >= 0:
                        if fill:
                            target[size], target[size + 1] = a, b
                        size += 2
            start[n + 1] = size
        if not fill:
            target = np.empty(size, np.int32)
    return start, target


@numba.njit(cache=True)
def block_polynomials(
    rows: Rows,
    number: np.ndarray,
    place: np.ndarray,
    exit_index: np.ndarray,
    x: np.ndarray,
    block: np.ndarray,
    local: np.ndarray,
) -> Polynomials:
    """Equations of a block; unknowns outside (where ``local`` is -1) count by their values."""
    r = rows
    count = 0
    for n in block:
        v = place[n]
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            count += max(r.n_returns[i], 1)
    start = np.zeros(len(block) + 1, np.int64)
    constant, weight = np.zeros(len(block)), np.empty(count)
    first, second = np.empty(count, np.int32), np.empty(count, np.int32)
    size = 0
    for n in range(len(block)):
        v, k = place[block[n]], exit_index[block[n]]
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            if r.move[i] == EXITS:
                constant[n] += r.prob[i] * (r.landing[i] == k)
                continue
            for j in range(max(r.n_returns[i], 1)):
                if r.move[i] == STEP:
                    a, b = number[r.landing[i], k], np.int32(-1)
                    if a < 0:
                        continue
                else:
                    a, b = number[r.landing[i], j], number[r.push[i] + j, k]
                    if a < 0 or b < 0:
                        continue
                factor = r.prob[i]
                if b >= 0 and local[b] < 0:
                    factor *= x[b]
                    b = np.int32(-1)
                if local[a] < 0:
                    factor *= x[a]
                    a, b = b, np.int32(-1)
                if a < 0:
                    constant[n] += factor
                else:
                    weight[size], first[size] = factor, local[a]
                    second[size] = local[b] if b >= 0 else -1
                    size += 1
        start[n + 1] = size
    return Polynomials(start, constant, weight[:size], first[:size], second[:size])


@numba.njit(cache=True)
def sweep_up(f: Polynomials, x: np.ndarray, sweeps: int) -> None:
    """Gauss-Seidel sweeps x_n = f_n(x), from below."""
    for _ in range(sweeps):
        for n in range(len(x)):
            total = f.constant[n]
            for i in range(f.start[n], f.start[n + 1]):
                term = f.weight[i] * x[f.first[i]]
                total += term * x[f.second[i]] if f.second[i] >= 0 else term
            x[n] = max(x[n], min(total, 1.0))


@numba.njit(cache=True)
def residual(f: Polynomials, x: np.ndarray) -> np.ndarray:
    """What is missing to a solution: f(x) - x."""
    result = np.empty(len(x))
    for n in range(len(x)):
        result[n] = f.constant[n] - x[n]
        for i in range(f.start[n], f.start[n + 1]):
            term = f.weight[i] * x[f.first[i]]
            result[n] += term * x[f.second[i]] if f.second[i] >= 0 else term
    return result


@numba.njit(cache=True)
def jacobian(f: Polynomials, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, column and value of the entries of f'(x)."""
    count = 2 * len(f.weight)
    row, column, value = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count)
    size = 0
    for n in range(len(x)):
        for i in range(f.start[n], f.start[n + 1]):
            a, b = f.first[i], f.second[i]
            row[size], column[size] = n, a
            value[size] = f.weight[i] * (x[b] if b >= 0 else 1.0)
            size += 1
            if b >= 0:
                row[size], column[size], value[size] = n, b, f.weight[i] * x[a]
                size += 1
    return row[:size], column[:size], value[:size]


@numba.njit(cache=True)
def newton_dense(f: Polynomials, x: np.ndarray, limit: int) -> int:
    """Newton's method from below, x += (I - f'(x))^-1 (f(x) - x), on a small block; iterations."""
    for iteration in range(limit):
        step = residual(f, x).reshape((-1, 1))
        if _largest(step) <= 1e-16:
            return iteration
        row, column, value = jacobian(f, x)
        matrix = np.zeros((len(x), len(x)))
        for n in range(len(row)):
            matrix[row[n], column[n]] += value[n]
        if not solve_monotone(matrix, step):
            return iteration
        for n in range(len(x)):
            x[n] = min(x[n] + step[n, 0], 1.0)
        if _largest(step) <= 1e-16:
            return iteration
    return limit


@numba.njit(cache=True)
def _largest(column: np.ndarray) -> float:
    """Greatest entry of a column, in which negative ones (rounding errors) become 0."""
    most = 0.0
    for n in range(len(column)):
        column[n, 0] = max(column[n, 0], 0.0)
        most = max(most, column[n, 0])
    return most


@numba.njit(cache=True)
def newton_blocks(
    rows: Rows,
    number: np.ndarray,
    place: np.ndarray,
    exit_index: np.ndarray,
    x: np.ndarray,
    order: np.ndarray,
    block_start: np.ndarray,
    first: int,
    local: np.ndarray,
    largest: int,
    limit: int,
) -> tuple[int, int]:
    """Solve blocks from ``first`` on, up to the first one that is larger than ``largest``.

    Returns the number of the block that is left to somebody else, or the number of blocks; and the
    most iterations that a block took.
    """
    most = 0
    for b in range(first, len(block_start) - 1):
        block = order[block_start[b] : block_start[b + 1]]
        if len(block) > largest:
            return b, most
        for n in range(len(block)):
            local[block[n]] = n
        f = block_polynomials(rows, number, place, exit_index, x, block, local)
        own = f.constant.copy()
        if len(f.weight) > 0:
            most = max(most, newton_dense(f, own, limit))
        for n in range(len(block)):
            local[block[n]] = -1
            x[block[n]] = own[n]
    return len(block_start) - 1, most
