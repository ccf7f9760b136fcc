"""Machines that read words by LR(1) tables: the stack holds the states of what has been read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from recurl.automaton.machine import Rule
from recurl.automaton.spelling import ACCEPTED, READY, REJECTED, Spelling
from recurl.errors import ModelError, Problem
from recurl.grammar.first_sets import END
from recurl.grammar.lr1 import Action, LR1Table

_LONGEST_CHAIN = 10_000

Stack = tuple[int, ...]


class Popping(NamedTuple):
    """A reduction under way: a letter is remembered, and states of the rule are still to be popped.

    Attributes:
        letter: The letter that was read.
        head: Nonterminal with which the state below goes on.
        left: How many states are still to be popped.
    """

    letter: str
    head: str
    left: int


class Choosing(NamedTuple):
    """A letter was read in a state with a conflict: the agent has to choose."""

    letter: str


class StackOutcome(NamedTuple):
    """Where what is known of the stack leads: to a machine state, with states in its place."""

    state: str | Popping | Choosing
    push: Stack


@dataclass(slots=True)
class LR1Rules:
    """Writes the rules of an LR(1) table for every machine state that turns out to be needed.

    A letter is read and remembered; reductions pop states and go on with their head, until the
    letter is shifted. What a letter does above the state on top is worked out here, so only states
    below it take epsilon moves, one each. Where the table has a conflict, the agent picks one of
    its actions by an epsilon move: ``shift`` and the letter, a rule, or ``accept``.

    Args:
        table: The table.
        spelling: The letters, and how runs end.
    """

    table: LR1Table
    spelling: Spelling
    _pending: list[Popping | Choosing] = field(default_factory=list)

    @property
    def stack(self) -> tuple[str, ...]:
        """The first stack: the first state, which is never popped."""
        return (_name(0),)

    def rules(self) -> list[Rule]:
        """All rules."""
        found = [r for state in range(len(self.table.states)) for r in self._ready(state)]
        for pending in self._pending:  # grows on the way
            found += self._silent(pending)
        return _needed(found, self.stack)

    def _silent(self, pending: Popping | Choosing) -> Iterator[Rule]:
        """Epsilon moves."""
        if isinstance(pending, Choosing):
            return self._choosing(pending)
        return self._popping(pending)

    def _ready(self, state: int) -> Iterator[Rule]:
        """Rules that read a letter; without an end label, a word that can only be over is over."""
        allowed = {letter for s, letter in self.table.actions if s == state}
        if self.spelling.end is None and allowed == {END}:
            yield self._rule(READY, None, state, self._read((state,), END), choice="accept")
            return
        for letter in self.spelling.letters:
            yield self._rule(READY, letter, state, self._read((state,), letter))

    def _choosing(self, pending: Choosing) -> Iterator[Rule]:
        """Epsilon moves of the agent's own, in all states where this letter is a conflict."""
        for (state, letter), actions in self.table.actions.items():
            if letter == pending.letter and len(actions) > 1:
                for action in actions:
                    outcome, name = self._done((state,), letter, action), f"shift {letter}"
                    if action.reduce is not None:
                        name = str(action.reduce) if action.reduce.head else "accept"
                    yield self._rule(pending, None, state, outcome, choice=name)

    def _popping(self, pending: Popping) -> Iterator[Rule]:
        """One more state of a reduction, or the state below it, which goes on with its head."""
        letter, head, left = pending
        for state, items in enumerate(self.table.states):
            begun = (i for i in items if i.ahead is not None and i.production.head == head)
            if any((i.dot, i.letter) == (left, letter) for i in begun):
                outcome = self._outcome(Popping(letter, head, left - 1), ())
                if not left:
                    outcome = self._read((self.table.goto[state, head], state), letter)
                yield self._rule(pending, None, state, outcome)

    def _read(self, stack: Stack, letter: str) -> StackOutcome:
        """The effect of a letter, as far as this part of the stack determines it."""
        for _ in range(_LONGEST_CHAIN):
            actions = self.table.actions.get((stack[0], letter), [])
            if not actions:
                return StackOutcome(REJECTED, stack)
            if len(actions) > 1:
                return self._outcome(Choosing(letter), stack)
            step = self._step(stack, letter, actions[0])
            if isinstance(step, StackOutcome):
                return step
            stack = step
        raise ModelError([Problem(f"letter {letter}", "is never shifted", "remove the cycle")])

    def _done(self, stack: Stack, letter: str, action: Action) -> StackOutcome:
        """The effect of a letter after a certain action."""
        step = self._step(stack, letter, action)
        return step if isinstance(step, StackOutcome) else self._read(step, letter)

    def _step(self, stack: Stack, letter: str, action: Action) -> StackOutcome | Stack:
        """The part of the stack after an action; or the outcome, where it is at an end."""
        if action.shift is not None:
            return StackOutcome(READY, (action.shift, *stack))
        assert action.reduce is not None
        head, size = action.reduce.head, len(action.reduce.body)
        if not head:
            return StackOutcome(ACCEPTED, stack)
        if size >= len(stack):
            return self._outcome(Popping(letter, head, size - len(stack)), ())
        rest = stack[size:]
        return (self.table.goto[rest[0], head], *rest)

    def _outcome(self, state: Popping | Choosing, push: Stack) -> StackOutcome:
        if state not in self._pending:
            self._pending.append(state)
        return StackOutcome(state, push)

    def _rule(
        self,
        source: str | Popping | Choosing,
        letter: str | None,
        top: int,
        outcome: StackOutcome,
        *,
        choice: str = "next",
    ) -> Rule:
        pushed = tuple(map(_name, outcome.push))
        here, there = self._state(source), self._state(outcome.state)
        return self.spelling.move(
            here, letter, _name(top), target=there, push=pushed, choice=choice
        )

    def _state(self, state: str | Popping | Choosing) -> str:
        if isinstance(state, str):
            return state
        read = self.spelling.remembering(state.letter)
        if isinstance(state, Choosing):
            return read
        return f"{read}-{self.spelling.name(state.head)}-{state.left}"


def _name(state: int) -> str:
    return f"s{state}"


def _needed(rules: list[Rule], stack: tuple[str, ...]) -> list[Rule]:
    """The rules whose machine state is ever reached and whose top is ever pushed."""
    while True:
        states = {READY, *(r.target for r in rules)}
        symbols = {*stack, *(symbol for r in rules for symbol in r.push)}
        kept = [r for r in rules if r.source in states and r.top in symbols]
        if len(kept) == len(rules):
            return kept
        rules = kept
