from __future__ import annotations

import pytest
from tests.zoo.reference import value_to_depth

from recurl import zoo


def test_value_needs_the_stack() -> None:
    model = zoo.stack_matters()
    lower = [value_to_depth(model, depth) for depth in (1, 3, 6, 9)]
    assert lower == sorted(lower)
    assert 43 / 55 - 1e-3 < lower[-1] <= 43 / 55


def test_no_depth_gets_more() -> None:
    upper = [value_to_depth(zoo.stack_matters(), depth, max) for depth in (3, 6, 9)]
    assert upper == sorted(upper, reverse=True)
    assert 43 / 55 <= upper[-1] < 43 / 55 + 1e-3


@pytest.mark.parametrize(("action", "value"), [("even", 0.5), ("hope0", -0.2), ("hope1", -0.2)])
def test_stackless_strategies_get_one_half_at_best(action: str, value: float) -> None:
    model = zoo.stack_matters()
    entry = model.find("G.in")
    only = {entry: list(model.action_names(entry)).index(action)}
    assert value_to_depth(model, 30, max, only) == pytest.approx(value, abs=0.06)
