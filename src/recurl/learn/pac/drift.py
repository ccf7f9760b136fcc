"""Any model, undiscounted, under assumptions on how stacks shrink and what levels are worth.

Assumed are c_o >= 1, mu in (0, 1] and b: whatever the policy, the expected stack height at step k
is at most c_o - mu (expected steps before k), and no level is worth more than b in absolute value.

A run is cut with probability 1/k a step, k = ceil(c_o b / (mu eps')). On the way out through the
exit lanes every level pays +b in one model and -b in another; as no level is worth more, their
optima enclose the true one. A value of height h is at most b (3 h + 2 c_o) in these models: b h for
what is to come, b for each level left at the cut, b for what is then not collected. At step t,
which is reached uncut with (1 - 1/k)^t, the height is at most t + 1. Hence the optima of eps-close
models differ by at most eps b (3 k² + 2 c_o k), and eps is chosen to make that eps'.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.pac.access import ModelAccess, with_probabilities
from recurl.learn.pac.guarantee import Guarantee
from recurl.learn.pac.one_exit import Task, draw_plan, learned_model
from recurl.learn.pac.plan import Plan, weissman_samples
from recurl.learn.pac.unseen import unseen
from recurl.model.transforms.discounting import discount_steps
from recurl.policy import Policy
from recurl.simulation.walk import Walk
from recurl.solving.api import solve

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_PART, _SOLVED = 0.4, 0.05
_EPISODES, _LIMIT, _POLICIES, _SURE = 200, 300, 4, 4.0


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
        if not (self.height >= 1 and 0 < self.fall <= 1 and 0 < self.value < math.inf):
            raise ValueError(f"c_o >= 1, mu in (0, 1] and b > 0 are needed, not {self}")

    def cut(self, epsilon: float) -> int:
        """k, the steps after which a run is cut on average."""
        return math.ceil(round(self.height * self.value / (self.fall * epsilon), 9))

    def closeness(self, epsilon: float) -> float:
        """eps, such that the cut models of eps-close models differ by at most epsilon."""
        k = self.cut(epsilon)
        return min(epsilon / (self.value * (3 * k**2 + 2 * self.height * k)), 2.0)


def paying(model: RMDP, pay: float) -> RMDP:
    """A model discounted step by step in which each level left through a lane pays.

    Args:
        model: What `discount_steps` made: the last exit of each component is its lane.
        pay: What a level pays.

    Example:
        >>> import recurl
        >>> model = paying(recurl.discount_steps(recurl.zoo.gambler(p=0.25), 0.5), 10)
        >>> model.tables.reward.tolist()
        [1.0, 1.0, 11.0, 1.0, 11.0, 10.0, 1.0, 11.0, 10.0]
    """
    t = model.tables
    lanes = t.component_start[:-1] + t.n_entries + t.n_exits - 1
    into = np.isin(t.target, lanes)
    return with_probabilities(model, t.prob, t.reward + pay * into)


def learn_with_drift(model: RMDP, task: Task, drift: Drift) -> Guarantee:
    """Draw as planned, and solve the models with paying lanes."""
    part = _PART * task.epsilon
    support = np.diff(model.tables.transition_start)
    closeness, cut = drift.closeness(part), drift.cut(part)
    plan = Plan(closeness, weissman_samples(closeness, support, task.delta))
    found = contradictions(model, drift, task.seed)
    for text in found:
        warnings.warn(text, UserWarning, stacklevel=3)
    access = ModelAccess(model, task.seed)
    draw_plan(access, plan, task)
    learned = learned_model(access)
    lanes = discount_steps(learned, 1 - 1 / cut)
    high, low = (
        solve(paying(lanes, sign * drift.value), epsilon=_SOLVED * task.epsilon) for sign in (1, -1)
    )
    lower, upper = low.lower - part, high.upper + part
    return Guarantee(
        learned,
        lower,
        upper,
        (lower + upper) / 2,
        None,
        loss=math.inf,
        epsilon=task.epsilon,
        delta=task.delta,
        reached=upper - lower <= 2 * task.epsilon,
        samples=access.samples,
        planned=plan.total,
        method="plan",
        numbers={
            "Assumed c_o (height)": drift.height,
            "Assumed mu (fall)": drift.fall,
            "Assumed b (worth of a level)": drift.value,
            "Cut length k": float(cut),
            "Closeness of every pair (sum of differences)": closeness,
            "Error from sampling": part,
            "Optimum of the lower model": low.value,
            "Optimum of the upper model": high.value,
        },
        unseen=unseen(access.view()),
        warnings=found,
    )


def contradictions(model: RMDP, drift: Drift, seed: int = 0) -> tuple[str, ...]:
    """Where simulated runs contradict the assumptions, by four standard errors.

    Under the uniform policy and some random stackless ones: the height at step t plus mu times the
    steps before it has an expectation of at most c_o, and totals one of at most b.

    Example:
        >>> import recurl
        >>> contradictions(recurl.zoo.gambler(p=0.25), Drift(height=1.1, fall=0.9, value=10))
        ('under the uniform policy the stack height at step ... above c_o = 1.1',)
    """
    random = np.random.default_rng([seed, 77])
    count = np.maximum(np.diff(model.tables.action_start), 1)
    named = [("the uniform policy", Policy.uniform(model))]
    for number in range(1, _POLICIES if count.max() > 1 else 1):
        choice = random.integers(0, count)
        named.append((f"random policy {number}", Policy.stackless(model, choice)))
    return tuple(
        text for name, policy in named for text in _against(model, drift, name, policy, random)
    )


def _against(
    model: RMDP, drift: Drift, name: str, policy: Policy, random: np.random.Generator
) -> list[str]:
    heights, totals = _runs(model, policy, random)
    running = (heights > 0).astype(np.int64)
    before = running.cumsum(axis=1) - running
    potential = heights + drift.fall * before
    mean, doubt = potential.mean(axis=0), potential.std(axis=0) / math.sqrt(_EPISODES)
    found = []
    worst = int(np.argmax(mean - _SURE * doubt))
    if mean[worst] - _SURE * doubt[worst] > drift.height + 1e-12:
        found.append(
            f"under {name} the stack height at step {worst} plus mu times the steps before is "
            f"{mean[worst]:.4g} on average, above c_o = {drift.height:g}"
        )
    total, error = float(totals.mean()), float(totals.std()) / math.sqrt(_EPISODES)
    if abs(total) - _SURE * error > drift.value + 1e-12:
        found.append(f"under {name} a run is worth {total:.4g}, beyond b = {drift.value:g}")
    return found


def _runs(
    model: RMDP, policy: Policy, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Stack heights by episode and step, and totals of episodes."""
    heights, totals = np.zeros((_EPISODES, _LIMIT), np.int64), np.zeros(_EPISODES)
    walk = Walk(model, random)
    for episode in range(_EPISODES):
        walk.restart()
        for step in range(_LIMIT):
            heights[episode, step] = walk.height
            if walk.ended:
                break
            action = policy.action(walk.vertex)
            number = int(random.integers(walk.n_actions)) if action < 0 else action
            totals[episode] += walk.step(number).reward
    return heights, totals
