from __future__ import annotations

from fractions import Fraction

import pytest
from tests.zoo.reference import exit_probabilities, start_value, value_to_depth

from recurl import zoo


@pytest.mark.parametrize("p", [0.1, 0.25, 0.4, 0.49])
def test_value_is_the_expected_number_of_steps(p: float) -> None:
    assert start_value(zoo.gambler(p)) == pytest.approx((1 + 2 * p) / (1 - 2 * p), rel=1e-8)


def test_steps_are_infinite_from_one_half_on() -> None:
    with pytest.raises(AssertionError, match="not proper"):
        start_value(zoo.gambler(0.6))
    assert value_to_depth(zoo.gambler(0.6), 40, min) > 1000


@pytest.mark.parametrize("p", [0.2, 0.45, 0.6, 0.9])
def test_termination_probability(p: float) -> None:
    model = zoo.gambler(p)
    found = exit_probabilities(model)[model.find("W.in"), 0]
    assert found == pytest.approx(min(1, (1 - p) / p), abs=1e-9)


def test_fractions_are_kept() -> None:
    model = zoo.gambler("1/3")
    assert [model.exact.prob(t) for t in range(2)] == [Fraction(1, 3), Fraction(2, 3)]


@pytest.mark.parametrize("p", [0, 1, -0.5, 1.5])
def test_wrong_probabilities_are_refused(p: float) -> None:
    with pytest.raises(ValueError, match=r"p must be in \(0, 1\)"):
        zoo.gambler(p)
