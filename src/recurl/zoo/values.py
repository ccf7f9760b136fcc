"""Checks of the parameters that models take."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral

from recurl.model.numbers import exact
from recurl.model.spec import Number


def number(name: str, value: Number) -> Fraction:
    """The exact value of a parameter, or an error that names it."""
    try:
        return exact(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def between(name: str, value: Number, low: Number, high: Number, *, closed: str = "") -> Fraction:
    """The exact value of a parameter that must lie between two bounds.

    Args:
        name: Name of the parameter.
        value: What was given.
        low: Lower bound.
        high: Upper bound.
        closed: Which bounds may be met: ``""``, ``"low"``, ``"high"`` or ``"both"``.

    Example:
        >>> between("p", 0.5, 0, 1)
        Fraction(1, 2)
        >>> between("p", 1, 0, 1)
        Traceback (most recent call last):
        ValueError: p must be in (0, 1), not 1
    """
    x = number(name, value)
    at_low, at_high = closed in ("low", "both"), closed in ("high", "both")
    inside = exact(low) < x < exact(high)
    if inside or (at_low and x == exact(low)) or (at_high and x == exact(high)):
        return x
    interval = f"{'[' if at_low else '('}{low}, {high}{']' if at_high else ')'}"
    raise ValueError(f"{name} must be in {interval}, not {value}")


def at_least(name: str, value: int, least: int) -> int:
    """A whole number that must not be smaller than a bound.

    Example:
        >>> at_least("n", 0, 1)
        Traceback (most recent call last):
        ValueError: n must be a whole number, at least 1, not 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, not {value!r}")
    return int(value)
