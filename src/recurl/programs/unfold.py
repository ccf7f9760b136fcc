"""From the states of a program to a model.

- A function with its arguments is a component, and the different values that it returns are exits.
  Calls of a function that can lead to each other are one component, with an entry each; so a model
  is hierarchical where no call can lead to the same call again. Every box has a port for each entry
  and exit; where that would make far more ports than states, all calls are separate components.
- A call is a separate box for every state in which it is made.
- States with a choice are vertices. Draws and rewards belong to the step that leads to them, unless
  several lead there. So a program without draws between its choices has one vertex per choice.
- Entries and return ports that stand at a choice offer it themselves.
- A return port behind an exit that the call cannot take leads to the component's first exit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import LimitError
from recurl.model.assemble import assemble
from recurl.model.names import unused_name
from recurl.model.numbers import shortest_text
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec
from recurl.programs.code import described, value_text
from recurl.programs.explore import CALLING, CHANCE, CHOICE, RETURN, REWARD, Exploration

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

GO = "go"
"""The only action where there is no choice."""

MANY_PORTS = 20_000
"""Ports, beyond four per state, from which on calls are separate components."""

MOST_VERTICES = 8
"""Vertices of a model, per state that a program may have, from which on it is not made."""

_LONGEST = 60
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class FunctionPart:
    """A future component: a function, its starts (entries) and its returns (exits)."""

    function: int
    starts: list[int]
    returns: list[int]


@dataclass(eq=False)
class Unfolded:
    """A program's states and its model.

    Attributes:
        exploration: The states.
        model: The model.
        parts: What each component stands for.
        state_of: State at which each entry, return port and node stands, by component and name.
        boxes: State of each box, by component and name.
    """

    exploration: Exploration
    model: RMDP
    parts: list[FunctionPart]
    state_of: list[dict[str, int]]
    boxes: list[dict[str, int]]

    @cached_property
    def vertex_state(self) -> dict[int, int]:
        """State of each vertex that has actions; none behind exits that cannot be taken."""
        found = {}
        for component, places in enumerate(self.state_of):
            for vertex in self.model.tables.vertices_of(component):
                state = places.get(self.model.local_name(vertex))
                if state is not None:
                    found[vertex] = state
        return found

    @cached_property
    def box_state(self) -> list[int]:
        """State of each box of the model."""
        owner = self.model.tables.box_owner.tolist()
        return [self.boxes[c][self.model.names.boxes[b]] for b, c in enumerate(owner)]


def unfold(exploration: Exploration, name: str) -> Unfolded:
    """The model of a program, given its states."""
    x = exploration
    parts = _parts(x, _cycles(x))
    if _count_ports(x, parts) > max(MANY_PORTS, 4 * len(x.states)):
        parts = _parts(x, list(range(len(x.states))))
    _check_size(x, parts)
    return _Unfolding(x, parts).run(name)


def _check_size(x: Exploration, parts: list[FunctionPart]) -> None:
    """Refuse a model that would be too large, before it is made.

    Raises:
        LimitError: It has far more vertices than there are states; the function that most of them
            belong to is named.
    """
    part_of = {start: part for part in parts for start in part.starts}
    sizes, ports = [0] * len(x.functions), [0] * len(x.functions)
    places = {
        (part_of[x.search.entry[frame]].starts[0], number)
        for frame, number in zip(x.search.frame, x.search.node, strict=True)
    }
    for _, number in places:
        state = x.states[number]
        sizes[state.function] += 1
        if state.kind == CALLING:
            called = part_of[state.entry]
            ports[called.function] += len(called.starts) + len(called.returns)
    count, most = sum(sizes) + sum(ports), MOST_VERTICES * x.limit
    if count > most:
        f = int(np.argmax(ports))
        raise LimitError(
            f"the model of program {x.functions[0].name} would have about {count:,} vertices, more "
            f"than {most:,}: {ports[f]:,} of them are ports of calls of {x.functions[f].name}, "
            f"which is called with {len(x.starts[f]):,} different arguments and gives "
            f"{len(x.returns[f]):,} different results. {x.widest()}. Bound or round what is handed "
            "on, or raise state_limit"
        )


def _cycles(x: Exploration) -> list[int]:
    """By state, a number that starts share if and only if their calls can lead to each other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    calls = [(by, called) for called, callers in x.callers.items() for by in callers]
    row, column = np.array(calls, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(calls)), (row, column)), shape=(len(x.states),) * 2)
    labels: list[int] = connected_components(graph.tocsr(), connection="strong")[1].tolist()
    return labels


def _parts(x: Exploration, label: list[int]) -> list[FunctionPart]:
    """Functions, with the starts that share a label."""
    together: dict[tuple[int, int], list[int]] = {}
    for f, starts in enumerate(x.starts):
        for start in starts:
            together.setdefault((f, label[start]), []).append(start)
    return [
        FunctionPart(f, starts, sorted({r for start in starts for r in x.exits_of(start)}))
        for (f, _), starts in together.items()
    ]


def _count_ports(x: Exploration, parts: list[FunctionPart]) -> int:
    ends = {start: len(part.starts) + len(part.returns) for part in parts for start in part.starts}
    return sum(ends[state.entry] for state in x.states if state.kind == CALLING)


class _Unfolding:
    """The specification, as it grows; a state may stand in several components."""

    def __init__(self, x: Exploration, parts: list[FunctionPart]) -> None:
        self.x, self.states, self.parts = x, x.states, parts
        self.labels = _unique_labels(self._label(part) for part in parts)
        self.part_of = {start: c for c, part in enumerate(parts) for start in part.starts}
        self.taken: list[set[str]] = [set() for _ in parts]
        self.names: list[dict[int, str]] = [{} for _ in parts]
        self.specs = [ComponentSpec() for _ in parts]
        self.state_of: list[dict[str, int]] = [{} for _ in parts]
        self.boxes: list[dict[str, int]] = [{} for _ in parts]
        self.shared = self._shared()
        self.todo: list[tuple[int, int]] = []

    def _label(self, part: FunctionPart) -> str:
        name = self.x.functions[part.function].name
        if len(self.x.starts[part.function]) == len(part.starts):
            return name
        values = [value_text(value) for value in self.states[part.starts[0]].values]
        return _as_name(f"{name}({', '.join(values)})")

    def run(self, name: str) -> Unfolded:
        for c in range(len(self.parts)):
            self._name_ends(c)
        for c, part in enumerate(self.parts):
            for number in part.starts:
                entry, first = self.names[c][number], self.states[number].next[0]
                self._vertex(c, entry, first)
                self.specs[c].labels[entry] += self._then(first)
        while self.todo:
            self._node(*self.todo.pop())
        c = self.part_of[self.x.first]
        start = f"{self.labels[c]}.{self.names[c][self.x.first]}"
        components = dict(zip(self.labels, self.specs, strict=True))
        model = assemble(ModelSpec(name, {start: 1}, components))
        return Unfolded(self.x, model, self.parts, self.state_of, self.boxes)

    def _shared(self) -> list[bool]:
        """Whether several steps lead to a state."""
        ways = [0] * len(self.states)
        for state in self.states:
            for number in (*state.next, *state.behind.values()):
                ways[number] += 1
        return [count > 1 for count in ways]

    # Names

    def _name(self, c: int, number: int, text: str) -> str:
        """A name for a state, unlike all others of its component."""
        name = unused_name(_as_name(text), self.taken[c], " #")
        self.taken[c].add(name)
        self.names[c][number] = name
        return name

    def _name_ends(self, c: int) -> None:
        spec, part = self.specs[c], self.parts[c]
        parameters = list(self.x.codes[part.function].source.signature.parameters)
        for number in part.starts:
            text = described(parameters, self.states[number].values) or "start"
            spec.entries.append(self._name(c, number, text))
            spec.labels[spec.entries[-1]] = self.x.describe(number)
        for number in part.returns:
            value = self.states[number].values[0]
            text = "return" if value is None else f"return {value_text(value)}"
            spec.exits.append(self._name(c, number, text))
            spec.labels[spec.exits[-1]] = self.x.describe(number)
        if not spec.exits:
            spec.exits.append("never returns")

    # Vertices

    def _vertex(self, c: int, name: str, number: int) -> None:
        """Give a vertex the actions of the state that it stands for."""
        state = self.states[number]
        self.state_of[c][name] = number
        if state.kind == CHOICE:
            labels = _unique_labels(_as_text(option) for option in state.options)
            actions = {
                label: self._action(c, to) for label, to in zip(labels, state.next, strict=True)
            }
        else:
            actions = {GO: self._action(c, number, root=True)}
        self.specs[c].vertices[name] = actions

    def _node(self, c: int, number: int) -> None:
        """The vertex of a state, or, if it is a call, the return ports of its box."""
        state, spec, name = self.states[number], self.specs[c], self.names[c][number]
        if state.kind != CALLING:
            self._vertex(c, name, number)
            spec.labels[name] = self.x.describe(number)
            return
        callee, text = self.part_of[state.entry], self.x.describe(number)
        for out in self.specs[callee].exits:
            # Behind exits that this call cannot take: out, at once.
            spec.vertices[f"{name}.{out}"] = {GO: ActionSpec(0, [EdgeSpec(spec.exits[0])])}
        for leaving, behind in state.behind.items():
            port = f"{name}.{self.names[callee][leaving]}"
            self._vertex(c, port, behind)
            returned = value_text(self.states[leaving].values[0])
            spec.labels[port] = f"{text}, after it returned {returned}{self._then(behind)}"

    def _then(self, number: int) -> str:
        """The next state, unless it is a return, for vertices that stand between events."""
        is_return = self.states[number].kind == RETURN
        return "" if is_return else f"; {self.x.describe(number)}"

    # Steps

    def _action(self, c: int, number: int, root: bool = False) -> ActionSpec:
        """A step that leads to a state: draws and rewards on the way are part of it."""
        found: dict[str, list[tuple[Fraction, Fraction]]] = {}
        todo = [(number, _ONE, _ZERO, root)]
        while todo:
            at, p, paid, first = todo.pop()
            state = self.states[at]
            inside = state.kind in (CHANCE, REWARD) and (first or not self.shared[at])
            if inside and state.kind == REWARD:
                total = paid + state.amount if paid else state.amount
                todo.append((state.next[0], p, total, False))
            elif inside:
                ways = list(zip(state.next, state.odds, strict=True))
                todo += [(to, q if p is _ONE else p * q, paid, False) for to, q in reversed(ways)]
            else:
                found.setdefault(self._target(c, at), []).append((p, paid))
        return _with_common_reward([_edge(target, ways) for target, ways in found.items()])

    def _target(self, c: int, number: int) -> str:
        """Name of the vertex or call port that a step leads to."""
        state = self.states[number]
        if number not in self.names[c]:
            self._add_target(c, number)
        name = self.names[c][number]
        if state.kind == CALLING:
            return f"{name}.{self.names[self.part_of[state.entry]][state.entry]}"
        return name

    def _add_target(self, c: int, number: int) -> None:
        state, code = self.states[number], self.x.codes[self.parts[c].function]
        text = f"line {code.line(state.position)}"
        if state.kind == CALLING:
            callee = self.part_of[state.entry]
            text = f"{self.x.functions[self.parts[callee].function].name} on {text}"
        there = code.locals_text(state.position, state.values)
        name = self._name(c, number, f"{text}, {there}" if there else text)
        if state.kind == CALLING:
            self.specs[c].boxes[name] = self.labels[callee]
            self.boxes[c][name] = number
        self.todo.append((c, number))


def _edge(target: str, ways: list[tuple[Fraction, Fraction]]) -> EdgeSpec:
    """All ways to a target as one edge, which pays what they pay on average."""
    if len(ways) == 1:
        ((p, paid),) = ways
        return EdgeSpec(target, _text(p), _text(paid))
    p = sum((q for q, _ in ways), _ZERO)
    return EdgeSpec(target, _text(p), _text(sum((q * paid for q, paid in ways), _ZERO) / p))


_text = lru_cache(maxsize=100_000)(shortest_text)


def _with_common_reward(edges: list[EdgeSpec]) -> ActionSpec:
    """An action whose edges carry rewards only if these differ."""
    rewards = {edge.reward for edge in edges}
    if len(rewards) > 1:
        return ActionSpec(0, edges)
    (reward,) = rewards
    for edge in edges:
        edge.reward = None
    return ActionSpec(reward or 0, edges)


def _as_text(value: object) -> str:
    return _printable(value if isinstance(value, str) else value_text(value)) or "''"


def _as_name(text: str) -> str:
    """Text as the name of a vertex: printable, not too long, without dots."""
    return _printable(text).replace(".", "·")


def _printable(text: str) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "?" for c in text)
    text = text.strip(" ")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _unique_labels(texts: Iterable[str]) -> list[str]:
    """Texts, numbered where one comes twice."""
    found: dict[str, None] = {}
    for text in texts:
        found[unused_name(text, found, " #")] = None
    return list(found)
