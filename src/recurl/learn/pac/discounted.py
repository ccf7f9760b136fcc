"""Any model, discounted step by step: what was observed is solved with certified bounds.

With rewards bounded by d, values of eps-close models differ by at most eps d / (1 - lambda)².
After sampling, more can be said. For any policy, V - V' is the discounted sum, over a run of the
learned model, of (P - P')(r + lambda V) at the pair taken; each term is at most half the pair's
radius times the range of values, (r_max - r_min) / (1 - lambda). The greatest such sum over all
policies is again the optimum of a discounted model, with these terms for rewards, and the solver
bounds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.pac.access import ModelAccess, with_probabilities
from recurl.learn.pac.adaptive import sets_of
from recurl.learn.pac.counts import load_counts, save_counts
from recurl.learn.pac.guarantee import Guarantee
from recurl.learn.pac.intervals import level_of, level_size
from recurl.learn.pac.one_exit import Task, draw_plan, learned_model, reward_bound_of
from recurl.learn.pac.plan import Plan, discounted_closeness, weissman_samples
from recurl.learn.pac.unseen import unseen
from recurl.model.transforms.discounting import discount_steps
from recurl.policy import Policy
from recurl.solving.api import solve

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.solving.solution import Solution

SOLVED = 0.1
"""Part of epsilon that is left to the solver."""


def learn_discounted(model: RMDP, task: Task, discount: float, *, adaptive: bool) -> Guarantee:
    """The discounted optimum of any model, planned or adaptively."""
    plan = plan_discounted(model, task, discount)
    if adaptive:
        return _Rounds(model, task, discount).run(plan.total)
    access = ModelAccess(model, task.seed)
    draw_plan(access, plan, task)
    room = (1 - SOLVED) * task.epsilon
    solution = _solved(learned_model(access), discount, SOLVED * task.epsilon)
    numbers = {"Closeness of every pair (sum of differences)": plan.closeness}
    return _guarantee(access, task, discount, solution, room=room, plan=plan.total, numbers=numbers)


def plan_discounted(model: RMDP, task: Task, discount: float) -> Plan:
    """Samples of each pair for a precision of epsilon."""
    reward = reward_bound_of(model, task)
    closeness = discounted_closeness((1 - SOLVED) * task.epsilon, reward, discount)
    support = np.diff(model.tables.transition_start)
    return Plan(closeness, weissman_samples(closeness, support, task.delta))


def _solved(learned: RMDP, discount: float, epsilon: float) -> Solution:
    return solve(discount_steps(learned, discount), epsilon=epsilon)


def _guarantee(
    access: ModelAccess,
    task: Task,
    discount: float,
    solution: Solution,
    *,
    room: float,
    plan: int,
    numbers: dict[str, float],
    method: str = "plan",
) -> Guarantee:
    lower, upper = solution.lower - room, solution.upper + room
    width = (1 if method == "adaptive" else 2) * task.epsilon
    return Guarantee(
        learned_model(access),
        lower,
        upper,
        solution.value,
        _carried_over(solution, discount_steps(access.truth, discount)),
        loss=upper - lower,
        epsilon=task.epsilon,
        delta=task.delta,
        reached=upper - lower <= width * (1 + 1e-9),
        samples=access.samples,
        planned=plan,
        method=method,
        numbers={
            "Discount": discount,
            "Bound on rewards": reward_bound_of(access.model, task),
            "Error from sampling": room,
            "Error from solving": solution.gap,
            **numbers,
        },
        unseen=unseen(access.view()),
    )


def _carried_over(solution: Solution, model: RMDP) -> Policy | None:
    """The policy of the learned model, for one with the same vertices."""
    own = solution.policy
    if own is None:
        return None
    return Policy(
        model,
        own.context_component,
        own.actions,
        callees=own.callees,
        start=own.start,
        kind=own.kind,
        labels=own.labels,
    )


class _Rounds:
    """Rounds of sampling all random pairs alike, as often as the last error asks for."""

    def __init__(self, model: RMDP, task: Task, discount: float) -> None:
        self.access, self.task, self.discount = ModelAccess(model, task.seed), task, discount
        bound = reward_bound_of(model, task)
        rewards = (-bound, bound) if task.reward_bound is not None else _range(model)
        self.range = (rewards[1] - rewards[0]) / (1 - discount)

    def run(self, planned: int) -> Guarantee:
        """Sample until both errors fit into epsilon, or no more samples are allowed."""
        task, access = self.task, self.access
        if task.checkpoint is not None:
            load_counts(task.checkpoint, access)
        if not access.level.any():
            self._raise_to(1)
        room, target = self._error(), 0.5 * (1 - SOLVED) * task.epsilon
        while room > target and (task.most is None or access.samples < task.most):
            size = level_size(int(access.level.max()))
            wanted = min((room / target) ** 2 * 1.02, 1e4) * size
            self._raise_to(max(level_of(int(wanted)), int(access.level.max()) + 1))
            room = self._error()
        solution = _solved(learned_model(access), self.discount, SOLVED * task.epsilon)
        numbers = {"Most samples of a pair": float(access.pair_samples().max())}
        return _guarantee(
            access,
            task,
            self.discount,
            solution,
            room=room,
            plan=planned,
            numbers=numbers,
            method="adaptive",
        )

    def _raise_to(self, level: int) -> None:
        access, task = self.access, self.task
        random = access.support > 1
        access.draw(np.where(random, level_size(level) - access.pair_samples(), 0))
        access.level[random] = level
        if task.checkpoint is not None:
            save_counts(task.checkpoint, access)

    def _error(self) -> float:
        """Greatest difference of true and learned values that the confidence sets allow."""
        learned = learned_model(self.access)
        t = learned.tables
        radius = radii(self.access, self.task) * (0.5 * self.range)
        reward = np.repeat(radius, np.diff(t.transition_start))
        worst = with_probabilities(learned, t.prob, reward)
        found = _solved(worst, self.discount, SOLVED * self.task.epsilon)
        if self.task.callback is not None:
            work = {"samples": float(self.access.samples), "rounds": float(self.access.round)}
            middle = _solved(learned, self.discount, self.task.epsilon)
            self.task.callback(middle.lower - found.upper, middle.upper + found.upper, work)
        return found.upper


def _range(model: RMDP) -> tuple[float, float]:
    """Least and greatest reward, 0 included, as runs may end."""
    reward = model.tables.reward
    return float(reward.min(initial=0.0)), float(reward.max(initial=0.0))


def radii(access: ModelAccess, task: Task) -> Floats:
    """Greatest sum of differences from what was observed, by pair, that the sets allow."""
    sets = sets_of(access.view(), task.intervals, task.delta)
    off = np.maximum(sets.high - sets.centre, sets.centre - sets.low)
    box = np.add.reduceat(off, access.model.tables.transition_start[:-1])
    return np.minimum(np.minimum(box, sets.radius), 2.0)
