"""Any model, discounted step by step: what was observed is solved with certified bounds.

With rewards bounded by d, values of eps-close models differ by at most eps d / (1 - lambda)²: that
makes a plan. Adaptively, robust bounds of the discounted model take its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.pac.access import ModelAccess
from recurl.learn.pac.contexts import for_model
from recurl.learn.pac.general import General, guarantee_of
from recurl.learn.pac.guarantee import Guarantee
from recurl.learn.pac.one_exit import (
    Task,
    draw_plan,
    learned_model,
    reward_bound_of,
    total_or_none,
)
from recurl.learn.pac.plan import Plan, discounted_closeness, weissman_samples
from recurl.learn.pac.unseen import unseen
from recurl.model.transforms.discounting import discount_steps
from recurl.solving.api import solve

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

SOLVED = 0.1
"""Part of epsilon that is left to the solver."""


class Discounted:
    """A model discounted step by step.

    Args:
        discount: What comes after a step counts this much.
    """

    def __init__(self, discount: float) -> None:
        self.discount = discount

    def upper(self, model: RMDP) -> RMDP:
        """The discounted model, whose optimum is what is asked for."""
        return discount_steps(model, self.discount)

    lower = upper

    def adjust(self, learned: RMDP, epsilon: float) -> None:
        """Nothing can be adjusted."""


def learn_discounted(model: RMDP, task: Task, discount: float, *, adaptive: bool) -> Guarantee:
    """The discounted optimum of any model, planned or adaptively."""
    access = ModelAccess(model, task.seed)
    if not adaptive:
        return _planned(access, task, discount)
    planned = total_or_none(lambda: plan_discounted(model, task, discount))
    run = General(access, task, Discounted(discount))
    run.run()
    policy = None if run.policy is None else for_model(run.policy, discount_steps(model, discount))
    return guarantee_of(run, policy, planned, {"Discount": discount})


def plan_discounted(model: RMDP, task: Task, discount: float) -> Plan:
    """Samples of each pair for a precision of epsilon."""
    reward = reward_bound_of(model, task)
    closeness = discounted_closeness((1 - SOLVED) * task.epsilon, reward, discount)
    support = np.diff(model.tables.transition_start)
    return Plan(closeness, weissman_samples(closeness, support, task.delta))


def _planned(access: ModelAccess, task: Task, discount: float) -> Guarantee:
    plan = plan_discounted(access.model, task, discount)
    draw_plan(access, plan, task)
    room, learned = (1 - SOLVED) * task.epsilon, learned_model(access)
    solution = solve(discount_steps(learned, discount), epsilon=SOLVED * task.epsilon)
    lower, upper = solution.lower - room, solution.upper + room
    true = discount_steps(access.truth, discount)
    return Guarantee(
        learned,
        lower,
        upper,
        solution.value,
        None if solution.policy is None else for_model(solution.policy, true),
        loss=upper - lower,
        epsilon=task.epsilon,
        delta=task.delta,
        reached=upper - lower <= 2 * task.epsilon * (1 + 1e-9),
        samples=access.samples,
        planned=plan.total,
        method="plan",
        numbers={
            "Discount": discount,
            "Bound on rewards": reward_bound_of(access.model, task),
            "Closeness of every pair (sum of differences)": plan.closeness,
            "Error from sampling": room,
            "Error from solving": solution.gap,
            "Rule": "values differ by at most closeness d / (1 - λ)²; Weissman's inequality",
        },
        unseen=unseen(access.view()),
    )
