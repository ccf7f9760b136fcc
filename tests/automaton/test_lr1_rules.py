from __future__ import annotations

import numpy as np
import pytest
from tests.automaton.runs import check_words
from tests.grammar.words import spelling_grammar

from recurl.automaton.lr1_rules import LR1Rules
from recurl.automaton.spelling import Spelling
from recurl.grammar import Grammar
from recurl.grammar.lr1 import LR1Table


@pytest.mark.parametrize("seed", range(60))
def test_random_grammars_are_read_as_their_words_are_defined(seed: int) -> None:
    grammar = spelling_grammar(np.random.default_rng(seed))
    check_words(grammar, "lr1", free=not LR1Table(grammar).conflicts)


def test_without_conflicts_nothing_is_left_to_the_agent() -> None:
    table = LR1Table(Grammar.read("E -> E '+' T | T\nT -> '(' E ')' | 'id'"))
    rules = LR1Rules(table, Spelling(table.grammar, "end", 1, 0)).rules()
    silent = [(r.source, r.top) for r in rules if r.guard is None]
    assert silent
    assert len(silent) == len(set(silent))
    assert {r.choice for r in rules} == {"", "next"}
    assert not {r.source for r in rules if r.guard is None} & {"ready"}


def test_what_is_known_of_the_stack_is_worked_out_at_once() -> None:
    # b closes A, A closes B, B closes S: one pop, and all else in the same move.
    table = LR1Table(Grammar.read("S -> S B | B\nB -> A\nA -> 'a'"))
    rules = LR1Rules(table, Spelling(table.grammar, "end", 1, 0)).rules()
    reading = [r for r in rules if r.guard is not None and r.target.startswith("read-a")]
    assert {r.push for r in reading} == {()}
    ends = [r for r in rules if r.source.startswith("read-a-A-0") and r.top == "s0"]
    assert [r.target for r in ends] == ["ready"]


def test_choices_are_named_after_what_they_do() -> None:
    table = LR1Table(Grammar.read("S -> S S | 'a' | A\nA -> 'a' | A"))
    rules = LR1Rules(table, Spelling(table.grammar, "end", 1, 0)).rules()
    named = {r.choice for r in rules} - {"", "next"}
    assert named == {"shift a", "S -> S S", "S -> a", "S -> A", "A -> a", "A -> A"}
    endless = LR1Table(Grammar.read("S -> S | 'a'"))
    rules = LR1Rules(endless, Spelling(endless.grammar, "end", 1, 0)).rules()
    assert {r.choice for r in rules} - {"", "next"} == {"accept", "S -> S"}
