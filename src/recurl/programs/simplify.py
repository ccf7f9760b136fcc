"""A policy with fewer contexts that is worth as much.

Policies that come from bounds count their way down: behind twenty calls of the same kind comes a
cruder piece of the bound. Often the pieces before it would do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from recurl.policy import Policy
from recurl.solving.evaluate import evaluate

MOST_TRIALS = 400
"""Policies that are evaluated at most."""


def _value(policy: Policy) -> float:
    return evaluate(policy).value


def simplified(policy: Policy, floor: float, worth: Callable[[Policy], float] = _value) -> Policy:
    """A policy in which calls enter earlier contexts where that is worth at least the floor.

    Contexts are met in the order of calls from the start. Each is given up for one that was met
    before, of the same component, if the value allows it.

    Args:
        policy: The policy.
        floor: What the result must be worth.
        worth: What a policy is worth.

    Example:
        >>> import recurl
        >>> solution = recurl.solve(recurl.zoo.cloud())
        >>> policy = simplified(solution.policy, solution.lower)
        >>> recurl.evaluate(policy).value >= solution.lower
        True
    """
    trials, kept = 0, list[int]()
    todo = list(dict.fromkeys(policy.start.tolist()))
    while todo and trials < MOST_TRIALS:
        context = todo.pop(0)
        for earlier in _alike(policy, context, kept):
            trials += 1
            trial = _redirected(policy, context, earlier)
            if worth(trial) >= floor:
                policy = trial
                break
        else:
            kept.append(context)
            todo += [c for c in _callees(policy, context) if c not in kept and c not in todo]
    return policy


def _alike(policy: Policy, context: int, kept: list[int]) -> Iterator[int]:
    component = policy.context_component
    return (c for c in reversed(kept) if component[c] == component[context])


def _callees(policy: Policy, context: int) -> list[int]:
    """Contexts that a context calls, as far as its component has call ports."""
    begin, end = policy.context_start[context : context + 2]
    is_call = np.diff(policy.model.tables.action_start)[policy.slot_vertex[begin:end]] == 0
    ports = policy.model.tables.vertex_box[policy.slot_vertex[begin:end]] >= 0
    return list(dict.fromkeys(policy.callees[begin:end][is_call & ports].tolist()))


def _redirected(policy: Policy, context: int, other: int) -> Policy:
    """The policy in which calls enter another context instead of one."""
    callees = policy.callees.copy()
    callees[callees == context] = other
    return policy.changed(callees=callees)
