from __future__ import annotations

import numpy as np
import pytest
from tests.grammar.words import spelling_grammar, words

from recurl.errors import ModelError
from recurl.grammar import Grammar
from recurl.grammar.first_sets import END, FirstSets


def test_the_textbook_sets() -> None:
    sets = FirstSets(
        Grammar.read("""
            E -> T E2
            E2 -> '+' T E2 |
            T -> F T2
            T2 -> '*' F T2 |
            F -> '(' E ')' | 'id'
        """)
    )
    assert sets.nullable == {"E2", "T2"}
    assert sets.first(["E"]) == sets.first(["T", "E2"]) == {"(", "id"}
    assert sets.first(["E2", "T2", ")"]) == {"+", "*", ")"}
    assert sets.follow["F"] == {"+", "*", ")", END}
    assert sets.follow["E"] == {")", END}


@pytest.mark.parametrize("seed", range(40))
def test_first_letters_are_those_of_the_words(seed: int) -> None:
    grammar = spelling_grammar(np.random.default_rng(seed))
    spelt = words(grammar, 6)
    sets = FirstSets(grammar)
    assert {word[0] for word in spelt if word} <= sets.first([grammar.start])
    assert sets.vanishes([grammar.start]) == (() in spelt)


def test_rules_of_which_no_word_comes_are_left_out() -> None:
    sets = FirstSets(Grammar.read("S -> 'a' | A 'b'\nA -> A 'c' | B\nB -> 'd' A"))
    assert sets.bodies == {"S": [("a",)]}
    assert sets.first(["S"]) == {"a"}
    with pytest.raises(ModelError, match="S derives no word"):
        FirstSets(Grammar.read("S -> 'a' S"))
