"""1-exit models with a policy that does not end: infinite values, or an explanation."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import NotProperError
from recurl.solving.properness import analyse
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.solving.properness import Analysis
    from recurl.solving.question import Question


def solve_improper(model: RMDP, question: Question, began: float) -> Solution:
    """The infinite optimum of a model that is not proper, where there is one.

    If every step pays something positive, a policy that takes infinitely many steps on average
    collects infinitely much. If every step costs something and no exit can be reached at all,
    every policy pays infinitely much.

    Raises:
        NotProperError: The optimum is finite, or not known to be infinite.
    """
    analysis = analyse(model)
    value = _infinite_value(model, question, analysis)
    if value is None:
        raise NotProperError(_explanation(model, analysis))
    best = value * question.sign
    policy = analysis.witness if value > 0 else None
    return Solution(
        model,
        question,
        best,
        best,
        "properness",
        reason=f"{_sense(value, question)}; {analysis.reason}",
        policy=policy,
        seconds=time.perf_counter() - began,
    )


def _infinite_value(model: RMDP, question: Question, analysis: Analysis) -> float | None:
    """Inf or -inf, in the sense in which totals are made great; None if neither is proved."""
    if analysis.verdict != "not proper":
        return None
    rewards = _reachable_rewards(model, question)
    if rewards.min() > 0:
        return math.inf
    t = model.tables
    starts_dead = bool(model.reach.dead[t.starts].any())
    return -math.inf if rewards.max() < 0 and starts_dead else None


def _reachable_rewards(model: RMDP, question: Question) -> Floats:
    """Rewards of the transitions that a run can meet."""
    t = model.tables
    taken = np.repeat(model.reach.reachable[t.action_vertex], np.diff(t.transition_start))
    rewards: Floats = question.transition_rewards(t)[taken & (t.prob > 0)]
    return rewards


def _sense(value: float, question: Question) -> str:
    if value > 0:
        what = "pays" if question.sign > 0 else "costs less than nothing"
        return f"every step {what}, and a policy can take infinitely many"
    return "every step counts against the aim, and no exit can be reached"


def _explanation(model: RMDP, analysis: Analysis) -> str:
    text = f"{model.name}: no optimum can be given, for not every policy is known to end. "
    text += analysis.reason
    if analysis.verdict == "proper":
        text += "; but from vertices that no run reaches, some policy does not end: remove them"
    return text
