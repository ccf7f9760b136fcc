from __future__ import annotations

from fractions import Fraction

import pytest

from recurl.programs.language import attempt, coin, distribution, options_of


def test_options_are_told_apart_by_value() -> None:
    assert options_of((1, 2, 1)) == (1, 2)
    assert options_of(([3, 4],)) == (3, 4)
    assert options_of(("only",)) == ("only",)
    with pytest.raises(ValueError, match="no options"):
        options_of((range(0),))


def test_a_coin_is_exact_and_leaves_out_what_cannot_be() -> None:
    assert coin(0.3) == {True: Fraction(3, 10), False: Fraction(7, 10)}
    assert coin(1) == {True: 1}
    assert coin("1/3")[False] == Fraction(2, 3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        coin(1.5)


def test_a_distribution_gives_the_rounding_error_to_the_last() -> None:
    thirds = distribution(dict.fromkeys("abc", 1 / 3))
    assert sum(thirds.values()) == 1
    assert thirds["a"] == Fraction("0.3333333333333333")
    for wrong in ({}, {"a": 0.5}, {"a": -0.5, "b": 1.5}):
        with pytest.raises(ValueError, match="sum to 1"):
            distribution(wrong)


def test_an_attempt_returns_declared_exceptions_only() -> None:
    assert attempt(lambda: 3, (ValueError,)) == 3
    assert isinstance(attempt(lambda: int("x"), (ValueError,)), ValueError)
    with pytest.raises(ZeroDivisionError):
        attempt(lambda: 1 // 0, (ValueError,))
