"""Policy iteration and value iteration on equations without calls, block by block."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recurl.solving.one_exit_kernel import UNIT, Equations, Indices, improve, solve_small
from recurl.solving.one_exit_linear import LinearSolver
from recurl.solving.one_exit_linear_kernel import select_chain, shift_chain, sweep_chain

if TYPE_CHECKING:
    from recurl.model.tables import Floats

DENSE = 60
"""Rows up to which a block is solved by dense elimination."""
HUGE = 1e14
"""Values that only a model without finite ones leads to."""
_SWEEPS, _PATIENCE, _ROUNDS = 5, 10, 400


@dataclass(eq=False)
class Iterate:
    """Values and a policy that are being improved.

    Attributes:
        equations: The equations.
        gain: What each action pays.
        x: Value of each row.
        choice: Action of each row, counted among all.
        right: Positive vector, near to ``right >= 1 + P right``: how slow errors are spread; None
            if the values themselves are that, and therefore not negative under any proper policy.
        work: Counts of what was done.
    """

    equations: Equations
    gain: Floats
    x: Floats
    choice: Indices
    right: Floats | None = None
    work: dict[str, float] = field(default_factory=dict)

    @classmethod
    def first(cls, equations: Equations, gain: Floats, right: Floats | None = None) -> Iterate:
        """Values 0 and first actions."""
        x = np.zeros(len(equations.action_start) - 1)
        return cls(equations, gain, x, equations.action_start[:-1].copy(), right)

    def count(self, what: str, times: float) -> None:
        """Add to the work done."""
        self.work[what] = self.work.get(what, 0) + times


def policy_iteration(it: Iterate, tolerance: float) -> bool:
    """Improve until no sweep changes a value by more than the tolerance, block after block.

    Returns False if a block has a policy that is seen not to be proper.
    """
    starts = it.equations.block_start
    block, proper = 0, True
    while proper:
        block, proper = solve_small(it.equations, it.gain, it.x, it.choice, block, DENSE)
        if block == len(starts) - 1 or not proper:
            break
        proper = _large_block(it, int(starts[block]), int(starts[block + 1]), tolerance)
        block += 1
    it.work["blocks"] = len(starts) - 1
    return proper


def _large_block(it: Iterate, first: int, last: int, tolerance: float) -> bool:
    """Rounds of improving and evaluating the policy; evaluation by sweeps while they are quick."""
    x, left, slow = it.x[first:last], math.inf, False
    solver = LinearSolver(last - first)
    for round_ in range(_ROUNDS):
        change, switched = improve(it.equations, it.gain, it.x, it.choice, first, last)
        if not change < HUGE:
            return False
        if change <= _floor(x, tolerance):
            break
        chain = select_chain(it.equations, it.gain, it.x, it.choice, first, last)
        if not slow:
            before, left = (left, change) if it.right is None else (change, left)
            sweep_chain(chain, x, _SWEEPS)
            if it.right is not None:
                left = shift_chain(chain, x, it.right[first:last])
            it.count("sweeps", _SWEEPS + 1)
            slow = round_ > 0 and _rounds_left(left, before, tolerance) > _PATIENCE
            continue
        # While the policy still changes, its exact values are not worth the effort.
        reduction = 0.1 if switched > len(x) / 1000 else max(1e-5, 0.3 * tolerance / change)
        right = it.x if it.right is None else it.right
        times = solver.improve(chain, x, np.maximum(right[first:last], 1.0), reduction)
        it.count("linear iterations", times)
        if it.right is None and x.min() < 0:
            return False
    it.count("rounds", round_ + 1)
    return True


def _floor(x: Floats, tolerance: float) -> float:
    """Changes that are not worth another round, or drown in rounding."""
    return max(tolerance, 16 * UNIT * float(np.abs(x).max()))


def _rounds_left(change: float, before: float, tolerance: float) -> float:
    """How many more rounds of sweeps it would take if changes go on to shrink as they did."""
    if change <= tolerance:
        return 0.0
    if change >= before or tolerance <= 0:
        return math.inf
    return math.log(tolerance / change) / math.log(change / before)


def value_iteration(it: Iterate, tolerance: float) -> bool:
    """Sweep block after block until no value changes by more than the tolerance."""
    starts = it.equations.block_start
    sweeps = 0
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        best, since = math.inf, 0
        while since < 2000:
            change, _ = improve(it.equations, it.gain, it.x, it.choice, first, last)
            sweeps += 1
            if not change < HUGE:
                return False
            if change <= _floor(it.x[first:last], tolerance):
                break
            best, since = (change, 0) if change < best else (best, since + 1)
    it.work["blocks"] = len(starts) - 1
    it.count("sweeps", sweeps)
    return True
