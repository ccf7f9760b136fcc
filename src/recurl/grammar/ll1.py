"""LL(1) tables: which rule a nonterminal must take when it sees the next letter, and conflicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from recurl.grammar.grammar import Grammar

END = ""
"""Stands for the end of the word, among the letters that may come next."""

Body = tuple[str, ...]


class Conflict(NamedTuple):
    """A nonterminal that cannot tell from the next letter which of its rules to take."""

    head: str
    letter: str
    bodies: tuple[Body, ...]

    def __str__(self) -> str:
        seen = f"the next letter {self.letter!r}" if self.letter else "the end of the word"
        rules = " or ".join(f"{self.head} -> {' '.join(body)}".rstrip() for body in self.bodies)
        return f"{seen} does not tell whether {rules}"


@dataclass(slots=True)
class Table:
    """The LL(1) table of a grammar; probabilities and choices do not matter for it.

    ``first(w)`` are the letters with which words of w begin, ``follow(A)`` those that may come
    after A. Rule A -> w is taken on the letters of first(w), and if w can vanish on follow(A).

    Args:
        grammar: The grammar.

    Attributes:
        bodies: Right sides of each nonterminal.
        nullable: Nonterminals that can vanish.
        entries: Right sides by (nonterminal, letter).

    Example:
        >>> table = Table(Grammar.read("S -> 'a' S 'b' | "))
        >>> table.entries["S", "a"], table.entries["S", "b"], table.conflicts
        ([('a', 'S', 'b')], [()], [])
    """

    grammar: Grammar
    bodies: dict[str, list[Body]] = field(default_factory=dict)
    nullable: set[str] = field(default_factory=set)
    entries: dict[tuple[str, str], list[Body]] = field(default_factory=lambda: defaultdict(list))
    _first: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _follow: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for head, choices in self.grammar.rules.items():
            rules = [rule.symbols for alternatives in choices.values() for rule in alternatives]
            self.bodies[head] = list(dict.fromkeys(rules))
        self._follow[self.grammar.start].add(END)
        while self._grow():
            pass
        for head, bodies in self.bodies.items():
            for body in bodies:
                letters = self.first(body)
                letters |= self._follow[head] if self.vanishes(body) else set()
                for letter in sorted(letters):
                    self.entries[head, letter].append(body)

    def _grow(self) -> bool:
        """One pass over all rules; whether anything was added."""
        before = self._size()
        for head, bodies in self.bodies.items():
            for body in bodies:
                if self.vanishes(body):
                    self.nullable.add(head)
                self._first[head] |= self.first(body)
                for place, symbol in enumerate(body):
                    if symbol in self.bodies:
                        rest = body[place + 1 :]
                        self._follow[symbol] |= self.first(rest)
                        if self.vanishes(rest):
                            self._follow[symbol] |= self._follow[head]
        return self._size() != before

    def _size(self) -> int:
        sets: Iterable[set[str]] = (*self._first.values(), *self._follow.values())
        return len(self.nullable) + sum(map(len, sets))

    def vanishes(self, body: Sequence[str]) -> bool:
        """Whether symbols can become the empty word."""
        return all(symbol in self.nullable for symbol in body)

    def first(self, body: Sequence[str]) -> set[str]:
        """Letters with which words of these symbols begin."""
        letters: set[str] = set()
        for symbol in body:
            letters |= {symbol} if symbol not in self.bodies else self._first[symbol]
            if symbol not in self.nullable:
                break
        return letters

    @property
    def conflicts(self) -> list[Conflict]:
        """All places of the table with more than one rule."""
        return [
            Conflict(head, letter, tuple(bodies))
            for (head, letter), bodies in self.entries.items()
            if len(bodies) > 1
        ]
