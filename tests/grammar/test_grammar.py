from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from recurl.errors import ModelError
from recurl.grammar import Alternative, Grammar


def test_text_and_python_agree() -> None:
    text = Grammar.read("S -> 'a' S [1/3] {2} | [2/3]\nT ! x -> S\nT ! y -> S S", start="T")
    python = Grammar(
        "grammar",
        {
            "S": ["'a' S [1/3] {2}", Alternative((), Fraction(2, 3))],
            "T": {"x": ["S"], "y": [Alternative(("S", "S"), Fraction(1))]},
        },
        "T",
    )
    assert text.rules == python.rules
    assert text.terminals == python.terminals == {"a"}
    assert (text.start, text.nonterminals, text.plain) == ("T", ("S", "T"), False)


def test_probabilities_are_equal_where_none_is_given() -> None:
    assert [a.p for a in Grammar.read("S -> 'a' | 'b' | 'c'").alternatives("S")] == [
        Fraction(1, 3)
    ] * 3


def test_alternatives_under_a_choice() -> None:
    grammar = Grammar("g", {"A": {"x": ["{1}"], "y": ["{2}"]}})
    assert grammar.alternatives("A", "y")[0].reward == 2
    with pytest.raises(ValueError, match="several choices: name one of x, y"):
        grammar.alternatives("A")


def test_a_line_that_is_no_rule() -> None:
    with pytest.raises(ModelError, match="is not a rule"):
        Grammar.read("S = a")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"S": ["A"]}, "the symbol 'A' has no rules"),
        ({"S": ["[0.5]", "'a' [0.4]"]}, "rules, S: probabilities sum to 0.9"),
        ({"S": ["[0.5]", "'a'"]}, "some have not"),
        ({"S": ["[0]", "'a' [1]"]}, "is not in"),
        ({"S": ["[half]"]}, "is not in"),
        ({"S": ["{much}"]}, "reward"),
        ({"S": ["'S'"]}, "is a terminal and has rules"),
        ({"S.x": ["'a'"]}, "is not a usable name"),
        ({"S": {"": ["'a'"], "x": ["'b'"]}}, "with and without a choice"),
        ({"S": {"x": []}}, "has no alternative"),
        ({"S": ["'a"]}, "quote or bracket"),
        ({}, "there are none"),
    ],
)
def test_bad_grammars_are_refused(rules: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Grammar("bad", rules)


def test_an_unknown_start_is_answered_with_a_close_one() -> None:
    with pytest.raises(ModelError, match="did you mean 'Start'"):
        Grammar("bad", {"Start": ["'a'"]}, "Stat")


def test_a_sum_that_misses_one_by_rounding_is_completed() -> None:
    grammar = Grammar("g", {"S": ["'a' [0.3333333333]", "'b' [0.6666666666]"]})
    assert sum(a.p for a in grammar.alternatives("S")) == 1
