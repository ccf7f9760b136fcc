"""The quantity that is learned: the total reward, or the discounted one.

A criterion says how observations bound it (a model that is worth at least, and one that is worth at
most as much), and how many samples are enough beforehand. With rewards bounded by d, discounted
values of eps-close models differ by at most eps d / (1 - lambda)².
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from recurl.errors import ModelError, NotProperError, Problem
from recurl.learn.pac.plan import (
    Plan,
    discounted_closeness,
    one_exit_closeness,
    steps_of_analysis,
    weissman_samples,
)
from recurl.model.transforms.discounting import discount_steps
from recurl.solving.api import solve
from recurl.solving.properness import analyse

if TYPE_CHECKING:
    from collections.abc import Callable

    from recurl.learn.pac.loop import PACTask
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy
    from recurl.solving.solution import Solution

SOLVED = 1e-3
"""Part of epsilon that is left to the solver of a learned 1-exit model."""
_SOLVED_DISCOUNTED = 0.1


class Enclosure(NamedTuple):
    """The optimum of a learned model by a criterion.

    Attributes:
        lower: It is at least this, as is the value of the policy.
        upper: It is at most this.
        value: The best estimate.
        policy: A policy, if one was found.
        numbers: Numbers that the interval rests on, by name.
    """

    lower: float
    upper: float
    value: float
    policy: Policy | None
    numbers: dict[str, float | str]


class Criterion(Protocol):
    """A quantity to learn."""

    @property
    def name(self) -> str:
        """The criterion with its settings."""

    @property
    def discount(self) -> float:
        """Weight of what comes after a step."""

    @property
    def rule(self) -> str:
        """The inequalities that a plan rests on."""

    def upper(self, model: RMDP) -> RMDP:
        """A model whose optimum is at least the optimum that is asked for."""

    def lower(self, model: RMDP) -> RMDP:
        """A model in which no policy is worth more than by this criterion."""

    def adjust(self, learned: RMDP, epsilon: float) -> None:
        """Make the two models differ less where they differ too much for epsilon."""

    def plan(self, model: RMDP, task: PACTask) -> Plan:
        """Samples of each pair that are enough beforehand."""

    def enclose(self, learned: RMDP, precise: float) -> Enclosure:
        """The optimum of a learned model."""

    def policy_for(self, policy: Policy, model: RMDP) -> Policy:
        """A policy found on a learned model, for the true one."""

    def numbers(self) -> dict[str, float | str]:
        """Numbers that statements rest on."""

    def state(self) -> dict[str, np.ndarray]:
        """Numbers that `adjust` has changed."""

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over numbers that `adjust` had changed."""


class Unadjusted:
    """Base of criteria with nothing to adjust."""

    def adjust(self, learned: RMDP, epsilon: float) -> None:
        """Nothing can be adjusted."""

    def state(self) -> dict[str, np.ndarray]:
        """Nothing."""
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Nothing."""


class TotalReward(Unadjusted):
    """The expected sum of all rewards.

    Args:
        steps: K, a bound on the expected steps from any vertex to the exit of its component; None
            to take it from the analysis of the model, where a plan needs it.
    """

    name = "total reward"
    discount = 1.0
    rule = "values differ by at most 2 closeness K² r; Weissman's inequality"

    def __init__(self, steps: float | None = None) -> None:
        self.steps = steps

    def upper(self, model: RMDP) -> RMDP:
        """The model as it is."""
        return model

    lower = upper

    def plan(self, model: RMDP, task: PACTask) -> Plan:
        """Samples of each pair of a 1-exit model.

        Raises:
            NotProperError: No K is given, and none is found.
            ModelError: The model has several exits.
        """
        if not model.kind.one_exit:
            fix = "learn adaptively, give a discount (gamma below 1), or drift (c_o, mu, b)"
            raise ModelError([Problem(model.name, "a plan for several exits needs more", fix)])
        steps, reward = self._steps(model), reward_bound_of(model, task)
        room = (1 - SOLVED) * task.epsilon
        closeness = one_exit_closeness(room, reward, steps)
        numbers: dict[str, float | str] = {
            "Bound K on expected steps": steps(closeness),
            "Bound on rewards": reward,
        }
        return plan_of(model, closeness, task.delta, room, numbers)

    def _steps(self, model: RMDP) -> Callable[[float], float]:
        if self.steps is not None:
            given = self.steps
            return lambda closeness: given
        analysis = analyse(model)
        if analysis.verdict != "proper" or not np.isfinite(analysis.bound_everywhere):
            raise NotProperError(f"no bound on the steps is known: {analysis}. Give one as `steps`")
        return steps_of_analysis(analysis)

    def enclose(self, learned: RMDP, precise: float) -> Enclosure:
        """The optimum of a 1-exit model, by the linear program."""
        return _enclosure(solve(learned, "linear-program", precise))

    def policy_for(self, policy: Policy, model: RMDP) -> Policy:
        """The same policy."""
        return policy.changed(model)

    def numbers(self) -> dict[str, float | str]:
        """None."""
        return {}


class Discounted(Unadjusted):
    """The expected sum of rewards, discounted step by step.

    Args:
        discount: Weight of what comes after a step.
    """

    rule = "values differ by at most closeness d / (1 - λ)²; Weissman's inequality"

    def __init__(self, discount: float) -> None:
        self.discount = discount
        self.name = f"discount {discount!r}"

    def upper(self, model: RMDP) -> RMDP:
        """The discounted model, whose optimum is what is asked for."""
        return discount_steps(model, self.discount)

    lower = upper

    def plan(self, model: RMDP, task: PACTask) -> Plan:
        """Samples of each pair for a precision of epsilon."""
        reward, room = reward_bound_of(model, task), (1 - _SOLVED_DISCOUNTED) * task.epsilon
        closeness = discounted_closeness(room, reward, self.discount)
        numbers = {**self.numbers(), "Bound on rewards": reward}
        return plan_of(model, closeness, task.delta, room, numbers)

    def enclose(self, learned: RMDP, precise: float) -> Enclosure:
        """The discounted optimum, certified."""
        return _enclosure(solve(self.upper(learned), epsilon=precise))

    def policy_for(self, policy: Policy, model: RMDP) -> Policy:
        """The policy for the discounted model."""
        return policy.changed(self.upper(model))

    def numbers(self) -> dict[str, float | str]:
        """The discount."""
        return {"Discount": self.discount}


def _enclosure(solution: Solution) -> Enclosure:
    numbers: dict[str, float | str] = {"Error from solving": solution.gap}
    return Enclosure(solution.lower, solution.upper, solution.value, solution.policy, numbers)


def reward_bound_of(model: RMDP, task: PACTask) -> float:
    """The greatest reward in absolute value, given or that of the model."""
    if task.reward_bound is not None:
        return task.reward_bound
    return float(np.abs(model.tables.reward).max(initial=0.0))


def plan_of(
    model: RMDP, closeness: float, delta: float, room: float, numbers: dict[str, float | str]
) -> Plan:
    """The plan that makes all pairs of a model known to a closeness.

    Args:
        model: The model.
        closeness: The closeness.
        delta: Probability with which some pair may be farther off.
        room: Error of values that the closeness causes at most.
        numbers: Numbers that the plan rests on.
    """
    samples = weissman_samples(closeness, np.diff(model.tables.transition_start), delta)
    return Plan(closeness, samples, room, numbers)
