"""The choices of a learner by component and context, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.extract import by_exit, exits_label

if TYPE_CHECKING:
    from recurl.learn.engine import ModelEngine


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice at one vertex in one context.

    Attributes:
        vertex: Name of the vertex within its component.
        action: The greedy action.
        value: Its Q-value.
        margin: By how much it beats the next best; inf where there is no other.
        visits: How often the vertex was learned from in this context.
    """

    vertex: str
    action: str
    value: float
    margin: float
    visits: int


@dataclass(frozen=True, slots=True)
class ContextReport:
    """The choices in one context.

    Attributes:
        component: Name of the component.
        label: The context in words: what the exits are worth.
        worth: What each exit is worth, relative to the worst one; empty if contexts are ignored.
        visits: How often anything was learned in it.
        choices: What is done at each vertex that was visited, most visited first.
        undecided: Vertices at which a context one step of rounding away has another best action:
            there it may matter that contexts in between are taken for one.
    """

    component: str
    label: str
    worth: dict[str, float]
    visits: int
    choices: tuple[Choice, ...]
    undecided: tuple[str, ...] = ()


ENOUGH = 30
"""Visits of a vertex in both contexts from which on their best actions are compared."""


def explain(engine: ModelEngine, most: int = 3) -> list[ContextReport]:
    """Reports on some contexts of each component, most visited first.

    Example:
        >>> import recurl
        >>> learner = recurl.RecursiveQLearning(recurl.zoo.cloud(exits=1), preset="swift")
        >>> reports = explain(learner.learn(20_000).engine)
        >>> reports[0].label, reports[0].choices[0].action
        ('T with u2 0', 'divide')
    """
    reports = [_report(engine, context) for context in range(engine.store.n_contexts)]
    found = []
    for name in ("any", *engine.model.names.components):
        own = [i for i, one in enumerate(reports) if one.choices and one.component == name]
        for i in sorted(own, key=lambda i: -reports[i].visits)[:most]:
            near = [reports[j] for j in own if _merges(engine, i, j)]
            found.append(replace(reports[i], undecided=_differing(reports[i], near)))
    return found


def _merges(engine: ModelEngine, context: int, other: int) -> bool:
    """Whether two contexts are one step of rounding apart, so that others lie in between."""
    s, values = engine.settings, engine.store.exit_values(context)
    if engine.flat or context == other or not s.quantum:
        return False
    step, span = s.quantum, np.ptp(values)
    while s.grain and s.grain * step < span:
        step *= 2
    distance = np.abs(values - engine.store.exit_values(other)).max(initial=0.0)
    return bool(distance <= 1.01 * step)


def _differing(report: ContextReport, near: list[ContextReport]) -> tuple[str, ...]:
    """Vertices at which one of some other contexts has another best action."""
    own = {c.vertex: c.action for c in report.choices if c.visits >= ENOUGH}
    others = [c for one in near for c in one.choices if c.visits >= ENOUGH]
    differing = {c.vertex for c in others if own.get(c.vertex, c.action) != c.action}
    return tuple(vertex for vertex in own if vertex in differing)


def _report(engine: ModelEngine, context: int) -> ContextReport:
    t, store = engine.model.tables, engine.store
    component = int(store.kind[context])
    vertices = range(int(t.component_start[component]), int(t.component_start[component + 1]))
    if engine.flat:
        vertices = range(t.n_vertices)
    found = [
        _choice(engine, context, v) for v in vertices if t.action_start[v + 1] > t.action_start[v]
    ]
    choices = sorted((c for c in found if c.visits), key=lambda c: -c.visits)
    name, values = engine.model.names.components[component], store.exit_values(context)
    return ContextReport(
        component="any" if engine.flat else name,
        label="any context" if engine.flat else exits_label(engine.model, component, values),
        worth={} if engine.flat else by_exit(engine.model, component, values),
        visits=sum(choice.visits for choice in choices),
        choices=tuple(choices),
    )


def _choice(engine: ModelEngine, context: int, vertex: int) -> Choice:
    model = engine.model
    q = engine.q_values(vertex, context)
    best = int(q.argmax())
    others = np.delete(q, best)
    name = model.vertex_name(vertex) if engine.flat else model.local_name(vertex)
    return Choice(
        vertex=name,
        action=model.action_names(vertex)[best],
        value=float(q[best]),
        margin=float(q[best] - others.max()) if len(others) else np.inf,
        visits=engine.visits(vertex, context),
    )
