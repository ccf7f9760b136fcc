"""Numbers on the command line: every verb reads them the same way and refuses them early."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer

MOST = 10**15
"""No count is larger: at a million a second that is thirty years."""


def count(help: str, *, least: int = 1, most: int = MOST) -> Any:
    """An option that takes a whole number, also written as ``1e5``.

    Args:
        help: What the option is for.
        least: Smallest number that is accepted.
        most: Largest number that is accepted.
    """
    return typer.Option(parser=_counter(least, most), metavar="N", help=help)


def _counter(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise typer.BadParameter(f"{text!r} is not a number.") from None
        if not number.is_finite() or not least <= number <= most:
            raise typer.BadParameter(f"{text} is not in the range from {least:,} to {most:,}.")
        if number % 1:
            raise typer.BadParameter(f"{text} is not a whole number.")
        return int(number)

    return read


def real(
    help: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
) -> Any:
    """An option that takes a finite number.

    Args:
        help: What the option is for.
        least: Smallest number that is accepted.
        above: The number must be greater than this.
        most: Largest number that is accepted.
        below: The number must be less than this.
    """

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not a number.") from None
        if not math.isfinite(number):
            raise typer.BadParameter(f"{text} is not finite.")
        if number < least or number <= above:
            wanted = f"at least {least:g}" if number < least else f"greater than {above:g}"
            raise typer.BadParameter(f"{text} is not {wanted}.")
        if number > most or number >= below:
            wanted = f"at most {most:g}" if number > most else f"less than {below:g}"
            raise typer.BadParameter(f"{text} is not {wanted}.")
        return number

    return typer.Option(parser=read, metavar="NUMBER", help=help)


def numbers(text: str) -> list[float]:
    """Numbers with commas between them.

    Example:
        >>> numbers("0,-1.5")
        [0.0, -1.5]
    """
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a list of numbers such as 0,-1.5.") from None


Discount = Annotated[float, real("Discount of each step.", above=0, most=1)]
BoxDiscount = Annotated[
    float, real("Discount by boxes, of models with one exit per component.", above=0, most=1)
]
Seed = Annotated[int, count("Seed of all randomness.", least=0, most=2**32 - 1)]
