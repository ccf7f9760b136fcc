"""Stochastic grammars and branching decision processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from recurl.errors import ModelError, Problem
from recurl.grammar.text import Body, RuleLine, read_bodies, read_lines
from recurl.model.action_columns import ActionColumns
from recurl.model.names import is_name
from recurl.model.numbers import NumberColumn, exact
from recurl.model.report import Report, shown
from recurl.model.spec import Number

if TYPE_CHECKING:
    from recurl.model.report import Report
    from recurl.model.spec import Number


DERIVE = "derive"
"""Name of the choice of a nonterminal that has only one."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A right side: what a nonterminal may become, how likely, and for what reward."""

    symbols: tuple[str, ...]
    p: Fraction
    reward: Fraction = Fraction(0)


class Grammar:
    """A context-free grammar whose rules have probabilities, rewards and, if wanted, choices.

    Under each choice of a nonterminal, its alternatives form a distribution. Nonterminals with
    several choices make it a branching decision process: the agent picks. As a recursive model each
    nonterminal is a component with one exit.

    Made from text by `Grammar.read`, from a document by `load`, or from rules in Python: for each
    nonterminal its alternatives, or for each of its choices the alternatives, each written as text
    (``"A 'b' [1/2] {-1}"``) or as an `Alternative`.

    Args:
        name: Name of the grammar.
        rules: The rules.
        start: The first nonterminal; that of the first rule if not given.
        terminals: Symbols that are terminals, quoted or not.

    Raises:
        ModelError: With everything that is wrong: symbols without rules, probabilities that do not
            sum to 1, and so on.

    Example:
        >>> grammar = Grammar("walk", {"W": ["W W [0.4] {1}", "[0.6]"]})
        >>> grammar
        <Grammar walk: 1 nonterminal, 2 rules, 0 terminals>
    """

    def __init__(
        self,
        name: str,
        rules: Mapping[
            str, Sequence[str | Alternative] | Mapping[str, Sequence[str | Alternative]]
        ],
        start: str | None = None,
        *,
        terminals: Iterable[str] = (),
    ) -> None:
        report = Report(f"grammar {name}: ")
        found = set(terminals)
        written: dict[str, dict[str, list[Body | Alternative]]] = {}
        for head, given in rules.items():
            named = given if isinstance(given, Mapping) else {"": given}
            written[head] = {
                choice: [body for row in rows for body in _bodies(row, (head, choice), report)]
                for choice, rows in named.items()
            }
        self._finish(name, written, start, found, report)

    def _finish(
        self,
        name: str,
        written: Mapping[str, Mapping[str, Sequence[Body | Alternative]]],
        start: str | None,
        terminals: set[str],
        report: Report,
    ) -> None:
        """Turn what was written into numbers, and check everything."""
        self.name = name
        self.start = start if start is not None else next(iter(written), "")
        self.rules: dict[str, dict[str, tuple[Alternative, ...]]] = {}
        for head, choices in written.items():
            self.rules[head] = {}
            for choice, bodies in choices.items():
                path = ("rules", head, choice) if choice else ("rules", head)
                self.rules[head][choice] = _alternatives(bodies, path, report)
                for body in bodies:
                    if isinstance(body, Body):
                        quoted = zip(body.symbols, body.terminal, strict=True)
                        terminals |= {symbol for symbol, terminal in quoted if terminal}
        self.terminals = frozenset(terminals)
        check_grammar(self, report)
        report.raise_any()

    @classmethod
    def read(
        cls,
        text: str,
        name: str = "grammar",
        start: str | None = None,
        *,
        terminals: Iterable[str] = (),
    ) -> Grammar:
        """A grammar from rules as text, one per line.

        Example:
            >>> grammar = Grammar.read('''
            ...     S -> 'a' S 'b' [1/3] | 'c' [2/3]
            ... ''')
            >>> sorted(grammar.terminals), grammar.rules["S"][""][1].p
            (['a', 'b', 'c'], Fraction(2, 3))
        """
        try:
            lines = read_lines(text)
        except ValueError as error:
            problem = Problem("rules", str(error), "correct the line", ("rules",))
            raise ModelError([problem]) from None
        grammar = cls.__new__(cls)
        report = Report(f"grammar {name}: ")
        grammar._finish(name, _gathered(lines), start, set(terminals), report)
        return grammar

    @cached_property
    def nonterminals(self) -> tuple[str, ...]:
        """Nonterminals in the order of their rules."""
        return tuple(self.rules)

    @property
    def plain(self) -> bool:
        """Whether nothing is left to choose: a stochastic grammar."""
        return all(len(choices) == 1 for choices in self.rules.values())

    def alternatives(self, head: str, choice: str | None = None) -> tuple[Alternative, ...]:
        """The alternatives of a nonterminal under a choice; under its only one if not given."""
        choices = self.rules[head]
        if choice is None:
            if len(choices) != 1:
                raise ValueError(f"{head} has several choices: name one of {', '.join(choices)}")
            return next(iter(choices.values()))
        return choices[choice]

    def __repr__(self) -> str:
        rules = sum(len(a) for choices in self.rules.values() for a in choices.values())
        counts = (
            (len(self.rules), "nonterminal"),
            (rules, "rule"),
            (len(self.terminals), "terminal"),
        )
        words = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts)
        return f"<Grammar {self.name}: {words}>"


def _bodies(
    row: str | Alternative, path: tuple[str, ...], report: Report
) -> Sequence[Body | Alternative]:
    if isinstance(row, Alternative):
        return [row]
    try:
        return read_bodies(row)
    except ValueError as error:
        report.add(("rules", *path), str(error), "correct the rule")
        return []


def _gathered(lines: Sequence[RuleLine]) -> dict[str, dict[str, list[Body | Alternative]]]:
    """The right sides of all lines, by head and choice."""
    written: dict[str, dict[str, list[Body | Alternative]]] = {}
    for line in lines:
        written.setdefault(line.head, {}).setdefault(line.choice, []).extend(line.bodies)
    return written


def _alternatives(
    bodies: Sequence[Body | Alternative], path: tuple[str, ...], report: Report
) -> tuple[Alternative, ...]:
    """Right sides with their numbers; all equally likely if no probability is given."""
    given: list[Number | None] = [body.p for body in bodies]
    probs = checked_probabilities(given, path, report)
    found = []
    for body, p in zip(bodies, probs, strict=True):
        try:
            reward = exact(body.reward or 0)
        except ValueError as error:
            report.add(path, f"reward: {error}", "give a finite number")
            reward = Fraction(0)
        found.append(Alternative(tuple(body.symbols), p, reward))
    return tuple(found)


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
    column = NumberColumn.read([p for p in given if p is not None])
    for text, value in zip(column.texts, column.values, strict=True):
        if not 0 < value <= 1:
            message = f"probability {shown(text)} is not in (0, 1]"
            report.add(path, message, "give numbers that sum to 1")
            return [Fraction(1)] * len(given)
    settled = ActionColumns(binary=False, report=report).settled(column.texts, path)
    return [exact(text) for text in settled]
