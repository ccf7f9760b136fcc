"""Compiled loops over the equations of a 1-exit model."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from recurl.model.tables import CALL, EXIT, Floats, Ints, Tables

Indices = npt.NDArray[np.uint32]
"""Unsigned: numba then need not ask at every access whether an index counts from the end."""

UNIT = 2.0**-53
"""Relative error of one rounded operation."""


class Equations(NamedTuple):
    """``x(row) = max over its actions of gain(action) + sum weight x(column)``, without calls.

    Rows are the states of the model, in an order in which what a row speaks of comes before it or
    in the same block. A call is replaced by the sum that it stands for, exits are worth 0.

    Attributes:
        action_start: First action of each row. ``[n + 1]``
        entry_start: First entry of each action. ``[A + 1]``
        column: Row that an entry refers to. ``[E]``
        weight: Its nonnegative factor. ``[E]``
        error: Relative error of evaluating an action in floats. ``[A]``
        block_start: First row of each strongly connected block; one more at the end.
    """

    action_start: Indices
    entry_start: Indices
    column: Indices
    weight: Floats
    error: Floats
    block_start: Ints


@numba.njit(cache=True)
def equation_graph(t: Tables) -> tuple[np.ndarray, np.ndarray]:
    """Which vertex refers to which, as CSR: states to targets, calls to entry and return port."""
    n = len(t.vertex_kind)
    start = np.zeros(n + 1, np.int32)
    for v in range(n):
        size = t.transition_start[t.action_start[v + 1]] - t.transition_start[t.action_start[v]]
        start[v + 1] = start[v] + (2 if t.vertex_kind[v] == CALL else size)
    target = np.empty(start[n], np.int32)
    for v in range(n):
        if t.vertex_kind[v] == CALL:
            target[start[v]] = called_entry(t, v)
            target[start[v] + 1] = t.box_return[t.vertex_box[v]]
        else:
            first = t.transition_start[t.action_start[v]]
            for i in range(start[v + 1] - start[v]):
                target[start[v] + i] = t.target[first + i]
    return start, target


@numba.njit(cache=True)
def called_entry(t: Tables, call: int) -> np.int32:
    """Entry at which a call port continues."""
    return t.component_start[t.box_component[t.vertex_box[call]]] + t.vertex_port[call]


@numba.njit(cache=True)
def closed_probabilities(t: Tables) -> np.ndarray:
    """Probabilities in which the last one of each action is what the others leave."""
    prob = t.prob.copy()
    for a in range(len(t.action_vertex)):
        last = t.transition_start[a + 1] - 1
        total = 0.0
        for i in range(t.transition_start[a], last):
            total += prob[i]
        prob[last] = max(1.0 - total, 0.0)
    return prob


@numba.njit(cache=True)
def reduce_rows(
    t: Tables, order: np.ndarray, position: np.ndarray, prob: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first five arrays of `Equations`, rows in the given order of states."""
    n = len(order)
    actions = entries = 0
    for v in order:
        actions += t.action_start[v + 1] - t.action_start[v]
        for i in range(
            t.transition_start[t.action_start[v]], t.transition_start[t.action_start[v + 1]]
        ):
            kind = t.vertex_kind[t.target[i]]
            entries += 0 if kind == EXIT else 2 if kind == CALL else 1
    action_start = np.zeros(n + 1, np.uint32)
    entry_start = np.zeros(actions + 1, np.uint32)
    error = np.empty(actions, np.float64)
    column = np.empty(entries, np.uint32)
    weight = np.empty(entries, np.float64)
    action = entry = 0
    for row in range(n):
        v = order[row]
        for a in range(t.action_start[v], t.action_start[v + 1]):
            for i in range(t.transition_start[a], t.transition_start[a + 1]):
                target = t.target[i]
                if t.vertex_kind[target] == EXIT:
                    continue
                if t.vertex_kind[target] == CALL:
                    column[entry] = position[called_entry(t, target)]
                    weight[entry] = prob[i]
                    entry += 1
                    target = t.box_return[t.vertex_box[target]]
                column[entry] = position[target]
                weight[entry] = prob[i]
                entry += 1
            # With k transitions: k roundings in the last probability, up to 2 k + 2 in the sum.
            error[action] = (4 * (t.transition_start[a + 1] - t.transition_start[a]) + 8) * UNIT
            action += 1
            entry_start[action] = entry
        action_start[row + 1] = action
    return action_start, entry_start, column, weight, error


@numba.njit(cache=True)
def expected_rewards(
    t: Tables, order: np.ndarray, prob: np.ndarray, reward: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Expected reward of each action in the order of rows, and its greatest size."""
    actions = 0
    for v in order:
        actions += t.action_start[v + 1] - t.action_start[v]
    gain = np.zeros(actions)
    size = np.zeros(actions)
    action = 0
    for v in order:
        for a in range(t.action_start[v], t.action_start[v + 1]):
            for i in range(t.transition_start[a], t.transition_start[a + 1]):
                gain[action] += prob[i] * reward[i]
                size[action] = max(size[action], abs(reward[i]))
            action += 1
    return gain, size


@numba.njit(cache=True)
def action_value(eq: Equations, gain: np.ndarray, x: np.ndarray, action: int) -> float:
    """What an action is worth, given values of rows."""
    total: float = gain[action]
    for e in range(eq.entry_start[action], eq.entry_start[action + 1]):
        total += eq.weight[e] * x[eq.column[e]]
    return total


@numba.njit(cache=True)
def improve(
    eq: Equations, gain: np.ndarray, x: np.ndarray, choice: np.ndarray, first: int, last: int
) -> tuple[float, int]:
    """One Gauss-Seidel sweep of value iteration over rows; greatest change, rows that switched.

    An action is kept unless another one is better by more than rounding.
    """
    change = 0.0
    switched = 0
    for q in range(first, last):
        kept = choice[q]
        best = own = -np.inf
        found = kept
        for a in range(eq.action_start[q], eq.action_start[q + 1]):
            value = gain[a]
            for e in range(eq.entry_start[a], eq.entry_start[a + 1]):
                value += eq.weight[e] * x[eq.column[e]]
            if a == kept:
                own = value
            if value > best:
                best = value
                found = a
        if found != kept and best > own + 8 * UNIT * abs(own):
            choice[q] = found
            switched += 1
        change = max(change, abs(best - x[q]))
        x[q] = best
    return change, switched


@numba.njit(cache=True)
def solve_small(
    eq: Equations, gain: np.ndarray, x: np.ndarray, choice: np.ndarray, block: int, limit: int
) -> tuple[int, bool]:
    """Solve blocks of at most ``limit`` rows by policy iteration, from the given one on.

    Returns the first block that is larger, and True; or a block with a policy whose matrix has
    spectral radius 1 or more, and False.
    """
    while block < len(eq.block_start) - 1:
        first, last = eq.block_start[block], eq.block_start[block + 1]
        if last - first > limit:
            return block, True
        for _ in range(100 + 10 * (last - first)):
            if not _eliminate(eq, gain, x, choice, first, last):
                return block, False
            _, switched = improve(eq, gain, x, choice, first, last)
            if switched == 0:
                break
        block += 1
    return block, True


@numba.njit(cache=True)
def _eliminate(
    eq: Equations, gain: np.ndarray, x: np.ndarray, choice: np.ndarray, first: int, last: int
) -> bool:
    """Solve the rows of a block for the chosen actions by dense elimination.

    No pivoting: for a nonnegative matrix A, those of I - A are all positive exactly if the spectral
    radius of A is below 1. Returns whether they are.
    """
    n = last - first
    matrix = np.zeros((n, n + 1))
    for i in range(n):
        a = choice[first + i]
        matrix[i, i] = 1.0
        matrix[i, n] = gain[a]
        for e in range(eq.entry_start[a], eq.entry_start[a + 1]):
            j = eq.column[e] - first
            if j >= 0:
                matrix[i, j] -= eq.weight[e]
            else:
                matrix[i, n] += eq.weight[e] * x[eq.column[e]]
    for i in range(n):
        if not matrix[i, i] > 1e-14:
            return False
        for k in range(i + 1, n):
            factor = matrix[k, i] / matrix[i, i]
            if factor != 0.0:
                for j in range(i + 1, n + 1):
                    matrix[k, j] -= factor * matrix[i, j]
    for i in range(n - 1, -1, -1):
        total = matrix[i, n]
        for j in range(i + 1, n):
            total -= matrix[i, j] * x[first + j]
        x[first + i] = total / matrix[i, i]
    return True


@numba.njit(cache=True)
def slopes(
    eq: Equations,
    gain: np.ndarray,
    size: np.ndarray,
    x: np.ndarray,
    d: np.ndarray,
    choice: np.ndarray,
) -> tuple[float, float]:
    """Least t for which x + t d, and least t for which x - t d, should be a bound; inf if none.

    In each row it is (excess of an action over x) / (slack of d), both with rounding counted. For
    the lower bound, only the chosen actions matter.
    """
    up = down = -np.inf
    for q in range(len(x)):
        for a in range(eq.action_start[q], eq.action_start[q + 1]):
            value, steps, reach, height = gain[a], 0.0, 0.0, 0.0
            for e in range(eq.entry_start[a], eq.entry_start[a + 1]):
                j = eq.column[e]
                value += eq.weight[e] * x[j]
                steps += eq.weight[e] * d[j]
                reach = max(reach, abs(x[j]))
                height = max(height, d[j])
            slack = d[q] - steps - 2.0 * height * eq.error[a]
            if slack <= 0.0:
                return np.inf, np.inf
            doubt = (2.0 * reach + size[a]) * eq.error[a]
            if value - x[q] + doubt > up * slack:
                up = (value - x[q] + doubt) / slack
            if a == choice[q] and x[q] - value + doubt > down * slack:
                down = (x[q] - value + doubt) / slack
    return up, down


@numba.njit(cache=True)
def shortfalls(
    eq: Equations, gain: np.ndarray, size: np.ndarray, x: np.ndarray, sign: float
) -> np.ndarray:
    """By how much x must at least be raised (sign 1) or lowered (-1) in view of each action alone.

    Rounding is counted four times: what is made of these numbers is rounded as well.
    """
    out = np.empty(len(gain))
    for q in range(len(x)):
        for a in range(eq.action_start[q], eq.action_start[q + 1]):
            value = action_value(eq, gain, x, a) - x[q]
            out[a] = sign * value + 4.0 * _doubt(eq, size, x, a) + 4.0 * UNIT * abs(x[q])
    return out


@numba.njit(cache=True)
def holds_above(eq: Equations, gain: np.ndarray, size: np.ndarray, x: np.ndarray) -> bool:
    """Whether x >= the value of every action, rounding counted: then x is an upper bound."""
    for q in range(len(x)):
        for a in range(eq.action_start[q], eq.action_start[q + 1]):
            if not action_value(eq, gain, x, a) + _doubt(eq, size, x, a) <= x[q]:
                return False
    return True


@numba.njit(cache=True)
def holds_below(
    eq: Equations, gain: np.ndarray, size: np.ndarray, x: np.ndarray, choice: np.ndarray
) -> bool:
    """Whether x <= the value of the chosen actions, rounding counted: then x is a lower bound."""
    for q in range(len(x)):
        a = choice[q]
        if not action_value(eq, gain, x, a) - _doubt(eq, size, x, a) >= x[q]:
            return False
    return True


@numba.njit(cache=True)
def _doubt(eq: Equations, size: np.ndarray, x: np.ndarray, action: int) -> float:
    """By how much the value of an action in floats may be wrong."""
    reach: float = 0.0
    for e in range(eq.entry_start[action], eq.entry_start[action + 1]):
        reach = max(reach, abs(x[eq.column[e]]))
    return (2.0 * reach + size[action]) * eq.error[action]


@numba.njit(cache=True)
def greatest_sum(eq: Equations) -> float:
    """The greatest sum of weights of an action."""
    most = 0.0
    for a in range(len(eq.error)):
        total = 0.0
        for e in range(eq.entry_start[a], eq.entry_start[a + 1]):
            total += eq.weight[e]
        most = max(most, total)
    return most
