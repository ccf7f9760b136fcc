"""Sums that are rounded outwards, and sparse systems x = A x + b with A >= 0.

A float sum of n nonnegative terms, each of a few roundings, is off by at most (n + 8) units of
rounding, relative to its size, and by n times the least float. `above` and `below` add that to it,
so that an inequality between their results is one between the exact numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from recurl.model.tables import Floats

Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.integer[Any]]
_UNIT, _LEAST = 2.3e-16, 1e-323
_DENSE, _DIRECT, _SPARSE = 60, 600, 30_000
_KRYLOV_LIMIT = 400


def sums(index: Indices, values: Floats, size: int) -> Floats:
    """Sums of values by index."""
    result: Floats = np.bincount(index, values, size).astype(np.float64, copy=False)
    return result


def above(total: Floats, terms: Floats | Indices | int) -> Floats:
    """At least the exact sum of nonnegative terms whose float sum is given."""
    return total * (1 + (terms + 8) * _UNIT) + (terms + 8) * _LEAST


def below(total: Floats, terms: Floats | Indices | int) -> Floats:
    """At most the exact sum of nonnegative terms whose float sum is given, and at least 0."""
    least: Floats = np.maximum(total * (1 - (terms + 8) * _UNIT) - (terms + 8) * _LEAST, 0.0)
    return least


def float_below(number: Fraction | float) -> float:
    """The greatest float that is not above a number."""
    return -float_above(-number)


def float_above(number: Fraction | float) -> float:
    """The least float that is not below a number.

    Example:
        >>> float_below(Fraction(1, 3)) < Fraction(1, 3) < float_above(Fraction(1, 3))
        True
    """
    if isinstance(number, float):
        return number
    try:
        nearest = float(number)
    except OverflowError:
        return math.inf if number > 0 else -np.finfo(np.float64).max.item()
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def reaching(start: Indices, target: Indices, goal: Mask) -> Mask:
    """Vertices of a graph, given by its edges, from which a goal can be reached; goals included."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    size = len(goal)
    goals = np.flatnonzero(goal)
    row = np.concatenate([target, np.full(len(goals), size)])
    column = np.concatenate([start, goals])
    ones = np.ones(len(row), np.int8)
    graph = csr_array((ones, (row, column)), shape=(size + 1, size + 1))
    found = np.zeros(size + 1, np.bool_)
    found[breadth_first_order(graph, size, return_predecessors=False)] = True
    return found[:size]


def solve_nonnegative(
    row: Indices, column: Indices, value: Floats, b: Floats, precision: float = 1e-14
) -> Floats | None:
    """A float solution of x = A x + b for A >= 0, given by its entries; None if none was found.

    Nothing is promised of the solution: whoever uses it checks what it needs. The precision is that
    of the equations, relative to the greatest b, where an iterative method is used.
    """
    from scipy.sparse import csr_array

    size = len(b)
    matrix = csr_array((value, (row, column)), shape=(size, size))
    if size <= _DENSE:
        try:
            return np.linalg.solve(np.eye(size) - matrix.toarray(), b)
        except np.linalg.LinAlgError:
            return None
    if size <= _DIRECT:
        return _factorised(matrix, b)
    found = _biconjugate(matrix, b, precision)
    return _factorised(matrix, b) if found is None and size <= _SPARSE else found


def _factorised(matrix: Any, b: Floats) -> Floats | None:
    """Sparse elimination; None if the matrix is singular."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    try:
        factors = splu(
            csc_array(eye_array(len(b)) - matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # exactly singular
        return None
    solution: Floats = factors.solve(b)
    return solution


def _biconjugate(matrix: Any, b: Floats, precision: float) -> Floats | None:
    """Stabilised biconjugate gradients on (I - A) x = b; None if the residual stays large."""
    x = b + matrix @ b
    r = b - x + matrix @ x
    shadow, p = r.copy(), r.copy()
    rho, goal = float(shadow @ r), precision * float(np.abs(b).max(initial=0.0))
    for _ in range(_KRYLOV_LIMIT):
        if np.abs(r).max(initial=0.0) <= goal or rho == 0:
            break
        v = p - matrix @ p
        if (across := float(shadow @ v)) == 0:
            break
        alpha = rho / across
        s = r - alpha * v
        t = s - matrix @ s
        square = float(t @ t)
        omega = float(t @ s) / square if square > 0 else 0.0
        x += alpha * p + omega * s
        r = s - omega * t
        before, rho = rho, float(shadow @ r)
        if omega == 0:
            break
        p = r + (rho / before) * (alpha / omega) * (p - omega * v)
    error = np.abs(b - x + matrix @ x).max(initial=0.0)
    return x if error <= 1e3 * goal else None
