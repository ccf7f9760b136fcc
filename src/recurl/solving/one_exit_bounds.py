"""Bounds that hold: vectors that satisfy the inequalities of an upper or a lower bound.

On a proper model U >= F(U) implies U >= x, and L <= F(L) implies L <= x. If d >= 1 + P d for the
weights P of every action, then x~ + t d is such a U as soon as t is at least the greatest excess
F(x~) - x~, and x~ - t d such an L, for any x~ at all, however it was found. Both are checked in
floats with the rounding errors of every row counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.solving.one_exit_iteration import HUGE, Iterate, policy_iteration
from recurl.solving.one_exit_kernel import (
    UNIT,
    greatest_sum,
    holds_above,
    holds_below,
    shortfalls,
    slopes,
)

if TYPE_CHECKING:
    from recurl.model.tables import Floats
    from recurl.solving.one_exit_kernel import Indices
    from recurl.solving.one_exit_system import System

_ROUGH = 0.01
_TRIES = 30
_UNIFORM = 1e-4


class Bounds(NamedTuple):
    """Values of rows between which the optimum lies, and actions that attain the lower ones."""

    lower: Floats
    upper: Floats
    choice: Indices


def step_bounds(system: System) -> Floats | None:
    """Some d with d >= 1 + P d for all actions, rounding counted; None if none was found.

    It exists exactly if every policy is proper, and bounds the expected steps to leave. Where every
    action stops with a probability of at least s, 1/s will do. Else the greatest expected steps are
    computed to a percent and enlarged by as much.
    """
    eq = system.equations
    left = 1.0 - greatest_sum(eq)
    if left >= _UNIFORM:
        return np.full(system.n_rows, (1.0 + 1e-9) / left)
    ones = np.ones_like(system.gain)
    it = Iterate.first(eq, ones)
    if not policy_iteration(it, _ROUGH) or not 0 <= it.x.min() <= it.x.max() < HUGE:
        return None
    steps = it.x / (1 - 2 * _ROUGH)
    return steps if holds_above(eq, ones, ones, steps) else None


def enclose(system: System, it: Iterate, steps: Floats) -> Bounds:
    """The tightest bounds of the form x~ - t d and x~ + t d that hold."""
    eq, gain, size = system.equations, system.gain, system.size
    choice = it.choice.copy()

    def above(x: Floats) -> bool:
        return bool(holds_above(eq, gain, size, x))

    def below(x: Floats) -> bool:
        return bool(holds_below(eq, gain, size, x, choice))

    up, down = slopes(eq, gain, size, it.x, steps, choice)
    lower = _shift(it.x, down, -steps, below)
    return Bounds(lower, _shift(it.x, up, steps, above), choice)


def enclose_tightly(system: System, it: Iterate, steps: Floats) -> Bounds:
    """Bounds x~ + e with the least e, row by row, for which they hold.

    For the upper one e(q) = max_a shortfall(a) + P_a e, the equations of another optimum; where
    good policies end sooner than bad ones, that is far below a multiple of the greatest steps. For
    the lower one, only the chosen actions matter.
    """
    eq, gain, size, x = system.equations, system.gain, system.size, it.x
    choice = it.choice.copy()
    up = _least(it, shortfalls(eq, gain, size, x, 1.0), steps)
    chosen = np.full_like(gain, -HUGE)
    chosen[choice] = shortfalls(eq, gain, size, x, -1.0)[choice]
    lower, upper = x - _least(it, chosen, steps), x + up
    if not holds_above(eq, gain, size, upper):
        upper = math.inf * steps
    if not holds_below(eq, gain, size, lower, choice):
        lower = -math.inf * steps
    return Bounds(lower, upper, choice)


def _least(it: Iterate, shortfall: Floats, steps: Floats) -> Floats:
    """The least e >= shortfall + P e, nearly."""
    other = Iterate(it.equations, shortfall, np.zeros_like(it.x), it.choice.copy(), steps)
    policy_iteration(other, 0.1 * float(np.abs(shortfall[it.choice]).min()))
    return other.x


def _shift(x: Floats, slope: float, steps: Floats, holds: Callable[[Floats], bool]) -> Floats:
    """X + slope steps, with a little more slope until it holds, since the sum is rounded too."""
    extra = 8 * UNIT * float(np.abs(x).max())
    slope += extra
    for _ in range(_TRIES):
        shifted = x + slope * steps
        if holds(shifted):
            return shifted
        slope += extra
        extra *= 2
    return math.inf * steps
