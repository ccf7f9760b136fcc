"""Discounted totals: models and policies as `discount_steps` and `discount_boxes` change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import QuestionError
from recurl.model.numbers import exact
from recurl.model.transforms.discounting import discount_boxes, discount_steps, places_with_lanes
from recurl.policy import Policy

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints


Rate = float | str | None
"""A discount as it is given; 1 and None mean that there is none."""


def discounts(gamma: Rate, box_gamma: Rate) -> bool:
    """Whether there is a discount, of steps or of boxes.

    Raises:
        QuestionError: There are both.
    """
    steps, boxes = (rate is not None and exact(rate) != 1 for rate in (gamma, box_gamma))
    if steps and boxes:
        raise QuestionError(
            "give gamma, a discount of each step, or box_gamma, one by boxes: not both"
        )
    return steps or boxes


def discounted_model(
    model: RMDP, gamma: Rate, of: str = "reward", count: str = "actions", box_gamma: Rate = 1
) -> RMDP:
    """The model whose total reward is the discounted one of another; see `discounts`.

    Raises:
        QuestionError: The total is not the reward.
        ValueError: A discount is not strictly between 0 and 1.
        ModelError: The discount is one by boxes, and a component has several exits.
    """
    name, by_boxes = "gamma", box_gamma is not None and exact(box_gamma) != 1
    if by_boxes:
        name, gamma = "box_gamma", box_gamma
    if of != "reward":
        raise QuestionError(f"{name} discounts rewards, not {of!r}")
    assert gamma is not None
    return discount_boxes(model, gamma) if by_boxes else discount_steps(model, gamma, count=count)


_FINE = 1000
"""Factors that are tried lie this many to 1."""


def too_large(model: RMDP, box_gamma: Rate) -> str | None:
    """How small a discount by boxes must be, in words, if it leaves a model improper.

    With a factor below 1/2, steps are at most ``d = 1 + 2 d factor`` from every vertex: it is
    small enough for every model. Between that and the factor given, which is too large, the
    greatest of three digits that is proved to be small enough is looked for.

    Returns:
        The words; None if the model is proper with the factor.
    """
    from recurl.solving.properness import analyse  # which imports this module

    if box_gamma is None or exact(box_gamma) == 1:
        return None
    if analyse(discount_boxes(model, box_gamma)).verdict == "proper":
        return None
    small, large = 0, int(exact(box_gamma) * _FINE) + 1
    while large - small > 1:
        middle = (small + large) // 2
        fits = analyse(discount_boxes(model, f"{middle}/{_FINE}")).verdict == "proper"
        small, large = (middle, large) if fits else (small, middle)
    return (
        f"box_gamma = {box_gamma} is too large for {model.name}: with it some policy may not end, "
        f"or only after infinitely many steps on average; every policy ends with "
        f"{small / _FINE:g} or less"
    )


def discounted_policy(
    policy: Policy, gamma: Rate, count: str = "actions", box_gamma: Rate = 1
) -> Policy:
    """The policy in the discounted model: it does there what it does in its own.

    Example:
        >>> import recurl
        >>> policy = recurl.Policy.stackless(recurl.zoo.cloud(), {"S.u3": "fast"})
        >>> discounted_policy(policy, 0.9).action_name("S.u3")
        'fast'
    """
    model = discounted_model(policy.model, gamma, count=count, box_gamma=box_gamma)
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
    if old.n_vertices == new.n_vertices:  # no lanes: boxes were discounted
        slots = int(np.diff(old.component_start)[component].sum())
        return np.arange(slots, dtype=np.int32), slots
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
