"""All moves of a product, for many of its states at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from recurl.automaton.mdp import LabelledMDP
from recurl.automaton.moves import ENDS, OVER, Effect, Moves
from recurl.errors import ModelError, Problem
from recurl.model.tables import Longs, runs


class ProductSteps(NamedTuple):
    """Moves, one row per transition, in the order of sources, actions and outcomes.

    Attributes:
        source: Which of the states asked about.
        action: Number of the action at its source.
        state: Next state of the world.
        effect: Number of the machine's effect.
        kind: STAYS, CALLS, LEAVES or ENDS.
        control: Next state of the machine; where the run ends its final state or OVER.
        transition: Transition of the world; -1 for an epsilon move.
    """

    source: Longs
    action: Longs
    state: Longs
    effect: Longs
    kind: Longs
    control: Longs
    transition: Longs

    def take(self, rows: np.ndarray) -> ProductSteps:
        """Some of the rows."""
        return ProductSteps(*(column[rows] for column in self))


@dataclass(slots=True)
class Expansion:
    """The machine's effects as arrays, by (machine state, string, choice, label set).

    Attributes:
        mdp: The world.
        moves: The machine.
        effects: The effects, numbered.
        silent: Effects of the epsilon moves, by (state, string).
        reads: Effect for each label set, by (state, string, choice). ``[Q, W, C, L]``
        choices: How many choices there are, by (state, string). ``[Q, W]``
    """

    mdp: LabelledMDP
    moves: Moves
    effects: list[Effect] = field(default_factory=list)
    silent: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    reads: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    choices: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    _numbers: dict[Effect, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        states = len(self.moves.machine.states) - len(self.moves.machine.final)
        strings, sets = len(self.moves.strings), self.mdp.label_sets
        names = {(q, w): self.moves.choices(q, w) for q in range(states) for w in range(strings)}
        most = max(map(len, names.values()), default=0)
        self.reads = np.full((states, strings, max(most, 1), len(sets)), -1, np.int64)
        self.choices = np.zeros((states, strings), np.int64)
        for (q, w), here in names.items():
            self.choices[q, w] = len(here)
            for c, choice in enumerate(here):
                self.reads[q, w, c] = [self._read(q, w, choice, labels) for labels in sets]
            self.silent[q, w] = [self._number(effect) for _, effect in self.moves.silent(q, w)]
        rows = [effect[:4] for effect in self.effects]
        self.columns = np.array(rows, np.int64).reshape(-1, 4)

    def _number(self, effect: Effect) -> int:
        if effect not in self._numbers:
            self._numbers[effect] = len(self.effects)
            self.effects.append(effect)
        return self._numbers[effect]

    def _read(self, q: int, w: int, choice: str, labels: frozenset[str]) -> int:
        try:
            return self._number(self.moves.read(q, w, choice, labels))
        except ValueError as error:
            fix = "make the guards exclude each other, or give each a `choice`"
            place = f"machine {self.moves.machine.name}"
            raise ModelError([Problem(place, str(error), fix)]) from None

    def steps(self, state: Longs, control: Longs, string: Longs) -> ProductSteps:
        """All moves of states of the product, given as three columns."""
        here = np.arange(len(state))
        parts = [self._choice(c, here, state, control, string) for c in range(self.reads.shape[2])]
        most = max(map(len, self.silent.values()), default=0)
        parts += [self._silent(e, here, state, control, string) for e in range(most)]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return ProductSteps(*(column[order] for column in columns))

    def _choice(
        self, c: int, here: Longs, state: Longs, control: Longs, string: Longs
    ) -> ProductSteps:
        """Actions of the world under one choice."""
        m = self.mdp
        here = here[self.choices[control, string] > c]
        s = state[here]
        first = m.transition_start[m.action_start[s]]
        count = m.transition_start[m.action_start[s + 1]] - first
        source = np.repeat(here, count)
        t = runs(first, count)
        actions = m.action_start[1:] - m.action_start[:-1]
        own = np.searchsorted(m.transition_start, t, side="right") - 1
        action = own - m.action_start[state[source]] + c * actions[state[source]]
        effect = self.reads[control[source], string[source], c, m.label[t]]
        kind, after = self.columns[effect, 0], self.columns[effect, 1]
        over = m.ends[t] & (kind != ENDS)
        kind, after = np.where(over, ENDS, kind), np.where(over, OVER, after)
        return ProductSteps(source, action, m.target[t], effect, kind, after, t)

    def _silent(
        self, e: int, here: Longs, state: Longs, control: Longs, string: Longs
    ) -> ProductSteps:
        """The epsilon move with this number, of each state that has it."""
        table = np.full((len(self.choices), len(self.moves.strings)), -1, np.int64)
        for (q, w), effects in self.silent.items():
            if len(effects) > e:
                table[q, w] = effects[e]
        here = here[table[control, string] >= 0]
        place, s = (control[here], string[here]), state[here]
        effect = table[place]
        actions = self.mdp.action_start[s + 1] - self.mdp.action_start[s]
        action = actions * self.choices[place] + e
        kind, after = self.columns[effect, 0], self.columns[effect, 1]
        return ProductSteps(here, action, s, effect, kind, after, np.full(len(here), -1))

    def action_names(self, state: int, control: int, string: int) -> list[str]:
        """Names of the actions of a state of the product, in order."""
        m = self.mdp
        own = m.actions[m.action_start[state] : m.action_start[state + 1]]
        choices = self.moves.choices(control, string)
        named = [f"{a} / {c}" if c else a for c in choices for a in own]
        return [*named, *(name for name, _ in self.moves.silent(control, string))]
