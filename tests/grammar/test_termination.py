from __future__ import annotations

import pytest

from recurl.errors import UnknownNameError
from recurl.grammar import Grammar, termination


@pytest.mark.parametrize("p", ["0.3", "0.6", "0.9"])
def test_the_branching_walk(p: str) -> None:
    grammar = Grammar("walk", {"W": [f"W W [{p}]", f"[{round(1 - float(p), 10)}]"]})
    exact = min(1, (1 - float(p)) / float(p))
    found = termination(grammar)
    assert found.lower - 1e-12 <= exact <= found.upper + 1e-12
    assert found.upper - found.lower < 1e-8


def test_the_best_and_the_worst_choices() -> None:
    rules = {"A": {"loop": ["A"], "bold": ["A A [0.6]", "[0.4]"], "safe": ["A A [0.55]", "[0.45]"]}}
    grammar = Grammar("g", rules)
    best, worst = termination(grammar), termination(grammar, "min")
    assert best.value == pytest.approx(9 / 11, abs=1e-9)
    assert best.choices == {"A": "safe"}
    assert (worst.lower, worst.upper) == (0, 0)
    assert worst.choices == {"A": "loop"}


def test_two_types() -> None:
    grammar = Grammar("g", {"A": ["B B B [1/2]", "[1/2]"], "B": {"x": ["A"], "y": ["A A"]}})
    found = termination(grammar)
    # x(A) = (1 + x(A)^3) / 2: the root (sqrt(5) - 1) / 2 below 1.
    assert found.value == pytest.approx((5**0.5 - 1) / 2, abs=1e-9)
    with pytest.raises(UnknownNameError, match="mean"):
        termination(grammar, "mean")


def test_going_round_in_circles_does_not_widen_the_interval() -> None:
    rules = {
        "A": {"round": ["B"], "bold": ["A A [0.6]", "[0.4]"]},
        "B": {"back": ["A"], "on": ["C"]},
        "C": {"back": ["B"], "safe": ["A A [0.55]", "[0.45]"]},
    }
    found = termination(Grammar("g", rules))
    # From C, twice A: x = 9/20 + 11/20 x^2, and x(A) = x(C).
    assert found.lower <= 9 / 11 <= found.upper
    assert found.upper - found.lower < 1e-11
    assert found.choices["A"] == "round"
