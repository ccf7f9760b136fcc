"""Deterministic models: the optimum is a longest path, whatever the number of exits."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.model.tables import CALL, Floats, Ints
from recurl.policy import Policy
from recurl.solving.elsewhere import certified_elsewhere
from recurl.solving.longest_path_kernel import longest_paths
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question


def solve_deterministic(
    model: RMDP, question: Question, epsilon: float, **options: Any
) -> Solution | None:
    """The optimum of a deterministic model, exact up to the rounding of its sums.

    A policy leaves by one exit for sure, so that ``x(v, q) = max_k R(q, k) + v[k]`` with R(q, k)
    the greatest reward on a way from q to exit k: ``R(q, k) = max_a r + R(q', k)``, and at calls
    ``R((b, en), k) = max_j R(en, j) + R((b, j), k)``. If every policy ends, ways do not go round in
    circles, and sweeps come to an end.

    Returns:
        The solution, or None if the sweeps do not end: then some policy does not either.

    Example:
        >>> import recurl
        >>> solution = solve_deterministic(recurl.zoo.succinct(20), recurl.Question(), 1e-6)
        >>> solution.lower, solution.method
        (1048575.0, 'longest path')
    """
    began = time.perf_counter()
    t = model.tables
    nearest = model.reach.distance.min(axis=1)
    order = np.argsort(nearest, kind="stable").astype(np.int32)
    rewards = question.transition_rewards(t)
    best, choice, ended = longest_paths(t, rewards, order, t.n_vertices + 1)
    if not ended or not np.isfinite(best[t.starts]).any(axis=1).all():
        return None
    root = question.root_values(t)
    first = int(t.component_start[t.start_component])
    ways = best[first : first + len(t.start_prob), : len(root)] + root
    value = question.sign * float(t.start_prob @ ways.max(axis=1))
    return Solution(
        model,
        question,
        value,
        value,
        method="longest path",
        reason="deterministic: every policy leaves by one exit for sure",
        policy=_policy(model, choice, ways.argmax(axis=1)),
        values_lower=question.sign * best[:, 0] if model.kind.one_exit else None,
        values_upper=question.sign * best[:, 0] if model.kind.one_exit else None,
        work={"vertices": t.n_vertices},
        seconds=time.perf_counter() - began,
        _certify=partial(certified_elsewhere, model, question, epsilon, options),
    )


def _policy(model: RMDP, choice: Ints, exits: Floats) -> Policy:
    """One context per exit of each component: the way to leave by it."""
    t = model.tables
    first = np.concatenate([[0], np.cumsum(t.n_exits)])
    component = np.repeat(np.arange(t.n_components), t.n_exits)
    actions, callees = [], []
    for c in range(t.n_components):
        block = slice(int(t.component_start[c]), int(t.component_start[c + 1]))
        calls = t.vertex_kind[block] == CALL
        callee = np.where(calls, t.box_component[t.vertex_box[block]], 0) if calls.any() else 0
        for k in range(t.n_exits[c]):
            chosen = choice[block, k]
            actions.append(np.where(calls, 0, chosen))
            callees.append(np.where(calls, first[callee] + chosen, 0))
    start = first[t.start_component] + exits
    return Policy(
        model, component, np.concatenate(actions), callees=np.concatenate(callees), start=start
    )
