from __future__ import annotations

import math

import pytest
from tests.zoo.reference import exit_probabilities, value_to_depth

from recurl import zoo


def test_probability_of_false() -> None:
    model = zoo.and_or()
    false = math.sqrt(10) / 2 - 1
    P = exit_probabilities(model)
    assert P[model.find("and.in")] == pytest.approx([1 - false, false], abs=1e-12)
    assert P[model.find("or.in")] == pytest.approx([false, 1 - false], abs=1e-12)


def test_value_is_that_probability() -> None:
    lower, upper = (value_to_depth(zoo.and_or(), 12, beyond) for beyond in (min, max))
    assert lower <= math.sqrt(10) / 2 - 1 <= upper
    assert upper - lower < 0.03


@pytest.mark.parametrize(
    ("port", "target"),
    [
        ("and.left.false", "false"),
        ("and.left.true", "right.in"),
        ("or.left.true", "true"),
        ("or.left.false", "right.in"),
    ],
)
def test_evaluation_is_short_circuit(port: str, target: str) -> None:
    model = zoo.and_or()
    action = model.tables.action_start[model.find(port)]
    reached = model.tables.target[model.tables.transition_start[action]]
    assert model.local_name(int(reached)) == target
