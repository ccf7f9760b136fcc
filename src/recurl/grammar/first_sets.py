"""With which letters the symbols of a grammar begin, which can vanish, and what may follow them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from recurl.errors import ModelError, Problem
from recurl.grammar.grammar import Grammar

END = ""
"""Stands for the end of the word, among the letters that may come next."""

Symbols = tuple[str, ...]


@dataclass(slots=True)
class FirstSets:
    """First letters of a grammar's symbols; its probabilities and choices do not matter.

    Rules that derive no word, since one of their symbols is replaced forever, are left out.

    Args:
        grammar: The grammar.

    Raises:
        ModelError: The grammar has no words.

    Attributes:
        bodies: Right sides of each nonterminal.
        nullable: Nonterminals that can vanish.
        follow: Letters that may come after each nonterminal, `END` among them.

    Example:
        >>> sets = FirstSets(Grammar.read("S -> 'a' S 'b' | "))
        >>> sorted(sets.first(["S", "b"])), sorted(sets.follow["S"]), sets.vanishes(["S"])
        (['a', 'b'], ['', 'b'], True)
    """

    grammar: Grammar
    bodies: dict[str, list[Symbols]] = field(default_factory=dict)
    nullable: set[str] = field(default_factory=set)
    follow: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _first: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        self.bodies = _fruitful(self.grammar)
        if self.grammar.start not in self.bodies:
            message = f"{self.grammar.start} derives no word"
            fix = "give it a rule that does not lead back to it"
            raise ModelError([Problem(f"grammar {self.grammar.name}", message, fix)])
        self.follow[self.grammar.start].add(END)
        while self._grow():
            pass

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
                        self.follow[symbol] |= self.first(rest)
                        if self.vanishes(rest):
                            self.follow[symbol] |= self.follow[head]
        return self._size() != before

    def _size(self) -> int:
        sets: Iterable[set[str]] = (*self._first.values(), *self.follow.values())
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


def _fruitful(grammar: Grammar) -> dict[str, list[Symbols]]:
    """The right sides that derive words, by nonterminals that derive words."""
    written = {
        head: dict.fromkeys(rule.symbols for rules in choices.values() for rule in rules)
        for head, choices in grammar.rules.items()
    }
    known: set[str] = set(grammar.terminals)
    while True:
        found = {h: [b for b in bodies if known.issuperset(b)] for h, bodies in written.items()}
        new = {head for head, bodies in found.items() if bodies} - known
        if not new:
            return {head: bodies for head, bodies in found.items() if bodies}
        known |= new
