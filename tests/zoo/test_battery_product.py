from __future__ import annotations

from typing import Any

import pytest
from tests.zoo.reference import solved
from tests.zoo.test_battery import TWO_CHARGERS, best_by_charge

import recurl
from recurl import zoo


def test_default_value() -> None:
    solution = solved("battery_product")
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(0.99**10, abs=1e-6)


@pytest.mark.parametrize(
    "world",
    [
        {"layout": TWO_CHARGERS, "charge": 3, "breakdown": 0.1, "slip": 0.25},
        {"layout": "SC#/.#T/...", "charge": 1, "breakdown": 0.05, "step_reward": 0.03},
        {"layout": "ST", "charge": 0, "breakdown": 0.5},
        {"layout": "S.CT", "charge": 1, "breakdown": 0.5, "target_reward": 7},
    ],
)
def test_value_is_that_of_counting_the_units(world: dict[str, Any]) -> None:
    found = recurl.solve(zoo.battery_product(**world))
    assert found.gap <= 1e-6
    # The reference has room for nine units; in these worlds seven and more change nothing.
    assert found.value == pytest.approx(best_by_charge(**world, most=9), abs=1e-6)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="one start S"):
        zoo.battery_product("..T")
    with pytest.raises(ValueError, match="breakdown must be in"):
        zoo.battery_product(breakdown=1)
