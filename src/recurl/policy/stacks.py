"""How calls lead from context to context, in runs of a policy and beyond them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL

if TYPE_CHECKING:
    from recurl.policy.policy import Policy

MOST_NODES = 200_000
"""Contexts, added up over numbers of pending calls, after which counting is given up."""

MOST_BOXES = 40
"""Boxes that are tried one by one."""

Counted = frozenset[int] | None
"""Boxes whose calls are counted; None for all."""

Levels = tuple[list[frozenset[int]], int | None]
"""Nodes possible with 0, 1, ... pending calls, and the number of the level that follows the last;
None if none does. No levels at all if there are too many."""


@dataclass(frozen=True)
class Graph:
    """How calls lead from node to node: frames in runs, or all contexts of a policy."""

    starts: tuple[int, ...]
    calls: dict[int, list[tuple[int, int]]]  # node -> box and node entered

    def levels(self, counted: Counted) -> Levels:
        """Nodes possible with 0, 1, ... pending calls at counted boxes."""
        levels: dict[frozenset[int], int] = {}
        current, total = self._closed(set(self.starts), counted), 0
        while current and current not in levels:
            total += len(current)
            if total > MOST_NODES:
                return [], None
            levels[current] = len(levels)
            ahead = {
                node
                for source in current
                for box, node in self.calls.get(source, ())
                if counted is None or box in counted
            }
            current = self._closed(ahead, counted)
        return list(levels), levels.get(current)

    def _closed(self, nodes: set[int], counted: Counted) -> frozenset[int]:
        """The nodes and all that calls lead to that do not count."""
        todo = [] if counted is None else list(nodes)
        while todo:
            for box, node in self.calls.get(todo.pop(), ()):
                if counted is not None and box not in counted and node not in nodes:
                    nodes.add(node)
                    todo.append(node)
        return frozenset(nodes)


class Stacks:
    """The stacks of a policy, as paths of calls.

    Args:
        policy: The policy.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy, self.reached, self.model = policy, policy.reached, policy.model
        self._levels: dict[tuple[bool, Counted], Levels] = {}

    @cached_property
    def runs(self) -> Graph:
        """Frames of runs, and the calls between them."""
        r, calls = self.reached, dict[int, dict[tuple[int, int], None]]()
        box = self.model.tables.vertex_box[self.policy.slot_vertex]
        for call in r.calls:
            calls.setdefault(r.frame[call.place], {})[int(box[call.port]), call.frame] = None
        starts = dict.fromkeys(r.frame[place] for place, _ in r.starts)
        return Graph(tuple(starts), {f: list(ways) for f, ways in calls.items()})

    @cached_property
    def whole(self) -> Graph:
        """All contexts, and all calls between them."""
        policy, t = self.policy, self.model.tables
        calls: dict[int, list[tuple[int, int]]] = {}
        for slot in np.flatnonzero(t.vertex_kind[policy.slot_vertex] == CALL).tolist():
            box = int(t.vertex_box[policy.slot_vertex[slot]])
            callee = int(policy.callees[slot])
            calls.setdefault(int(policy.slot_context[slot]), []).append((box, callee))
        starts = {int(policy.start[place]) for place in np.flatnonzero(t.start_prob)}
        return Graph(tuple(starts), calls)

    @cached_property
    def owned(self) -> dict[int, frozenset[int]]:
        """Boxes that runs call, by the component that they lie in."""
        owner = self.model.tables.box_owner
        found: dict[int, set[int]] = {c: set() for c in range(self.model.tables.n_components)}
        for box in self.boxes:
            found[int(owner[box])].add(box)
        return {c: frozenset(boxes) for c, boxes in found.items()}

    @cached_property
    def boxes(self) -> list[int]:
        """Boxes that runs call, in ascending order."""
        return sorted({box for calls in self.runs.calls.values() for box, _ in calls})

    def countable(self, own: int) -> Iterator[tuple[Counted, str]]:
        """Sets of boxes whose calls are worth counting, with words for them."""
        yield None, ""
        names, owner = self.model.names, self.model.tables.box_owner
        moving = frozenset(self.owned[own] - self.idle)
        if moving:
            listed = " or ".join(names.boxes[box] for box in sorted(moving))
            yield moving, f" of {names.components[own]} at {listed}"
        for component, boxes in self.owned.items():
            if boxes and component != own:
                yield boxes, f" of {names.components[component]}"
        for box in self.boxes[:MOST_BOXES]:
            yield frozenset([box]), f" of {names.components[owner[box]]} at {names.boxes[box]}"

    @cached_property
    def idle(self) -> set[int]:
        """Boxes whose calls always stay in the same context."""
        contexts, moving = self.reached.contexts, set()
        for frame, calls in self.runs.calls.items():
            moving |= {box for box, callee in calls if contexts[callee] != contexts[frame]}
        return set(self.boxes) - moving

    def level_sets(self, runs: bool, counted: Counted) -> Levels:
        """Frames of runs, or contexts of all stacks, by the number of calls that count."""
        key = runs, counted
        if key not in self._levels:
            self._levels[key] = (self.runs if runs else self.whole).levels(counted)
        return self._levels[key]

    @cached_property
    def entered(self) -> list[tuple[int, int]]:
        """Boxes and the frames that their calls enter, each once; -1 where runs start."""
        starts = [(-1, frame) for frame in self.runs.starts]
        calls = {call for calls in self.runs.calls.values() for call in calls}
        return starts + sorted(calls)

    @cached_property
    def rates(self) -> dict[tuple[int, int], float]:
        """How often a run enters each frame, by the box that calls it."""
        r, visits = self.reached, self.policy.visits
        box = self.model.tables.vertex_box[self.policy.slot_vertex]
        found: dict[tuple[int, int], float] = defaultdict(float)
        for place, prob in r.starts:
            found[-1, r.frame[place]] += prob
        for call in r.calls:
            found[int(box[call.port]), call.frame] += call.prob * visits.at([call.place]).mean
        return found

    @cached_property
    def entries(self) -> dict[int, float]:
        """How often a run enters each frame; never 0."""
        found: dict[int, float] = defaultdict(float)
        for (_, frame), rate in self.rates.items():
            found[frame] += rate
        return {frame: rate or 1.0 for frame, rate in found.items()}

    def box_name(self, box: int) -> str:
        """Full name of a box: ``H.b6``."""
        names, owner = self.model.names, self.model.tables.box_owner[box]
        return f"{names.components[owner]}.{names.boxes[box]}"
