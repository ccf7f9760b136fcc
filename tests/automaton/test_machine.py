from __future__ import annotations

from fractions import Fraction

import pytest

from recurl.automaton import Machine, rule


def test_a_rule_is_read_from_words() -> None:
    made = rule("a", "x & !y", "b", top="T", push="A _", reward="1/3", choice="left")
    assert (made.source, made.target, made.top, made.choice) == ("a", "b", "T", "left")
    assert made.push == ("A", "_")
    assert made.pushed("T") == ("A", "T")
    assert made.reward == Fraction(1, 3)
    assert made.fits("T")
    assert not made.fits("A")
    assert rule("a", "x", "a").pushed("Z") == ("Z",)
    assert rule("a", None, "a").guard is None
    assert rule("a", "else", "a").otherwise
    assert str(rule("a", "else", "a", push="")) == "(a, else, _) -> (a, pop)"


def test_a_machine_knows_its_states_symbols_labels_and_choices() -> None:
    machine = Machine(
        "m",
        [
            rule("p", "a", "p", push="A _", choice="push"),
            rule("p", "a", "q", choice="turn"),
            rule("q", "b", "end", top="A"),
        ],
        stack="B bottom",
        final="end",
    )
    assert machine.start == "p"
    assert machine.states == ("p", "q", "end")
    assert machine.symbols == ("bottom", "B", "A")
    assert machine.bottom == "bottom"
    assert machine.labels == ("a", "b")
    assert machine.choices_at("p", "A") == ["push", "turn"]
    assert machine.choices_at("q", "A") == [""]
    assert machine.rules_at("q", "B") == []


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not a finite decimal"):
        rule("a", "x", "a", reward="much")
