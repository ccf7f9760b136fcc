"""Refine values of a 1-exit system until the interval at the start is narrow enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recurl.policy import Policy
from recurl.solving.blocks import Iterate, linear_program, policy_iteration, value_iteration
from recurl.solving.budget import TimeUpError
from recurl.solving.one_exit_bounds import Bounds, enclose, enclose_tightly, one_exit_certificate
from recurl.solving.solution import Solution, is_watched

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.tables import Floats
    from recurl.solving.one_exit_system import System

Callback = Callable[[float, float, dict[str, float]], object]
"""Called with every interval on the way: ``callback(lower, upper, work)``."""

ITERATIONS = {
    "policy-iteration": policy_iteration,
    "value-iteration": value_iteration,
    "linear-program": linear_program,
}
"""The methods: each improves an `Iterate` to a tolerance."""

_STAGE, _FAILURES = 0.01, 2


class OneExitSearch:
    """A search for tight bounds.

    Args:
        system: The equations.
        steps: Some d with d >= 1 + P d for all actions.
        method: One of `ITERATIONS`.
    """

    def __init__(self, system: System, steps: Floats, method: str) -> None:
        self.system, self.steps, self.method = system, steps, method
        self.iterate = Iterate.first(system.equations, system.gain, steps)
        self.bounds: Bounds | None = None
        self.ended = False

    def run(self, epsilon: float, at_least: float, callback: Callback | None) -> str:
        """Refine until done; returns what is to be added to the reason.

        With somebody to tell, or a threshold that might be decided early, the width asked for falls
        in stages.
        """
        aim = epsilon
        if is_watched(callback) or not math.isnan(at_least):
            aim = max(epsilon, _STAGE * float(self.system.size.max()))
        failures = 0
        while True:
            self._refine(aim, enclose if failures < 2 else enclose_tightly)
            low, high = self.interval
            if callback is not None:
                callback(low, high, dict(self.iterate.work))
            if high - low <= epsilon:
                return ""
            if low >= at_least or high < at_least:
                return "; stopped where the threshold is decided"
            if self.ended:
                return "; the time is up"
            failures += aim <= epsilon
            if failures > _FAILURES:
                return "; floats allow no narrower interval"
            aim = max(aim * _STAGE, epsilon) if aim > epsilon else aim * _STAGE

    def _refine(self, width: float, bounds: Callable[[System, Iterate, Floats], Bounds]) -> None:
        """Iterate as far as bounds of a given width need; keep the better of old and new ones."""
        # Bounds are about one change of the last sweep, times the steps, away on either side.
        tolerance = width / (3 * max(1.0, self.system.at_start(self.steps, math.inf)))
        try:
            ITERATIONS[self.method](self.iterate, tolerance)
        except TimeUpError:  # any values have bounds
            self.ended = True
        new = bounds(self.system, self.iterate, self.steps)
        if self.bounds is None or self._width(new) < self._width(self.bounds):
            self.bounds = new

    def _width(self, bounds: Bounds) -> float:
        at = self.system.at_start
        return at(bounds.upper, math.inf) - at(bounds.lower, -math.inf)

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end at the start, in the sense of the question."""
        assert self.bounds is not None
        low = self.system.at_start(self.bounds.lower, -math.inf)
        high = self.system.at_start(self.bounds.upper, math.inf)
        return (low, high) if self.system.question.sign > 0 else (0.0 - high, 0.0 - low)

    def solution(self, reason: str, began: float) -> Solution:
        """The result of a search that began at a time."""
        assert self.bounds is not None
        system = self.system
        lower = system.by_vertex(self.bounds.lower, -math.inf)
        upper = system.by_vertex(self.bounds.upper, math.inf)
        actions = system.local_choice(self.bounds.choice)
        flipped = system.question.sign < 0
        low, high = self.interval

        def certify() -> Certificate:
            return one_exit_certificate(
                system.model,
                system.question,
                (low, high),
                lower=np.nan_to_num(lower),
                upper=np.nan_to_num(upper),
                actions=actions,
                steps=np.nan_to_num(system.by_vertex(self.steps, math.inf)),
            )

        return Solution(
            system.model,
            system.question,
            low,
            high,
            self.method,
            reason=reason,
            policy=Policy.stackless(system.model, actions),
            values_lower=0.0 - upper if flipped else lower,
            values_upper=0.0 - lower if flipped else upper,
            work=self.iterate.work,
            seconds=time.perf_counter() - began,
            _certify=certify,
        )
