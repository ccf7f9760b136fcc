"""Warm starts: a table that begins with what is known already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import LimitError

if TYPE_CHECKING:
    from recurl.learn.engine import ModelEngine
    from recurl.model.tables import Floats
    from recurl.solving.solution import Solution

MOST_CONTEXTS = 2000
"""How many contexts a solution fills at most: those nearest to the start."""


def start_from_table(engine: ModelEngine, other: ModelEngine, visits: int) -> None:
    """Take over contexts and Q-values; visits are counted up to a number."""
    if other.model != engine.model or other.flat != engine.flat:
        raise ValueError("a warm start needs a run of the same algorithm on the same model")
    known = other.store
    engine.store.fill(known.kind, known.values, known.q, np.minimum(known.visits, visits))


def start_from_solution(engine: ModelEngine, solution: Solution, visits: int) -> None:
    """Fill the contexts that a greedy run meets with the values that a solution bounds from above.

    The upper bound at exit values v is ``min_i w_i(q) + max (v - v_i)`` over the points of the
    solution's certificate, and Q(v, q, a) the expectation of reward plus bound.
    """
    if solution.model != engine.model or engine.flat:
        raise ValueError("a solution warms up Recursive Q-learning, on the model that it solves")
    if solution.question.objective != "max" or solution.question.rewards != "model":
        raise ValueError("a warm start needs the greatest total reward, not another question")
    bounds = _Bounds(engine, solution)
    filled = 0
    while filled < min(engine.store.n_contexts, MOST_CONTEXTS):
        bounds.fill(filled, visits)
        _meet_callees(engine, filled)
        filled += 1


class _Bounds:
    """Upper bounds of a solution, as arrays by component."""

    def __init__(self, engine: ModelEngine, solution: Solution) -> None:
        self.engine = engine
        t = engine.model.tables
        if solution.values_upper is not None and engine.model.kind.one_exit:
            cuts = np.split(solution.values_upper, t.component_start[1:-1])
            self.points = [values[None, :] for values in cuts]
            return
        listed: list[list[list[float]]] = [[] for _ in range(t.n_components)]
        for point in solution.certificate.points:
            listed[point.component].append(point.values)
        self.points = [np.array(points) for points in listed]

    def at(self, component: int, exits: Floats) -> Floats:
        """Bound of each vertex of a component for given exit values."""
        t = self.engine.model.tables
        points = self.points[component]
        first = int(t.n_entries[component])
        own = points[:, first : first + len(exits)]
        bound: Floats = (points + (exits - own).max(axis=1)[:, None]).min(axis=0)
        return bound

    def fill(self, context: int, visits: int) -> None:
        """Set the Q-values of a context."""
        t, store = self.engine.model.tables, self.engine.store
        component = int(store.kind[context])
        bound = self.at(component, store.exit_values(context))
        begin, end = (int(a) for a in t.action_start[t.component_start[component : component + 2]])
        first, last = int(t.transition_start[begin]), int(t.transition_start[end])
        ahead = bound[t.target[first:last] - t.component_start[component]]
        worth = t.prob[first:last] * (t.reward[first:last] + ahead)
        place = int(store.arrays["block"][context])
        rows = t.transition_start[begin:end] - first
        store.arrays["q"][place + begin : place + end] = np.add.reduceat(worth, rows)
        store.arrays["visits"][place + begin : place + end] = visits


def _meet_callees(engine: ModelEngine, context: int) -> None:
    """Make the contexts that the boxes of a context call."""
    t, store = engine.model.tables, engine.store
    component = int(store.kind[context])
    for box in np.flatnonzero(t.box_owner == component).tolist():
        callee, first = int(t.box_component[box]), int(t.box_return[box])
        ports = range(first, first + int(t.n_exits[callee]))
        worth = np.array([engine.q_values(port, context).max() for port in ports])
        try:
            store.intern(callee, worth)
        except LimitError:
            return
