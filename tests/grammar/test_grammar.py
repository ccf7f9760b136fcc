from __future__ import annotations

from fractions import Fraction

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
