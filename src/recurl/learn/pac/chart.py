"""From what episodes have shown to a model with confidence sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.errors import ProtocolError
from recurl.learn.pac.access import View, with_probabilities
from recurl.learn.pac.atlas import Pair
from recurl.model.rmdp import RMDP
from recurl.model.tables import RETURN, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recurl.learn.pac.atlas import Atlas, Outcome
    from recurl.learn.pac.plan import Longs
    from recurl.model.tables import Ints


UNTRIED, AWAY = -1, -2
"""In place of a pair: at a state that no run has stood at; on the way out of all calls."""


class Chart(NamedTuple):
    """A model of what was seen.

    Attributes:
        view: The model with its counts; a state may be shown by several vertices.
        pair: Pair of each action of the model; -1 at states that no run has stood at yet, -2 at the
            return ports of the exits for the unknown. ``[A]``
        start: The vertices at which runs were seen to start.
        start_counts: How often each, when last looked at.
        start_failure: Probability, as a part of delta, with which these counts may mislead.
    """

    view: View
    pair: Ints
    start: Ints
    start_counts: Longs
    start_failure: float


@dataclass(slots=True)
class _Group:
    """A component: states that are entered by calls, states that steps lead to, boxes, exits."""

    exits: int = 1
    entries: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    boxes: dict[tuple[int, int], int] = field(default_factory=dict)


def chart(atlas: Atlas, support: int, starts: int, *, name: str = "environment") -> Chart:
    """The model that has been discovered so far, each pair as it was last looked at.

    What is discovered as number i, from 1 on, has the share 1 / (i (i + 1)) of delta, as nobody
    knows how many there will be. Where there may be several starts, their distribution is the
    first.

    Where calls may have several exits, each component gets one more, for the unknown: the run
    leaves all calls through it, for nothing.

    Args:
        atlas: What was seen.
        support: Most outcomes of a pair.
        starts: Most starts.
        name: Name of the model.
    """
    groups = _groups(atlas)
    numbers = {root: c for c, root in enumerate(groups)}
    layout, box_first = _layout(groups, numbers, 1 if atlas.several else 0)
    writer = _Writer(atlas, groups, numbers, layout, box_first)
    model = writer.model(name)
    pair = np.array(writer.pair, np.int32)
    nothing = Pair(-1, -1)
    known = [nothing if p < 0 else atlas.pairs[p] for p in writer.pair]
    tried = np.array([bool(p.outcomes) for p in known]) | (pair == AWAY)
    counts = np.array(writer.counts, np.int64)
    level = np.array([p.level for p in known], np.int32)
    sizes = np.diff(model.tables.transition_start)
    most = np.maximum(np.where(tried, support, max(support, 2)), sizes).astype(np.int32)
    most[pair == AWAY] = 1
    place = np.maximum(pair, 0) + (2.0 if starts > 1 else 1.0)
    view = View(model, counts, level, most, 1 / (place * (place + 1)))
    begin, first = atlas.start, next(iter(groups.values()))
    vertices = [first.entries[state] for _, state, _ in begin.outcomes]
    looked = np.array([*begin.looked, *([0] * len(begin.counts))][: len(vertices)], np.int64)
    failure = 0.5 / (max(begin.level, 1) * (begin.level + 1.0))
    return Chart(view, pair, np.array(vertices, np.int32), looked, failure)


def _groups(atlas: Atlas) -> dict[int, _Group]:
    """Components by the state that stands for them; that of the start comes first."""
    groups: dict[int, _Group] = {}
    returns = list(atlas.returns)

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
                callee.exits = max(callee.exits, len(returns[after]))
                own.boxes.setdefault((atlas.component(target), after), len(own.boxes))
    for group_ in groups.values():
        _check_exits(groups, group_, returns)
    return groups


def _check_exits(
    groups: dict[int, _Group], own: _Group, returns: Sequence[tuple[int, ...]]
) -> None:
    for called, after in own.boxes:
        wanted, announced = groups[called].exits, len(returns[after])
        if announced != wanted:
            raise ProtocolError(
                f"calls that lead to the same states announced {announced} and {wanted} exits"
            )


def _layout(
    groups: dict[int, _Group], numbers: dict[int, int], away: int
) -> tuple[Layout, list[int]]:
    """The vertices of all components, and the first box of each."""
    owner = [numbers[root] for root, group in groups.items() for _ in group.boxes]
    callee = [numbers[called] for group in groups.values() for called, _ in group.boxes]
    sizes = [len(group.boxes) for group in groups.values()]
    layout = Layout.of(
        [len(group.entries) for group in groups.values()],
        [group.exits + away for group in groups.values()],
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
        self.returns = list(atlas.returns)
        self.pair: list[int] = []
        self.counts: list[int] = []
        self.action_start, self.transition_start = [0], [0]
        self.target: list[int] = []
        self.reward: list[float] = []

    def model(self, name: str) -> RMDP:
        states = self._states()
        for vertex in range(self.layout.n_vertices):
            for pair in self._pairs(vertex, states.get(vertex)):
                self._write(pair, int(self.layout.vertex_component[vertex]))
            self.action_start.append(len(self.pair))
        sizes = np.diff(self.transition_start)
        begun = self.atlas.starts
        starts = np.array([begun.get(s, 0) for s in self._first().entries])
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
            start, behind = int(layout.component_start[c]), self._behind(c)
            shown |= {start + j: state for state, j in group.entries.items()}
            shown |= {behind + j: state for state, j in group.nodes.items()}
            for (_, after), b in group.boxes.items():
                first = int(layout.box_return[first_box + b])
                shown |= {first + k: state for k, state in enumerate(self.returns[after])}
        return shown

    def _pairs(self, vertex: int, state: int | None) -> list[int]:
        if state is not None:
            return self.atlas.pairs_of[state] or [UNTRIED]
        return [AWAY] if self.layout.vertex_kind[vertex] == RETURN else []

    def _write(self, number: int, component: int) -> None:
        self.pair.append(number)
        rows = [] if number < 0 else self._rows(self.atlas.pairs[number], component)
        # A pair that was never tried needs some outcome to be written down.
        rows = rows or [(self._behind(component) - 1, 0.0, 0)]
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

    def _behind(self, component: int) -> int:
        """The vertex after the last exit."""
        return self._exit(component) + int(self.layout.n_exits[component])

    def _exit(self, component: int) -> int:
        return int(self.layout.component_start[component] + self.layout.n_entries[component])

    def _target(self, outcome: Outcome, pair: Pair, component: int) -> int:
        kind, target, after = outcome
        if kind == "exit":
            return self._exit(component) + target
        if kind == "end":
            return self._behind(component) - 1
        own = self.groups[self.atlas.component(pair.state)]
        if kind == "step":
            return self._behind(component) + own.nodes[target]
        called = self.atlas.component(target)
        box = self.box_first[component] + own.boxes[(called, after)]
        return int(self.layout.box_call[box]) + self.groups[called].entries[target]
