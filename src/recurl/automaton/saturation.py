"""Which states, calls and exits of a product can be reached at all.

Saturation: beginning with the first states, moves within a component, calls and exits add states,
entries, boxes and exits; a new exit of a component adds the state after it to every caller, a new
caller adds a state for every exit that is known. What is left out cannot happen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from recurl.automaton.expansion import Expansion, ProductSteps
from recurl.automaton.moves import CALLS, ENDS, LEAVES, OVER, STAYS
from recurl.errors import LimitError
from recurl.model.tables import Longs


class Box(NamedTuple):
    """A call: the string of the component it lies in, that called, and what is left afterwards."""

    owner: int
    callee: int
    left: int


@dataclass(slots=True)
class Saturation:
    """The reachable part of a product.

    States of a component are numbered ``(world state * Q + machine state) * W + string``, its
    entries and exits ``world state * Q + machine state``.

    Attributes:
        entries: Entries of each component.
        exits: Exits of each component.
        inner: States that moves within the component lead to.
        boxes: Calls.
        lanes: Ends of the run that each component may meet: final states, or OVER.
    """

    expansion: Expansion
    limit: int
    entries: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    exits: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    inner: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    boxes: set[Box] = field(default_factory=set)
    lanes: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    _known: set[int] = field(default_factory=set)
    _fresh: list[int] = field(default_factory=list)
    _callers: dict[int, list[Box]] = field(default_factory=lambda: defaultdict(list))

    @property
    def controls(self) -> int:
        """Number of machine states, Q."""
        return len(self.expansion.moves.machine.states)

    @property
    def strings(self) -> int:
        """Number of strings, W."""
        return len(self.expansion.moves.strings)

    def run(self) -> None:
        """Saturate, from the first states of the world."""
        starts = [s for s, p in enumerate(self.expansion.mdp.start) if p]
        self._enter(0, [s * self.controls for s in starts])
        while self._fresh:
            key = np.array(self._fresh, np.int64)
            self._fresh = []
            component, rest = np.divmod(key, len(self.expansion.mdp.states) * self._width)
            state, rest = np.divmod(rest, self._width)
            control, string = np.divmod(rest, self.strings)
            self._follow(self.expansion.steps(state, control, string), component)
        spread_lanes(self.lanes, self.boxes)

    @property
    def _width(self) -> int:
        return self.controls * self.strings

    def _add(self, component: int, pairs: list[int], string: int) -> None:
        """Add states of a component, given as world and machine state, with a string."""
        first = component * len(self.expansion.mdp.states) * self._width
        new = {first + pair * self.strings + string for pair in pairs} - self._known
        self._known |= new
        self._fresh += sorted(new)
        if len(self._known) > self.limit:
            raise LimitError(f"the product has more than {self.limit} states: raise `limit`")

    def _enter(self, component: int, pairs: list[int]) -> None:
        self.entries[component].update(pairs)
        self._add(component, pairs, component)

    def _follow(self, steps: ProductSteps, component: Longs) -> None:
        owner = component[steps.source]
        pair = steps.state * self.controls + steps.control
        left, callee = (self.expansion.columns[steps.effect, i] for i in (2, 3))
        for k, w, pairs in _groups(steps.kind == STAYS, owner, left, pair):
            self.inner[k].update(p * self.strings + w for p in pairs)
            self._add(k, pairs, w)
        called = callee * self.strings + left
        for k, code, pairs in _groups(steps.kind == CALLS, owner, called, pair):
            self._call(Box(k, *divmod(code, self.strings)), pairs)
        for k, _, pairs in _groups(steps.kind == LEAVES, owner, 0 * owner, pair):
            self._leave(k, pairs)
        for k, lane, _ in _groups(steps.kind == ENDS, owner, steps.control - OVER, pair):
            self.lanes[k].add(lane + OVER)

    def _call(self, box: Box, pairs: list[int]) -> None:
        self._enter(box.callee, pairs)
        if box not in self.boxes:
            self.boxes.add(box)
            self._callers[box.callee].append(box)
            self._add(box.owner, list(self.exits[box.callee]), box.left)

    def _leave(self, component: int, pairs: list[int]) -> None:
        new = set(pairs) - self.exits[component]
        self.exits[component] |= new
        for box in self._callers[component]:
            self._add(box.owner, list(new), box.left)


def spread_lanes(lanes: dict[int, set[int]], boxes: Iterable[Box]) -> None:
    """Give every caller the lanes of what it calls: the end of a run inside a call is its, too."""
    ordered, changed = sorted(boxes), True
    while changed:
        changed = False
        for box in ordered:
            missing = lanes[box.callee] - lanes[box.owner]
            lanes[box.owner] |= missing
            changed |= bool(missing)


def _groups(mask: np.ndarray, *columns: Longs) -> list[tuple[int, int, list[int]]]:
    """The chosen rows as groups of the first two columns, with the values of the third, once."""
    first, second, value = (column[mask] for column in columns)
    if not len(first):
        return []
    rows = np.unique(np.stack([first, second, value]), axis=1)
    cuts = np.flatnonzero(np.any(np.diff(rows[:2]) != 0, axis=0)) + 1
    return [
        (int(part[0, 0]), int(part[1, 0]), part[2].tolist())
        for part in np.split(rows, cuts, axis=1)
    ]


def saturate(expansion: Expansion, limit: int) -> Saturation:
    """The reachable part of a product, which may have a limited number of states."""
    reached = Saturation(expansion, limit)
    reached.run()
    return reached
