"""The reachable part of a product as the flat arrays of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from recurl.automaton.expansion import Expansion, ProductSteps
from recurl.automaton.moves import CALLS, ENDS, LEAVES, STAYS
from recurl.automaton.saturation import Box, Saturation, spread_lanes
from recurl.model.names import Names
from recurl.model.numbers import ExactNumbers, shortest_text
from recurl.model.rmdp import RMDP
from recurl.model.tables import Floats, Layout, Longs, Tables

NEVER = -2
"""Stands for an exit that nothing leads to, of a component that cannot be left."""


@dataclass(slots=True)
class ProductPlan:
    """The vertices of a product by component, in the order of their numbers.

    Attributes:
        components: Strings that have a component, the first stack first.
        entries: Entries of each, as ``world state * Q + machine state``.
        exits: Exits of each, in the same form.
        lanes: Lanes of each, as numbers of final states, OVER or NEVER; they follow the exits.
        inner: Other nodes, as ``(world state * Q + machine state) * W + string``.
        boxes: Boxes, by owner.
        layout: The numbering of vertices.
    """

    expansion: Expansion
    components: list[int]
    entries: list[Longs]
    exits: list[Longs]
    lanes: list[list[int]]
    inner: list[Longs]
    boxes: list[Box]
    layout: Layout
    number: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, expansion: Expansion, reached: Saturation) -> ProductPlan:
        """The plan of what was reached."""
        components = sorted(reached.entries)
        number = {string: c for c, string in enumerate(components)}
        lanes = _all_lanes(components, reached)
        entries = [_sorted(reached.entries[k]) for k in components]
        exits = [_sorted(reached.exits[k]) for k in components]
        inner = [_sorted(reached.inner[k]) for k in components]
        boxes = sorted(reached.boxes)
        layout = Layout.of(
            [len(e) for e in entries],
            [len(e) + len(lane) for e, lane in zip(exits, lanes, strict=True)],
            [len(i) for i in inner],
            box_owner=np.array([number[box.owner] for box in boxes], np.int64),
            box_component=np.array([number[box.callee] for box in boxes], np.int64),
        )
        return cls(
            expansion, components, entries, exits, lanes, inner, boxes, layout, number=number
        )

    def configurations(self) -> tuple[Longs, Longs, Longs, Longs]:
        """Vertices that act, and their world state, machine state and string."""
        vertices, pairs, strings = [], [], []
        width, L = len(self.expansion.moves.strings), self.layout
        for c, string in enumerate(self.components):
            first, entries = int(L.component_start[c]), self.entries[c]
            vertices.append(first + np.arange(len(entries)))
            pairs.append(entries)
            strings.append(np.full(len(entries), string))
            first += int(L.n_entries[c] + L.n_exits[c])
            vertices.append(first + np.arange(len(self.inner[c])))
            pairs.append(self.inner[c] // width)
            strings.append(self.inner[c] % width)
        for b, box in enumerate(self.boxes):
            exits = self.exits[self.number[box.callee]]
            vertices.append(int(L.box_return[b]) + np.arange(len(exits)))
            pairs.append(exits)
            strings.append(np.full(len(exits), box.left))
        controls = len(self.expansion.moves.machine.states)
        state, control = np.divmod(np.concatenate(pairs), controls)
        return np.concatenate(vertices), state, control, np.concatenate(strings)

    def lane_ports(self) -> Iterable[tuple[int, int]]:
        """Return ports of lanes, and the lane exits that they lead to."""
        L = self.layout
        for b, box in enumerate(self.boxes):
            callee, owner = self.number[box.callee], self.number[box.owner]
            for i, lane in enumerate(self.lanes[callee]):
                yield int(L.box_return[b]) + len(self.exits[callee]) + i, self.lane(owner, lane)

    def lane(self, component: int, lane: int) -> int:
        """The exit of a component that is a lane."""
        first = self.layout.component_start[component] + self.layout.n_entries[component]
        return int(first) + len(self.exits[component]) + self.lanes[component].index(lane)


def _sorted(keys: set[int]) -> Longs:
    return np.array(sorted(keys), np.int64)


def _all_lanes(components: list[int], reached: Saturation) -> list[list[int]]:
    """Lanes of each component; one that could not be left has NEVER, and so have its callers."""
    lanes = {k: set(reached.lanes[k]) for k in components}
    for k in components:
        if not lanes[k] and not reached.exits[k]:
            lanes[k].add(NEVER)
    spread_lanes(lanes, reached.boxes)
    return [sorted(lanes[k], key=lambda lane: (lane < 0, lane)) for k in components]


def write_product(name: str, expansion: Expansion, reached: Saturation) -> RMDP:
    """The model of what was reached."""
    plan = ProductPlan.of(expansion, reached)
    vertex, state, control, string = plan.configurations()
    order = np.argsort(vertex)
    vertex, state, control, string = (a[order] for a in (vertex, state, control, string))
    steps = expansion.steps(state, control, string)
    target = _targets(plan, steps, vertex)
    lanes = list(plan.lane_ports())
    rows = _Rows.of(steps, vertex[steps.source], target, lanes)
    prob, reward = _numbers(expansion, rows)
    start = [
        expansion.mdp.start[int(e) // len(expansion.moves.machine.states)] for e in plan.entries[0]
    ]
    tables = Tables.of(
        plan.layout,
        action_start=rows.action_start(plan.layout.n_vertices),
        transition_start=rows.transition_start(),
        target=rows.target,
        prob=np.array([float(p) for p in prob[0]])[prob[1]],
        reward=np.array([float(r) for r in reward[0]])[reward[1]],
        start_component=0,
        start_prob=[float(p) for p in start],
    )
    acting = list(
        zip(vertex.tolist(), state.tolist(), control.tolist(), string.tolist(), strict=True)
    )
    floats = (tables.start_prob, tables.prob, tables.reward, tables.transition_start)
    exact = ExactNumbers(
        [shortest_text(p) for p in start], _texts(*prob), _texts(*reward), floats=floats
    )
    features, feature_names = _features(expansion, plan.layout.n_vertices, acting)
    return RMDP(
        name,
        tables,
        names_of(plan, tables, acting),
        exact=exact,
        features=features,
        feature_names=feature_names,
    )


@dataclass(slots=True)
class _Rows:
    """Transitions in the order of their vertices and actions; lanes have one each."""

    vertex: Longs
    action: Longs
    target: Longs
    effect: Longs
    transition: Longs

    @classmethod
    def of(
        cls, steps: ProductSteps, vertex: Longs, target: Longs, lanes: list[tuple[int, int]]
    ) -> _Rows:
        ports = np.array(lanes, np.int64).reshape(-1, 2)
        none = np.full(len(ports), -1)
        columns = (
            np.concatenate([vertex, ports[:, 0]]),
            np.concatenate([steps.action, 0 * none]),
            np.concatenate([target, ports[:, 1]]),
            np.concatenate([steps.effect, none]),
            np.concatenate([steps.transition, none]),
        )
        order = np.lexsort((columns[1], columns[0]))
        return cls(*(column[order] for column in columns))

    def _first(self) -> Longs:
        """The first transition of each action."""
        new = (np.diff(self.vertex) != 0) | (np.diff(self.action) != 0)
        return np.concatenate([[0], np.flatnonzero(new) + 1])

    def transition_start(self) -> Longs:
        return np.append(self._first(), len(self.vertex))

    def action_start(self, n_vertices: int) -> Longs:
        counts = np.bincount(self.vertex[self._first()], minlength=n_vertices)
        return np.concatenate([[0], np.cumsum(counts)])


def _targets(plan: ProductPlan, steps: ProductSteps, vertex: Longs) -> Longs:
    """The vertex that each move leads to."""
    L, columns = plan.layout, plan.expansion.columns
    width = len(plan.expansion.moves.strings)
    pair = steps.state * len(plan.expansion.moves.machine.states) + steps.control
    component = L.vertex_component[vertex[steps.source]].astype(np.int64)
    left, callee = columns[steps.effect, 2], columns[steps.effect, 3]
    target = np.full(len(pair), -1, np.int64)
    for c, string in enumerate(plan.components):
        mine, first = component == c, int(L.component_start[c])
        outside = first + int(L.n_entries[c])
        inside = outside + int(L.n_exits[c])
        _place(target, mine & (steps.kind == STAYS), pair * width + left, plan.inner[c], inside)
        _place(target, mine & (steps.kind == LEAVES), pair, plan.exits[c], outside)
        for lane in plan.lanes[c]:
            ended = mine & (steps.kind == ENDS) & (steps.control == lane)
            target[ended] = plan.lane(c, lane)
        for b, box in enumerate(plan.boxes):
            if box.owner == string:
                calls = mine & (steps.kind == CALLS) & (callee == box.callee) & (left == box.left)
                entries = plan.entries[plan.number[box.callee]]
                _place(target, calls, pair, entries, int(L.box_call[b]))
    return target


def _place(target: Longs, mask: np.ndarray, keys: Longs, known: Longs, first: int) -> None:
    """Numbers of the chosen keys among the known ones, counted from the first."""
    target[mask] = first + np.searchsorted(known, keys[mask])


Coded = tuple[list[Fraction], Longs]
"""Different numbers, and which of them each transition has."""


def _numbers(expansion: Expansion, rows: _Rows) -> tuple[Coded, Coded]:
    """Probabilities and rewards of the transitions."""
    m, own = expansion.mdp, rows.transition >= 0
    probs = [*m.prob_values, Fraction(1)]
    prob = np.where(own, m.prob[rows.transition], len(probs) - 1)
    paid = np.where(own, m.reward[rows.transition], len(m.reward_values))
    pairs, code = np.unique(np.stack([paid, rows.effect]), axis=1, return_inverse=True)
    world = [*m.reward_values, Fraction(0)]
    effects = [*(effect.reward for effect in expansion.effects), Fraction(0)]
    rewards = [world[w] + effects[e] for w, e in pairs.T.tolist()]
    return (probs, prob), (rewards, code.reshape(-1))


def _texts(values: list[Fraction], code: Longs) -> list[str]:
    texts = [shortest_text(value) for value in values]
    return [texts[i] for i in code.tolist()]


def _features(
    expansion: Expansion, n_vertices: int, acting: list[tuple[int, int, int, int]]
) -> tuple[Floats | None, tuple[str, ...]]:
    """The world's features, then the machine's state and its top, one-hot; zeros in lanes."""
    m, machine = expansion.mdp, expansion.moves.machine
    if m.features is None:
        return None, ()
    own, controls = m.features.shape[1], len(expansion.choices)
    features = np.zeros((n_vertices, own + controls + len(machine.symbols)))
    vertex, state, control, string = np.array(acting).T
    top = np.array([machine.symbols.index(w[0]) for w in expansion.moves.strings])[string]
    features[vertex, :own] = m.features[state]
    features[vertex, own + control] = 1
    features[vertex, own + controls + top] = 1
    states = (f"in {state}" for state in machine.states[:controls])
    tops = (f"top {symbol}" for symbol in machine.symbols)
    return features, (*m.feature_names, *states, *tops)


Acting = list[tuple[int, int, int, int]]
"""Vertices that act: number, world state, machine state, string."""


def names_of(plan: ProductPlan, tables: Tables, acting: Acting) -> Names:
    """Names of a product.

    Components and boxes are called by their stack symbols; an entry is ``in STATE``, an exit
    ``STATE``, another node ``at STATE``, with ``/ MACHINE STATE`` where the machine has several,
    and ``, STRING`` where that is not the component's own.
    """
    writer = _Writer(plan)
    nodes = [""] * tables.n_vertices
    for c in range(tables.n_components):
        own = writer.nodes(c)
        first = int(tables.component_start[c])
        nodes[first : first + len(own)] = own
    components = [writer.string(k) for k in plan.components]
    return Names(components, nodes, writer.boxes(), writer.actions(tables, acting), tables=tables)


class _Writer:
    def __init__(self, plan: ProductPlan) -> None:
        self.plan = plan
        self.strings = [" ".join(string) for string in plan.expansion.moves.strings]
        self.controls = plan.expansion.moves.machine.states
        self.many = len(self.controls) - len(plan.expansion.moves.machine.final) > 1

    def string(self, number: int) -> str:
        return self.strings[number]

    def pair(self, key: int) -> str:
        state, control = divmod(int(key), len(self.controls))
        name = self.plan.expansion.mdp.states[state]
        return f"{name} / {self.controls[control]}" if self.many else name

    def nodes(self, c: int) -> list[str]:
        """Entries, exits and other nodes of a component."""
        plan, own = self.plan, self.plan.components[c]
        lanes = [self._lane(lane) for lane in plan.lanes[c]]
        inner = [self._inner(int(key), own) for key in plan.inner[c]]
        entries = [f"in {self.pair(key)}" for key in plan.entries[c]]
        return [*entries, *(self.pair(key) for key in plan.exits[c]), *lanes, *inner]

    def _inner(self, key: int, own: int) -> str:
        pair, string = divmod(key, len(self.strings))
        rest = "" if string == own else f", {self.strings[string]}"
        return f"at {self.pair(pair)}{rest}"

    def _lane(self, lane: int) -> str:
        return self.controls[lane] if lane >= 0 else ("over" if lane == -1 else "never")

    def boxes(self) -> list[str]:
        """The symbols called; what is left afterwards is added where it tells boxes apart."""
        plan = self.plan
        count = Counter((box.owner, box.callee) for box in plan.boxes)
        return [
            self.strings[box.callee]
            + (f" on {self.strings[box.left]}" if count[box.owner, box.callee] > 1 else "")
            for box in plan.boxes
        ]

    def actions(self, tables: Tables, acting: Acting) -> list[str]:
        """Names of all actions; lanes have the action ``stop``."""
        expansion = self.plan.expansion
        known: dict[tuple[int, int, int], list[str]] = {}
        lists: dict[int, list[str]] = {}
        for vertex, *key in acting:
            state, control, string = key
            if (state, control, string) not in known:
                known[state, control, string] = expansion.action_names(state, control, string)
            lists[vertex] = known[state, control, string]
        counts = tables.action_start[1:] - tables.action_start[:-1]
        acts = (int(v) for v in counts.nonzero()[0])
        return [name for v in acts for name in lists.get(v, ["stop"])]
