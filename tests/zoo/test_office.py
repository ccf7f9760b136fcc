from __future__ import annotations

from typing import Any

import pytest
from tests.zoo.reference import STEPS, open_cells

import recurl
from recurl import zoo


def value_by_errands(
    layout: str = "C..#M/.#.../...O.",
    *,
    asked: float = 0.3,
    breakdown: float = 0.01,
    delivery: float = 10,
    step_reward: float = -0.2,
    most: int = 25,
) -> float:
    """The rules once more: value iteration over (cell, number of errands).

    The first errand is for coffee and each one above is for the other thing, so their number tells
    what to fetch. More than `most` of them are worth nothing: they are too unlikely to matter.
    """
    letters = open_cells(layout)
    value = {(cell, n): 0.0 for cell in letters for n in range(most + 1)}
    change = 1.0
    while change > 1e-12:
        change = 0.0
        for cell, n in value:
            best = -1e9
            for down, right in STEPS:
                there = (cell[0] + down, cell[1] + right)
                there = there if there in letters else cell
                after = value[there, n]
                if n and letters[there] == "MC"[n % 2]:
                    more = value.get((there, n + 1), 0.0)
                    after = asked * more + (1 - asked) * value[there, n - 1]
                elif not n and letters[there] == "O":
                    after = delivery
                best = max(best, step_reward + (1 - breakdown) * after)
            change = max(change, abs(best - value[cell, n]))
            value[cell, n] = best
    start = next(cell for cell, letter in letters.items() if letter == "O")
    return value[start, 1]


@pytest.mark.parametrize(
    "world",
    [
        {},
        {"layout": "OCM"},
        {"layout": "OM/.C", "asked": 0.2, "breakdown": 0.05},
        {"layout": "C.O.M", "delivery": 3, "step_reward": -0.5},
    ],
)
def test_the_value_is_that_of_counting_errands(world: dict[str, Any]) -> None:
    solution = recurl.solve(zoo.office(**world))
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(value_by_errands(**world), abs=1e-6)


def test_the_default_value() -> None:
    assert value_by_errands() == pytest.approx(5.231738, abs=1e-6)


def test_wrong_maps_are_refused() -> None:
    with pytest.raises(ValueError, match="one O, a C and an M"):
        zoo.office("O.C")
