"""Canonical LR(1) tables: whether to read on or to close a rule, by the next letter; conflicts.

A state of the table is a set of *items* ``A -> u . w, a``: u has been read, w is expected, and the
letter a may follow. On the letter x, an item ``A -> u . x w`` shifts x; an item ``A -> w .`` that
may be followed by x reduces: the states of w leave the stack, and the one below goes on with A.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from recurl.errors import LimitError
from recurl.grammar.first_sets import END, FirstSets, Symbols
from recurl.grammar.grammar import Grammar

_MOST_STATES = 20_000


class Production(NamedTuple):
    """A rule; the head of the one that is closed at the end of a word is empty."""

    head: str
    body: Symbols

    def __str__(self) -> str:
        return f"{self.head} -> {' '.join(self.body)}".rstrip()


class Item(NamedTuple):
    """A rule of which a part has been read, and the letter that may follow it."""

    production: Production
    dot: int
    letter: str

    @property
    def ahead(self) -> str | None:
        """The symbol that comes next; None if the rule is complete."""
        body = self.production.body
        return body[self.dot] if self.dot < len(body) else None

    def __str__(self) -> str:
        body = self.production.body
        return " ".join([f"{self.production.head} ->", *body[: self.dot], ".", *body[self.dot :]])


class Action(NamedTuple):
    """The action of a state on a letter: shift to a state, or reduce by a production."""

    shift: int | None = None
    reduce: Production | None = None


class LR1Conflict(NamedTuple):
    """A state that cannot tell from the next letter whether to shift or by which rule to reduce.

    Attributes:
        state: Number of the state.
        letter: The letter, or `END`.
        read: The shortest symbols that lead to the state.
        shifts: Items that shift, without the letters that may follow them.
        reduces: Items that reduce; the empty text for the end of the whole word.
    """

    state: int
    letter: str
    read: tuple[str, ...]
    shifts: tuple[str, ...]
    reduces: tuple[str, ...]

    @property
    def kind(self) -> object:
        """The key that distinguishes it in a report: all fields but what was read before."""
        return self.letter, self.shifts, self.reduces

    def __str__(self) -> str:
        after = f"after {' '.join(self.read)}" if self.read else "at the beginning"
        seen = f"the next letter {self.letter!r}" if self.letter else "the end of the word"
        ways = [f"to shift ({', '.join(self.shifts)})"] if self.shifts else []
        ways += [f"to reduce ({item})" if item else "to accept" for item in self.reduces]
        return f"{after}, {seen} does not tell whether {' or '.join(ways)}"


@dataclass(slots=True)
class LR1Table:
    """The canonical LR(1) table of a grammar; probabilities and choices do not matter for it.

    Every grammar that some deterministic machine can read from left to right, looking one letter
    ahead, has a table without conflicts, also with left recursion.

    Args:
        grammar: The grammar.

    Attributes:
        states: The items of each state; a run starts in state 0.
        actions: Actions by (state, letter).
        goto: Next state by (state, nonterminal).

    Raises:
        LimitError: The table has too many states.

    Example:
        >>> table = LR1Table(Grammar.read("S -> S 'a' | 'a'"))
        >>> len(table.states), table.conflicts
        (4, [])
        >>> (conflict,) = LR1Table(Grammar.read("S -> S S | 'a'")).conflicts
        >>> conflict.read, conflict.letter, conflict.shifts, conflict.reduces
        (('S', 'S'), 'a', ('S -> . a',), ('S -> S S .',))
    """

    grammar: Grammar
    states: list[frozenset[Item]] = field(default_factory=list)
    actions: dict[tuple[int, str], list[Action]] = field(default_factory=lambda: defaultdict(list))
    goto: dict[tuple[int, str], int] = field(default_factory=dict)
    _read: list[tuple[str, ...]] = field(default_factory=list)
    _sets: FirstSets = field(init=False)

    def __post_init__(self) -> None:
        self._sets = FirstSets(self.grammar)
        numbers: dict[frozenset[Item], int] = {}
        self._number(numbers, [Item(Production("", (self.grammar.start,)), 0, END)], ())
        for here, items in enumerate(self.states):  # grows on the way
            moved: dict[str, list[Item]] = defaultdict(list)
            for item in sorted(items):
                if item.ahead is None:
                    self.actions[here, item.letter].append(Action(reduce=item.production))
                else:
                    moved[item.ahead].append(item._replace(dot=item.dot + 1))
            for symbol, kernel in moved.items():
                there = self._number(numbers, kernel, (*self._read[here], symbol))
                if symbol in self._sets.bodies:
                    self.goto[here, symbol] = there
                else:
                    self.actions[here, symbol].insert(0, Action(shift=there))

    def _number(
        self, numbers: dict[frozenset[Item], int], kernel: list[Item], read: tuple[str, ...]
    ) -> int:
        """The number of the state with these items; a new one is closed and added."""
        key = frozenset(kernel)
        if key not in numbers:
            if len(self.states) >= _MOST_STATES:
                raise LimitError(f"the LR(1) table has more than {_MOST_STATES} states")
            numbers[key] = len(self.states)
            self.states.append(self._closed(kernel))
            self._read.append(read)
        return numbers[key]

    def _closed(self, kernel: list[Item]) -> frozenset[Item]:
        """The items with those that begin what they expect."""
        found, pending = set(kernel), list(kernel)
        while pending:
            item = pending.pop()
            if item.ahead is None or item.ahead not in self._sets.bodies:
                continue
            rest = item.production.body[item.dot + 1 :]
            letters = self._sets.first(rest)
            letters |= {item.letter} if self._sets.vanishes(rest) else set()
            begun = {
                Item(Production(item.ahead, body), 0, letter)
                for body in self._sets.bodies[item.ahead]
                for letter in letters
            }
            pending += begun - found
            found |= begun
        return frozenset(found)

    @property
    def conflicts(self) -> list[LR1Conflict]:
        """All places of the table with more than one action."""
        places = [place for place, actions in self.actions.items() if len(actions) > 1]
        return [self._conflict(*place) for place in places]

    def _conflict(self, state: int, letter: str) -> LR1Conflict:
        items = sorted(self.states[state])
        shifts = dict.fromkeys(str(item) for item in items if item.ahead == letter)
        complete = [item for item in items if item.ahead is None and item.letter == letter]
        reduces = [str(item) if item.production.head else "" for item in complete]
        return LR1Conflict(state, letter, self._read[state], tuple(shifts), tuple(reduces))
