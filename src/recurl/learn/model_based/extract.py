"""The kept policy of model-based learning on a model, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL
from recurl.policy import Policy

if TYPE_CHECKING:
    from recurl.learn.model_based.contexts import Context
    from recurl.learn.model_based.engine import ModelBasedEngine
    from recurl.model.rmdp import RMDP


def kept_policy(engine: ModelBasedEngine, model: RMDP) -> Policy:
    """The policy of the last plan without hope: its contexts, and what it does in each.

    Vertices where no run has stood take their first action, and so does a context per component
    for calls that were never met.
    """
    return _Table(engine, model).policy()


class _Table:
    def __init__(self, engine: ModelBasedEngine, model: RMDP) -> None:
        self.engine, self.model = engine, model
        self.found: list[tuple[Context | None, int]] = []
        self.number: dict[tuple[int, int], int] = {}

    def policy(self) -> Policy:
        t, engine = self.model.tables, self.engine
        self._number(engine.kept.root, t.start_component)
        columns = []
        for context, component in self.found:  # grows
            columns.append(self._column(context, component))
        for component in range(t.n_components):
            if all(component != own for _, own in self.found):
                self._number(None, component)
        while len(columns) < len(self.found):  # components that are never called may call others
            columns.append(self._column(*self.found[len(columns)]))
        actions, callees = (np.concatenate(part) for part in zip(*columns, strict=True))
        components = [component for _, component in self.found]
        kind = "stackless" if len(components) == t.n_components else "by context"
        start = np.zeros(len(t.start_prob), np.int32)
        return Policy(self.model, components, actions, callees=callees, start=start, kind=kind)

    def _number(self, context: Context | None, component: int) -> int:
        key = (id(context), component)
        if key not in self.number:
            self.number[key] = len(self.found)
            self.found.append((context, component))
        return self.number[key]

    def _column(self, context: Context | None, component: int) -> tuple[np.ndarray, np.ndarray]:
        """Actions and callees of the vertices of a component in a context."""
        t, counts = self.model.tables, self.engine.counts
        vertices = range(int(t.component_start[component]), int(t.component_start[component + 1]))
        actions, callees = np.zeros((2, len(vertices)), np.int32)
        for i, vertex in enumerate(vertices):
            state = counts.states.get(vertex, -1)
            if t.vertex_kind[vertex] == CALL:
                callees[i] = self._callee(context, int(t.vertex_box[vertex]))
            elif context is not None and state >= 0 and counts.pairs_of[state]:
                actions[i] = self.engine.kept_action(context, state)
        return actions, callees

    def _callee(self, context: Context | None, box: int) -> int:
        """Number of the context that a call through a box of the model enters."""
        t, counts = self.model.tables, self.engine.counts
        states = tuple(counts.states.get(v, -1) for v in self.model.return_ports(box))
        known = counts.boxes.get(states, -1)
        child = None if context is None else context.children.get(known)
        return self._number(child, int(t.box_component[box]))
