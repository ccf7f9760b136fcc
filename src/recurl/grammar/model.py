"""Grammars as recursive models with one exit per component, and whether derivations end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Termination:
    """A probability to end, in an interval that contains it, and the choices that attain it."""

    lower: float
    upper: float
    choices: dict[str, str]

    @property
    def value(self) -> float:
        """The middle of the interval."""
        return (self.lower + self.upper) / 2


def termination(grammar: Grammar, objective: str = "max") -> Termination:
    """The greatest or least probability that a derivation ends.

    The least solution of ``x(A) = max over choices of sum p x(B1) ... x(Bk)`` (or min): that of the
    grammar's model, see `recurl.termination`.

    Args:
        grammar: The grammar.
        objective: ``"max"`` or ``"min"``.

    Example:
        >>> grammar = Grammar("walk", {"W": ["W W [0.6]", "[0.4]"]})
        >>> round(termination(grammar).value, 9)
        0.666666667
    """
    from recurl.solving.termination import termination as of_model

    found = of_model(model_of(grammar), objective)
    assert found.policy is not None
    taken = {head: found.policy.action_name(f"{head}.in") for head in grammar.rules}
    choices = {head: "" if name == DERIVE else name for head, name in taken.items()}
    return Termination(found.lower, found.upper, choices)
