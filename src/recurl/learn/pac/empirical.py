"""The empirical model: the components, calls and outcomes that experience has shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import ProtocolError
from recurl.learn.pac.experience import Pair
from recurl.learn.pac.observed import Observed, StartCounts, with_probabilities
from recurl.model.rmdp import RMDP
from recurl.model.tables import RETURN, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recurl.learn.pac.experience import Experience, Outcome


UNTRIED, AWAY = -1, -2
"""In place of a pair: at a state that no run has stood at; on the way out of all calls."""
_STARTS = 0.5
"""Share of delta that belongs to the start distribution: it is the first discovery."""


@dataclass(slots=True)
class _Group:
    """A component: states that are entered by calls, states that steps lead to, boxes, exits."""

    exits: int = 1
    entries: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    boxes: dict[tuple[int, int], int] = field(default_factory=dict)


def empirical(
    experience: Experience, support: int, starts: int, *, name: str = "environment"
) -> Observed:
    """The model that has been discovered so far, with the counts of each pair at its level.

    The discovery with number i, from 1 on, has the share 1 / (i (i + 1)) of delta, as the number of
    discoveries is not known beforehand. Where there may be several starts, their distribution is
    the first. A state may be shown by several vertices. `pair` is -1 at states that no run has
    stood at yet, and -2 at the return ports of the exits for the unknown.

    Where calls may have several exits, each component gets one more, for the unknown: the run
    leaves all calls through it, for nothing.

    Args:
        experience: The experience.
        support: Most outcomes of a pair.
        starts: Most starts.
        name: Name of the model.
    """
    groups = _groups(experience)
    numbers = {root: c for c, root in enumerate(groups)}
    layout, box_first = _layout(groups, numbers, 1 if experience.several else 0)
    writer = _Writer(experience, groups, numbers, layout, box_first)
    model = writer.model(name)
    pair = np.array(writer.pair, np.int32)
    nothing = Pair(-1, -1)
    known = [nothing if p < 0 else experience.pairs[p] for p in writer.pair]
    tried = np.array([bool(p.outcomes) for p in known]) | (pair == AWAY)
    counts = np.array(writer.counts, np.int64)
    level = np.array([p.level for p in known], np.int32)
    sizes = np.diff(model.tables.transition_start)
    most = np.maximum(np.where(tried, support, max(support, 2)), sizes).astype(np.int32)
    most[pair == AWAY] = 1
    place = np.maximum(pair, 0) + (2.0 if starts > 1 else 1.0)
    begin, first = experience.start, next(iter(groups.values()))
    vertices = [first.entries[state] for _, state, _ in begin.outcomes]
    begun = np.array([*begin.at_level, *([0] * len(begin.counts))][: len(vertices)], np.int64)
    failure = _STARTS / (max(begin.level, 1) * (begin.level + 1.0))
    begins = StartCounts(np.array(vertices, np.int32), begun, failure, starts, _STARTS)
    share = 1 / (place * (place + 1))
    return Observed(model, counts, level, most, share, pair, begins)


def _groups(experience: Experience) -> dict[int, _Group]:
    """Components by the state that stands for them; that of the start comes first."""
    groups: dict[int, _Group] = {}
    returns = list(experience.returns)

    def group(state: int) -> _Group:
        return groups.setdefault(experience.component(state), _Group())

    for state in experience.starts:
        group(state).entries.setdefault(state, len(group(state).entries))
    for pair in experience.pairs:
        own = group(pair.state)
        for kind, target, after in pair.outcomes:
            if kind == "step":
                own.nodes.setdefault(target, len(own.nodes))
            elif kind == "call":
                callee = group(target)
                callee.entries.setdefault(target, len(callee.entries))
                callee.exits = max(callee.exits, len(returns[after]))
                own.boxes.setdefault((experience.component(target), after), len(own.boxes))
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
        experience: Experience,
        groups: dict[int, _Group],
        numbers: dict[int, int],
        layout: Layout,
        box_first: list[int],
    ) -> None:
        self.experience, self.groups, self.numbers = experience, groups, numbers
        self.layout, self.box_first = layout, box_first
        self.returns = list(experience.returns)
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
        begun = self.experience.starts
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
        seen = {v: f"{self.experience.observations[s]!r}" for v, s in states.items()}
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
            return self.experience.pairs_of[state] or [UNTRIED]
        return [AWAY] if self.layout.vertex_kind[vertex] == RETURN else []

    def _write(self, number: int, component: int) -> None:
        self.pair.append(number)
        rows = [] if number < 0 else self._rows(self.experience.pairs[number], component)
        # A pair that was never tried needs some outcome to be written down.
        rows = rows or [(self._behind(component) - 1, 0.0, 0)]
        for target, reward, count in rows:
            self.target.append(target)
            self.reward.append(reward)
            self.counts.append(count)
        self.transition_start.append(len(self.target))

    def _rows(self, pair: Pair, component: int) -> list[tuple[int, float, int]]:
        """Target, reward and count, at the level of the pair, of each outcome."""
        counts = [*pair.at_level, *([0] * len(pair.rewards))]
        return [
            (self._target(outcome, pair, component), pair.rewards[i], counts[i])
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
        own = self.groups[self.experience.component(pair.state)]
        if kind == "step":
            return self._behind(component) + own.nodes[target]
        called = self.experience.component(target)
        box = self.box_first[component] + own.boxes[(called, after)]
        return int(self.layout.box_call[box]) + self.groups[called].entries[target]
