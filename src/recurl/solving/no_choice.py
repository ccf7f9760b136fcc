"""Models that leave nothing to decide: recursive Markov chains, evaluated."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import CertificateError, NotProperError
from recurl.policy import Policy
from recurl.solving.chain_certificate import chain_certificate
from recurl.solving.evaluate import evaluate
from recurl.solving.outward import float_above, float_below
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question


def has_choice(model: RMDP) -> bool:
    """Whether some vertex has more than one action."""
    return bool((np.diff(model.tables.action_start) > 1).any())


def solve_chain(model: RMDP, question: Question, epsilon: float, **options: Any) -> Solution:
    """The expected total of a model with one action everywhere; see `evaluate`.

    The interval is the one that its certificate proves, if there is one.

    Example:
        >>> import recurl
        >>> solution = recurl.solve(recurl.zoo.and_or())
        >>> round(solution.lower, 9), solution.method
        (0.58113883, 'evaluation')
    """
    began = time.perf_counter()
    found = evaluate(Policy.uniform(model), exit_values=question.exit_values or None)
    low, high, reason = found.lower, found.upper, found.reason
    if question.rewards == "steps":
        low, high = found.steps_interval
    elif question.rewards == "none":
        low, high = _worth_of_exits(question, list(found.exit_intervals.values()))
    certify: Callable[[], Certificate] = partial(chain_certificate, model, question)
    if math.isfinite(low) and math.isfinite(high):
        with suppress(CertificateError):
            proved = certify()
            assert proved.lower is not None
            assert proved.upper is not None
            low, high, certify = proved.lower, proved.upper, lambda: proved
    return Solution(
        model,
        question,
        low,
        high,
        method="evaluation",
        reason=reason or "there is nothing to decide",
        policy=found.policy,
        seconds=time.perf_counter() - began,
        _certify=certify,
    )


def solve_chain_given_end(model: RMDP, question: Question) -> Solution:
    """The expected total reward of the runs that end, of a model with one action everywhere.

    Raises:
        NotProperError: No run ends, or no bounds are proved.
    """
    began = time.perf_counter()
    found = evaluate(Policy.uniform(model))
    low, high = found.given_end
    if math.isinf(low) and low != high:
        chance = found.termination
        why = "no run ends" if chance[1] <= 0 else "bounds of it cannot be proved in floats"
        raise NotProperError(f"{model.name}: the reward of the runs that end is not known: {why}")
    return Solution(
        model,
        question,
        low,
        high,
        method="evaluation",
        reason=f"there is nothing to decide; runs end with probability {found.termination[1]:.6g}",
        policy=found.policy,
        seconds=time.perf_counter() - began,
    )


def _worth_of_exits(
    question: Question, intervals: list[tuple[float, float]]
) -> tuple[float, float]:
    pairs = list(zip(map(Fraction, question.exit_values), intervals, strict=True))
    low = sum(worth * Fraction(a if worth >= 0 else b) for worth, (a, b) in pairs)
    high = sum(worth * Fraction(b if worth >= 0 else a) for worth, (a, b) in pairs)
    return float_below(Fraction(low)), float_above(Fraction(high))
