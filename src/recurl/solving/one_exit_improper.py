"""1-exit models with a policy that does not end: infinite values, or an explanation."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import NotProperError
from recurl.solving.solution import Solution
from recurl.solving.termination import termination

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.solving.properness import Analysis
    from recurl.solving.question import Question


def ending(model: RMDP, question: Question) -> Solution:
    """What the exit is worth, times the probability to reach it: no rewards are paid."""
    worth = question.exit_values[0] if question.exit_values else 0.0
    others = {"max": "min", "min": "max"}
    found = termination(model, question.objective if worth >= 0 else others[question.objective])
    low, high = sorted((worth * found.lower, worth * found.upper))
    return replace(found, question=question, lower=low, upper=high)


def infinite(model: RMDP, question: Question, analysis: Analysis, *, began: float) -> Solution:
    """The infinite optimum of a model that is not proper, where there is one.

    If every step pays something, a policy that takes infinitely many steps on average collects
    infinitely much. If every step costs something, and every policy takes infinitely many steps
    on average, then all pay infinitely much. Every policy does so if there is only one, if no
    exit can be reached, or if even the greatest probability to end is below 1.

    Raises:
        NotProperError: The optimum is not known to be infinite.
    """
    value = _infinite_value(model, question, analysis)
    if value is None:
        raise NotProperError(_explanation(model, analysis))
    best = value * question.sign
    sense = "a policy can" if value > 0 else "every policy must"
    return Solution(
        model,
        question,
        best,
        best,
        "properness",
        reason=f"{sense} take infinitely many steps, all of which count: {analysis.reason}",
        policy=analysis.witness,
        seconds=time.perf_counter() - began,
    )


def _infinite_value(model: RMDP, question: Question, analysis: Analysis) -> float | None:
    """``inf`` or ``-inf``, as totals are made great; None if neither is proved."""
    rewards = _reachable_rewards(model, question)
    if analysis.verdict != "not proper" or rewards.min() <= 0 <= rewards.max():
        return None
    if rewards.min() > 0:
        return math.inf
    forced = _no_choice(model) or _stuck(model) or termination(model).upper < 1.0
    return -math.inf if forced else None


def _reachable_rewards(model: RMDP, question: Question) -> Floats:
    """Rewards of the transitions that a run can meet."""
    t = model.tables
    taken = np.repeat(model.reach.reachable[t.action_vertex], np.diff(t.transition_start))
    rewards: Floats = question.transition_rewards(t)[taken & (t.prob > 0)]
    return rewards


def _stuck(model: RMDP) -> bool:
    """Whether a run may start where no exit can be reached."""
    return bool(model.reach.dead[model.tables.starts].any())


def _no_choice(model: RMDP) -> bool:
    count = np.diff(model.tables.action_start)
    return bool((count[model.reach.reachable] <= 1).all())


def _explanation(model: RMDP, analysis: Analysis) -> str:
    """Why there is no answer, and what can be done."""
    if analysis.verdict != "not proper":
        return f"{model.name}: no optimum can be given, as its step bounds are not known: " + (
            analysis.reason
        )
    text = f"{model.name} is not proper: {analysis.reason}"
    if analysis.witness is not None:
        text += f", for example {_named(model, analysis)}"
    return f"{text}. Totals need not be finite then; discount it, or let every action end sometimes"


def _named(model: RMDP, analysis: Analysis) -> str:
    """A few choices of the witness, at places without a bound on the steps."""
    assert analysis.witness is not None
    t, steps = model.tables, analysis.steps
    lost = np.ones(t.n_vertices, np.bool_) if steps is None else ~np.isfinite(steps)
    places = np.flatnonzero(lost & t.states & model.reach.reachable)[:3].tolist()
    names = map(model.vertex_name, places)
    return "with " + ", ".join(f"{analysis.witness.action_name(v)!r} at {v}" for v in names)
