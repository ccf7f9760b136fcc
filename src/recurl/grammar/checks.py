"""Checks of a grammar; every problem has a reason and a fix."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from recurl.model.action_columns import ActionColumns
from recurl.model.names import is_name
from recurl.model.numbers import Column, exact
from recurl.model.report import shown

if TYPE_CHECKING:
    from recurl.grammar.grammar import Grammar
    from recurl.model.report import Report
    from recurl.model.spec import Number


def check_grammar(grammar: Grammar, report: Report) -> None:
    """Report everything that is wrong with the symbols of a grammar."""
    if not grammar.rules:
        report.add(("rules",), "there are none", "write HEAD -> SYMBOLS [probability]")
        return
    if "" in grammar.terminals:
        report.add(("rules",), "a terminal is empty", "leave it out: an empty right side is a word")
    known = [*grammar.rules, *sorted(grammar.terminals)]
    if grammar.start not in grammar.rules:
        fix = report.hint(grammar.start, list(grammar.rules), "give it rules")
        report.add(("start",), f"the symbol {shown(grammar.start)} has no rules", fix)
    for head, choices in grammar.rules.items():
        _check_head(grammar, head, report)
        for choice, alternatives in choices.items():
            path = ("rules", head, choice) if choice else ("rules", head)
            if not alternatives:
                report.add(path, "has no alternative", "give one, empty if need be")
            for symbol in dict.fromkeys(s for a in alternatives for s in a.symbols):
                if symbol not in grammar.rules and symbol not in grammar.terminals:
                    fix = report.hint(symbol, known, f"give it rules, or write '{symbol}'")
                    report.add(path, f"the symbol {shown(symbol)} has no rules", fix)


def _check_head(grammar: Grammar, head: str, report: Report) -> None:
    if not is_name(head):
        report.add(("rules", head), "is not a usable name", "use one word without dots")
    if head in grammar.terminals:
        report.add(("rules", head), "is a terminal and has rules", "rename one of them")
    choices = grammar.rules[head]
    if "" in choices and len(choices) > 1:
        fix = "name all of them: HEAD ! CHOICE -> SYMBOLS"
        report.add(("rules", head), "has rules with and without a choice", fix)
    for choice in choices:
        if choice and not is_name(choice):
            report.add(("rules", head, choice), "is not a name for a choice", "use no dots")


def checked_probabilities(
    given: Sequence[Number | None], path: tuple[str, ...], report: Report
) -> list[Fraction]:
    """Probabilities that sum to 1; equal ones if none is given."""
    if all(p is None for p in given):
        return [Fraction(1, len(given)) for _ in given]
    if None in given:
        report.add(path, "some alternatives have a probability and some have not", "give all")
        return [Fraction(1)] * len(given)
    column = Column.read([p for p in given if p is not None])
    for text, value in zip(column.texts, column.values, strict=True):
        if not 0 < value <= 1:
            message = f"probability {shown(text)} is not in (0, 1]"
            report.add(path, message, "give numbers that sum to 1")
            return [Fraction(1)] * len(given)
    settled = ActionColumns(binary=False, report=report).settled(column.texts, path)
    return [exact(text) for text in settled]
