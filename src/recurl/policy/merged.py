"""Contexts that choose alike, merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL, runs

if TYPE_CHECKING:
    from recurl.policy.policy import Policy


def merged(policy: Policy) -> Policy:
    """The same choices with as few contexts as possible.

    Contexts are alike if they take the same actions, and their calls enter contexts that are alike.

    Example:
        >>> import recurl
        >>> solution = recurl.solve(recurl.zoo.cloud(), epsilon=1e-2)
        >>> merged(solution.policy).n_contexts <= solution.policy.n_contexts
        True
    """
    kind = _kinds(policy)
    _, first, number = np.unique(kind, return_index=True, return_inverse=True)
    kept = runs(policy.context_start[first], np.diff(policy.context_start)[first])
    calls = policy.model.tables.vertex_kind[policy.slot_vertex[kept]] == CALL
    callees = policy.callees[kept]
    return type(policy)(
        policy.model,
        policy.context_component[first],
        policy.actions[kept],
        callees=np.where(calls, number[np.where(calls, callees, 0)], callees),
        start=number[policy.start],
        kind=policy.kind,
    )


def _kinds(policy: Policy) -> np.ndarray:
    """A number for each context, the same for those that are alike: the first one of them."""
    t, sizes = policy.model.tables, np.diff(policy.context_start)
    calls = t.vertex_kind[policy.slot_vertex] == CALL
    place = policy.slot_context, np.arange(len(calls)) - policy.context_start[policy.slot_context]
    chosen = np.where(t.states[policy.slot_vertex], policy.actions, 0)
    table = np.zeros((policy.n_contexts, 1 + int(sizes.max())), np.int64)
    kind: np.ndarray = policy.context_component
    while True:
        table[:, -1] = kind
        table[place] = np.where(calls, kind[np.where(calls, policy.callees, 0)], chosen)
        _, first, number = np.unique(table, axis=0, return_index=True, return_inverse=True)
        finer = first[number.reshape(-1)]
        if len(first) == len(np.unique(kind)):
            return finer
        kind = finer
