"""Search for stackless policies that end, and for such that do not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import CALL, EXITS, Floats, Ints
from recurl.model.transforms.discounting import discount_steps
from recurl.policy import Policy
from recurl.solving.budget import check_time
from recurl.solving.discounted import undiscounted_policy
from recurl.solving.evaluate import evaluate
from recurl.solving.expectations import expectations
from recurl.solving.infinite import can_go_on
from recurl.solving.question import Question
from recurl.solving.rows import Rows, rows_of_model, rows_of_policy

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_SWEEPS, _MANY = 500, 1e6
_ROUNDS = 20
_DISCOUNTS, _SECONDS = (0.9, 0.99), 3.0
"""Discounts with which long runs are looked for, and how long the search takes with each."""
_LARGEST, _LARGEST_POLICY = 2_000, 20_000
"""Vertices of a model, and slots of a policy, beyond which this takes too long."""


def ending_policy(model: RMDP) -> tuple[Ints, Floats] | None:
    """Actions by vertex, counted within it, and expected steps by vertex; None if none was found.

    Sweeps of ``d(q) = 1 + min_a sum p d(q')``, with d(en) + max d(ret) at calls, so that it does
    not matter by which exits calls return; then with the best return in place of the worst one.
    After that, the policy that ends with the greatest probability, as far as it is known.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> actions, steps = ending_policy(model)
        >>> bool(np.isfinite(steps[model.tables.starts]).all())
        True
    """
    for policy in _leaving_soon(model):
        rows = rows_of_policy(policy)
        steps = expectations(rows, everywhere=True).steps
        if np.isfinite(steps[rows.start]).all():
            return np.maximum(policy.actions, 0), steps
    return None


def _leaving_soon(model: RMDP) -> Iterator[Policy]:
    """Stackless policies that may end, the most likely first."""
    from recurl.solving.leaving import solve_leaving

    for extreme in (np.maximum, np.minimum):
        yield Policy.stackless(model, _shortest(model, extreme))
    t = model.tables
    ends = Question("max", "none", (1.0,) * int(t.n_exits[t.start_component]))
    surest = solve_leaving(model, ends)
    if surest is not None and surest.policy is not None and surest.policy.kind == "stackless":
        yield surest.policy


def _shortest(model: RMDP, extreme: np.ufunc) -> Ints:
    """The actions that leave soonest, if calls return by the worst, or by the best exit."""
    from scipy.sparse import csr_array

    t = model.tables
    matrix = csr_array((t.prob, t.target, t.transition_start), shape=(t.n_actions, t.n_vertices))
    states, calls = np.flatnonzero(t.states), np.flatnonzero(t.vertex_kind == CALL)
    begin, box = t.action_start[:-1][states], t.vertex_box[calls]
    count, entry = t.n_exits[t.box_component[box]], t.entry_of_call(calls)
    d = np.zeros(t.n_vertices)
    for _ in range(_SWEEPS):
        check_time()
        before = d.copy()
        back = d[t.box_return[box]]
        for k in range(1, t.max_exits):
            back = extreme(back, d[t.box_return[box] + np.minimum(k, count - 1)])
        d[calls] = np.minimum(d[entry] + back, _MANY)
        value = 1.0 + matrix @ d
        d[states] = np.minimum(np.minimum.reduceat(value, begin), _MANY)
        if np.abs(d - before).max() <= 1e-9 * (1.0 + d.max()):
            break
    owner = np.repeat(np.arange(len(states)), np.diff(t.action_start)[states])
    order = np.lexsort((value, owner))
    actions = np.zeros(t.n_vertices, np.int32)
    actions[states] = order[begin] - begin
    return actions


class Endless(NamedTuple):
    """A policy that ends with probability below 1, or after infinitely many steps on average."""

    policy: Policy
    reason: str


def endless_policy(model: RMDP) -> Endless | None:
    """A policy that takes infinitely many steps on average, or None if none was found.

    Candidates come from policy improvement for the steps within a component, which leaves the
    stack out of account, and then from the certified search for the most discounted steps: with a
    discount near 1, policies that do not end take more of them than those that do. A policy that
    ends, though too late, is found by visits that do not fall (see `recurl.solving.infinite`).

    Example:
        >>> import recurl
        >>> endless_policy(recurl.zoo.gambler(p=0.6)).reason
        'a policy ends with probability 0.666667 only'
        >>> endless_policy(recurl.zoo.and_or()) is None
        True
    """
    asked, tried = Question("max", "steps"), []
    for policy in chain(_improved(model), discounted_best(model, asked)):
        found = evaluate(policy)
        if found.termination[1] < 1 - 1e-9:
            reason = f"a policy ends with probability {found.termination[1]:.6g} only"
            return Endless(policy, reason)
        tried.append(policy)
    proofs = (can_go_on(model, asked, policy) for policy in tried)
    proved = next((proof for proof in proofs if proof is not None), None)
    if proved is None:
        return None
    actions = np.concatenate([piece.actions for piece in proved.pieces]).astype(np.int32)
    reason = "a policy takes infinitely many steps on average: it calls as fast as it returns"
    return Endless(Policy.stackless(model, actions), reason)


def _improved(model: RMDP) -> Iterator[Policy]:
    """The uniform policy, and policies improved for the steps until a component is left."""
    policy, rows = Policy.uniform(model), rows_of_model(model.tables)
    for _ in range(_ROUNDS):
        check_time()
        yield policy
        better = Policy.stackless(model, _longest(rows, policy))
        if (better.actions == policy.actions).all():
            return
        policy = better


def discounted_best(model: RMDP, question: Question) -> Iterator[Policy]:
    """Policies with the best discounted totals, first without their contexts."""
    from recurl.solving.certified import solve_certified

    if model.tables.n_vertices > _LARGEST or model.tables.max_actions < 2:
        return
    for gamma in _DISCOUNTS:
        discounted, width = discount_steps(model, gamma), 0.02 / (1 - gamma)
        found = solve_certified(discounted, question.with_lane(), width, time_limit=_SECONDS)
        assert found.policy is not None
        policy = undiscounted_policy(found.policy, model)
        if len(policy.actions) <= _LARGEST_POLICY:
            yield from (_without_contexts(policy), policy)


def _without_contexts(policy: Policy) -> Policy:
    """The stackless policy that takes, at each vertex, the action of the first context reached."""
    slots = np.array(policy.reached.slot)[::-1]
    actions = np.zeros(policy.model.tables.n_vertices, np.int32)
    actions[policy.slot_vertex[slots]] = policy.actions[slots]
    return Policy.stackless(policy.model, actions)


def _longest(rows: Rows, policy: Policy) -> Ints:
    """The action of every vertex with most steps to come, if the policy is followed afterwards."""
    found = expectations(rows_of_policy(policy), everywhere=True)
    value = np.add.reduceat(
        rows.prob * _to_come(rows, found.steps, found.leaving.value), rows.transition_start[:-1]
    )
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    order = np.lexsort((-value, owner))
    acting = np.diff(rows.action_start) > 0
    best = np.zeros(rows.size, np.int32)
    best[acting] = order[rows.action_start[:-1][acting]] - rows.action_start[:-1][acting]
    return best


def _to_come(rows: Rows, steps: Floats, leave: Floats) -> Floats:
    """Expected steps after each transition, until its component is left."""
    leaves = rows.move == EXITS
    at = np.where(leaves, 0, rows.landing)
    total = np.where(leaves, 0.0, steps[at])
    for k in range(leave.shape[1]):
        own = rows.n_returns > k
        share = np.where(own, leave[at, k], 0.0)
        after = np.where(share > 0, steps[np.where(own, rows.push + k, 0)], 0.0)
        total += np.where(share > 0, share * after, 0.0)
    return total
