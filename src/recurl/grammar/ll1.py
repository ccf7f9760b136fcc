"""LL(1) tables: which rule a nonterminal must take when it sees the next letter, and conflicts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from recurl.grammar.first_sets import FirstSets, Symbols
from recurl.grammar.grammar import Grammar


class LL1Conflict(NamedTuple):
    """A nonterminal that cannot tell from the next letter which of its rules to take."""

    head: str
    letter: str
    bodies: tuple[Symbols, ...]

    @property
    def kind(self) -> object:
        """The key that distinguishes it in a report."""
        return self

    def __str__(self) -> str:
        seen = f"the next letter {self.letter!r}" if self.letter else "the end of the word"
        rules = " or ".join(f"{self.head} -> {' '.join(body)}".rstrip() for body in self.bodies)
        return f"{seen} does not tell whether {rules}"


@dataclass(slots=True)
class LL1Table:
    """The LL(1) table of a grammar; probabilities and choices do not matter for it.

    Rule A -> w is taken on the letters with which w begins, and if w can vanish on those that may
    follow A.

    Args:
        grammar: The grammar.

    Attributes:
        bodies: Right sides of each nonterminal.
        entries: Right sides by (nonterminal, letter).

    Example:
        >>> table = LL1Table(Grammar.read("S -> 'a' S 'b' | "))
        >>> table.entries["S", "a"], table.entries["S", "b"], table.conflicts
        ([('a', 'S', 'b')], [()], [])
    """

    grammar: Grammar
    bodies: dict[str, list[Symbols]] = field(default_factory=dict)
    entries: dict[tuple[str, str], list[Symbols]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        sets = FirstSets(self.grammar)
        self.bodies = sets.bodies
        for head, bodies in self.bodies.items():
            for body in bodies:
                letters = sets.first(body)
                letters |= sets.follow[head] if sets.vanishes(body) else set()
                for letter in sorted(letters):
                    self.entries[head, letter].append(body)

    @property
    def conflicts(self) -> list[LL1Conflict]:
        """All places of the table with more than one rule."""
        return [
            LL1Conflict(head, letter, tuple(bodies))
            for (head, letter), bodies in self.entries.items()
            if len(bodies) > 1
        ]
