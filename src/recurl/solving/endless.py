"""Search for a policy that does not end, by making its runs longer and longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import EXITS, Floats, Ints
from recurl.policy import Policy
from recurl.solving.evaluate import Evaluation, evaluate
from recurl.solving.expectations import expectations
from recurl.solving.rows import Rows, rows_of_model, rows_of_policy

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_ROUNDS = 20


def endless_policy(model: RMDP) -> Evaluation | None:
    """A stackless policy that ends with probability below 1, or None if none was found.

    Policy improvement for the expected steps until a component is left: from the uniform policy on,
    every state takes the action after which most steps are to be expected. On a multi-exit model
    this need not lead to the longest runs, as it leaves the stack out of account.

    Example:
        >>> import recurl
        >>> endless_policy(recurl.zoo.gambler(p=0.6)).termination[1] < 0.67
        True
        >>> endless_policy(recurl.zoo.and_or()) is None
        True
    """
    policy, rows = Policy.uniform(model), rows_of_model(model.tables)
    for _ in range(_ROUNDS):
        found = evaluate(policy)
        if found.termination[1] < 1 - 1e-9:
            return found
        better = Policy.stackless(model, _longest(rows, policy))
        if (better.actions == policy.actions).all():
            break
        policy = better
    return None


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
