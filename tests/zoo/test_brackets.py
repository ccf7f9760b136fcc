from __future__ import annotations

from typing import Any

import pytest
from tests.zoo.reference import STEPS, open_cells, solved

import recurl
from recurl import zoo


def best_by_count(
    layout: str,
    *,
    breakdown: float,
    closed: float,
    goal: float = 10,
    wrong: float = -10,
    most: int = 40,
) -> float:
    """The rules once more: value iteration over (cell, open brackets)."""
    letters = open_cells(layout)
    x = {(cell, n): 0.0 for cell in letters for n in range(most + 1)}
    for _ in range(300):
        before = dict(x)
        for cell, n in x:
            worth = []
            for down, right in STEPS:
                there = (cell[0] + down, cell[1] + right)
                there = there if there in letters else cell
                letter = letters[there]
                if letter == "(":
                    worth.append(x.get((there, n + 1), 0.0))
                elif letter == ")":
                    worth.append(closed + x[there, n - 1] if n else wrong)
                elif letter == "G":
                    worth.append(goal if n == 0 else wrong)
                else:
                    worth.append(x[there, n])
            x[cell, n] = (1 - breakdown) * max(worth)
        if all(abs(value - before[key]) < 1e-13 for key, value in x.items()):
            break
    start = next(cell for cell, letter in letters.items() if letter == "S")
    return x[start, 0]


@pytest.mark.parametrize(
    "world",
    [
        {"layout": "S.(./.#../)..G", "breakdown": 0.05, "closed": 2},
        {"layout": "S(.)G", "breakdown": 0.1, "closed": 5},
        {"layout": "S(.)G", "breakdown": 0.1, "closed": 0},
    ],
)
def test_value_is_that_of_counting_brackets(world: dict[str, Any]) -> None:
    solution = recurl.solve(zoo.brackets(**world))
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(best_by_count(**world), abs=1e-5)


def test_the_default_uses_brackets() -> None:
    assert solved("brackets").lower > 10 * 0.95**5 + 2


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="breakdown must be in"):
        zoo.brackets(breakdown=0)
