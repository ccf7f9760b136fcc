"""Compiled parts of the linear solver: sweeps, aggregation, Krylov vectors.

A chain is the block of rows that is left when an action is chosen in every row:
``x = constant + P x``, with P in CSR form and columns counted within the block.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from recurl.model.tables import Floats
from recurl.solving.one_exit_kernel import Equations, Indices


class Chain(NamedTuple):
    """The equations of one block under one policy.

    Attributes:
        start: First entry of each row. ``[n + 1]``
        column: Row within the block. ``[E]``
        weight: Its nonnegative factor. ``[E]``
        constant: What comes from outside of the block. ``[n]``
    """

    start: Indices
    column: Indices
    weight: Floats
    constant: Floats


@numba.njit(cache=True)
def select_chain(
    eq: Equations, gain: np.ndarray, x: np.ndarray, choice: np.ndarray, first: int, last: int
) -> Chain:
    """The chain of a block under the chosen actions; rows before the block keep their values.

    Loops of a row to itself are solved for.
    """
    n = last - first
    most = np.int64(0)
    for q in range(first, last):
        most += np.int64(eq.entry_start[choice[q] + 1] - eq.entry_start[choice[q]])
    start = np.zeros(n + 1, np.uint32)
    column = np.empty(most, np.uint32)
    weight = np.empty(most, np.float64)
    constant = np.empty(n, np.float64)
    k = 0
    for i in range(n):
        a = choice[first + i]
        total = gain[a]
        leaves = 1.0
        for e in range(eq.entry_start[a], eq.entry_start[a + 1]):
            j = eq.column[e]
            if j < first:
                total += eq.weight[e] * x[j]
            elif j == first + i:
                leaves -= eq.weight[e]
            else:
                column[k] = j - first
                weight[k] = eq.weight[e]
                k += 1
        for e in range(start[i], k):
            weight[e] /= leaves
        constant[i] = total / leaves
        start[i + 1] = k
    return Chain(start, column[:k], weight[:k], constant)


@numba.njit(cache=True)
def sweep_chain(chain: Chain, x: np.ndarray, times: int) -> None:
    """Gauss-Seidel sweeps."""
    for _ in range(times):
        for q in range(len(x)):
            total = chain.constant[q]
            for e in range(chain.start[q], chain.start[q + 1]):
                total += chain.weight[e] * x[chain.column[e]]
            x[q] = total


@numba.njit(cache=True)
def shift_chain(chain: Chain, x: np.ndarray, right: np.ndarray) -> float:
    """Add the multiple of ``right`` after which the remainders ``constant + P x - x`` sum to 0.

    That takes care of the error that dies out most slowly where rows mix well. As
    ``right >= 1 + P right``, or nearly so, the multiple is finite. Returns the greatest remainder
    that is left.
    """
    rest, slack = np.empty(len(x)), np.empty(len(x))
    for q in range(len(x)):
        total, back = chain.constant[q] - x[q], right[q]
        for e in range(chain.start[q], chain.start[q + 1]):
            j = chain.column[e]
            total += chain.weight[e] * x[j]
            back -= chain.weight[e] * right[j]
        rest[q], slack[q] = total, back
    factor = rest.sum() / slack.sum() if slack.sum() > 0.0 else 0.0
    most = 0.0
    for q in range(len(x)):
        x[q] += factor * right[q]
        most = max(most, abs(rest[q] - factor * slack[q]))
    return most


@numba.njit(cache=True)
def remainder(chain: Chain, x: np.ndarray, out: np.ndarray) -> None:
    """``out = constant + P x - x``."""
    for q in range(len(x)):
        total = chain.constant[q] - x[q]
        for e in range(chain.start[q], chain.start[q + 1]):
            total += chain.weight[e] * x[chain.column[e]]
        out[q] = total


@numba.njit(cache=True)
def multiply(chain: Chain, x: np.ndarray, out: np.ndarray) -> None:
    """``out = (I - P) x``."""
    for q in range(len(x)):
        total = x[q]
        for e in range(chain.start[q], chain.start[q + 1]):
            total -= chain.weight[e] * x[chain.column[e]]
        out[q] = total


@numba.njit(cache=True)
def visits(chain: Chain, times: int) -> np.ndarray:
    """How often rows are visited from everywhere within so many steps: ``sum_k 1 P^k``."""
    n = len(chain.constant)
    count = np.ones(n)
    for _ in range(times):
        after = np.ones(n)
        for q in range(n):
            for e in range(chain.start[q], chain.start[q + 1]):
                after[chain.column[e]] += chain.weight[e] * count[q]
        count = after
    return count


@numba.njit(cache=True)
def aggregate(
    chain: Chain, left: np.ndarray, right: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR of ``I - P`` by groups of ``size`` rows: summed with weights left, spread as right."""
    n = len(right)
    groups = (n + size - 1) // size
    start = np.zeros(groups + 1, np.int32)
    column = np.empty(len(chain.column) + groups, np.int32)
    value = np.empty(len(chain.column) + groups, np.float64)
    place = np.full(groups, -1, np.int32)
    count = 0
    for group in range(groups):
        begin = count
        place[group] = count
        column[count] = group
        value[count] = 0.0
        count += 1
        for q in range(group * size, min(n, (group + 1) * size)):
            value[begin] += left[q] * right[q]
            for e in range(chain.start[q], chain.start[q + 1]):
                j = chain.column[e]
                other = j // size
                if place[other] < begin:
                    place[other] = count
                    column[count] = other
                    value[count] = 0.0
                    count += 1
                value[place[other]] -= left[q] * chain.weight[e] * right[j]
        start[group + 1] = count
    return start, column[:count], value[:count]


@numba.njit(cache=True)
def gather(x: np.ndarray, left: np.ndarray, size: int) -> np.ndarray:
    """Weighted sums over groups of rows."""
    n = len(x)
    out = np.zeros((n + size - 1) // size)
    for group in range(len(out)):
        for q in range(group * size, min(n, (group + 1) * size)):
            out[group] += left[q] * x[q]
    return out


@numba.njit(cache=True)
def spread(
    chain: Chain, b: np.ndarray, coarse: np.ndarray, right: np.ndarray, size: int, out: np.ndarray
) -> None:
    """Spread values of groups over rows, then one Gauss-Seidel sweep for ``(I - P) out = b``."""
    n = len(b)
    for group in range(len(coarse)):
        for q in range(group * size, min(n, (group + 1) * size)):
            out[q] = coarse[group] * right[q]
    for q in range(n):
        total = b[q]
        for e in range(chain.start[q], chain.start[q + 1]):
            total += chain.weight[e] * out[chain.column[e]]
        out[q] = total


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def orthogonalise(basis: np.ndarray, vector: np.ndarray, count: int) -> np.ndarray:
    """Make a vector orthogonal to the first rows of a basis and append it; the coefficients."""
    n = len(vector)
    h = np.zeros(count + 1)
    for i in range(count):
        total = 0.0
        for k in range(n):
            total += basis[i, k] * vector[k]
        h[i] = total
        for k in range(n):
            vector[k] -= total * basis[i, k]
    total = 0.0
    for k in range(n):
        total += vector[k] * vector[k]
    h[count] = np.sqrt(total)
    if h[count] > 0.0:
        for k in range(n):
            basis[count, k] = vector[k] / h[count]
    return h


@numba.njit(cache=True)
def add_combination(x: np.ndarray, vectors: np.ndarray, factors: np.ndarray) -> None:
    """``x += sum_i factors[i] vectors[i]``."""
    for i in range(len(factors)):
        for k in range(len(x)):
            x[k] += factors[i] * vectors[i, k]


@numba.njit(cache=True)
def least_remainder(hessenberg: np.ndarray, length: float) -> tuple[np.ndarray, float]:
    """Minimise ``|length e1 - H y|`` for a Hessenberg matrix by rotations; y and the minimum."""
    h = hessenberg.copy()
    k = h.shape[1]
    g = np.zeros(k + 1)
    g[0] = length
    for i in range(k):
        size = np.hypot(h[i, i], h[i + 1, i])
        if size == 0.0:
            continue
        c, s = h[i, i] / size, h[i + 1, i] / size
        for j in range(i, k):
            upper = h[i, j]
            h[i, j] = c * upper + s * h[i + 1, j]
            h[i + 1, j] = c * h[i + 1, j] - s * upper
        g[i + 1] = -s * g[i]
        g[i] = c * g[i]
    y = np.zeros(k)
    for i in range(k - 1, -1, -1):
        total = g[i]
        for j in range(i + 1, k):
            total -= h[i, j] * y[j]
        y[i] = total / h[i, i] if h[i, i] != 0.0 else 0.0
    return y, float(abs(g[k]))
