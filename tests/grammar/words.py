"""The words of a grammar by definition, the least sets that its rules are true of; grammars."""

from __future__ import annotations

import numpy as np

from recurl.grammar import Grammar

Word = tuple[str, ...]


def words(grammar: Grammar, longest: int) -> set[Word]:
    """All words of up to so many letters."""
    found: dict[str, set[Word]] = {head: set() for head in grammar.rules}
    size = -1
    while size != sum(map(len, found.values())):
        size = sum(map(len, found.values()))
        for head, choices in grammar.rules.items():
            for rule in (rule for rules in choices.values() for rule in rules):
                spelt: set[Word] = {()}
                for symbol in rule.symbols:
                    parts = found.get(symbol, {(symbol,)})
                    spelt = {a + b for a in spelt for b in parts if len(a + b) <= longest}
                found[head] |= spelt
    return found[grammar.start]


def random_grammar(rng: np.random.Generator) -> Grammar:
    """Up to three nonterminals with up to three rules of up to three symbols, over a and b."""
    heads = "SAB"[: rng.integers(1, 4)]
    symbols = ["'a'", "'b'", *heads]
    return Grammar(
        "random",
        {
            head: [
                " ".join(rng.choice(symbols, rng.integers(0, 4))) for _ in range(rng.integers(1, 4))
            ]
            for head in heads
        },
        terminals="ab",
    )


def spelling_grammar(rng: np.random.Generator) -> Grammar:
    """The next random grammar that has a word of up to four letters."""
    while True:
        grammar = random_grammar(rng)
        if words(grammar, 4):
            return grammar
