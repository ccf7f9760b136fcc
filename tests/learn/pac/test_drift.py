"""Undiscounted models under assumptions."""

from __future__ import annotations

import pytest

import recurl
from recurl.learn.pac.drift import Drift, contradictions, learn_with_drift, paying
from recurl.learn.pac.one_exit import Task

GOOD = Drift(height=4, fall=0.15, value=9)


def test_senseless_assumptions_are_refused() -> None:
    for wrong in ((0.5, 0.5, 1), (2, 0, 1), (2, 1.5, 1), (2, 0.5, 0)):
        with pytest.raises(ValueError, match="c_o"):
            Drift(*wrong)


def test_cut_and_closeness_follow_their_formulas() -> None:
    drift = Drift(height=3, fall=0.5, value=2)
    k = drift.cut(0.1)
    assert k == 120
    assert drift.closeness(0.1) == pytest.approx(0.1 / (2 * (3 * k**2 + 2 * 3 * k)))


@pytest.mark.parametrize("k", [10, 100, 500])
def test_paying_lanes_enclose_the_optimum(k: int) -> None:
    model = recurl.zoo.cloud()
    truth = recurl.solve(model).value
    cut = recurl.discount_steps(model, 1 - 1 / k)
    high, low = (recurl.solve(paying(cut, sign * 9), epsilon=0.01).value for sign in (1, -1))
    assert low <= truth <= high
    assert high - low <= 500 / k  # twice 9 for every level, at every step, that a cut would meet


def test_the_optimum_of_cloud_without_a_discount() -> None:
    learned = learn_with_drift(recurl.zoo.cloud(), Task(2.0, 0.05, seed=1), GOOD)
    assert learned.warnings == ()
    assert learned.lower <= -5.34248 <= learned.upper
    assert learned.reached
    assert learned.numbers["Cut length k"] == GOOD.cut(0.8)


def test_wrong_assumptions_are_found_and_warned_of() -> None:
    model = recurl.zoo.cloud()
    assert contradictions(model, GOOD) == ()
    assert any("c_o = 1.2" in text for text in contradictions(model, Drift(1.2, 0.15, 9)))
    assert any("beyond b = 1" in text for text in contradictions(model, Drift(4, 0.15, 1)))
    with pytest.warns(UserWarning, match="above c_o"):
        found = learn_with_drift(model, Task(8.0, 0.05), Drift(1.2, 0.15, 9))
    assert found.warnings
    assert "Warning: " in found.statement
