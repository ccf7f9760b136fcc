"""Discounted totals: models and policies as `discount_steps` changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.transforms.discounting import discount_steps, places_with_lanes
from recurl.policy import Policy

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


def discounted_model(model: RMDP, gamma: float | str, of: str = "reward") -> RMDP:
    """The model whose total reward is the discounted one of another.

    Raises:
        ValueError: The total is not the reward, or gamma is not strictly between 0 and 1.
    """
    if of != "reward":
        raise ValueError(f"gamma discounts rewards, not {of!r}")
    return discount_steps(model, gamma)


def discounted_policy(policy: Policy, gamma: float | str) -> Policy:
    """The policy in the discounted model: it does there what it does in its own.

    Example:
        >>> import recurl
        >>> policy = recurl.Policy.stackless(recurl.zoo.cloud(), {"S.u3": "fast"})
        >>> discounted_policy(policy, 0.9).action_name("S.u3")
        'fast'
    """
    old, model = policy.model.tables, discounted_model(policy.model, gamma)
    new, component = model.tables, policy.context_component
    begin = np.concatenate([[0], np.cumsum(np.diff(new.component_start)[component])])
    context = np.repeat(np.arange(len(component)), np.diff(old.component_start)[component])
    inside = places_with_lanes(old)[policy.slot_vertex] - new.component_start[component[context]]
    actions, callees = np.zeros((2, begin[-1]), np.int32)
    slot = begin[context] + inside
    actions[slot], callees[slot] = policy.actions, policy.callees
    return Policy(
        model,
        component,
        actions,
        callees=callees,
        start=policy.start,
        kind=policy.kind,
        labels=policy.labels,
    )
