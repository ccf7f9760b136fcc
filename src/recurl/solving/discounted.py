"""Discounted totals: models and policies as `discount_steps` changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.transforms.discounting import discount_steps, places_with_lanes
from recurl.policy import Policy

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints


def discounted_model(
    model: RMDP, gamma: float | str, of: str = "reward", count: str = "actions"
) -> RMDP:
    """The model whose total reward is the discounted one of another.

    Raises:
        ValueError: The total is not the reward, or gamma is not strictly between 0 and 1.
    """
    if of != "reward":
        raise ValueError(f"gamma discounts rewards, not {of!r}")
    return discount_steps(model, gamma, count=count)


def discounted_policy(policy: Policy, gamma: float | str, count: str = "actions") -> Policy:
    """The policy in the discounted model: it does there what it does in its own.

    Example:
        >>> import recurl
        >>> policy = recurl.Policy.stackless(recurl.zoo.cloud(), {"S.u3": "fast"})
        >>> discounted_policy(policy, 0.9).action_name("S.u3")
        'fast'
    """
    model = discounted_model(policy.model, gamma, count=count)
    component = policy.context_component
    slot, size = _slots_with_lanes(policy.model, model, component)
    actions, callees = np.zeros((2, size), np.int32)
    actions[slot], callees[slot] = policy.actions, policy.callees
    return _policy_like(policy, model, actions, callees)


def undiscounted_policy(policy: Policy, model: RMDP) -> Policy:
    """The policy of a discounted model in the model itself: the reverse of `discounted_policy`.

    Example:
        >>> import recurl
        >>> policy = recurl.Policy.stackless(recurl.zoo.cloud(), {"S.u3": "fast"})
        >>> again = undiscounted_policy(discounted_policy(policy, 0.9), policy.model)
        >>> (again.actions == policy.actions).all()
        np.True_
    """
    slot, _ = _slots_with_lanes(model, policy.model, policy.context_component)
    return _policy_like(policy, model, policy.actions[slot], policy.callees[slot])


def _slots_with_lanes(model: RMDP, discounted: RMDP, component: Ints) -> tuple[Ints, int]:
    """The slot in the discounted model of each slot of a policy, and how many slots there are."""
    old, new = model.tables, discounted.tables
    sizes = np.diff(old.component_start)[component]
    begin = np.concatenate([[0], np.cumsum(np.diff(new.component_start)[component])])
    inside = places_with_lanes(old) - new.component_start[old.vertex_component]
    starts = np.repeat(old.component_start[component] - np.cumsum(sizes) + sizes, sizes)
    vertex = starts + np.arange(sizes.sum())
    return np.repeat(begin[:-1], sizes) + inside[vertex], int(begin[-1])


def _policy_like(policy: Policy, model: RMDP, actions: Ints, callees: Ints) -> Policy:
    return Policy(
        model,
        policy.context_component,
        actions,
        callees=callees,
        start=policy.start,
        kind=policy.kind,
        labels=policy.labels,
    )
