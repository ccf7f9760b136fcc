"""A small stochastic grammar of English."""

from __future__ import annotations

from recurl.grammar.grammar import Grammar
from recurl.grammar.model import model_of
from recurl.model.rmdp import RMDP

RULES = """
    S -> NP VP
    NP -> 'the' N [0.5] | 'a' N [0.2] | 'the' N PP [0.2] | 'the' N 'that' VP [0.1]
    VP -> V NP [0.5] | V [0.3] | V NP PP [0.2]
    PP -> 'with' NP [0.6] | 'near' NP [0.4]
    N -> 'dog' [0.4] | 'cat' [0.3] | 'telescope' [0.2] | 'robot' [0.1]
    V -> 'sees' [0.5] | 'likes' [0.3] | 'follows' [0.2]
"""


def english() -> Grammar:
    """The grammar: sentences, with phrases inside phrases.

    Example:
        >>> from recurl.grammar import inside
        >>> round(inside(english(), "the dog sees a cat"), 6)
        0.003
    """
    return Grammar.read(RULES, "language")


def language() -> RMDP:
    """Expected length of the sentences of a small grammar of English.

    Every word pays 1. With n, v and p the lengths of noun, verb and prepositional phrases,
    n = 2 + 0.2 p + 0.1 (1 + v), v = 1 + 0.7 n + 0.2 p and p = 1 + n. So v = 1.2 + 0.9 n and
    n = 2.42 + 0.29 n: the value n + v is **1.2 + 1.9 * 2.42 / 0.71**, about 7.676.

    Example:
        >>> language()
        <RMDP language: 6 components, 44 vertices, 1-exit, recursive>
    """
    return model_of(english(), of="length")
