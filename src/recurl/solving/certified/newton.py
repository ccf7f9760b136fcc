"""Fixed points of maps between vectors, by Newton's method with inexact linear solves.

The maps here are what calls earn or reach, as a function of what the calls inside them do: nearly
linear, with slow modes where runs are long, which steps of the map alone would take very long to
bring to rest. Nothing rests on the result: it is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.model.tables import Floats

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

_HOPELESS = 1e100
_STRIKES = 12
_PLAIN = 3
_SMALL = 200
"""Unknowns up to which solving for all of them at once costs less than a first guess."""


class Rest(NamedTuple):
    """Where a search for a fixed point came to rest.

    Attributes:
        x: The vector.
        steps: How often the map was applied.
        found: Whether the vector moves no more than allowed.
    """

    x: Floats
    steps: int
    found: bool


Map = Callable[[Floats], Floats]
Slopes = Callable[[], Any]
Solver = Callable[[Map, Slopes, Floats, float], Rest]


def fixed_point(
    step: Map,
    slopes: Slopes,
    start: Floats,
    tolerance: float,
    limit: int = 60,
) -> Rest:
    """A vector x with step(x) within ``tolerance`` of x, if one is found.

    Args:
        step: The map.
        slopes: Its Jacobian where ``step`` was last taken.
        start: Where to begin.
        tolerance: Greatest difference that counts as none.
        limit: Most steps.

    Example:
        >>> slopes = np.array([[0.999]])
        >>> fixed_point(lambda x: 0.999 * x + 1, lambda: slopes, np.zeros(1), 1e-6).x.round(3)
        array([1000.])
    """
    x = best = start
    least, plain, strikes = np.inf, 0, 0
    for count in range(1, limit + 1):
        image = step(x)
        size = _distance(image, x)
        if size <= tolerance:
            return Rest(image, count, True)
        if size < least:
            best, least = image, size
        else:
            strikes += 1
            plain = _PLAIN
        if strikes > _STRIKES or not size < _HOPELESS:
            break
        if plain:
            plain -= 1
            x = image
        else:
            x = x + solve_from_identity(slopes(), image - x)
    return Rest(best, count, False)


def steps_to_rest(
    step: Map,
    slopes: Slopes,
    start: Floats,
    tolerance: float,
    limit: int = 5000,
) -> Rest:
    """The same by steps alone: slow, but a monotone map from below does not run away.

    Example:
        >>> slopes = np.array([[0.5]])
        >>> steps_to_rest(lambda x: 0.5 * x + 1, lambda: slopes, np.zeros(1), 1e-9).x.round(6)
        array([2.])
    """
    x, new, steps, size = start, step(start), 1, np.inf
    while steps < limit:
        size = _distance(new, x)
        if size <= tolerance or not size < _HOPELESS:
            break
        x, new, steps = new, step(new), steps + 1
    return Rest(new, steps, size <= tolerance)


class Fineness:
    """How finely components are solved within a step: a fraction of how far the steps still go."""

    def __init__(self, least: float) -> None:
        self.least, self.now = least, 100.0 * least

    def after(self, out: Floats, entries: Floats) -> Floats:
        """Hands on what a step gave, and sets the fineness of the next."""
        with np.errstate(invalid="ignore"):
            left = float(np.abs(out - entries).max(initial=0.0))
        self.now = max(self.least, 1e-5 * left) if np.isfinite(left) else np.inf
        return out


def linear_operator(size: int, matvec: Map) -> LinearOperator:
    """A square matrix that is known by what it does to vectors."""
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator((size, size), matvec=lambda x: matvec(x.ravel()), dtype=float)


def solve_from_identity(matrix: Any, right: Floats, rtol: float = 1e-5) -> Floats:
    """D with d - matrix d = right, nearly; ``right`` itself where none is found."""
    flat = right.ravel()
    if flat.size <= _SMALL and hasattr(matrix, "toarray"):
        found = _solve_whole(np.eye(flat.size) - matrix.toarray(), flat)
    else:
        found = _solve_nearly(matrix, flat, rtol)
    solution: Floats = found.reshape(right.shape) if np.isfinite(found).all() else right
    return solution


def _solve_whole(matrix: Floats, right: Floats) -> Floats:
    """The solution; nan where there is none."""
    try:
        found: Floats = np.linalg.solve(matrix, right).astype(float, copy=False)
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)
    return found


def _solve_nearly(matrix: Any, right: Floats, rtol: float) -> Floats:
    """By products with the matrix alone."""
    from scipy.sparse.linalg import gmres

    apart = linear_operator(right.size, lambda x: x - matrix @ x)
    found: Floats = gmres(apart, right, rtol=rtol, atol=0.0, restart=40, maxiter=4)[0]
    return found


def _distance(a: Floats, b: Floats) -> float:
    """The greatest difference; nan where a map that runs away gives inf - inf."""
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.abs(a - b).max(initial=0.0))
