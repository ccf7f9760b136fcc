from __future__ import annotations

import math

import pytest

import recurl
from recurl.solving.no_choice import has_choice, solve_chain
from recurl.solving.question import Question

FALSE = math.sqrt(10) / 2 - 1


def test_who_has_a_choice() -> None:
    assert has_choice(recurl.zoo.cloud())
    assert not has_choice(recurl.zoo.and_or())


def tree() -> recurl.RMDP:
    """One of the two trees of the zoo's model, with two exits at the start."""
    text = recurl.dumps(recurl.zoo.and_or())
    return recurl.loads(text.replace("start: main", "start: and"))


@pytest.mark.parametrize(("name", "expected"), [("true", 1 - FALSE), ("false", FALSE)])
def test_exits(name: str, expected: float) -> None:
    solution = recurl.solve(tree(), of=f"exit:{name}")
    assert solution.method == "evaluation"
    assert solution.lower <= expected <= solution.upper
    assert solution.gap < 1e-10
    assert recurl.verify(solution.model, solution.certificate).checked > 100


def test_steps() -> None:
    solution = solve_chain(tree(), Question("min", "steps"), 1e-6)
    assert solution.value == pytest.approx((3 + FALSE) / (1 - FALSE))


def test_losses_of_exits_turn_the_interval_round() -> None:
    solution = solve_chain(tree(), Question("max", "none", (-2.0, 4.0)), 1e-6)
    expected = -2 * (1 - FALSE) + 4 * FALSE
    assert solution.lower <= expected <= solution.upper
    assert solution.gap < 1e-9
