from __future__ import annotations

import pytest

import recurl
from recurl.errors import UnknownNameError
from recurl.grammar import Grammar, model_of, termination


def test_the_branching_walk_has_its_closed_forms() -> None:
    grammar = Grammar("walk", {"W": ["W W 'x' [0.4] {3}", "'y' 'z' [0.6]"]})
    # n = 1 + 0.8 n; reward 1.2 + 0.8 r; length 0.4 + 1.2 + 0.8 l.
    assert recurl.solve(model_of(grammar, "size")).value == pytest.approx(5, abs=1e-9)
    assert recurl.solve(model_of(grammar)).value == pytest.approx(6, abs=1e-9)
    assert recurl.solve(model_of(grammar, "length")).value == pytest.approx(8, abs=1e-9)
    assert termination(grammar).lower == pytest.approx(1, abs=1e-9)


def test_choices_are_actions() -> None:
    model = model_of(Grammar("g", {"A": {"keep": ["A [1/2] {1}", "[1/2]"], "sell": ["{3}"]}}))
    assert model.kind.one_exit
    assert model.action_names(model.find("A.in")) == ["keep", "sell"]
    solution = recurl.solve(model)
    # Keep once or forever: x = 1/2 (1 + x) is 1 at most, so sell.
    assert solution.value == pytest.approx(3, abs=1e-9)
    assert solution.policy is not None
    assert solution.policy.action_name("A.in") == "sell"


def test_a_right_side_calls_its_symbols_in_a_row() -> None:
    model = model_of(Grammar("g", {"S": ["A 'x' B"], "A": ["{1}"], "B": ["{2}"]}))
    boxes = ["derive 1-1 A", "derive 1-2 B"]
    assert list(model.names.boxes) == boxes
    assert recurl.solve(model).value == pytest.approx(3)


def test_an_unknown_total() -> None:
    with pytest.raises(UnknownNameError, match="depth"):
        model_of(Grammar("g", {"S": [""]}), "depth")


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
