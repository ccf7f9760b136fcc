from __future__ import annotations

import pytest

from recurl.errors import LimitError
from recurl.grammar import Grammar, sample


def test_strings_belong_to_the_grammar_and_follow_the_seed() -> None:
    grammar = Grammar.read("S -> 'a' S 'b' [1/2] | 'c' [1/2]")
    drawn = sample(grammar, 200, seed=3)
    assert drawn == sample(grammar, 200, seed=3)
    for string in drawn:
        n = len(string) // 2
        assert string == ["a"] * n + ["c"] + ["b"] * n
    assert sum(len(string) // 2 for string in drawn) / 200 == pytest.approx(1, abs=0.35)


def test_choices_are_taken_as_told() -> None:
    grammar = Grammar("g", {"S": {"x": ["'a'"], "y": ["'b'"]}})
    assert sample(grammar, choices={"S": "y"}) == [["b"]]
    with pytest.raises(ValueError, match="several choices"):
        sample(grammar)


def test_a_string_without_end() -> None:
    with pytest.raises(LimitError, match="more than 100 rules"):
        sample(Grammar.read("S -> 'a' S"), limit=100)
