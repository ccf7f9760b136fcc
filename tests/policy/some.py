"""Policies with contexts for tests, and runs of them by definition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tests.definition import choices, landing

from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL
from recurl.policy import RANDOM, Policy


def random_policy(model: RMDP, seed: int, contexts: int = 3, *, values: bool = False) -> Policy:
    """A policy with one to so many contexts per component, wired at random."""
    rng = np.random.default_rng(seed)
    t = model.tables
    component = np.repeat(np.arange(t.n_components), rng.integers(1, contexts + 1, t.n_components))
    of = [np.flatnonzero(component == c) for c in range(t.n_components)]
    actions, callees = [], []
    for c in component.tolist():
        for vertex in range(t.component_start[c], t.component_start[c + 1]):
            count = int(t.action_start[vertex + 1] - t.action_start[vertex])
            actions.append(int(rng.integers(RANDOM, count)) if count else 0)
            called = t.box_component[t.vertex_box[vertex]] if t.vertex_kind[vertex] == CALL else 0
            callees.append(int(rng.choice(of[called])))
    start = rng.choice(of[t.start_component], len(t.start_prob))
    worth = rng.integers(0, 4, (len(component), t.max_exits)) if values else None
    return Policy(model, component, actions, callees=callees, start=start, exit_values=worth)


def situations(policy: Policy, height: int) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Pending boxes, context and vertex of all that runs can come to on stacks of such height.

    The definition of a run, followed step by step; contexts are read off the stack.
    """
    model, t = policy.model, policy.model.tables
    ways = choices(model)
    first = int(t.component_start[t.start_component])
    todo: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
        ((), (int(policy.start[v - first]),), v) for v in t.starts.tolist()
    ]
    seen = set(todo)
    while todo:
        stack, contexts, vertex = todo.pop()
        yield stack, contexts[-1], vertex
        action = policy.action(vertex, contexts[-1])
        taken = ways[vertex] if action == RANDOM else [ways[vertex][action]]
        for target in {target for ways_ in taken for p, _, target in ways_ if p > 0}:
            after = landing(model, stack, target)
            if after is None or len(after[0]) > height:
                continue
            inner = contexts[: len(after[0]) + 1]
            if len(after[0]) > len(stack):
                inner = (*contexts, int(policy.callees[policy.slot(contexts[-1], target)]))
            state = after[0], inner, after[1]
            if state not in seen:
                seen.add(state)
                todo.append(state)
