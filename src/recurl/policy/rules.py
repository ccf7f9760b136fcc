"""What a policy does at a vertex, as a rule on the stack.

A policy reads the stack from the outside: it is a finite automaton, contexts are its states, boxes
its letters. Where its action at a vertex differs between contexts, the rule looks for the simplest
thing to say of the stack that decides the action in all runs, in this order:

1. how many calls of the vertex's own component are pending,
2. which box made the call,
3. how many calls are pending in all, or at certain boxes, or of another component,
4. by how much one exit is worth more than another, where the contexts know that,
5. which context it is.

Counting is exact, however deep the stack: the contexts possible with n pending calls follow from
those with n - 1, so that they repeat from some n on. Only what runs get to is looked at, with one
exception: "from 8 on" may include stacks deeper than those of runs, if the policy says the same
there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.names import Numbered
from recurl.model.tables import CALL
from recurl.policy.conditions import (
    SHOWN,
    Always,
    CalledAt,
    Condition,
    Pending,
    Span,
    Within,
    Worth,
)
from recurl.policy.policy import RANDOM

if TYPE_CHECKING:
    from recurl.policy.policy import Policy

MOST_NODES = 200_000
"""Contexts, added up over numbers of pending calls, after which counting is given up."""

MOST_SPANS = 6
"""Intervals, over all actions, beyond which a rule is not worth stating."""

MOST_BOXES = 40
"""Boxes that are tried one by one."""


@dataclass(frozen=True)
class Clause:
    """An action, and when it is taken.

    Attributes:
        action: Name of the action; ``"any"`` if it is random.
        when: The condition on the stack.
        contexts: Contexts of the policy in which runs take it.
        places: Places in which they do (see `recurl.policy.reached`).
    """

    action: str
    when: Condition
    contexts: tuple[int, ...]
    places: tuple[int, ...]


@dataclass(frozen=True)
class Rule:
    """What a policy does at a vertex, as far as runs get there. ``str()`` states it.

    Attributes:
        vertex: Full name of the vertex.
        clauses: One per action taken; none if no run gets to the vertex.
        seen: What the vertex was seen as, where its name is only a number.
    """

    vertex: str
    clauses: tuple[Clause, ...]
    seen: str = ""

    @property
    def place(self) -> str:
        """The vertex for people: ``c1.n0 (seen as 8)``."""
        return f"{self.vertex} (seen as {self.seen})" if self.seen else self.vertex

    @property
    def text(self) -> str:
        """The rule without its vertex."""
        if not self.clauses:
            return "no run gets there"
        first, *others = self.clauses
        parts = [f"{first.action} {first.when.text}".strip()]
        return ", ".join([*parts, *(f"{clause.action} {clause.when.short}" for clause in others)])

    def action(self, stack: Sequence[int], context: int) -> str | None:
        """The action that the rule says for a stack of pending boxes, the outermost first.

        Returns:
            Name of the action; None if the rule says nothing of such a stack.
        """
        held = (c.action for c in self.clauses if c.when.holds(stack, context))
        return next(held, None)

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@dataclass(frozen=True)
class _Graph:
    """How calls lead from node to node: frames in runs, or all contexts of a policy."""

    starts: tuple[int, ...]
    calls: dict[int, list[tuple[int, int]]]  # node -> box and node entered

    def levels(self, counted: frozenset[int] | None) -> tuple[list[frozenset[int]], int | None]:
        """Nodes possible with 0, 1, ... pending calls at counted boxes.

        Returns:
            The sets, and the number of the one that comes after the last; None if none does.
            No sets at all if there are too many.
        """
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

    def _closed(self, nodes: set[int], counted: frozenset[int] | None) -> frozenset[int]:
        """The nodes and all that calls lead to that do not count."""
        todo = [] if counted is None else list(nodes)
        while todo:
            for box, node in self.calls.get(todo.pop(), ()):
                if counted is not None and box not in counted and node not in nodes:
                    nodes.add(node)
                    todo.append(node)
        return frozenset(nodes)


_Counted = frozenset[int] | None
_Levels = tuple[list[frozenset[int]], int | None]


class Rules:
    """The rules of a policy.

    Example:
        >>> import recurl
        >>> print(Rules(recurl.solve(recurl.zoo.cloud(exits=1)).policy).at("S.u3"))
        S.u3: reliable
    """

    def __init__(self, policy: Policy) -> None:
        self.policy, self.reached, self.model = policy, policy.reached, policy.model
        self._levels: dict[tuple[bool, _Counted], _Levels] = {}

    @cached_property
    def vertices(self) -> list[int]:
        """Vertices with a choice that runs get to, in ascending order."""
        start = self.model.tables.action_start
        there = np.unique(self.policy.slot_vertex[self.reached.slots]).tolist()
        return [v for v in there if start[v + 1] - start[v] > 1]

    def all(self) -> list[Rule]:
        """The rule at each of these vertices."""
        return [self.at(vertex) for vertex in self.vertices]

    def at(self, vertex: int | str) -> Rule:
        """The rule at a vertex, given by number or by full name."""
        number = self.model.find(vertex) if isinstance(vertex, str) else int(vertex)
        name = self.model.vertex_name(number)
        seen = self._seen(number, name)
        places = self._places.get(number, [])
        frames = {self.reached.frame[place]: place for place in places}
        does = {f: int(self.policy.actions[self.reached.slot[p]]) for f, p in frames.items()}
        if not does:
            return Rule(name, (), seen)
        found = next(self._found(number, does))
        clauses = [self._clause(number, does, frames, *pair) for pair in found]
        return Rule(name, tuple(clauses), seen)

    def _seen(self, vertex: int, name: str) -> str:
        """Label of a vertex whose name is only a number, as those of environments are."""
        label = self.model.label(vertex)
        return label if isinstance(self.model.names.nodes, Numbered) and label != name else ""

    def _found(self, vertex: int, does: dict[int, int]) -> Iterator[list[tuple[int, Condition]]]:
        """Conditions by action, the simplest way to say it first."""
        if len(set(does.values())) == 1:
            yield [(next(iter(does.values())), Always())]
            return
        own = int(self.model.tables.vertex_component[vertex])
        name = self.model.names.components[own]
        ways = [self._pending(vertex, does, self._owned[own], f" of {name}")]
        ways += [self._called(does)]
        yield from (way for way in ways if way)
        for counted, where in self._countable(own):
            if way := self._pending(vertex, does, counted, where):
                yield way
        yield from filter(None, [self._worth(own, does)])
        yield self._listed(does)

    def _clause(
        self,
        vertex: int,
        does: dict[int, int],
        frames: dict[int, int],
        action: int,
        when: Condition,
    ) -> Clause:
        taken = [f for f in does if does[f] == action]
        contexts = sorted({self.reached.contexts[f] for f in taken})
        name = "any" if action == RANDOM else self.model.action_names(vertex)[action]
        return Clause(name, when, tuple(contexts), tuple(frames[f] for f in taken))

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """Places by vertex."""
        found: dict[int, list[int]] = {}
        for place, vertex in enumerate(self.policy.slot_vertex[self.reached.slot].tolist()):
            found.setdefault(vertex, []).append(place)
        return found

    @cached_property
    def _runs(self) -> _Graph:
        """Frames of runs, and the calls between them."""
        r, calls = self.reached, dict[int, dict[tuple[int, int], None]]()
        box = self.model.tables.vertex_box[self.policy.slot_vertex]
        for call in r.calls:
            calls.setdefault(r.frame[call.place], {})[int(box[call.port]), call.frame] = None
        starts = dict.fromkeys(r.frame[place] for place, _ in r.starts)
        return _Graph(tuple(starts), {f: list(ways) for f, ways in calls.items()})

    @cached_property
    def _whole(self) -> _Graph:
        """All contexts, and all calls between them."""
        policy, t = self.policy, self.model.tables
        calls: dict[int, list[tuple[int, int]]] = {}
        for slot in np.flatnonzero(t.vertex_kind[policy.slot_vertex] == CALL).tolist():
            box = int(t.vertex_box[policy.slot_vertex[slot]])
            callee = int(policy.callees[slot])
            calls.setdefault(int(policy.slot_context[slot]), []).append((box, callee))
        starts = {int(policy.start[place]) for place in np.flatnonzero(t.start_prob)}
        return _Graph(tuple(starts), calls)

    @cached_property
    def _owned(self) -> dict[int, frozenset[int]]:
        """Boxes that runs call, by the component that they lie in."""
        owner = self.model.tables.box_owner
        found: dict[int, set[int]] = {c: set() for c in range(self.model.tables.n_components)}
        for box in self._boxes:
            found[int(owner[box])].add(box)
        return {c: frozenset(boxes) for c, boxes in found.items()}

    @cached_property
    def _boxes(self) -> list[int]:
        """Boxes that runs call, in ascending order."""
        return sorted({box for calls in self._runs.calls.values() for box, _ in calls})

    def _countable(self, own: int) -> Iterator[tuple[_Counted, str]]:
        """Sets of boxes whose calls are worth counting, with words for them."""
        yield None, ""
        names, owner = self.model.names, self.model.tables.box_owner
        moving = frozenset(self._owned[own] - self._idle)
        if moving:
            listed = " or ".join(names.boxes[box] for box in sorted(moving))
            yield moving, f" of {names.components[own]} at {listed}"
        for component, boxes in self._owned.items():
            if boxes and component != own:
                yield boxes, f" of {names.components[component]}"
        for box in self._boxes[:MOST_BOXES]:
            yield frozenset([box]), f" of {names.components[owner[box]]} at {names.boxes[box]}"

    @cached_property
    def _idle(self) -> set[int]:
        """Boxes whose calls always stay in the same context."""
        contexts, moving = self.reached.contexts, set()
        for frame, calls in self._runs.calls.items():
            moving |= {box for box, callee in calls if contexts[callee] != contexts[frame]}
        return set(self._boxes) - moving

    def _level_sets(self, runs: bool, counted: _Counted) -> _Levels:
        key = runs, counted
        if key not in self._levels:
            self._levels[key] = (self._runs if runs else self._whole).levels(counted)
        return self._levels[key]

    def _pending(
        self, vertex: int, does: dict[int, int], counted: _Counted, where: str
    ) -> list[tuple[int, Condition]] | None:
        """A rule on the number of pending calls; None if it does not decide the action."""
        levels, again = self._level_sets(True, counted)
        taken: list[int | None] = []
        for level in levels:
            actions = {does[frame] for frame in level if frame in does}
            if len(actions) > 1:
                return None
            taken.append(actions.pop() if actions else None)
        if not taken:
            return None
        last = max(n for n, action in enumerate(taken) if action is not None)
        deeper = again is None and self._same_deeper(vertex, counted, last, taken[last])
        spans = _spans(taken, again, deeper)
        if len(spans) > MOST_SPANS:
            return None
        found: dict[int, list[Span]] = {}
        for action, span in spans:
            found.setdefault(action, []).append(span)
        return [
            (
                a,
                Pending(
                    tuple(own), counted, where, last if deeper and own[-1].last is None else None
                ),
            )
            for a, own in found.items()
        ]

    def _same_deeper(self, vertex: int, counted: _Counted, last: int, action: int | None) -> bool:
        """Whether the policy does the same on all stacks with more pending calls than in runs."""
        levels, again = self._level_sets(False, counted)
        component = self.model.tables.vertex_component[vertex]
        beyond = levels[min(last + 1, len(levels) if again is None else again) :]
        contexts = {
            x for level in beyond for x in level if self.policy.context_component[x] == component
        }
        return bool(contexts) and {self.policy.action(vertex, x) for x in contexts} == {action}

    def _called(self, does: dict[int, int]) -> list[tuple[int, Condition]] | None:
        """A rule on the box that made the call; None if it does not decide the action."""
        by_box: dict[int, int] = {}
        entered = [(-1, frame) for frame in self._runs.starts]
        entered += [call for calls in self._runs.calls.values() for call in calls]
        for box, frame in entered:
            if frame in does and by_box.setdefault(box, does[frame]) != does[frame]:
                return None
        return [
            (
                action,
                CalledAt(frozenset(boxes), tuple(self._box_name(b) for b in boxes if b >= 0), rest),
            )
            for action, boxes, rest in _by_action(by_box)
        ]

    def _box_name(self, box: int) -> str:
        names, owner = self.model.names, self.model.tables.box_owner[box]
        return f"{names.components[owner]}.{names.boxes[box]}"

    def _worth(self, own: int, does: dict[int, int]) -> list[tuple[int, Condition]] | None:
        """A rule on what one exit is worth more than another; None if none decides the action."""
        values, t = self.policy.exit_values, self.model.tables
        if values is None:
            return None
        contexts = {self.reached.contexts[f]: action for f, action in does.items()}
        first = int(t.component_start[own] + t.n_entries[own])
        best: list[tuple[int, float, float]] | None = None
        pair = 0, 0
        for one, other in permutations(range(int(t.n_exits[own])), 2):
            differences = {x: float(values[x, one] - values[x, other]) for x in contexts}
            spans = _ranges(differences, contexts)
            # Of a difference and its negative, the one whose bounds are mostly positive.
            upright = spans and sum(high for _, _, high in spans[:-1]) >= 0
            if spans and upright and (best is None or len(spans) < len(best)):
                best, pair = spans, (one, other)
        if best is None or len(best) > MOST_SPANS:
            return None
        exits = (self.model.local_name(first + pair[0]), self.model.local_name(first + pair[1]))
        actions = dict.fromkeys(action for action, _, _ in best)
        return [
            (
                a,
                Worth(
                    tuple((low, high) for action, low, high in best if action == a),
                    exits,
                    frozenset(x for x, action in contexts.items() if action == a),
                ),
            )
            for a in actions
        ]

    def _listed(self, does: dict[int, int]) -> list[tuple[int, Condition]]:
        """The contexts of each action."""
        names = self.policy.context_names
        by_context = {self.reached.contexts[f]: action for f, action in does.items()}
        return [
            (action, Within(frozenset(found), tuple(names[x] for x in found), rest))
            for action, found, rest in _by_action(by_context)
        ]


def _spans(taken: list[int | None], again: int | None, deeper: bool) -> list[tuple[int, Span]]:
    """Actions and the numbers at which they are taken, in order.

    Args:
        taken: Action at each number; None if there is none.
        again: Number from which on it all repeats; None if it ends.
        deeper: Whether the last action goes on without end.
    """
    there = [(n, action) for n, action in enumerate(taken) if action is not None]
    cycle = {action for n, action in there if again is not None and n >= again}
    if len(cycle) > 1 and again is not None:
        period = len(taken) - again
        once = _spans(taken[:again], None, False)
        return once + [(action, Span(n, None, period)) for n, action in there if n >= again]
    runs = [(action, [n for n, _ in same]) for action, same in groupby(there, lambda one: one[1])]
    spans = [(action, Span(numbers[0], numbers[-1])) for action, numbers in runs]
    if spans and (deeper or cycle):
        action, span = spans[-1]
        spans[-1] = action, Span(span.first)
    return spans


def _ranges(
    differences: dict[int, float], actions: dict[int, int]
) -> list[tuple[int, float, float]] | None:
    """Actions and the ranges in which they are taken; None if one number has two of them."""
    if any(math.isnan(d) for d in differences.values()):
        return None
    order = sorted(differences, key=lambda x: (differences[x], actions[x]))
    if any(
        differences[x] == differences[y] and actions[x] != actions[y] for x, y in pairwise(order)
    ):
        return None
    runs = [(a, [differences[x] for x in same]) for a, same in groupby(order, actions.__getitem__)]
    ends = [(a, numbers[0], numbers[-1]) for a, numbers in runs]
    ends[0] = (ends[0][0], -math.inf, ends[0][2])
    ends[-1] = (ends[-1][0], ends[-1][1], math.inf)
    return ends


def _by_action(found: dict[int, int]) -> list[tuple[int, list[int], bool]]:
    """Actions, their keys in ascending order, and whether that is the long rest, which is last."""
    groups: dict[int, list[int]] = {}
    for key in sorted(found):
        groups.setdefault(found[key], []).append(key)
    listed = sorted(groups.items(), key=lambda group: len(group[1]))
    longest = len(listed[-1][1])
    is_long = longest > SHOWN or (longest > 2 and len(listed[-2][1]) < longest)
    ends = [False] * (len(listed) - 1) + [is_long]
    return [(action, keys, rest) for (action, keys), rest in zip(listed, ends, strict=True)]
