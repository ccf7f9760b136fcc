"""From what episodes have shown to a model with confidence sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.learn.pac.access import View, with_probabilities
from recurl.learn.pac.atlas import Pair
from recurl.model.rmdp import RMDP
from recurl.model.tables import Layout

if TYPE_CHECKING:
    from recurl.learn.pac.atlas import Atlas
    from recurl.model.tables import Ints


class Chart(NamedTuple):
    """A model of what was seen.

    Attributes:
        view: The model with its counts; a state may be shown by several vertices.
        pair: Pair of each action of the model; -1 at states that no run has stood at yet. ``[A]``
    """

    view: View
    pair: Ints


@dataclass(slots=True)
class _Group:
    """A component: states that are entered by calls, states that steps lead to, boxes."""

    entries: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    boxes: dict[tuple[int, int], int] = field(default_factory=dict)


def chart(atlas: Atlas, support: int, name: str = "environment") -> Chart:
    """The model that has been discovered so far, each pair as it was last looked at.

    Pair number i of the discovery, from 1 on, has the share 1 / (i (i + 1)) of delta, as nobody
    knows how many there will be.
    """
    groups = _groups(atlas)
    numbers = {root: c for c, root in enumerate(groups)}
    layout, box_first = _layout(groups, numbers)
    writer = _Writer(atlas, groups, numbers, layout, box_first)
    model = writer.model(name)
    pair = np.array(writer.pair, np.int32)
    nothing = Pair(-1, -1)
    known = [nothing if p < 0 else atlas.pairs[p] for p in writer.pair]
    tried = np.array([bool(p.outcomes) for p in known])
    counts = np.array(writer.counts, np.int64)
    level = np.array([p.level for p in known], np.int32)
    sizes = np.diff(model.tables.transition_start)
    most = np.maximum(np.where(tried, support, max(support, 2)), sizes).astype(np.int32)
    place = np.maximum(pair, 0) + 1.0
    share = 1 / (place * (place + 1))
    return Chart(View(model, counts, level, most, share), pair)


def _groups(atlas: Atlas) -> dict[int, _Group]:
    """Components by the state that stands for them; that of the start comes first."""
    groups: dict[int, _Group] = {}

    def group(state: int) -> _Group:
        return groups.setdefault(atlas.component(state), _Group())

    for state in atlas.starts:
        group(state).entries.setdefault(state, len(group(state).entries))
    for pair in atlas.pairs:
        own = group(pair.state)
        for kind, target, after in pair.outcomes:
            if kind == "step":
                own.nodes.setdefault(target, len(own.nodes))
            elif kind == "call":
                callee = group(target)
                callee.entries.setdefault(target, len(callee.entries))
                own.boxes.setdefault((atlas.component(target), after), len(own.boxes))
    return groups


def _layout(groups: dict[int, _Group], numbers: dict[int, int]) -> tuple[Layout, list[int]]:
    """The vertices of all components, and the first box of each."""
    owner = [numbers[root] for root, group in groups.items() for _ in group.boxes]
    callee = [numbers[called] for group in groups.values() for called, _ in group.boxes]
    sizes = [len(group.boxes) for group in groups.values()]
    layout = Layout.of(
        [len(group.entries) for group in groups.values()],
        [1] * len(groups),
        [len(group.nodes) for group in groups.values()],
        box_owner=owner,
        box_component=callee,
    )
    return layout, np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(int).tolist()


class _Writer:
    """Writes the actions and transitions of every vertex, in order."""

    def __init__(
        self,
        atlas: Atlas,
        groups: dict[int, _Group],
        numbers: dict[int, int],
        layout: Layout,
        box_first: list[int],
    ) -> None:
        self.atlas, self.groups, self.numbers = atlas, groups, numbers
        self.layout, self.box_first = layout, box_first
        self.pair: list[int] = []
        self.counts: list[int] = []
        self.action_start, self.transition_start = [0], [0]
        self.target: list[int] = []
        self.reward: list[float] = []

    def model(self, name: str) -> RMDP:
        states = self._states()
        for vertex in range(self.layout.n_vertices):
            for pair in self._pairs(states.get(vertex)):
                self._write(pair, int(self.layout.vertex_component[vertex]))
            self.action_start.append(len(self.pair))
        sizes = np.diff(self.transition_start)
        starts = np.array([self.atlas.starts.get(s, 0) for s in self._first().entries])
        made = RMDP.from_arrays(
            self.layout,
            action_start=self.action_start,
            transition_start=self.transition_start,
            target=self.target,
            prob=np.repeat(1 / sizes, sizes),
            reward=np.array(self.reward, np.float64),
            start_prob=starts / starts.sum(),
            name=name,
        )
        seen = {v: f"{self.atlas.observations[s]!r}" for v, s in states.items()}
        return with_probabilities(made, made.tables.prob, labels=seen)

    def _first(self) -> _Group:
        return next(iter(self.groups.values()))

    def _states(self) -> dict[int, int]:
        """The state that each vertex shows."""
        shown, layout = dict[int, int](), self.layout
        for (root, group), first_box in zip(self.groups.items(), self.box_first, strict=True):
            c = self.numbers[root]
            start, entries = int(layout.component_start[c]), int(layout.n_entries[c])
            shown |= {start + j: state for state, j in group.entries.items()}
            shown |= {start + entries + 1 + j: state for state, j in group.nodes.items()}
            for (_, after), b in group.boxes.items():
                shown[int(layout.box_return[first_box + b])] = after
        return shown

    def _pairs(self, state: int | None) -> list[int]:
        return [] if state is None else self.atlas.pairs_of[state] or [-1]

    def _write(self, number: int, component: int) -> None:
        self.pair.append(number)
        rows = [] if number < 0 else self._rows(self.atlas.pairs[number], component)
        # A pair that was never tried needs some outcome to be written down.
        rows = rows or [(self._exit(component), 0.0, 0)]
        for target, reward, count in rows:
            self.target.append(target)
            self.reward.append(reward)
            self.counts.append(count)
        self.transition_start.append(len(self.target))

    def _rows(self, pair: Pair, component: int) -> list[tuple[int, float, int]]:
        """Target, reward and count of each outcome that is in the counts last looked at."""
        looked = [*pair.looked, *([0] * len(pair.rewards))]
        return [
            (self._target(outcome, pair, component), pair.rewards[i], looked[i])
            for outcome, i in pair.outcomes.items()
        ]

    def _exit(self, component: int) -> int:
        return int(self.layout.component_start[component] + self.layout.n_entries[component])

    def _target(self, outcome: tuple[str, int, int], pair: Pair, component: int) -> int:
        kind, target, after = outcome
        if kind == "exit":
            return self._exit(component)
        own = self.groups[self.atlas.component(pair.state)]
        if kind == "step":
            return self._exit(component) + 1 + own.nodes[target]
        called = self.atlas.component(target)
        box = self.box_first[component] + own.boxes[(called, after)]
        return int(self.layout.box_call[box]) + self.groups[called].entries[target]
