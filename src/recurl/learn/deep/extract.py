"""From a network to a policy: the contexts that its greedy policy meets, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.extract import exits_label
from recurl.model.tables import CALL, CALLS, STEP
from recurl.policy import Policy

if TYPE_CHECKING:
    from recurl.learn.deep.encoding import Singles
    from recurl.learn.deep.model_engine import DeepModelEngine

MAX_CONTEXTS = 10_000
"""How many contexts a policy is followed through."""


def greedy_policy(engine: DeepModelEngine, max_contexts: int = MAX_CONTEXTS) -> Policy:
    """The greedy policy of a network as a table: what it does, unless its contexts are too many.

    A context is entered by a call from another one, with exit values that follow from the network;
    contexts with the same component and values are one. Calls beyond the limit lead to a context in
    which all exits count as worth the same; labels say "beyond the limit" then.
    """
    if engine.flat:
        return Policy.stackless(engine.model, _actions(engine, np.zeros(0, np.float32)))
    search = _Search(engine, max_contexts)
    search.run()
    return search.policy()


def _actions(engine: DeepModelEngine, values: Singles) -> np.ndarray:
    """Greedy actions of all vertices, given the values of the exits."""
    t = engine.model.tables
    return _masked_argmax(engine, np.arange(t.n_vertices), values)


def _masked_argmax(engine: DeepModelEngine, vertices: np.ndarray, values: Singles) -> np.ndarray:
    t = engine.model.tables
    q = engine.q_values(vertices, values)
    count = t.action_start[vertices + 1] - t.action_start[vertices]
    masked = np.where(np.arange(q.shape[1]) < np.maximum(count, 1)[:, None], q, -np.inf)
    return masked.argmax(axis=1).astype(np.int32)


class _Search:
    """Contexts met so far, breadth first, and what is reached in each."""

    def __init__(self, engine: DeepModelEngine, most: int) -> None:
        self.engine, self.t, self.most = engine, engine.model.tables, most
        self.known: dict[tuple[int, bytes], int] = {}
        self.component: list[int] = []
        self.values: list[Singles] = []
        self.actions: list[np.ndarray] = []
        self.callees: list[np.ndarray] = []
        self.spare: dict[int, int] = {}
        self.todo: list[tuple[int, int]] = []
        self.seen: set[tuple[int, int]] = set()
        # Padded to one size, so that one compiled program serves every component.
        self.width = int(np.diff(self.t.component_start).max())

    def run(self) -> None:
        t = self.t
        start = self._context(t.start_component, np.zeros(t.max_exits, np.float32))
        self._reach(*((start, int(vertex)) for vertex in t.starts))
        # Grows while it is walked through: breadth first.
        for context, vertex in self.todo:
            self._visit(context, vertex)

    def _reach(self, *places: tuple[int, int]) -> None:
        for place in places:
            if place not in self.seen:
                self.seen.add(place)
                self.todo.append(place)

    def _visit(self, context: int, vertex: int) -> None:
        t = self.t
        inside = vertex - int(t.component_start[self.component[context]])
        action = int(t.action_start[vertex] + self.actions[context][inside])
        for i in range(int(t.transition_start[action]), int(t.transition_start[action + 1])):
            if t.prob[i] > 0 and t.move[i] == STEP:
                self._reach((context, int(t.landing[i])))
            elif t.prob[i] > 0 and t.move[i] == CALLS:
                self._call(context, int(t.move_box[i]), int(t.landing[i]))

    def _call(self, context: int, box: int, entry: int) -> None:
        t = self.t
        callee = int(t.box_component[box])
        first = int(t.box_call[box] - t.component_start[self.component[context]])
        ports = slice(first, first + int(t.n_entries[callee]))
        if self.callees[context][first] < 0:
            values = self.engine.entered(self.values[context], box)
            self.callees[context][ports] = self._context(callee, values)
        self._reach((int(self.callees[context][first]), entry))
        back = int(t.box_return[box])
        self._reach(*((context, back + k) for k in range(int(t.n_exits[callee]))))

    def _context(self, component: int, values: Singles) -> int:
        key = (component, values.tobytes())
        if key not in self.known and len(self.known) >= self.most:
            return self._spare(component)
        if key not in self.known:
            self.known[key] = self._add(component, values)
        return self.known[key]

    def _spare(self, component: int) -> int:
        if component not in self.spare:
            zero = np.zeros(self.t.max_exits, np.float32)
            self.spare[component] = self._add(component, zero)
        return self.spare[component]

    def _add(self, component: int, values: Singles) -> int:
        t = self.t
        first, last = t.component_start[component], t.component_start[component + 1]
        vertices = np.minimum(first + np.arange(self.width), last - 1)
        actions = _masked_argmax(self.engine, vertices, values)[: last - first]
        self.component.append(component)
        self.values.append(values)
        self.actions.append(actions)
        self.callees.append(np.full(last - first, -1, np.int32))
        return len(self.component) - 1

    def policy(self) -> Policy:
        """All contexts as a policy; call ports never met lead to any context of their component."""
        t = self.t
        some = [self._some(c) for c in range(t.n_components)]
        order = np.argsort(self.component, kind="stable")
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        actions, callees = [], []
        for x in order.tolist():
            first, last = t.component_start[self.component[x] : self.component[x] + 2]
            box = t.vertex_box[first:last]
            is_call = t.vertex_kind[first:last] == CALL
            default = np.array(some)[t.box_component[box]] if t.n_boxes else 0
            led = np.where(self.callees[x] >= 0, self.callees[x], default)
            callees.append(np.where(is_call, number[led], 0))
            actions.append(self.actions[x])
        return Policy(
            self.engine.model,
            np.array(self.component)[order],
            np.concatenate(actions),
            callees=np.concatenate(callees),
            start=np.full(len(t.start_prob), number[0]),
            kind="stackless" if len(order) == t.n_components else "by context",
            labels=[self._label(x) for x in order.tolist()],
            exit_values=np.array([self._exit_values(x) for x in order.tolist()]),
        )

    def _exit_values(self, context: int) -> np.ndarray:
        """Exit values of a context; nan beyond the limit."""
        beyond = context in self.spare.values()
        return np.where(beyond, np.nan, self.values[context].astype(np.float64))

    def _some(self, component: int) -> int:
        return (
            self.component.index(component)
            if component in self.component
            else self._spare(component)
        )

    def _label(self, context: int) -> str:
        component = self.component[context]
        if self.spare.get(component) == context:
            return f"{self.engine.model.names.components[component]}, beyond the limit"
        exits = int(self.t.n_exits[component])
        values = self.values[context][:exits].astype(np.float64)
        return exits_label(self.engine.model, component, values)
