from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import cast

import numpy as np
import pytest

from recurl.zoo.values import at_least, between, number


def test_numbers_are_read_exactly() -> None:
    wanted = Fraction(3, 10)
    assert [number("x", v) for v in (0.3, "0.3", "3/10", Decimal("0.3"), wanted)] == [wanted] * 5


@pytest.mark.parametrize("value", ["x", "1/0", float("nan"), True])
def test_no_numbers_are_refused_by_name(value: str | float) -> None:
    with pytest.raises(ValueError, match=r"^size: "):
        number("size", value)


@pytest.mark.parametrize(
    ("closed", "inside", "interval"),
    [
        ("", (False, False), r"\(0, 1\)"),
        ("low", (True, False), r"\[0, 1\)"),
        ("high", (False, True), r"\(0, 1\]"),
        ("both", (True, True), r"\[0, 1\]"),
    ],
)
def test_bounds_may_be_met_where_closed(
    closed: str, inside: tuple[bool, bool], interval: str
) -> None:
    for value, good in zip((0, 1), inside, strict=True):
        if good:
            assert between("p", value, 0, 1, closed=closed) == value
        else:
            with pytest.raises(ValueError, match=f"p must be in {interval}, not {value}"):
                between("p", value, 0, 1, closed=closed)


def test_whole_numbers() -> None:
    assert at_least("n", 3, 1) == at_least("n", cast(int, np.int64(3)), 1) == 3


@pytest.mark.parametrize("value", [0, True, 2.0, "2"])
def test_no_whole_numbers_are_refused(value: int) -> None:
    with pytest.raises(ValueError, match="n must be a whole number, at least 1"):
        at_least("n", value, 1)
