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
    # Keep once or for ever: x = 1/2 (1 + x) is 1 at most, so sell.
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
