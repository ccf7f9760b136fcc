"""1-exit models: by a plan made beforehand, or adaptively."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import LimitError, NotProperError
from recurl.learn.pac.access import ModelAccess, even_probabilities, with_probabilities
from recurl.learn.pac.adaptive import Adaptive, Callback
from recurl.learn.pac.counts import load_counts, save_counts
from recurl.learn.pac.guarantee import Guarantee
from recurl.learn.pac.plan import Plan, one_exit_closeness, steps_of_analysis, weissman_samples
from recurl.learn.pac.robust import RobustBounds
from recurl.learn.pac.unseen import unseen
from recurl.policy import Policy
from recurl.solving.api import solve
from recurl.solving.properness import analyse

if TYPE_CHECKING:
    from collections.abc import Callable

    from recurl.model.rmdp import RMDP

SOLVED = 1e-3
"""Part of epsilon that is left to the solver of the learned model."""


@dataclass(frozen=True)
class Task:
    """What is asked of a learner.

    Attributes:
        epsilon: Precision of the value.
        delta: Probability with which the answer may be wrong.
        steps: K, a bound on the expected steps from any vertex to the exit of its component, in all
            models close to the true one; None to find one.
        reward_bound: Greatest reward in absolute value; None for that of the model.
        intervals: Family of confidence sets.
        seed: Seed of all draws.
        most: Samples after which to stop, None for no limit.
        checkpoint: File for the counts; sampling goes on from it where it exists.
        callback: Told of every interval on the way.
        support: Most outcomes of a pair of an environment.
        starts: Most starts of an environment; None for as many as `support`.
    """

    epsilon: float
    delta: float
    steps: float | None = None
    reward_bound: float | None = None
    intervals: str = "clopper-pearson"
    seed: int = 0
    most: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    callback: Callback | None = None
    support: int | None = None
    starts: int | None = None


def endless(gap: float) -> tuple[str, ...]:
    """What an interval without ends says."""
    return () if np.isfinite(gap) else ("the data do not rule out a policy that never ends",)


def learned_model(access: ModelAccess) -> RMDP:
    """What was observed, as a model; pairs without a sample have even probabilities."""
    t = access.model.tables
    pair = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    total = access.pair_samples()[pair]
    observed = access.counts / np.maximum(total, 1)
    return with_probabilities(
        access.model, np.where(total > 0, observed, even_probabilities(access.model))
    )


def reward_bound_of(model: RMDP, task: Task) -> float:
    """The greatest reward in absolute value, given or that of the model."""
    if task.reward_bound is not None:
        return task.reward_bound
    return float(np.abs(model.tables.reward).max(initial=0.0))


def plan_one_exit(model: RMDP, task: Task) -> tuple[Plan, float]:
    """How often every pair is to be drawn, and the K that this rests on.

    Raises:
        NotProperError: No K is given, and none is found.
    """
    steps = _steps(model, task)
    reward = reward_bound_of(model, task)
    closeness = one_exit_closeness((1 - SOLVED) * task.epsilon, reward, steps)
    support = np.diff(model.tables.transition_start)
    return Plan(closeness, weissman_samples(closeness, support, task.delta)), steps(closeness)


def _steps(model: RMDP, task: Task) -> Callable[[float], float]:
    if task.steps is not None:
        given = task.steps
        return lambda closeness: given
    analysis = analyse(model)
    if analysis.verdict != "proper" or not np.isfinite(analysis.bound_everywhere):
        raise NotProperError(f"no bound on the steps is known: {analysis}. Give one as `steps`")
    return steps_of_analysis(analysis)


def learn_planned(model: RMDP, task: Task) -> Guarantee:
    """Draw as planned, then solve the learned model by the linear program."""
    access = ModelAccess(model, task.seed)
    plan, steps = plan_one_exit(model, task)
    draw_plan(access, plan, task)
    learned = learned_model(access)
    solution = solve(learned, "linear-program", SOLVED * task.epsilon)
    room = (1 - SOLVED) * task.epsilon
    reward = reward_bound_of(model, task)
    assert solution.policy is not None
    return Guarantee(
        learned,
        solution.lower - room,
        solution.upper + room,
        solution.value,
        Policy.stackless(model, solution.policy.actions),
        loss=2 * task.epsilon,
        epsilon=task.epsilon,
        delta=task.delta,
        reached=True,
        samples=access.samples,
        planned=plan.total,
        method="plan",
        numbers={
            "Bound K on expected steps": steps,
            "Bound on rewards": reward,
            "Closeness of every pair (sum of differences)": plan.closeness,
            "Most samples of a pair": float(plan.samples.max()),
            "Rule": "values differ by at most 2 closeness K² r; Weissman's inequality",
        },
        unseen=unseen(access.view()),
    )


def draw_plan(access: ModelAccess, plan: Plan, task: Task) -> None:
    """Draw what a plan asks for and the counts on disk do not have yet."""
    if task.most is not None and plan.total > task.most:
        raise LimitError(
            f"the plan takes {plan.total:,} samples, more than {task.most:,}: learn adaptively"
        )
    if task.checkpoint is not None:
        load_counts(task.checkpoint, access)
    access.draw(np.maximum(plan.samples - access.pair_samples(), 0))
    if task.checkpoint is not None:
        save_counts(task.checkpoint, access)


def total_or_none(plan: Callable[[], Plan]) -> int | None:
    """Samples that a plan would take; None where it has no answer."""
    try:
        return plan().total
    except (NotProperError, LimitError):
        return None


def learn_adaptively(model: RMDP, task: Task) -> Guarantee:
    """Draw where it matters until the interval is as narrow as asked."""
    access = ModelAccess(model, task.seed)
    family, steps = task.intervals, task.steps
    run = Adaptive(access, task.epsilon, task.delta, family=family, steps=steps)
    if task.checkpoint is not None:
        load_counts(task.checkpoint, access, run.bounds)
    run.run(task.most, _saving(task, run))
    if task.checkpoint is not None:
        save_counts(task.checkpoint, access, run.bounds)
    bounds = run.bounds
    policy, attained = _policy(model, run, steps)
    known = "given" if steps is not None else "found from the data"
    return Guarantee(
        learned_model(access),
        bounds.lower,
        bounds.upper,
        (bounds.lower + bounds.upper) / 2,
        policy,
        loss=bounds.upper - attained,
        epsilon=task.epsilon,
        delta=task.delta,
        reached=run.reached,
        samples=access.samples,
        planned=total_or_none(lambda: plan_one_exit(model, task)[0]),
        method="adaptive",
        numbers={
            f"Bound K on expected steps, {known}": np.inf if bounds.steps is None else bounds.steps,
            "Confidence sets": f"{family}, one per pair and level, level j with delta/(N j (j+1))",
            "Random pairs N": float((access.support > 1).sum()),
            "Rounds": float(access.round),
        },
        unseen=unseen(access.view()),
        warnings=endless(bounds.upper - bounds.lower),
    )


def _policy(model: RMDP, run: Adaptive, steps: float | None) -> tuple[Policy, float]:
    """The pessimistic policy of the last sets, and what it is worth in all of their models.

    The bounds of the run may owe something to earlier sets, under which other actions were best.
    """
    last = RobustBounds(run.access.model, steps)
    last.tighten(run.sets, tolerance=1e-6 * run.epsilon)
    choice = last.choice(run.sets, -1.0) - model.tables.action_start[:-1]
    return Policy.stackless(model, np.where(model.tables.states, choice, 0)), last.lower


def _saving(task: Task, run: Adaptive) -> Callback | None:
    """A callback that also writes the counts down."""
    if task.checkpoint is None:
        return task.callback
    path, told = task.checkpoint, task.callback

    def save(lower: float, upper: float, work: dict[str, float]) -> None:
        save_counts(path, run.access, run.bounds)
        if told is not None:
            told(lower, upper, work)

    return save
