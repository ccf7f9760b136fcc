from __future__ import annotations

import pytest
from tests.zoo.reference import start_value

from recurl import zoo


@pytest.mark.parametrize("p", [0.05, 0.5, 0.99])
def test_value_is_the_expected_depth(p: float) -> None:
    assert start_value(zoo.countdown(p)) == pytest.approx(1 / p - 1, rel=1e-9)


def test_default_is_nineteen() -> None:
    assert start_value(zoo.countdown()) == pytest.approx(19, rel=1e-9)


def test_wrong_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match=r"p must be in \(0, 1\), not 0"):
        zoo.countdown(0)
