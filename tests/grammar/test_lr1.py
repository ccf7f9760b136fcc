from __future__ import annotations

import pytest

from recurl.errors import LimitError
from recurl.grammar import Grammar, lr1
from recurl.grammar.first_sets import END
from recurl.grammar.lr1 import Action, LR1Table, Production


def test_the_textbook_table() -> None:
    # S -> C C, C -> c C | d: ten states in the canonical table, where LALR has seven.
    table = LR1Table(Grammar.read("S -> C C\nC -> 'c' C | 'd'"))
    assert len(table.states) == 10
    assert table.conflicts == []
    done = table.goto[0, "S"]
    assert table.actions[done, END] == [Action(reduce=Production("", ("S",)))]
    (shift,) = table.actions[0, "d"]
    assert shift.shift is not None
    closing = [Action(reduce=Production("C", ("d",)))]
    assert table.actions[shift.shift, "c"] == table.actions[shift.shift, "d"] == closing
    assert (shift.shift, END) not in table.actions


def test_left_recursion_and_a_grammar_that_is_not_even_lalr_have_no_conflicts() -> None:
    expressions = "E -> E '+' T | T\nT -> T '*' F | F\nF -> '(' E ')' | 'id'"
    assert LR1Table(Grammar.read(expressions)).conflicts == []
    assert len(LR1Table(Grammar.read(expressions)).states) == 22
    merged = "S -> 'a' A 'd' | 'b' B 'd' | 'a' B 'e' | 'b' A 'e'\nA -> 'c'\nB -> 'c'"
    assert LR1Table(Grammar.read(merged)).conflicts == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "S -> S S | 'a'",
            "after S S, the next letter 'a' does not tell whether to shift (S -> . a) "
            "or to reduce (S -> S S .)",
        ),
        (
            "S -> A | B\nA -> 'a'\nB -> 'a'",
            "after a, the end of the word does not tell whether to reduce (A -> a .) "
            "or to reduce (B -> a .)",
        ),
        (
            "S -> S | 'a'",
            "after S, the end of the word does not tell whether to accept or to reduce (S -> S .)",
        ),
        (
            "S -> 'a' |  A\nA -> 'a' A |",
            "after a, the end of the word does not tell whether to reduce (A -> .) "
            "or to reduce (S -> a .)",
        ),
        (
            "S -> A 'a'\nA -> 'a' |",
            "at the beginning, the next letter 'a' does not tell whether to shift (A -> . a) "
            "or to reduce (A -> .)",
        ),
    ],
)
def test_conflicts_name_the_items_and_the_letter(text: str, wanted: str) -> None:
    assert [str(conflict) for conflict in LR1Table(Grammar.read(text)).conflicts] == [wanted]


def test_a_table_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lr1, "_MOST_STATES", 5)
    with pytest.raises(LimitError, match="more than 5 states"):
        LR1Table(Grammar.read("S -> C C\nC -> 'c' C | 'd'"))
