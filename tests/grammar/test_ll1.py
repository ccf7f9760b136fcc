from __future__ import annotations

from recurl.grammar import Grammar
from recurl.grammar.first_sets import END
from recurl.grammar.ll1 import LL1Table

EXPRESSIONS = """
    E -> T E2
    E2 -> '+' T E2 |
    T -> F T2
    T2 -> '*' F T2 |
    F -> '(' E ')' | 'id'
"""


def test_the_textbook_table() -> None:
    table = LL1Table(Grammar.read(EXPRESSIONS))
    assert table.entries["E2", ")"] == table.entries["E2", END] == [()]
    assert table.entries["T2", "+"] == [()]
    assert table.entries["T2", "*"] == [("*", "F", "T2")]
    assert ("F", "+") not in table.entries
    assert table.conflicts == []


def test_conflicts_say_what_cannot_be_told() -> None:
    (conflict,) = LL1Table(Grammar.read("S -> 'a' 'b' | 'a' 'c'")).conflicts
    assert str(conflict) == "the next letter 'a' does not tell whether S -> a b or S -> a c"
    both = LL1Table(Grammar.read("S -> A 'a'\nA -> 'a' |")).conflicts
    assert [(c.head, c.letter) for c in both] == [("A", "a")]
    end = LL1Table(Grammar.read("S -> A | B\nA ->\nB ->")).conflicts
    assert "the end of the word does not tell" in str(end[0])
