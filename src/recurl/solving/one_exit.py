"""1-exit models: the optimum as an interval that holds, by three methods."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.solving.blocks import SMALL
from recurl.solving.finite import solve_finite
from recurl.solving.improper import improper_optimum
from recurl.solving.one_exit_bounds import step_bounds
from recurl.solving.one_exit_search import OneExitSearch
from recurl.solving.one_exit_system import System
from recurl.solving.properness import analyse
from recurl.solving.termination import solve_ending

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.one_exit_search import Callback
    from recurl.solving.question import Question
    from recurl.solving.solution import Solution

_QUICKLY = ("auto", "policy-iteration")
"""Methods by which flat models are solved without bounds on the steps of all policies."""
_QUICK = 0.9
"""Greatest sum of weights of an action with which sweeps are as quick as anything."""


def solve_one_exit(
    model: RMDP,
    question: Question,
    epsilon: float,
    *,
    method: str = "auto",
    at_least: float | None = None,
    callback: Callback | None = None,
) -> Solution:
    """The optimum of a 1-exit model, in an interval of width epsilon at the start.

    Args:
        model: A 1-exit model.
        question: What is asked.
        epsilon: Greatest width of the interval at the start, absolute.
        method: ``"policy-iteration"``, ``"value-iteration"``, ``"linear-program"`` or ``"auto"``.
        at_least: Stop as soon as the interval tells whether the optimum reaches this threshold.
        callback: Called with every interval on the way.

    Raises:
        NotProperError: Some policy is not proper, and no infinite value follows from that.
    """
    began = time.perf_counter()
    options: dict[str, Any] = {"at_least": at_least, "callback": callback}
    flat = model.tables.n_components == 1 and model.tables.n_boxes == 0
    if (flat and method in _QUICKLY) or question.rewards == "none":
        found = solve_finite(
            model, question, epsilon, quickly=question.rewards != "none", **options
        )
        if found is not None:
            return found
    system = System.of(model, question)
    steps = step_bounds(system)
    if steps is None and question.rewards == "none":
        return solve_ending(model, question)
    if steps is None and (found := solve_finite(model, question, epsilon, **options)):
        return found
    if steps is None:
        analysis = analyse(model)
        if analysis.verdict != "proper" or analysis.steps is None:
            return improper_optimum(model, question, analysis, began=began)
        system = System.of(model, question, np.isfinite(analysis.steps))
        steps = analysis.steps[system.vertex]
    picked, reason = _pick(system) if method == "auto" else (method, "as asked")
    if not system.complete:
        reason += "; vertices that no run visits, and from which one need not end, are left out"
    search = OneExitSearch(system, steps, picked)
    reason += search.run(epsilon, math.nan if at_least is None else at_least, callback)
    return search.solution(reason, began)


def _pick(system: System) -> tuple[str, str]:
    """The method for a system, and why."""
    largest, count = int(system.block_sizes.max()), len(system.block_sizes)
    shape = f"{system.n_rows} states in {count} blocks, the largest of {largest}"
    if largest > SMALL and system.equations.greatest_sum() <= _QUICK:
        return "value-iteration", f"{shape}, and every action stops soon"
    return "policy-iteration", shape
