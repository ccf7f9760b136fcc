"""Deterministic models: the optimum is a longest path, whatever the number of exits."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.model.graph_kernel import strong_components
from recurl.model.tables import CALL, Floats, Ints
from recurl.policy import Policy
from recurl.solving.elsewhere import certified_elsewhere
from recurl.solving.longest_path_kernel import longest_paths
from recurl.solving.properness_kernel import place_graph
from recurl.solving.rows import rows_of_model
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
    circles, and sweeps come to an end. If some policy does not end, but every step costs something,
    it pays infinitely much, and the best way to an exit is the optimum all the same.

    Returns:
        The solution, or None if a policy that does not end might be better, or nothing ends.

    Example:
        >>> import recurl
        >>> solution = solve_deterministic(recurl.zoo.succinct(20), recurl.Question(), 1e-6)
        >>> solution.lower, solution.method
        (1048575.0, 'longest path')
    """
    began = time.perf_counter()
    t = model.tables
    rewards = question.transition_rewards(t)
    if not (_always_ends(model) or (rewards < 0).all()):
        return None
    nearest = model.reach.distance.min(axis=1)
    order = np.argsort(nearest, kind="stable").astype(np.int32)
    best, choice, ended = longest_paths(t, rewards, order, t.n_vertices + 1)
    if not ended or not np.isfinite(best[t.starts]).any(axis=1).all():
        return None
    root, taken = question.root_values(t), t.start_prob > 0
    first = int(t.component_start[t.start_component])
    ways = best[first : first + len(t.start_prob), : len(root)] + root
    values = question.sign * _by_vertex(model, best, root) + 0.0
    value = question.sign * float(t.start_prob[taken] @ ways.max(axis=1)[taken]) + 0.0
    return Solution(
        model,
        question,
        value,
        value,
        method="longest path",
        reason="deterministic: the best way from the start to an exit",
        policy=_policy(model, choice, ways.argmax(axis=1)),
        values_lower=values,
        values_upper=values,
        work={"vertices": t.n_vertices},
        seconds=time.perf_counter() - began,
        _certify=partial(certified_elsewhere, model, question, epsilon, options),
    )


def _by_vertex(model: RMDP, best: Floats, root: Floats) -> Floats:
    """What the best way from each vertex is worth; nan where that depends on who calls."""
    if model.kind.one_exit:
        return best[:, 0]
    t = model.tables
    values = np.full(t.n_vertices, np.nan)
    own = t.vertex_component == t.start_component
    values[own] = (best[own, : len(root)] + root).max(axis=1)
    return values


def _always_ends(model: RMDP) -> bool:
    """Whether no run can go round in a circle, or call forever: then every policy ends."""
    start, target = place_graph(rows_of_model(model.tables))
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    seen = model.reach.reachable
    kept = seen[owner] & seen[target]
    owner, target = owner[kept], target[kept]
    start = np.searchsorted(owner, np.arange(len(start))).astype(np.int32)
    label, _ = strong_components(start, target)
    return not (label[owner] == label[target]).any()


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
