from __future__ import annotations

from typing import Any

import pytest
from tests.zoo.reference import STEPS, open_cells, unrolled_value

from recurl import zoo

TWO_CHARGERS = "S.C./..#./.C.T"


def best_by_charge(
    layout: str,
    charge: int,
    *,
    most: int,
    breakdown: float,
    slip: float = 0,
    target_reward: float = 1,
    step_reward: float = 0,
) -> float:
    """The rules once more: value iteration over (cell, first units left, gained units left)."""
    letters = open_cells(layout)
    charges = [(units, gained) for units in range(charge + 1) for gained in range(most + 1)]
    x = {(cell, *left): 0.0 for cell in letters for left in charges}
    for _ in range(600):
        before = dict(x)
        for cell, units, gained in x:
            if letters[cell] == "T":
                continue
            spent = (units, gained - 1) if gained else (units - 1, 0)
            worth = [0.0]  # a run that is dry, also by any move of an empty battery
            for down, right in STEPS if units or gained else []:
                there = (cell[0] + down, cell[1] + right)
                ends = [(there if there in letters else cell, 1 - slip), (cell, slip)]
                arrive = [p * target_reward for end, p in ends if letters[end] == "T"]
                worth.append(sum(arrive) + sum(p * x[end, *spent] for end, p in ends))
            if letters[cell] == "C" and gained < most:
                worth.append(x[cell, units, gained + 1])
            x[cell, units, gained] = step_reward + (1 - breakdown) * max(worth)
        if all(abs(value - before[key]) < 1e-13 for key, value in x.items()):
            break
    start = next(cell for cell, letter in letters.items() if letter == "S")
    return x[start, charge, 0]


def test_default_value() -> None:
    assert unrolled_value(zoo.battery(), 5) == pytest.approx(0.99**10, abs=1e-12)


@pytest.mark.parametrize(
    "world",
    [
        {"layout": TWO_CHARGERS, "charge": 2, "breakdown": 0.05},
        {"layout": TWO_CHARGERS, "charge": 3, "breakdown": 0.1, "slip": 0.25},
        {"layout": "S.C../...#T", "charge": 2, "breakdown": 0.02, "slip": 0.5, "target_reward": 7},
        {"layout": "SC#/.#T/...", "charge": 1, "breakdown": 0.05, "step_reward": 0.03},
        {"layout": "ST", "charge": 0, "breakdown": 0.5},
        {"layout": "S.CT", "charge": 1, "breakdown": 0.5},
    ],
)
def test_value_is_that_of_counting_the_units(world: dict[str, Any]) -> None:
    found = unrolled_value(zoo.battery(**world), 6)
    assert found == pytest.approx(best_by_charge(**world, most=6), abs=1e-10)


def test_structure() -> None:
    model = zoo.battery()
    assert list(model.names.components) == ["reserve", "unit"]
    assert model.action_names(model.find("unit.charge-r2c0"))[-1] == "stay"
    assert model.tables.n_exits.tolist() == [3, 11]
    assert not model.warnings


@pytest.mark.parametrize("layout", [TWO_CHARGERS, "SC#/.#T/...", "S#T", "S.#C/..#T", "CST"])
@pytest.mark.parametrize("charge", [0, 1, 3])
def test_every_state_can_be_visited(layout: str, charge: int) -> None:
    assert not zoo.battery(layout, charge, slip=0.1).warnings


def test_chargers_out_of_reach_are_left_out() -> None:
    model = zoo.battery("S..C.T", charge=2)
    assert list(model.names.components) == ["reserve"]
    assert unrolled_value(model, 3) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"layout": "..T"}, "one start S"),
        ({"layout": "S.S/..T"}, "one start S"),
        ({"layout": "S.."}, "at least one target T"),
        ({"layout": "S?T"}, r"has '\?'"),
        ({"charge": -1}, "charge must be a whole number, at least 0"),
        ({"breakdown": 1}, "breakdown must be in"),
        ({"slip": -0.1}, "slip must be in"),
        ({"target_reward": "nan"}, "target_reward"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        zoo.battery(**wrong)
