"""Sums that are rounded outwards.

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

Indices = npt.NDArray[np.integer[Any]]
_UNIT, _LEAST = 2.3e-16, 1e-323


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
    return 0.0 - float_above(-number)


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
