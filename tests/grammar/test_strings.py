from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from recurl.errors import LimitError
from recurl.grammar import Grammar, inside, sample

GRAMMARS = [
    "S -> 'a' S 'b' [1/3] | 'c' [2/3]",
    "S -> S S [1/4] | 'a' [1/2] | [1/4]",
    """S -> A B 'c' A [1/2] | A [1/2]
       A -> 'a' [1/3] | B [1/3] | [1/3]
       B -> 'b' A [1/2] | A 'b' [1/2]""",
    "S -> S [1/2] | T [1/4] | 'a' [1/4]\nT -> S T [1/3] | 'b' [2/3]",
]


def depth_limited(grammar: Grammar, word: tuple[str, ...], depth: int) -> float:
    """Probability to write a word by trees of limited height, straight from the definition."""

    @cache
    def derive(symbols: tuple[str, ...], i: int, j: int, left: int) -> float:
        if not symbols:
            return float(i == j)
        first, rest = symbols[0], symbols[1:]
        if first in grammar.terminals:
            ok = i < j and word[i] == first
            return derive(rest, i + 1, j, left) if ok else 0.0
        if left == 0:
            return 0.0
        total = 0.0
        for k in range(i, j + 1):
            after = derive(rest, k, j, left)
            if after:
                rules = grammar.alternatives(first)
                total += after * sum(float(r.p) * derive(r.symbols, i, k, left - 1) for r in rules)
        return total

    return derive((grammar.start,), 0, len(word), depth)


@pytest.mark.parametrize("text", GRAMMARS)
def test_probabilities_are_those_of_all_trees(text: str) -> None:
    grammar = Grammar.read(text)
    for size in range(4):
        for word in product(sorted(grammar.terminals), repeat=size):
            reference = depth_limited(grammar, word, 45)
            assert inside(grammar, list(word)) == pytest.approx(reference, abs=1e-7)


def test_probabilities_match_frequencies() -> None:
    grammar = Grammar.read(GRAMMARS[1])
    drawn = sample(grammar, 20_000, seed=5)
    for word in ([], ["a"], ["a", "a"]):
        share = sum(string == word for string in drawn) / len(drawn)
        assert inside(grammar, word) == pytest.approx(share, abs=0.015)


def test_what_is_no_question_is_refused() -> None:
    with pytest.raises(ValueError, match="not a terminal"):
        inside(Grammar.read("S -> 'a'"), "b")
    with pytest.raises(ValueError, match="has choices"):
        inside(Grammar("g", {"S": {"x": ["'a'"], "y": ["'b'"]}}), "a")


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
