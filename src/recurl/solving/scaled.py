"""Rewards that are very large or very small: solved in units of a power of two.

Floats have few digits left below 1e-300, and sums of numbers near 1e308 overflow. So the rewards
are divided by a power of two, exactly, and the answer multiplied by it again. The certificate stays
in these units, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from recurl.model.rmdp import RMDP
from recurl.policy import Policy
from recurl.solving.outward import float_above, float_below

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.tables import Floats
    from recurl.solving.question import Question
    from recurl.solving.solution import Solution

_USUAL = 40
"""Exponents of two up to which numbers are as good as any."""
_LEAST = 2.0**-30
_FINE, _ROUGH = 1e-12, 1e-6
"""Widths of intervals that can be reached, and that are narrow, in units of the greatest reward."""


def solve_scaled(
    kernel: Callable[..., Solution],
    model: RMDP,
    question: Question,
    epsilon: float,
    *,
    at_least: float | None,
    callback: Any,
) -> Solution:
    """Solve by a function; rewards of unusual size are brought to about 1 before, and back."""
    scale = scale_of(model, question)
    if scale == 0:
        return kernel(model, question, epsilon, at_least=at_least, callback=callback)
    width = min(max(_times(epsilon, -scale), _FINE), _ROUGH)
    threshold = None if at_least is None else _times(at_least, -scale)
    unit = _Unit(model, question, scale)
    found = kernel(
        unit.model, unit.question, width, at_least=threshold, callback=unit.tell(callback)
    )
    return unit.restore(found)


def scale_of(model: RMDP, question: Question) -> int:
    """The exponent of two of the greatest reward or worth of an exit, or 0 if it is not unusual.

    Example:
        >>> import recurl
        >>> scale_of(recurl.zoo.cloud(), recurl.Question())
        0
    """
    greatest = max(map(abs, question.exit_values), default=0.0)
    if question.rewards == "steps":  # a step is one in every unit
        return 0
    if question.rewards == "none" and _LEAST <= greatest <= 1.0 / _LEAST:
        return 0
    most = Fraction(greatest)
    if question.rewards == "model":
        most = max(most, *map(abs, model.exact.reward_range))
    if not most:
        return 0
    exponent = most.numerator.bit_length() - most.denominator.bit_length()
    worth = [Fraction(x) / Fraction(2) ** exponent for x in question.exit_values]
    if any(Fraction(float(x)) != x for x in worth):  # too small for floats, in that unit
        return 0
    return 0 if abs(exponent) <= _USUAL else exponent


def _times(number: float, exponent: int) -> float:
    """A number times a power of two; infinite if that is too large."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return math.copysign(math.inf, number)


def _finite(number: float) -> float | None:
    """A number that a certificate can claim."""
    return number if math.isfinite(number) else None


class _Unit:
    """A model in units of 2**scale, and the way back."""

    def __init__(self, model: RMDP, question: Question, scale: int) -> None:
        self.given, self.asked, self.scale = model, question, scale
        factor = Fraction(2) ** -scale
        self.question = replace(
            question, exit_values=tuple(float(Fraction(x) * factor) for x in question.exit_values)
        )
        self.model = model if question.rewards != "model" else model.with_rewards_times(factor)

    def tell(self, callback: Any) -> Any:
        """A callback that receives intervals in the usual unit."""
        if callback is None:
            return None
        return lambda lower, upper, work: callback(
            _times(lower, self.scale), _times(upper, self.scale), work
        )

    def restore(self, found: Solution) -> Solution:
        """The solution in the usual unit."""
        return replace(
            found,
            model=self.given,
            question=self.asked,
            lower=self._down(found.lower),
            upper=self._up(found.upper),
            policy=None if found.policy is None else self._policy(found.policy),
            values_lower=self._by_vertex(found.values_lower, self._down),
            values_upper=self._by_vertex(found.values_upper, self._up),
            _certify=lambda: self._certificate(found),
        )

    def _certificate(self, found: Solution) -> Certificate:
        own = found.certificate
        return msgspec.structs.replace(
            own,
            model=self.given.fingerprint,
            exit_values=list(self.asked.exit_values),
            lower=None if own.lower is None else _finite(self._down(own.lower)),
            upper=None if own.upper is None else _finite(self._up(own.upper)),
            scale=self.scale,
        )

    def _down(self, number: float) -> float:
        return float_below(self._exact(number))

    def _up(self, number: float) -> float:
        return float_above(self._exact(number))

    def _exact(self, number: float) -> Fraction | float:
        return Fraction(number) * Fraction(2) ** self.scale if math.isfinite(number) else number

    def _by_vertex(self, values: Floats | None, rounded: Callable[[float], float]) -> Floats | None:
        return None if values is None else np.array([rounded(x) for x in values.tolist()])

    def _policy(self, policy: Policy) -> Policy:
        return Policy(
            self.given,
            policy.context_component,
            policy.actions,
            callees=policy.callees,
            start=policy.start,
            kind=policy.kind,
        )
