"""Compiled parts of Newton's method for the probabilities to leave by each exit.

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
def can_leave(rows: Rows, order: np.ndarray) -> np.ndarray:
    """Which exits can be reached from which places, as a mask ``[n, K]``."""
    r = rows
    can = np.zeros((len(r.n_exits), r.n_exits.max()), np.bool_)
    changed = True
    while changed:
        changed = False
        for v in order:
            for i in range(
                r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
            ):
                at = r.landing[i]
                for k in range(r.n_exits[v]):
                    if can[v, k]:
                        continue
                    if r.move[i] == STEP:
                        can[v, k] = can[at, k]
                    elif r.move[i] == EXITS:
                        can[v, k] = at == k
                    else:
                        for j in range(r.n_returns[i]):
                            can[v, k] = can[v, k] or (can[at, j] and can[r.push[i] + j, k])
                    changed = changed or can[v, k]
    return can


@numba.njit(cache=True)
def visited(rows: Rows, can: np.ndarray) -> np.ndarray:
    """Mask of the places that a run from the start visits with positive probability."""
    r = rows
    seen = np.zeros(len(can), np.bool_)
    queue = np.empty(len(can), np.int32)
    size = done = 0
    for n in range(len(r.start)):
        if r.start_prob[n] > 0:
            seen[r.start[n]] = True
            queue[size] = r.start[n]
            size += 1
    while done < size:
        v = queue[done]
        done += 1
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            if r.move[i] == EXITS:
                continue
            for j in range(-1, r.n_returns[i]):
                at = r.landing[i] if j < 0 else r.push[i] + j
                if (j < 0 or can[r.landing[i], j]) and not seen[at]:
                    seen[at] = True
                    queue[size] = at
                    size += 1
    return seen


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


@numba.njit(cache=True)
def image(
    rows: Rows, x: np.ndarray, w: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F(x), the derivative F'(x) w and a bound on the rounding error of F(x), on all pairs."""
    r = rows
    value, slope, error = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for v in places:
        mass, terms = 0.0, 0
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            p = r.prob[i]
            mass += p
            terms += max(1, r.n_returns[i])
            at = r.landing[i]
            for k in range(r.n_exits[v]):
                if r.move[i] == STEP:
                    value[v, k] += p * x[at, k]
                    slope[v, k] += p * w[at, k]
                elif r.move[i] == EXITS:
                    value[v, k] += p * (at == k)
                else:
                    for j in range(r.n_returns[i]):
                        back = r.push[i] + j
                        value[v, k] += p * x[at, j] * x[back, k]
                        if x[at, j] > 0.0:
                            slope[v, k] += p * x[at, j] * w[back, k]
                        if x[back, k] > 0.0:
                            slope[v, k] += p * x[back, k] * w[at, j]
        for k in range(r.n_exits[v]):
            error[v, k] = (terms + 8) * 2.3e-16 * value[v, k] + abs(1.0 - mass)
    return value, slope, error


@numba.njit(cache=True)
def step_system(
    rows: Rows, leave: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR matrix of what is still to come: entry and returns of a call, by their probabilities."""
    r = rows
    size = len(r.prob) + r.n_returns.sum()
    start = np.zeros(len(r.n_exits) + 1, np.int32)
    column, weight = np.empty(size, np.int32), np.empty(size)
    inside = np.zeros(len(r.n_exits), np.bool_)
    inside[places] = True
    size = 0
    for v in range(len(r.n_exits)):
        if inside[v]:
            for i in range(
                r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
            ):
                if r.move[i] == EXITS:
                    continue
                column[size], weight[size] = r.landing[i], r.prob[i]
                size += 1
                for j in range(r.n_returns[i]):
                    if leave[r.landing[i], j] > 0.0:
                        column[size] = r.push[i] + j
                        weight[size] = r.prob[i] * leave[r.landing[i], j]
                        size += 1
        start[v + 1] = size
    return start, column[:size], weight[:size]


@numba.njit(cache=True)
def chain_margins(
    rows: Rows,
    leave: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    steps: np.ndarray,
    reward: np.ndarray,
    places: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """At each place, d - A d at least (for the greatest weights), and how far rewards are off.

    Rounding errors and the width of the leave probabilities are on the careful side of both.
    """
    r = rows
    margin, off = np.empty(len(places)), np.empty(len(places))
    for n in range(len(places)):
        v = places[n]
        to_come, expected, width, size, mass, largest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        terms = 8
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            p, at = r.prob[i], r.landing[i]
            mass += p
            terms += 1 + r.n_returns[i]
            later, total = 0.0, r.reward[i]
            absolute = abs(total)
            if r.move[i] != EXITS:
                later += steps[at]
                total += reward[at]
                absolute += abs(reward[at])
            for j in range(r.n_returns[i]):
                back = r.push[i] + j
                if upper[at, j] > 0.0:
                    later += upper[at, j] * steps[back]
                    total += leave[at, j] * reward[back]
                    absolute += abs(leave[at, j] * reward[back])
                    width += p * (upper[at, j] - lower[at, j]) * abs(reward[back])
            to_come += p * later
            expected += p * total
            size += p * absolute
            largest = max(largest, absolute, later)
        rounding = terms * 2.3e-16
        residue = abs(1.0 - mass) * largest
        margin[n] = steps[v] - to_come - rounding * (to_come + steps[v]) - residue
        off[n] = abs(reward[v] - expected) + width + rounding * (size + abs(reward[v])) + residue
    return margin, off
