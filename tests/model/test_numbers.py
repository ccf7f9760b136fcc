from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurl.model.numbers import (
    ExactNumbers,
    NumberColumn,
    exact,
    exact_sum,
    number_text,
    remainder_text,
    shortest_text,
    sum_is_one,
    to_float,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (3, Fraction(3)),
        (0.3, Fraction(3, 10)),
        (1e-5, Fraction(1, 100_000)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
        (Fraction(2, 6), Fraction(1, 3)),
        (Decimal("2.50"), Fraction(5, 2)),
        (" 1/3 ", Fraction(1, 3)),
        ("-7/2", Fraction(-7, 2)),
        ("+.5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1e3", Fraction(1000)),
        ("1E-3", Fraction(1, 1000)),
    ],
)
def test_numbers_as_people_write_them(number: object, value: Fraction) -> None:
    assert exact(number) == value
    assert to_float(number) == float(value)


@pytest.mark.parametrize(
    "number",
    ["", "x", "1/0", "1/-3", "1.5/2", "1_000", "0x10", "nan", "inf", "1e1000", "1e400", "--1"],
)
def test_what_is_no_finite_number_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match=r"is not a finite decimal|divides by zero|too large"):
        to_float(number)


@pytest.mark.parametrize(
    "number",
    ["1 2", "1" * 401, "٣", True, None, math.nan, -math.inf, Decimal("NaN"), Fraction(10**399)],
)
def test_what_is_no_number_to_us_is_refused(number: object) -> None:
    with pytest.raises(ValueError, match=r"is not a finite decimal|more than 400|too large"):
        to_float(number)


def test_there_is_no_negative_zero() -> None:
    for zero in ("-0", "-0.0", -0.0, Decimal("-0"), "-0/3"):
        assert math.copysign(1, to_float(zero)) == 1


@given(finite)
def test_a_float_stands_for_its_shortest_decimal(value: float) -> None:
    assert to_float(value) == value
    assert exact(value) == Fraction(repr(value))


texts = st.one_of(
    finite.map(repr),
    st.fractions().map(str),
    st.sampled_from(["1e999", "1e-999", "1e0001", "-0", "1_0", "nan", "", "1\n2", "x", "1" * 401]),
)


@given(st.lists(texts, max_size=5))
def test_a_column_reads_as_one_by_one(numbers: list[str]) -> None:
    def alone(text: str) -> float:
        try:
            return to_float(text)
        except ValueError:
            return math.nan

    column = NumberColumn.read(numbers)
    assert column.texts == numbers
    np.testing.assert_array_equal(column.values, [alone(text) for text in numbers])


def test_columns_grow_and_change() -> None:
    column = NumberColumn()
    column += NumberColumn.read([1, "1/4"])
    column += NumberColumn.read([0.5])
    column.replace(1, ["3/4", "0.25"])
    assert column.texts == ["1", "3/4", "0.25"]
    assert column.values == [1.0, 0.75, 0.25]


@given(st.lists(st.fractions(min_value=0, max_value=1), min_size=1, max_size=5))
def test_sums_are_exact(numbers: list[Fraction]) -> None:
    assert exact_sum(numbers) == sum(numbers)
    assert sum_is_one([str(n) for n in numbers]) == (sum(numbers) == 1)
    rest = remainder_text(numbers)
    if rest is None:
        assert sum(numbers) >= 1
    else:
        assert exact(rest) == 1 - sum(numbers)


def test_decimals_that_binary_floats_miss_sum_to_one() -> None:
    assert sum([0.1] * 10) != 1.0
    assert sum_is_one([0.1] * 10)
    assert sum_is_one([Decimal("0.3"), "0.7"])
    assert not sum_is_one(["0.3", "0.7000000000000000000001"])
    assert sum_is_one(["1e-999", "0." + "9" * 390]) is False


def test_sums_with_endless_denominators_are_refused() -> None:
    # 100 denominators of 300 digits, pairwise prime: their product would have 30000 digits.
    numbers = [f"1/{10**300 + 2 * i + 1}" for i in range(100)]
    with pytest.raises(ValueError, match="common denominator"):
        exact_sum(numbers)


def test_a_remainder_that_cannot_be_written_is_none() -> None:
    assert remainder_text([f"1/{3**400}", f"1/{7**400}"]) is None


@given(st.fractions(max_denominator=1000))
def test_the_shortest_text_is_exact(value: Fraction) -> None:
    assert exact(shortest_text(value)) == value


def exact_numbers(written: list[str] | None) -> ExactNumbers:
    prob = np.array([0.1] * 10 + [1.0])
    floats = (np.array([0.1] * 10 + [0.0]), prob, np.arange(11.0), np.array([0, 10, 11]))
    return ExactNumbers(written, written, written, floats=floats)


def test_binary_numbers_are_the_floats_and_the_last_takes_the_rest() -> None:
    numbers = exact_numbers(None)
    tenth = Fraction(0.1)
    assert numbers.binary
    assert [numbers.prob(i) for i in range(9)] == [tenth] * 9
    assert numbers.prob(9) == 1 - 9 * tenth != tenth
    assert numbers.prob(10) == 1
    assert numbers.reward(3) == 3
    assert numbers.prob_text(0) == "0.1"
    assert list(numbers.deviations()) == ["binary"]


def test_the_rest_of_a_binary_start_goes_to_the_last_entry_that_is_likely() -> None:
    numbers = exact_numbers(None)
    assert sum(numbers.start(j) for j in range(11)) == 1
    assert numbers.start(9) == 1 - 9 * Fraction(0.1)
    assert numbers.start(10) == 0


def test_written_numbers_are_kept() -> None:
    prob = np.array([1 / 3, 0.5, 2 / 3])
    written = ["1/3", "0.50", "0.6666666666666666"]
    numbers = ExactNumbers(
        ["1"],
        written,
        [0, 0, Fraction(1, 7)],
        floats=(np.ones(1), prob, np.array([0, 0, 1 / 7]), np.array([0, 3])),
    )
    assert [numbers.prob(i) for i in range(3)] == [exact(text) for text in written]
    assert [numbers.prob_text(i) for i in range(3)] == written
    assert numbers.reward_text(2) == "1/7"
    assert list(numbers.deviations()) == ["p0=1/3", "r2=1/7"]


def test_number_text_is_what_it_is_read_from() -> None:
    assert [number_text(x) for x in (0.1, 3, Fraction(1, 3), Decimal("1.50"), " 2 ")] == [
        "0.1", "3", "1/3", "1.50", "2",
    ]  # fmt: skip


def test_nearest_floats_of_exact_numbers() -> None:
    floats = np.array([1.0]), np.array([0.3, 0.7, 0.1, 0.2, 0.7]), np.ones(5), np.array([0, 2, 5])
    written = ExactNumbers(["1"], ["0.3", "0.7", 0.1, "1/3", "17/30"], [1] * 5, floats=floats)
    binary = ExactNumbers(None, None, None, floats=floats)
    for numbers in (written, binary):
        prob, reward = numbers.nearest()
        assert prob.tolist() == [float(numbers.prob(i)) for i in range(5)]
        assert reward.tolist() == [1.0] * 5
