"""Grammars as recursive models with one exit per component."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from recurl.errors import UnknownNameError
from recurl.grammar.grammar import DERIVE, Alternative, Grammar
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP

COUNTS = ("reward", "size", "length")


def model_of(grammar: Grammar, of: str = "reward") -> RMDP:
    """The 1-exit model of a grammar, with a component per nonterminal.

    The nonterminals of a right side are called one after the other. The optimum solves
    ``x(A) = max over choices of sum p (r + x(B1) + ... + x(Bk))``.

    Args:
        grammar: The grammar.
        of: What rules pay: ``"reward"`` (their rewards), ``"size"`` (1 each, so that the total is
            the number of nonterminals in the derivation) or ``"length"`` (the terminals they
            write).

    Example:
        >>> from recurl.grammar import Grammar
        >>> model_of(Grammar("walk", {"W": ["W W [0.4] {1}", "[0.6]"]}))
        <RMDP walk: 1 component, 6 vertices, 1-exit, recursive>
    """
    if of not in COUNTS:
        raise UnknownNameError("total of a grammar", of, COUNTS)
    builder = Builder(grammar.name)
    for head, choices in grammar.rules.items():
        builder.component(head, entries="in", exits="out")
        for choice, alternatives in choices.items():
            _write(builder, grammar, choice or DERIVE, alternatives=alternatives, of=of)
    return builder.build(grammar.start)


def _write(
    builder: Builder,
    grammar: Grammar,
    choice: str,
    *,
    alternatives: Sequence[Alternative],
    of: str,
) -> None:
    """One choice of a nonterminal: its alternatives, and the calls of each in a row."""
    chains = []
    for index, alternative in enumerate(alternatives):
        called = [symbol for symbol in alternative.symbols if symbol in grammar.rules]
        names = [f"{choice} {index + 1}-{place + 1} {s}" for place, s in enumerate(called)]
        for name, symbol in zip(names, called, strict=True):
            builder.box(name, symbol)
        chains.append([*names, "out"])
    builder.at("in").action(choice)
    for alternative, chain in zip(alternatives, chains, strict=True):
        builder.to(chain[0], alternative.p, _paid(grammar, alternative, of))
    for chain in chains:
        for box, after in pairwise(chain):
            builder.at(f"{box}.out").action("next").to(after)


def _paid(grammar: Grammar, alternative: Alternative, of: str) -> Fraction:
    if of == "reward":
        return alternative.reward
    written = sum(symbol in grammar.terminals for symbol in alternative.symbols)
    return Fraction(1 if of == "size" else written)
