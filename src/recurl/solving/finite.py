"""Finite processes in which policies need not end: solutions and their certificates.

A model without boxes is such a process, and so is a hierarchical one with its stacks. What is
proved by `recurl.solving.end_components` is written down context by context, one per stack.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.errors import LimitError
from recurl.model.certificate import Certificate, Values
from recurl.model.tables import CALL, EXIT
from recurl.model.transforms.unravelling import Unravelling
from recurl.policy import Policy
from recurl.solving.end_components import ProcessBounds, solve_process
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.solving.question import Question

LIMIT = 200_000
"""States up to which a model is flattened; beyond it, the certified search is the better way."""


class StackContexts(NamedTuple):
    """The contexts of a finite process: one per stack that a run can have.

    Attributes:
        model: The model.
        names: Component, context that called it, and box, of each.
        first: Where the vertices of each context begin, less the first vertex of its component.
        state: Vertex of the flat model behind each vertex of a context; -1 if there is none.
        is_flat: Whether these are the same.
    """

    model: RMDP
    names: list[tuple[int, int, int]]
    first: list[int]
    state: Ints
    is_flat: bool = False

    @classmethod
    def of_flat(cls, model: RMDP) -> StackContexts:
        """A model that is flat already."""
        every = np.arange(model.tables.n_vertices, dtype=np.int32)
        return cls(model, [(0, -1, -1)], [0], every, is_flat=True)

    @classmethod
    def of_stacks(cls, model: RMDP, states: Unravelling) -> StackContexts:
        """The stacks of a model, exits of the flat model coming after its entries."""
        t = model.tables
        called = [t.start_component, *(int(t.box_component[b]) for b in states.box[1:])]
        names = list(zip(called, states.parent, states.box, strict=True))
        size = np.diff(t.component_start)[called]
        first = np.cumsum(size) - size - t.component_start[called]
        state = np.full(int(size.sum()), -1, np.int32)
        for number, (stack, vertex) in enumerate(states.states):
            later = number >= states.n_starts
            state[first[stack] + vertex] = number + states.n_exits * later
        exits = int(first[0] + t.component_start[called[0]] + t.n_entries[called[0]])
        state[exits : exits + states.n_exits] = states.n_starts + np.arange(states.n_exits)
        return cls(model, names, first.tolist(), state)

    def spread(self, values: Floats) -> Floats:
        """Values by vertex of a context: ports are worth what follows them."""
        t = self.model.tables
        if self.is_flat:
            return values
        found = np.where(self.state >= 0, values[self.state], 0.0)
        if len(self.names) == 1:
            return found
        for i, (component, parent, box) in enumerate(self.names):
            if parent < 0:
                continue
            begin, end = int(t.component_start[component]), int(t.component_start[component + 1])
            kind = t.vertex_kind[begin:end]
            exits = begin + np.flatnonzero(kind == EXIT)
            back = self.first[parent] + int(t.box_return[box]) + t.vertex_port[exits]
            found[self.first[i] + exits] = found[back]
            calls = np.flatnonzero((t.vertex_kind == CALL) & (t.vertex_box == box))
            entry = self.first[i] + t.entry_of_call(calls)
            found[self.first[parent] + calls] = found[entry]
        return found

    def policy(self, actions: Ints) -> Policy:
        """The policy that takes actions of the flat model; calls that no run makes enter any."""
        t = self.model.tables
        if self.is_flat:
            return Policy.stackless(self.model, actions)
        chosen = np.where(self.state >= 0, actions[self.state], 0)
        component = [c for c, _, _ in self.names]
        others = sorted(set(range(t.n_components)) - set(component))
        size = np.diff(t.component_start)
        chosen = np.append(chosen, np.zeros(int(size[others].sum()), np.int32))
        component += others
        first = np.cumsum(size[component]) - size[component] - t.component_start[component]
        children = {(parent, box): i for i, (_, parent, box) in enumerate(self.names)}
        callees = np.zeros(len(chosen), np.int32)
        calls = np.flatnonzero(t.vertex_kind == CALL)
        for i, c in enumerate(component):
            for q in calls[t.vertex_component[calls] == c].tolist():
                box = int(t.vertex_box[q])
                some = component.index(int(t.box_component[box]))
                callees[first[i] + q] = children.get((i, box), some)
        start = np.zeros(len(t.start_prob), np.int32)
        return Policy(self.model, component, chosen, callees=callees, start=start)


def solve_finite(
    model: RMDP,
    question: Question,
    epsilon: float,
    *,
    states: Unravelling | None = None,
    quickly: bool = False,
    **options: Any,
) -> Solution | None:
    """The optimum of a model without boxes, or with few stacks, whether its policies end or not.

    Args:
        model: The model.
        question: What is asked.
        epsilon: Width of the interval to reach.
        states: The stacks of a hierarchical model, if they are known.
        quickly: Whether to give up where end components would have to be looked for.
        options: ``at_least`` and ``callback``.

    Returns:
        The solution; None if the model is recursive or too large, or where `solve_process` has no
        answer.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("m").component("A", entries="in", exits=["done", "lost"])
        >>> builder = builder.at("in").action("go").to("room").at("room").action("stay").to("room")
        >>> model = builder.action("try").to("done", 0.25).to("room", 0.5).to("lost", 0.25).build()
        >>> question = recurl.Question("max", "none", (1.0, 0.0))
        >>> round(solve_finite(model, question, 1e-6).value, 6)
        0.5
    """
    began = time.perf_counter()
    process = flattened(model, states)
    if process is None:
        return None
    flat, contexts = process
    found = solve_process(flat, question, epsilon, quickly=quickly, **options)
    return None if found is None else solution_of(found, contexts, question, began)


def flattened(model: RMDP, states: Unravelling | None = None) -> tuple[RMDP, StackContexts] | None:
    """The finite process that a model is; None if it is recursive or has too many stacks."""
    if model.tables.n_components == 1 and model.tables.n_boxes == 0:
        return model, StackContexts.of_flat(model)
    states = states or (stacks_of(model) if model.kind.hierarchical else None)
    if states is None:
        return None
    return states.model_of_states(), StackContexts.of_stacks(model, states)


def stacks_of(model: RMDP) -> Unravelling | None:
    """The states of a hierarchical model with their stacks; None if there are too many."""
    try:
        return Unravelling(model, model.tables.n_components, 0, LIMIT)
    except LimitError:
        return None


def solution_of(
    found: ProcessBounds, contexts: StackContexts, question: Question, began: float
) -> Solution:
    """The result for a process, as a solution of the model behind it."""
    low, high = found.interval
    lower, upper = (contexts.spread(x) for x in (found.lower, found.upper))
    t = contexts.model.tables
    if not contexts.is_flat:
        own = t.vertex_component == t.start_component
        known = np.full((2, t.n_vertices), np.nan)
        known[:, own] = np.stack([lower, upper])[:, : np.count_nonzero(own)]
        lower, upper = known
    if found.process.greatest != (question.sign > 0):
        lower, upper = 0.0 - upper, 0.0 - lower
    stays = "finite: end components in which one can stay are taken as one state"
    return Solution(
        contexts.model,
        question,
        low,
        high,
        "flattening and policy-iteration" if t.n_components > 1 else "policy-iteration",
        reason=stays + found.reason,
        policy=contexts.policy(found.actions),
        values_lower=lower,
        values_upper=upper,
        work=found.work,
        seconds=time.perf_counter() - began,
        _certify=partial(_certificate, found, contexts, question, (low, high)),
    )


def _certificate(
    found: ProcessBounds, contexts: StackContexts, question: Question, interval: tuple[float, float]
) -> Certificate:
    """Bounds by state, and the progress that runs make where the lower ones are positive."""
    model = contexts.model
    actions = found.actions
    if not contexts.is_flat:
        actions = np.where(contexts.state >= 0, actions[contexts.state], 0)
    return question.certificate(
        model,
        interval,
        values=Values(
            contexts.names,
            contexts.spread(found.lower).tolist(),
            contexts.spread(found.upper).tolist(),
            actions.tolist(),
            contexts.spread(found.progress()).tolist(),
        ),
    )
