"""Rules: the choice of a policy at a vertex, as conditions on the stack.

A policy reads the stack from the outside: it is a finite automaton, contexts are its states, boxes
its letters. Where its action at a vertex differs between contexts, the rule looks for the simplest
thing to say of the stack that decides the action in all runs, in this order:

1. how many calls of the vertex's own component are pending,
2. which box made the call,
3. how many calls are pending in all, or at certain boxes, or of another component,
4. which box made the call, with exceptions that hardly ever come up in a run,
5. by how much one exit is worth more than another, where the contexts know that,
6. which context it is.

Counting is exact, however deep the stack: the contexts possible with n pending calls follow from
those with n - 1, so that they repeat from some n on. Only what runs get to is looked at, with one
exception: "from 8 on" may include stacks deeper than those of runs, if the policy says the same
there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.names import Numbered
from recurl.policy.conditions import (
    SHOWN,
    Always,
    CalledAt,
    Condition,
    InContexts,
    Pending,
    Span,
    Worth,
)
from recurl.policy.policy import RANDOM
from recurl.policy.stacks import Stacks

if TYPE_CHECKING:
    from recurl.policy.policy import Policy
    from recurl.policy.stacks import Counted

MOST_SPANS = 6
"""Intervals, over all actions, beyond which a rule is not worth stating."""

RARE = 1e-3
"""Share of the visits up to which exceptions from a rule are allowed."""


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
class PolicyRule:
    """The choice of a policy at a vertex that runs reach. ``str()`` states it.

    Attributes:
        vertex: Full name of the vertex.
        clauses: One per action taken; none if no run gets to the vertex.
        seen: What the vertex was seen as, where its name is only a number.
        exceptions: How often a run comes to exceptions from what ``str()`` states.
    """

    vertex: str
    clauses: tuple[Clause, ...]
    seen: str = ""
    exceptions: float = 0.0

    @property
    def place(self) -> str:
        """The vertex with its label, where it has one: ``c1.n0 (seen as 8)``."""
        return f"{self.vertex} (seen as {self.seen})" if self.seen else self.vertex

    @property
    def text(self) -> str:
        """The rule without its vertex."""
        if not self.clauses:
            return "no run gets there"
        first, *others = self.clauses
        parts = [f"{first.action} {first.when.text}".strip()]
        parts += [f"{clause.action} {clause.when.short}" for clause in others]
        rare = f" (exceptions: {self.exceptions:.2g} visits per run)" if self.exceptions else ""
        return ", ".join(parts) + rare

    def action(self, stack: Sequence[int], context: int) -> str | None:
        """The action that the rule says for a stack of pending boxes, the outermost first.

        Returns:
            Name of the action; None if the rule does not cover such a stack.
        """
        held = (c.action for c in self.clauses if c.when.holds(stack, context))
        return next(held, None)

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class Rules:
    """The rules of a policy.

    Example:
        >>> import recurl
        >>> print(Rules(recurl.solve(recurl.zoo.cloud(exits=1)).policy).at("S.u3"))
        S.u3: reliable
    """

    def __init__(self, policy: Policy) -> None:
        self.policy, self.reached, self.model = policy, policy.reached, policy.model
        self.stacks = Stacks(policy)

    @cached_property
    def vertices(self) -> list[int]:
        """Vertices with a choice that runs get to, in ascending order."""
        start = self.model.tables.action_start
        there = np.unique(self.policy.slot_vertex[self.reached.slots]).tolist()
        return [v for v in there if start[v + 1] - start[v] > 1]

    def all(self) -> list[PolicyRule]:
        """The rule at each of these vertices."""
        return [self.at(vertex) for vertex in self.vertices]

    def at(self, vertex: int | str) -> PolicyRule:
        """The rule at a vertex, given by number or by full name."""
        number = self.model.find(vertex) if isinstance(vertex, str) else int(vertex)
        name = self.model.vertex_name(number)
        seen = self._seen(number, name)
        places = self._places.get(number, [])
        frames = {self.reached.frame[place]: place for place in places}
        does = {f: int(self.policy.actions[self.reached.slot[p]]) for f, p in frames.items()}
        if not does:
            return PolicyRule(name, (), seen)
        found = next(self._found(number, does, frames))
        clauses = [self._clause(number, does, frames, *pair) for pair in found]
        return PolicyRule(name, tuple(clauses), seen, self._exceptions(found, frames))

    def _seen(self, vertex: int, name: str) -> str:
        """Label of a vertex whose name is only a number, as those of environments are."""
        label = self.model.label(vertex)
        return label if isinstance(self.model.names.nodes, Numbered) and label != name else ""

    def _found(
        self, vertex: int, does: dict[int, int], frames: dict[int, int]
    ) -> Iterator[list[tuple[int, Condition]]]:
        """Conditions by action, the simplest way to say it first."""
        if len(set(does.values())) == 1:
            yield [(next(iter(does.values())), Always())]
            return
        own = int(self.model.tables.vertex_component[vertex])
        name = self.model.names.components[own]
        ways = [self._pending(vertex, does, self.stacks.owned[own], f" of {name}")]
        ways += [self._called(does)]
        yield from (way for way in ways if way)
        for counted, where in self.stacks.countable(own):
            if way := self._pending(vertex, does, counted, where):
                yield way
        yield from filter(None, [self._mostly_called(does, frames), self._worth(own, does)])
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

    def _pending(
        self, vertex: int, does: dict[int, int], counted: Counted, where: str
    ) -> list[tuple[int, Condition]] | None:
        """A rule on the number of pending calls; None if it does not decide the action."""
        levels, again = self.stacks.level_sets(True, counted)
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

    def _same_deeper(self, vertex: int, counted: Counted, last: int, action: int | None) -> bool:
        """Whether the policy does the same on all stacks with more pending calls than in runs."""
        levels, again = self.stacks.level_sets(False, counted)
        component = self.model.tables.vertex_component[vertex]
        beyond = levels[min(last + 1, len(levels) if again is None else again) :]
        contexts = {
            x for level in beyond for x in level if self.policy.context_component[x] == component
        }
        return bool(contexts) and {self.policy.action(vertex, x) for x in contexts} == {action}

    def _called(self, does: dict[int, int]) -> list[tuple[int, Condition]] | None:
        """A rule on the box that made the call; None if it does not decide the action."""
        by_box: dict[int, int] = {}
        for box, frame in self.stacks.entered:
            if frame in does and by_box.setdefault(box, does[frame]) != does[frame]:
                return None
        return self._by_box(by_box, {})

    def _by_box(
        self, by_box: dict[int, int], exceptions: dict[tuple[int, int], int]
    ) -> list[tuple[int, Condition]]:
        """The boxes of each action, and the boxes and contexts with another action than that."""
        found: list[tuple[int, Condition]] = []
        for action, boxes, rest in _by_action(by_box):
            names = tuple(self.stacks.box_name(b) for b in boxes if b >= 0)
            names = ("any box",) if len(boxes) == len(by_box) else names
            also = frozenset(key for key, other in exceptions.items() if other == action)
            found.append(
                (action, CalledAt(frozenset(boxes), names, rest, also, frozenset(exceptions)))
            )
        for action in sorted(set(exceptions.values()) - set(by_box.values())):
            also = frozenset(key for key, other in exceptions.items() if other == action)
            found.append((action, CalledAt(frozenset(), (), also=also)))
        return found

    def _mostly_called(
        self, does: dict[int, int], frames: dict[int, int]
    ) -> list[tuple[int, Condition]] | None:
        """A rule on the box that made the call, from which runs hardly ever differ."""
        weights: dict[int, dict[int, float]] = {}
        for (box, frame), weight in self._visits_by_box(frames).items():
            weights.setdefault(box, defaultdict(float))[does[frame]] += weight
        by_box = {box: max(sorted(w), key=w.__getitem__) for box, w in weights.items()}
        exceptions = {
            (box, self.reached.contexts[frame]): does[frame]
            for box, frame in self.stacks.entered
            if frame in does and does[frame] != by_box[box]
        }
        found = self._by_box(by_box, exceptions)
        total = sum(weight for w in weights.values() for weight in w.values())
        return found if self._exceptions(found, frames) <= RARE * total else None

    def _exceptions(self, found: list[tuple[int, Condition]], frames: dict[int, int]) -> float:
        """How often a run comes to exceptions from a rule."""
        conditions = [when for _, when in found if isinstance(when, CalledAt)]
        keys = {key for when in conditions for key in when.also}
        if not keys:
            return 0.0
        contexts = self.reached.contexts
        visits = self._visits_by_box(frames).items()
        return sum(weight for (box, f), weight in visits if (box, contexts[f]) in keys)

    def _visits_by_box(self, frames: dict[int, int]) -> dict[tuple[int, int], float]:
        """Visits per run to a place of each frame, by the box that called the frame."""
        found = {}
        for (box, frame), rate in self.stacks.rates.items():
            if frame in frames:
                share = rate / self.stacks.entries[frame]
                found[box, frame] = share * self.policy.visits.at([frames[frame]]).mean
        return found

    def _worth(self, own: int, does: dict[int, int]) -> list[tuple[int, Condition]] | None:
        """A rule on what one exit is worth more than another; None if none decides the action."""
        values, t = self.policy.exit_values, self.model.tables
        if values is None:
            return None
        contexts = {self.reached.contexts[f]: action for f, action in does.items()}
        best: list[tuple[int, float, float]] | None = None
        pair = 0, 0
        for i, j in permutations(range(int(t.n_exits[own])), 2):
            differences = {x: float(values[x, i] - values[x, j]) for x in contexts}
            spans = _ranges(differences, contexts)
            # Of a difference and its negative, the one whose bounds are mostly positive.
            upright = spans and sum(high for _, _, high in spans[:-1]) >= 0
            if spans and upright and (best is None or len(spans) < len(best)):
                best, pair = spans, (i, j)
        if best is None or len(best) > MOST_SPANS:
            return None
        one, other = (self.model.local_name(t.exits_of(own)[k]) for k in pair)
        actions = dict.fromkeys(action for action, _, _ in best)
        return [
            (
                a,
                Worth(
                    tuple((low, high) for action, low, high in best if action == a),
                    (one, other),
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
            (action, InContexts(frozenset(found), tuple(names[x] for x in found), rest))
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
    *others, longest = [len(keys) for _, keys in listed]
    is_long = longest > SHOWN or (longest > 2 and max(others, default=0) < longest)
    ends = [False] * len(others) + [is_long and bool(others)]
    return [(action, keys, rest) for (action, keys), rest in zip(listed, ends, strict=True)]
