"""From a table of Q-values to a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.learn.loop_kernel import follow_greedy
from recurl.model.tables import CALL, runs
from recurl.policy import Policy

if TYPE_CHECKING:
    from recurl.learn.engine import ModelEngine
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints


def greedy_policy(engine: ModelEngine) -> Policy:
    """The greedy policy of a table: the contexts that it meets, and what it does there.

    Contexts that were never met take the first action everywhere, so that one of them per component
    is enough, and there are finitely many contexts in all.
    """
    if engine.flat:
        return Policy.stackless(engine.model, _greedy_by_vertex(engine))
    g = _walked(engine)
    rows = (g.slot_start, g.component, engine.model.tables.component_start)
    todo = np.empty((len(g.seen), 2), np.int32)
    box_call = engine.model.tables.box_call
    follow_greedy(engine.store.header, *rows, box_call, g.seen, g.actions, g.callees, todo)
    met = np.add.reduceat(g.seen, g.slot_start[:-1]) > 0
    return _assembled(engine, g, met)


class Walked(NamedTuple):
    """The slots that a greedy run can reach: vertices in contexts.

    The contexts are those of the store, then one per component for contexts never met.

    Attributes:
        slot_start: First slot of each context. ``[X + C + 1]``
        component: Component of each context. ``[X + C]``
        seen: Whether a slot was met.
        actions: Greedy action of each slot.
        callees: Context entered at the slot of a call port, or -1.
    """

    slot_start: np.ndarray
    component: np.ndarray
    seen: np.ndarray
    actions: np.ndarray
    callees: np.ndarray


def _greedy_by_vertex(engine: ModelEngine) -> Ints:
    rows = (engine.q_values(vertex, 0) for vertex in range(engine.model.tables.n_vertices))
    return np.array([row.argmax() if len(row) else 0 for row in rows], np.int32)


def _walked(engine: ModelEngine) -> Walked:
    t = engine.model.tables
    component = np.concatenate([engine.store.kind, np.arange(t.n_components)])
    sizes = np.diff(t.component_start)[component].astype(np.int64)
    start = np.concatenate([[0], np.cumsum(sizes)])
    slots = int(start[-1])
    return Walked(
        slot_start=start,
        component=component.astype(np.int32),
        seen=np.zeros(slots, np.int32),
        actions=np.zeros(slots, np.int32),
        callees=np.full(slots, -1, np.int32),
    )


def _assembled(engine: ModelEngine, g: Walked, met: np.ndarray) -> Policy:
    """A policy of the contexts met; call ports never met lead to any context of their component."""
    t, known = engine.model.tables, engine.store.n_contexts
    # A component that is never entered needs a context too: the one of contexts never met.
    entered = np.bincount(g.component[met], minlength=t.n_components) > 0
    met[known:] |= ~entered
    kept = np.flatnonzero(met)
    kept = kept[np.argsort(g.component[kept], kind="stable")]
    number = np.full(len(met), -1, np.int32)
    number[kept] = np.arange(len(kept))
    component = g.component[kept]
    some = np.searchsorted(component, np.arange(t.n_components))
    slots = runs(g.slot_start[kept], np.diff(g.slot_start)[kept])
    sizes = np.diff(t.component_start)[component]
    vertex = runs(t.component_start[component], sizes)
    calls = np.flatnonzero(t.vertex_kind[vertex] == CALL)
    entered, called = g.callees[slots[calls]], t.box_component[t.vertex_box[vertex[calls]]]
    callees = np.zeros(len(vertex), np.int32)
    callees[calls] = np.where(entered >= 0, number[entered], some[called])
    return Policy(
        engine.model,
        component,
        g.actions[slots],
        callees=callees,
        start=np.full(len(t.start_prob), number[0]),
        kind="stackless" if len(kept) == t.n_components else "by context",
        labels=_labels(engine, kept, known),
        exit_values=_exit_values(engine, kept, known),
    )


def _labels(engine: ModelEngine, kept: np.ndarray, known: int) -> list[str]:
    return [
        exits_label(engine.model, int(engine.store.kind[i]), engine.store.exit_values(i))
        if i < known
        else f"{engine.model.names.components[i - known]}, never met"
        for i in kept.tolist()
    ]


def _exit_values(engine: ModelEngine, kept: np.ndarray, known: int) -> Floats:
    """Values of exits in each context; nan where it was never met."""
    values = np.full((len(kept), engine.model.tables.max_exits), np.nan)
    for row, i in zip(values, kept.tolist(), strict=True):
        if i < known:
            own = engine.store.exit_values(i)
            row[: len(own)] = own
    return values


def exits_label(model: RMDP, component: int, values: Floats) -> str:
    """A context in words: the component and what its exits are worth, relative to the worst."""
    worth = ", ".join(f"{x} {value:.6g}" for x, value in by_exit(model, component, values).items())
    return f"{model.names.components[component]} with {worth}"


def by_exit(model: RMDP, component: int, values: Floats) -> dict[str, float]:
    """Exit values under the names of the exits."""
    t = model.tables
    first = int(t.component_start[component] + t.n_entries[component])
    return {model.local_name(first + k): float(value) for k, value in enumerate(values)}
