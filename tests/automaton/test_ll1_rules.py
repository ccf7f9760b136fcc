from __future__ import annotations

import numpy as np
import pytest
from tests.automaton.runs import check_words
from tests.grammar.words import spelling_grammar

from recurl.automaton.ll1_rules import LL1Rules
from recurl.automaton.spelling import Spelling
from recurl.grammar import Grammar
from recurl.grammar.ll1 import LL1Table


@pytest.mark.parametrize("seed", range(60))
def test_random_grammars_are_read_as_their_words_are_defined(seed: int) -> None:
    grammar = spelling_grammar(np.random.default_rng(1000 + seed))
    check_words(grammar, "ll1", free=not LL1Table(grammar).conflicts)


def test_the_stack_holds_what_is_to_come() -> None:
    table = LL1Table(Grammar.read("S -> 'a' S 'b' | 'c'"))
    writer = LL1Rules(table, Spelling(table.grammar, "end", 1, 0))
    assert writer.stack == ("S", "bottom")
    pushed = {str(r.guard): r.push for r in writer.rules() if r.top == "S" and r.target == "ready"}
    assert pushed == {"a": ("S", "b"), "c": ()}


def test_a_letter_is_remembered_where_a_symbol_vanishes() -> None:
    table = LL1Table(Grammar.read("S -> A 'b'\nA -> 'a' A | "))
    rules = LL1Rules(table, Spelling(table.grammar, None, 1, 0)).rules()
    (vanishes,) = (r for r in rules if r.top == "A" and str(r.guard) == "b")
    assert (vanishes.target, vanishes.push) == ("read-b", ())
    (after,) = (r for r in rules if (r.source, r.top) == ("read-b", "b"))
    assert (after.guard, after.target, after.push) == (None, "ready", ())
