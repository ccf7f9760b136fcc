from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from recurl.automaton import Machine, rule
from recurl.errors import ModelError


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


GOOD = [rule("p", "a", "p", push="A _"), rule("p", "b", "p", top="A", push="")]


@pytest.mark.parametrize(
    ("rules", "settings", "message"),
    [
        ([rule("p", "a", "p"), rule("p", "a", "q"), rule("q", "a", "q")], {}, "nothing decides"),
        ([rule("p", None, "p"), rule("p", None, "p", push="A _")], {}, "nothing decides"),
        (
            [rule("p", "a", "p"), rule("p", "b", "p", push="A _")],
            {},
            "overlap: both hold with a, b",
        ),
        ([rule("p", "a", "p", choice="c"), rule("p", "b", "p")], {}, "overlap"),
        (
            [rule("p", None, "p"), rule("p", None, "p", push="A _")],
            {"first_match": True},
            "decides",
        ),
        ([rule("p", "a", "p", choice="c"), rule("p", "a & b", "p", choice="c")], {}, "overlap"),
        ([rule("p", "a", "p", push="")], {}, "pops from the bottom"),
        ([rule("p", "a", "p", top="bottom", push="A")], {}, "takes the bottom away"),
        ([rule("p", "a", "p", push="bottom A _")], {}, "pushes the bottom twice"),
        ([rule("p", "a", "p", top="A", push="bottom A")], {"stack": "A bottom"}, "lies above"),
        ([rule("p", "a", "p", top="X")], {}, "'X' is never on the stack"),
        ([rule("p", "c", "p")], {"labels": "ab"}, "unknown label 'c'"),
        ([rule("p", "a", "q")], {}, "state, q: has no rules and is not final"),
        ([rule("p", "a", "q"), rule("q", "a", "p")], {"final": "q"}, "leaves a final state"),
        ([rule("p", "a", "p")], {"start": "q", "final": "q"}, "is a final state"),
        ([rule("p", "a", "p")], {"otherwise": "explode"}, "not a way to treat labels"),
        ([rule("p.q", "a", "p.q")], {}, "is not a usable name"),
        ([], {}, "rules: is empty"),
        ([rule("p", "a", "p")], {"stack": ""}, "stack: is empty"),
    ],
)
def test_a_bad_machine_is_refused(rules: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Machine("bad", rules, **settings)


@pytest.mark.parametrize(
    ("rules", "settings"),
    [
        (GOOD, {"exclusive": ["ab"]}),
        ([rule("p", "a", "p"), rule("p", "!a", "p", push="A _")], {}),
        ([rule("p", "a", "p", choice="c"), rule("p", "a", "p", push="A _", choice="d")], {}),
        ([rule("p", "a", "p"), rule("p", "else", "p", push="A _")], {}),
        ([rule("p", "a", "p", top="A"), rule("p", "a", "p", top="bottom", push="A _")], {}),
        ([rule("p", None, "p", choice="x"), rule("p", None, "p", push="A _", choice="y")], {}),
        ([rule("p", "a", "end", push="")], {"final": "end"}),
        ([rule("p", "a", "p"), rule("p", "a | b", "p", push="A _")], {"first_match": True}),
        ([rule("p", "a", "p", top="A"), rule("p", "b", "p", push="A _")], {"first_match": True}),
    ],
)
def test_a_good_machine_is_not(rules: Any, settings: dict[str, Any]) -> None:
    assert Machine("good", rules, **settings).rules == tuple(rules)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(ModelError) as caught:
        Machine("bad", [rule("p", "a", "nowhere", push=""), rule("p", "b", "p", top="X")])
    assert len(caught.value.problems) == 4
