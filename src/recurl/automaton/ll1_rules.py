"""Machines that read words by LL(1) tables: the stack holds what is still to come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from recurl.automaton.machine import Rule
from recurl.automaton.spelling import ACCEPTED, BOTTOM, READY, REJECTED, Spelling
from recurl.errors import ModelError, Problem
from recurl.grammar.first_sets import END
from recurl.grammar.ll1 import LL1Table

_LONGEST_CHAIN = 10_000


@dataclass(slots=True)
class LL1Rules:
    """Writes the rules for every symbol that comes onto the stack.

    Where a symbol vanishes before a letter, the machine remembers the letter and looks at what lies
    below. The rules of nonterminals with conflicts are epsilon moves between which the agent picks,
    and so are those of nonterminals whose first letter depends on such a pick.

    Args:
        table: The table.
        spelling: The letters, and how runs end.
    """

    table: LL1Table
    spelling: Spelling
    symbols: list[str] = field(default_factory=list)
    remembered: list[str] = field(default_factory=list)
    choosy: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.choosy = {conflict.head for conflict in self.table.conflicts}
        while more := {h for h in self.table.bodies if self._meets_choice(h)} - self.choosy:
            self.choosy |= more

    @property
    def stack(self) -> tuple[str, ...]:
        """The first stack: the whole word is to come."""
        return self.spelling.name(self.table.grammar.start), BOTTOM

    def _meets_choice(self, head: str) -> bool:
        return any(self._derive(head, letter) == "choice" for letter in self.spelling.letters)

    def _derive(self, symbol: str, letter: str) -> tuple[str, ...] | str:
        """The rest of a symbol once it has read a letter; or how that fails.

        ``"vanished"``: it becomes nothing before the letter; ``"wrong"``: it cannot begin with it;
        ``"choice"``: the agent has to choose first.
        """
        stack: tuple[str, ...] = (symbol,)
        for _ in range(_LONGEST_CHAIN):
            if not stack:
                return "vanished"
            top = stack[0]
            if top not in self.table.bodies:
                return stack[1:] if top == letter else "wrong"
            if top in self.choosy:
                return "choice"
            bodies = self.table.entries.get((top, letter), [])
            if not bodies:
                return "wrong"
            stack = (*bodies[0], *stack[1:])
        raise ModelError([Problem(f"symbol {symbol}", "never reads a letter", "remove the cycle")])

    def rules(self) -> list[Rule]:
        """All rules, for the symbols and letters that turn out to be needed."""
        self.symbols = [self.table.grammar.start]
        found: list[Rule] = []
        for symbol in self.symbols:  # grows on the way
            found += self._at(symbol, None)
        # Nothing new comes up below: a remembered letter does what it does when it is read.
        for letter in self.remembered:
            found += [r for symbol in self.symbols for r in self._at(symbol, letter)]
        return [*found, *self._at_bottom()]

    def _at(self, symbol: str, remembered: str | None) -> Iterator[Rule]:
        """Rules for a symbol on top, which reads letters or meets the one remembered."""
        here, top = self._state(remembered), self.spelling.name(symbol)
        if symbol in self.choosy:
            for body in self.table.bodies[symbol]:
                name, push = f"{symbol} -> {' '.join(body)}".rstrip(), self._pushed(body)
                yield self.spelling.move(here, None, top, target=here, push=push, choice=name)
            return
        for letter in self.spelling.letters if remembered is None else [remembered]:
            read = letter if remembered is None else None
            target, pushed = self._after(symbol, letter)
            yield self.spelling.move(here, read, top, target=target, push=pushed)

    def _after(self, symbol: str, letter: str) -> tuple[str, tuple[str, ...]]:
        """The state after a letter, and what takes the place of the symbol."""
        left = self._derive(symbol, letter)
        if left == "vanished":
            if letter not in self.remembered:
                self.remembered.append(letter)
            return self._state(letter), ()
        if isinstance(left, str):
            return REJECTED, ()
        return READY, self._pushed(left)

    def _pushed(self, symbols: tuple[str, ...]) -> tuple[str, ...]:
        self.symbols += [s for s in dict.fromkeys(symbols) if s not in self.symbols]
        return tuple(map(self.spelling.name, symbols))

    def _at_bottom(self) -> Iterator[Rule]:
        """Nothing more is to come: the word is complete, if it ends here."""
        if self.spelling.end is None:
            yield self.spelling.move(READY, None, BOTTOM, target=ACCEPTED, choice="accept")
        for letter in self.spelling.letters if self.spelling.end is not None else []:
            yield self.spelling.move(READY, letter, BOTTOM, target=_verdict(letter))
        for letter in self.remembered:
            yield self.spelling.move(self._state(letter), None, BOTTOM, target=_verdict(letter))

    def _state(self, remembered: str | None) -> str:
        return READY if remembered is None else self.spelling.remembering(remembered)


def _verdict(letter: str) -> str:
    return ACCEPTED if letter == END else REJECTED
