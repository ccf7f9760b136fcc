"""Compiled elimination for systems x = A x + b with A >= 0."""

from __future__ import annotations

import numba
import numpy as np

HUGE = 1e13
"""Size of a solution beyond which floats cannot tell it from an infinite one."""


@numba.njit(cache=True)
def solve_monotone(matrix: np.ndarray, b: np.ndarray) -> bool:
    """Solve (I - A) x = b in place, for A >= 0; false if the spectral radius of A is not below 1.

    It is below 1 exactly if elimination without pivoting meets positive pivots only. ``matrix``
    holds A and is destroyed; ``b`` (one column per right-hand side) becomes the solution.
    """
    n = len(b)
    for j in range(n):
        pivot = 1.0 - matrix[j, j]
        if not pivot > 1.0 / HUGE:
            return False
        for i in range(j + 1, n):
            factor = matrix[i, j] / pivot
            if factor != 0.0:
                for k in range(j + 1, n):
                    matrix[i, k] += factor * matrix[j, k]
                for m in range(b.shape[1]):
                    b[i, m] += factor * b[j, m]
    for m in range(b.shape[1]):
        for j in range(n - 1, -1, -1):
            for i in range(j + 1, n):
                b[j, m] += matrix[j, i] * b[i, m]
            b[j, m] /= 1.0 - matrix[j, j]
    return True


@numba.njit(cache=True)
def solve_linear_blocks(
    start: np.ndarray,
    column: np.ndarray,
    weight: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    order: np.ndarray,
    block_start: np.ndarray,
    first: int,
    local: np.ndarray,
    largest: int,
) -> int:
    """Least nonnegative solutions block by block, up to the first one larger than ``largest``.

    Returns the number of the block that is left to somebody else, or the number of blocks.
    """
    for n in range(first, len(block_start) - 1):
        block = order[block_start[n] : block_start[n + 1]]
        if len(block) > largest:
            return n
        if len(block) == 1:
            _solve_single(start, column, weight, b, x, block[0])
            continue
        for i in range(len(block)):
            local[block[i]] = i
        matrix = np.zeros((len(block), len(block)))
        for i in range(len(block)):
            for k in range(start[block[i]], start[block[i] + 1]):
                if local[column[k]] >= 0:
                    matrix[i, local[column[k]]] += weight[k]
        right = right_sides(start, column, weight, b, x, block, local)
        solution = right.copy()
        for i in range(len(block)):
            local[block[i]] = -1
            for m in range(right.shape[1]):
                if right[i, m] == np.inf:
                    solution[i, m] = 0.0
        store(x, block, right, solution, solve_monotone(matrix, solution))
    return len(block_start) - 1


@numba.njit(cache=True)
def _solve_single(
    start: np.ndarray, column: np.ndarray, weight: np.ndarray, b: np.ndarray, x: np.ndarray, v: int
) -> None:
    for m in range(x.shape[1]):
        own = 0.0
        x[v, m] = b[v, m]
        for k in range(start[v], start[v + 1]):
            if column[k] == v:
                own += weight[k]
            else:
                x[v, m] += weight[k] * x[column[k], m]
        if own > 1.0 - 1.0 / HUGE:
            x[v, m] = 0.0 if x[v, m] == 0.0 else np.inf
        else:
            x[v, m] /= 1.0 - own


@numba.njit(cache=True)
def right_sides(
    start: np.ndarray,
    column: np.ndarray,
    weight: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    block: np.ndarray,
    local: np.ndarray,
) -> np.ndarray:
    """The sum of b and what comes from outside of a block (where ``local`` is -1)."""
    right = np.empty((len(block), b.shape[1]))
    for i in range(len(block)):
        for m in range(b.shape[1]):
            right[i, m] = b[block[i], m]
            for k in range(start[block[i]], start[block[i] + 1]):
                if local[column[k]] < 0:
                    right[i, m] += weight[k] * x[column[k], m]
    return right


@numba.njit(cache=True)
def store(
    x: np.ndarray, block: np.ndarray, right: np.ndarray, solution: np.ndarray, solved: bool
) -> None:
    """Enter the least solution of a block: 0 where nothing comes in, inf where too much stays."""
    for m in range(x.shape[1]):
        most = 0.0
        for i in range(len(block)):
            most = max(most, right[i, m])
        for i in range(len(block)):
            if most == 0.0:
                x[block[i], m] = 0.0
            else:
                x[block[i], m] = solution[i, m] if solved and most < np.inf else np.inf


@numba.njit(cache=True)
def _subtract(
    start: np.ndarray, column: np.ndarray, weight: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """The vector y - A y."""
    result = y.copy()
    for i in range(len(y)):
        for k in range(start[i], start[i + 1]):
            result[i] -= weight[k] * y[column[k]]
    return result


@numba.njit(cache=True)
def _sweep(start: np.ndarray, column: np.ndarray, weight: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One Gauss-Seidel sweep from 0 for z = A z + y: solves with A up to its diagonal."""
    z = y.copy()
    for i in range(len(y)):
        own = 0.0
        for k in range(start[i], start[i + 1]):
            if column[k] < i:
                z[i] += weight[k] * z[column[k]]
            elif column[k] == i:
                own += weight[k]
        z[i] /= max(1.0 - own, 1.0 / HUGE)
    return z


@numba.njit(cache=True)
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """Scalar product; a plain loop, since threads of a library would be in each other's way."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@numba.njit(cache=True)
def _far(start: np.ndarray, column: np.ndarray, weight: np.ndarray, b: np.ndarray, x: np.ndarray,
         r: np.ndarray) -> float:  # fmt: skip
    """Set r to the residual b - (I - A) x; how many times too large its greatest entry is."""
    size = most = right = 0.0
    for i in range(len(x)):
        total = b[i] - x[i]
        for k in range(start[i], start[i + 1]):
            total += weight[k] * x[column[k]]
        r[i] = total
        most, size, right = max(most, abs(total)), max(size, abs(x[i])), max(right, abs(b[i]))
    # The second part is what rounding leaves of a residual at best.
    return most / (1e-14 * right + 2e-15 * size)


@numba.njit(cache=True)
def relax_linear(
    start: np.ndarray, column: np.ndarray, weight: np.ndarray, b: np.ndarray, x: np.ndarray
) -> bool:
    """Gauss-Seidel sweeps towards x = A x + b while they help; whether x is good enough then."""
    r = np.empty(len(x))
    far = _far(start, column, weight, b, x, r)
    while far > 1.0:
        for _ in range(8):
            x += _sweep(start, column, weight, r)
            after = _far(start, column, weight, b, x, r)
        if not after < 0.1 * far:
            return after <= 1.0
        far = after
    return True


@numba.njit(cache=True)
def biconjugate(
    start: np.ndarray,
    column: np.ndarray,
    weight: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    limit: int,
) -> None:
    """Improve x towards x = A x + b by stabilised biconjugate gradients (van der Vorst).

    Preconditioned by a Gauss-Seidel sweep. Starts afresh when the recursion breaks down, and when
    the true residual is not yet as small as the one that the recursion believes in.
    """
    done, r = 0, np.empty(len(x))
    for _ in range(8):
        far = _far(start, column, weight, b, x, r)
        if done >= limit or not far > 1.0:
            return
        goal = np.abs(r).max() / far
        shadow, p = r.copy(), r.copy()
        rho = _dot(shadow, r)
        while done < limit:
            done += 1
            p_hat = _sweep(start, column, weight, p)
            v = _subtract(start, column, weight, p_hat)
            sigma = _dot(shadow, v)
            if sigma == 0.0:
                break
            alpha = rho / sigma
            s = r - alpha * v
            s_hat = _sweep(start, column, weight, s)
            t = _subtract(start, column, weight, s_hat)
            square = _dot(t, t)
            if square == 0.0:
                x += alpha * p_hat
                break
            omega = _dot(t, s) / square
            x += alpha * p_hat + omega * s_hat
            r = s - omega * t
            before, rho = rho, _dot(shadow, r)
            if np.abs(r).max() <= goal or rho == 0.0 or omega == 0.0:
                break
            p = r + (rho / before) * (alpha / omega) * (p - omega * v)
