"""Any model, undiscounted, under assumptions on how stacks shrink and what levels are worth.

Assumed are c_o >= 1, mu in (0, 1] and b. Whatever the policy, from any vertex with an empty stack:
the expected height at step t is at most c_o - mu (expected steps before t); and what is collected
until the level is left is b at most, in absolute value.

Each step is cut with probability 1/k before it is taken, k = ceil(c_o b / (mu eps')). Then every
level pays b in an upper model and -b in a lower one, in place of what it would still collect, which
is at most b: the true value of every policy lies between its values there.

From height h, the height expected at any later time is at most c_o h, as each level grows to c_o at
most. The upper value is b h at most, plus 2 b for each level that is met at the cut, and not below
the true one: it lies in [-b h, b h (1 + 2 c_o)]. At step t, reached uncut with (1 - 1/k)^t, the
height is t + 1 at most. So if rewards of one pair differ by at most s, then a step of an eps-close
model changes the value by eps/2 (s + 2 b (1 + c_o) (t + 2)) at most, and all steps by

    eps (b (1 + c_o) (k² - 1) + s (k - 1) / 2).

The assumptions are needed for the true model only.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from recurl.learn.pac.access import ModelAccess, with_probabilities
from recurl.learn.pac.contexts import without_lanes
from recurl.learn.pac.drift_check import contradictions
from recurl.learn.pac.general import General, guarantee_of
from recurl.learn.pac.guarantee import Guarantee
from recurl.learn.pac.one_exit import Task, draw_plan, learned_model, total_or_none
from recurl.learn.pac.plan import Plan, weissman_samples
from recurl.learn.pac.unseen import unseen
from recurl.model.transforms.discounting import discount_steps
from recurl.solving.api import solve

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy

_PART, _SOLVED, _LONGEST = 0.4, 0.05, 10**5


@dataclass(frozen=True)
class Drift:
    """Assumptions on an undiscounted model.

    Attributes:
        height: c_o >= 1, the expected stack height that runs never exceed.
        fall: mu in (0, 1], by how much a step lowers it on average.
        value: b, the most that a level of the stack is worth in absolute value.

    Example:
        Discounting by 0.9 with rewards up to 2 is the case

        >>> Drift(height=1 + 1 / (1 - 0.9), fall=1 - 0.9, value=2 / (1 - 0.9)).cut(1.0)
        2200
    """

    height: float
    fall: float
    value: float

    def __post_init__(self) -> None:
        if not (1 <= self.height < math.inf and 0 < self.fall <= 1 and 0 < self.value < math.inf):
            raise ValueError(f"c_o >= 1, mu in (0, 1] and b > 0 are needed, not {self}")

    @classmethod
    def of_steps(cls, steps: float, reward_bound: float) -> Self:
        """What always holds if a level takes so many steps at most on average, from any vertex.

        A stack of height h takes h more steps at least to unwind, so that height and steps so far
        add up to all steps, on average: c_o = K, mu = 1, b = K r.

        Example:
            >>> Drift.of_steps(steps=5, reward_bound=2)
            Drift(height=5, fall=1.0, value=10)
        """
        return cls(height=steps, fall=1.0, value=steps * reward_bound)

    def cut(self, epsilon: float) -> int:
        """k, the steps after which a run is cut on average: ceil(c_o b / (mu eps'))."""
        return max(math.ceil(round(self.height * self.value / (self.fall * epsilon), 9)), 2)

    def change(self, k: int, spread: float = 0.0) -> float:
        """By how much, times eps, the cut values of eps-close models differ at most.

        Args:
            k: The steps after which runs are cut.
            spread: Greatest difference of rewards of one pair.

        Example:
            >>> Drift(height=3, fall=0.5, value=2).change(k=10)
            792.0
        """
        return self.value * (1 + self.height) * (k**2 - 1) + spread * (k - 1) / 2

    def closeness(self, epsilon: float, spread: float = 0.0) -> float:
        """eps, such that the cut models of eps-close models differ by at most epsilon."""
        return min(epsilon / self.change(self.cut(epsilon), spread), 2.0)


def paying(model: RMDP, pay: float) -> RMDP:
    """A model discounted step by step in which each level left through a lane pays.

    A step into the lane pays nothing else: the run is cut before it is taken.

    Args:
        model: What `discount_steps` made: the last exit of each component is its lane.
        pay: What a level pays.

    Example:
        >>> import recurl
        >>> model = paying(recurl.discount_steps(recurl.zoo.gambler(p=0.25), 0.5), 10)
        >>> model.tables.reward.tolist()
        [1.0, 1.0, 10.0, 1.0, 10.0, 10.0, 1.0, 10.0, 10.0]
    """
    t = model.tables
    lanes = t.component_start[:-1] + t.n_entries + t.n_exits - 1
    return with_probabilities(model, t.prob, np.where(np.isin(t.target, lanes), pay, t.reward))


class Cut:
    """A model whose runs are cut after k steps on average, each level then paying b or -b.

    Args:
        drift: The assumptions.
        k: The steps; `adjust` makes them more.
    """

    def __init__(self, drift: Drift, k: int) -> None:
        self.drift, self.k = drift, k

    @property
    def discount(self) -> float:
        """Probability that a step is not cut."""
        return 1 - 1 / self.k

    def upper(self, model: RMDP) -> RMDP:
        """The model whose lanes pay b a level."""
        return paying(discount_steps(model, self.discount), self.drift.value)

    def lower(self, model: RMDP) -> RMDP:
        """The model whose lanes take b a level."""
        return paying(discount_steps(model, self.discount), -self.drift.value)

    def adjust(self, learned: RMDP, epsilon: float) -> None:
        """Cut later where the cut alone leaves more than half of epsilon open."""
        while self.k < _LONGEST:
            high, low = (
                solve(cut, epsilon=_SOLVED * epsilon)
                for cut in (self.upper(learned), self.lower(learned))
            )
            if high.upper - low.lower <= epsilon / 2:
                return
            self.k *= 2


def learn_with_drift(model: RMDP, task: Task, drift: Drift, *, adaptive: bool = False) -> Guarantee:
    """The optimum of any model whose stacks shrink as assumed, planned or adaptively."""
    found = contradictions(model, drift, task.seed)
    for text in found:
        warnings.warn(text, UserWarning, stacklevel=3)
    return (_adaptively if adaptive else _planned)(model, task, drift, found)


def plan_with_drift(model: RMDP, task: Task, drift: Drift) -> Plan:
    """Samples of each pair that bring the cut values within a part of epsilon."""
    t = model.tables
    first = t.transition_start[:-1]
    spread = np.maximum.reduceat(t.reward, first) - np.minimum.reduceat(t.reward, first)
    closeness = drift.closeness(_PART * task.epsilon, float(spread.max(initial=0.0)))
    return Plan(closeness, weissman_samples(closeness, np.diff(t.transition_start), task.delta))


def _assumed(drift: Drift) -> dict[str, float | str]:
    return {
        "Assumed c_o (height)": drift.height,
        "Assumed mu (fall)": drift.fall,
        "Assumed b (worth of a level)": drift.value,
    }


def _adaptively(model: RMDP, task: Task, drift: Drift, found: tuple[str, ...]) -> Guarantee:
    planned = total_or_none(lambda: plan_with_drift(model, task, drift))
    frame = Cut(drift, drift.cut(_PART * task.epsilon))
    run = General(ModelAccess(model, task.seed), task, frame)
    run.run()
    policy = None if run.policy is None else without_lanes(run.policy, model)
    numbers = {**_assumed(drift), "Cut length k": float(frame.k)}
    return guarantee_of(run, policy, planned, numbers, warnings=found)


def _planned(model: RMDP, task: Task, drift: Drift, found: tuple[str, ...]) -> Guarantee:
    access, plan = ModelAccess(model, task.seed), plan_with_drift(model, task, drift)
    part, frame = _PART * task.epsilon, Cut(drift, drift.cut(_PART * task.epsilon))
    draw_plan(access, plan, task)
    learned = learned_model(access)
    high, low = (
        solve(cut, epsilon=_SOLVED * task.epsilon)
        for cut in (frame.upper(learned), frame.lower(learned))
    )
    lower, upper = low.lower - part, high.upper + part
    # In the lower model the policy is worth at least low.lower, in the true one not less than that.
    policy: Policy | None = None if low.policy is None else without_lanes(low.policy, model)
    return Guarantee(
        learned,
        lower,
        upper,
        (lower + upper) / 2,
        policy,
        loss=upper - lower,
        epsilon=task.epsilon,
        delta=task.delta,
        reached=upper - lower <= 2 * task.epsilon,
        samples=access.samples,
        planned=plan.total,
        method="plan",
        numbers={
            **_assumed(drift),
            "Cut length k": float(frame.k),
            "Closeness of every pair (sum of differences)": plan.closeness,
            "Error from sampling": part,
            "Optimum of the lower model": low.value,
            "Optimum of the upper model": high.value,
        },
        unseen=unseen(access.view()),
        warnings=found,
    )
