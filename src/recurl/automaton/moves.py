"""The effects of a machine, as numbers, for products and for environments.

A component of a product stands for a string of stack symbols that was pushed at once; while it
runs, what is left of the string is part of its state, topmost symbol first. With g on top and w
below it in the string, a rule that replaces g by

- nothing pops: the string becomes w, or the component is left if w is empty;
- one symbol h rewrites: the string becomes h w;
- h1 ... hk calls the component of h1 ... h(k-1), and h(k) w is what is left here afterwards.

So a machine that pushes one symbol at a time has one component per symbol.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from recurl.automaton.machine import Machine, Rule

STAYS, CALLS, LEAVES, ENDS = 0, 1, 2, 3
"""Kinds of moves: within the component, into another, out of it, and the end of the run."""

OVER = -1
"""In place of a final state: the world ended the run."""

String = tuple[str, ...]


class Effect(NamedTuple):
    """The effect of a move on the machine.

    Attributes:
        kind: STAYS, CALLS, LEAVES or ENDS.
        state: Number of the machine's next state; of the final state if the run ends.
        left: Number of the string that the component is left with (not if it is left itself).
        callee: Number of the string that is called, else -1.
        reward: Reward.
    """

    kind: int
    state: int
    left: int
    callee: int
    reward: Fraction


@dataclass(slots=True)
class Moves:
    """The effects of a machine by state and string.

    Args:
        machine: The machine.

    Attributes:
        strings: Strings that components may be left with, the first stack first.
        state_number: Number of each machine state.

    Example:
        >>> from recurl.automaton.machine import Machine, rule
        >>> moves = Moves(Machine("up", [rule("q", "a", "q", push="A _")]))
        >>> moves.strings
        [('bottom',), ('A',)]
        >>> moves.read(0, 0, "", {"a"})
        Effect(kind=1, state=0, left=0, callee=1, reward=Fraction(0, 1))
    """

    machine: Machine
    strings: list[String] = field(default_factory=list)
    state_number: dict[str, int] = field(default_factory=dict)
    _numbers: dict[String, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state_number = {state: i for i, state in enumerate(self.machine.states)}
        self._number(self.machine.stack)
        for string in self.strings:  # grows on the way
            for rule in self.machine.rules:
                if rule.fits(string[0]):
                    self._effect(rule, string)

    def _number(self, string: String) -> int:
        if string not in self._numbers:
            self._numbers[string] = len(self.strings)
            self.strings.append(string)
        return self._numbers[string]

    def _effect(self, rule: Rule, string: String) -> Effect:
        state, pushed, below = self.state_number[rule.target], rule.pushed(string[0]), string[1:]
        if rule.target in self.machine.final:
            return Effect(ENDS, state, -1, -1, rule.reward)
        if len(pushed) > 1:
            left = self._number((pushed[-1], *below))
            return Effect(CALLS, state, left, self._number(pushed[:-1]), rule.reward)
        if not pushed and not below:
            return Effect(LEAVES, state, -1, -1, rule.reward)
        return Effect(STAYS, state, self._number((*pushed, *below)), -1, rule.reward)

    def choices(self, state: int, string: int) -> list[str]:
        """Names between which the agent picks with an action of the world; none if it reads none.

        A state that has epsilon moves and no other rule for the top reads nothing there.
        """
        rules = self._rules(state, string)
        if rules and all(rule.guard is None for rule in rules):
            return []
        return list(self.machine.choices_at(self.machine.states[state], self.strings[string][0]))

    def read(self, state: int, string: int, choice: str, labels: Collection[str]) -> Effect:
        """The effect of reading labels under a choice.

        Raises:
            ValueError: Two rules fit these labels.
        """
        rules = [
            rule
            for rule in self._rules(state, string)
            if rule.guard is not None and rule.choice in ("", choice)
        ]
        fitting = [rule for rule in rules if not rule.otherwise and _holds(rule, labels)]
        fitting = fitting or [rule for rule in rules if rule.otherwise]
        if len(fitting) > 1 and not self.machine.first_match:
            both = " and ".join(map(str, fitting[:2]))
            raise ValueError(f"both {both} fit the labels {', '.join(sorted(labels)) or 'none'}")
        if fitting:
            return self._effect(fitting[0], self.strings[string])
        if self.machine.otherwise == "stop":
            return Effect(ENDS, OVER, -1, -1, Fraction(0))
        return Effect(STAYS, state, string, -1, Fraction(0))

    def silent(self, state: int, string: int) -> list[tuple[str, Effect]]:
        """The epsilon moves there: names and effects."""
        rules = [rule for rule in self._rules(state, string) if rule.guard is None]
        symbols = self.strings[string]
        return [(rule.choice or f"go {rule.target}", self._effect(rule, symbols)) for rule in rules]

    def places(self) -> list[tuple[int, int]]:
        """All pairs of a state that is not final and a string."""
        states = len(self.machine.states) - len(self.machine.final)
        return [(state, string) for state in range(states) for string in range(len(self.strings))]

    def is_outermost(self, string: int) -> bool:
        """Whether no call is pending while a string is left: the bottom is its last symbol."""
        return self.strings[string][-1] == self.machine.bottom

    def states_after_pops(self) -> list[int]:
        """States in which a component can be left."""
        effects = (
            self._effect(rule, string)
            for string in self.strings
            for rule in self.machine.rules
            if rule.fits(string[0])
        )
        return sorted({effect.state for effect in effects if effect.kind == LEAVES})

    def _rules(self, state: int, string: int) -> list[Rule]:
        return self.machine.rules_at(self.machine.states[state], self.strings[string][0])


def _holds(rule: Rule, labels: Collection[str]) -> bool:
    return rule.guard is not None and rule.guard.holds(labels)
