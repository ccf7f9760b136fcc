"""Unravelling: a recursive model as a finite one, its states being (stack of boxes, vertex)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import LimitError, ModelError, Problem
from recurl.model.names import unused_name
from recurl.model.tables import CALLS, STEP, Layout, runs
from recurl.model.transforms.columns import Transitions, Words, model_of

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.spec import Number

Deeper = Callable[[tuple[int, ...], int], "Number"]
"""From a stack that is too deep (its boxes, outermost first, the one cut included) and the entry
called to a bound on the reward of everything that follows."""


def unravel(
    model: RMDP, depth: int, deeper: Number | Deeper = 0, *, limit: int = 1_000_000
) -> RMDP:
    """Unravel a model down to a depth, as one component without boxes.

    The states are the reachable pairs of a stack of at most ``depth`` boxes and a vertex. A call
    that would go deeper ends the run through the additional exit ``deeper``, and pays, besides its
    own reward, a bound on the total reward of everything that would follow: the call itself and
    what comes after it. The value is a lower bound if all of these are, an upper bound if all of
    these are. Other exits are those of the start component.

    Args:
        model: The model.
        depth: How many boxes may be pending.
        deeper: The bound, or a function of stack and entry that gives it (see `Deeper`).
        limit: Most states to make.

    Raises:
        LimitError: There are more states.

    Example:
        >>> import recurl
        >>> unravel(recurl.zoo.gambler(), 2)
        <RMDP gambler: 1 component, 15 vertices, multi-exit, hierarchical>
    """
    if depth < 0:
        raise ValueError(f"depth must not be negative, not {depth}")
    return Unravelling(model, depth, deeper, limit).model_of_states()


def flatten(model: RMDP, *, limit: int = 1_000_000) -> RMDP:
    """The finite MDP that a hierarchical model stands for, as one component without boxes.

    Args:
        model: A model in which no component can reach a call of itself.
        limit: Most states to make.

    Raises:
        ModelError: The model is recursive; the components in question are named.
        LimitError: There are more states.

    Example:
        >>> import recurl
        >>> flatten(recurl.zoo.succinct(5))
        <RMDP succinct: 1 component, 62 vertices, 1-exit, deterministic, hierarchical>
    """
    fix = "only a hierarchical model can be flattened: unravel cuts at a depth"
    problems = [
        Problem(f"component {model.names.components[c]}", "can reach a call of itself", fix)
        for c in _recursive_components(model)
    ]
    if problems:
        raise ModelError(problems, headline=f"model {model.name}: ")
    return unravel(model, model.tables.n_components, limit=limit)


def _recursive_components(model: RMDP) -> Iterator[int]:
    graph = model.call_graph
    for group in graph.groups:
        if len(group) > 1 or (group[0], group[0]) in graph.edges:
            yield from group


class Unravelling:
    """A search through stacks and vertices.

    A stack is a number: 0 the empty one; `parent` and `box` say what lies below and on top. States
    are numbered as they are met, starts first. Exits, as targets, are counted down from -1.
    """

    def __init__(self, model: RMDP, depth: int, deeper: Number | Deeper, limit: int) -> None:
        self.model, self.depth, self.deeper, self.limit = model, depth, deeper, limit
        self.n_exits = int(model.tables.n_exits[model.tables.start_component])
        self.parent, self.box, self.height = [-1], [-1], [0]
        self.pushed: dict[tuple[int, int], int] = {}
        self.numbers: dict[tuple[int, int], int] = {}
        self.states: list[tuple[int, int]] = []
        self.targets: list[int] = []
        self.cuts: dict[int, Number] = {}
        for vertex in model.tables.starts.tolist():
            self._state(0, vertex)
        self.n_starts = len(self.states)
        self._search()

    def _search(self) -> None:
        t = self.model.tables
        move, landing, box = t.move.tolist(), t.landing.tolist(), t.move_box.tolist()
        first, returns = t.transition_start[t.action_start].tolist(), t.box_return.tolist()
        for stack, vertex in self.states:  # which grows meanwhile
            for i in range(first[vertex], first[vertex + 1]):
                if move[i] == STEP:
                    target = self._state(stack, landing[i])
                elif move[i] == CALLS:
                    target = self._call(stack, box[i], landing[i])
                elif stack:
                    target = self._state(self.parent[stack], returns[self.box[stack]] + landing[i])
                else:
                    target = -1 - landing[i]
                self.targets.append(target)

    def _state(self, stack: int, vertex: int) -> int:
        known = self.numbers.get((stack, vertex))
        if known is not None:
            return known
        if len(self.states) == self.limit:
            raise LimitError(
                f"{self.model.name} has more than {self.limit} states down to depth {self.depth}: "
                "raise the limit, or unravel less deep"
            )
        self.states.append((stack, vertex))
        self.numbers[stack, vertex] = len(self.states) - 1
        return len(self.states) - 1

    def _call(self, stack: int, box: int, entry: int) -> int:
        if self.height[stack] == self.depth:
            bound = self.deeper
            self.cuts[len(self.targets)] = (
                bound((*self._boxes(stack), box), entry) if callable(bound) else bound
            )
            return -1 - self.n_exits
        pushed = self.pushed.setdefault((stack, box), len(self.parent))
        if pushed == len(self.parent):
            self.parent.append(stack)
            self.box.append(box)
            self.height.append(self.height[stack] + 1)
        return self._state(pushed, entry)

    def _boxes(self, stack: int) -> tuple[int, ...]:
        boxes = []
        while stack:
            boxes.append(self.box[stack])
            stack = self.parent[stack]
        return tuple(reversed(boxes))

    def model_of_states(self) -> RMDP:
        """The states that were found, as a model."""
        t = self.model.tables
        vertices = np.array([vertex for _, vertex in self.states])
        exits = self.n_exits + bool(self.cuts)
        counts = np.diff(t.action_start)[vertices]
        rows = np.insert(counts, self.n_starts, [0] * exits)
        source = runs(t.action_start[vertices], counts)
        edges = Transitions.of(self.model)
        first = int(t.component_start[t.start_component])
        return model_of(
            self.model.name,
            Layout.of([self.n_starts], [exits], [len(self.states) - self.n_starts]),
            self._edges(edges, source, exits),
            words=self._words(vertices, source, exits),
            action_start=np.concatenate([[0], np.cumsum(rows)]),
            start_component=0,
            start=edges.column.start(self.model)[t.starts - first],
        )

    def _edges(self, edges: Transitions, source: np.ndarray, exits: int) -> Transitions:
        """The transitions: those of the actions that states copy, to where the search led."""
        begin = self.model.tables.transition_start
        counts = np.diff(begin)[source]
        transitions = runs(begin[source], counts)
        reward = edges.reward[transitions]
        for place, bound in self.cuts.items():
            reward[place] += edges.column.number(bound)
        found = np.array(self.targets)
        later = np.where(found < self.n_starts, found, found + exits)
        target = np.where(found < 0, self.n_starts - 1 - found, later)
        action = np.repeat(np.arange(len(source)), counts)
        return Transitions(action, target, edges.prob[transitions], reward)

    def _words(self, vertices: np.ndarray, source: np.ndarray, exits: int) -> Words:
        model, names, start = self.model, self.model.names, self.model.tables.start_component
        ends = model.tables.exits_of(start)
        nodes = self._state_names()
        last = [unused_name("deeper", {*nodes})] * (exits - self.n_exits)
        nodes[self.n_starts : self.n_starts] = [*(names.nodes[v] for v in ends), *last]
        copied = np.insert(vertices, self.n_starts, [*ends, *[-1] * len(last)])
        labels = {i: text for i, v in enumerate(copied.tolist()) if (text := model.labels.get(v))}
        features = None
        if model.features is not None:
            features = np.where(copied[:, None] < 0, 0.0, model.features[copied])
        actions = [names.actions[a] for a in source.tolist()]
        described = (features, model.feature_names, labels)
        return Words([names.components[start]], nodes, [], actions, *described)

    def _state_names(self) -> list[str]:
        """Boxes and vertex, such as ``b1>b5>u3``; a return port is written ``b1>b5:u4``."""
        names = self.model.names
        prefix = [""]
        for parent, box in zip(self.parent[1:], self.box[1:], strict=True):
            prefix.append(f"{prefix[parent]}{names.boxes[box]}>")
        local = {v: names.local(v).replace(".", ":") for v in {v for _, v in self.states}}
        return [prefix[stack] + local[vertex] for stack, vertex in self.states]
