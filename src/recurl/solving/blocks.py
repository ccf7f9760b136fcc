"""One solver for ``x = max(g + P x)``: policy and value iteration, block after block.

Small blocks are solved together: policy iteration with sparse elimination. Large ones have rounds
of improving and evaluating the policy; it is evaluated by sweeps while they are quick, then by
GMRES, and only as exactly as is worth the effort while it still changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import NotProperError
from recurl.solving import linear
from recurl.solving.digraphs import product
from recurl.solving.equations import UNIT, Equations
from recurl.solving.linear import (
    Chain,
    LinearSolver,
    batches,
    chosen_lines,
    fills_little,
    inner_part,
    solve_directly,
    unsigned,
)

if TYPE_CHECKING:
    from recurl.model.tables import Floats, Ints, Mask

HUGE = 1e14
"""Values that only a model without finite ones leads to."""
_SWEEPS, _PATIENCE, _ROUNDS, _STALLED = 2, 13, 400, 5
_BETWEEN = 5
"""Sweeps over small blocks between eliminations."""
_FINEST, _COARSEST = 1e-10, 1e-4
_FEW = 2.5
"""Numbers of a row, on average, with which elimination takes no longer than a few sweeps."""


@dataclass(eq=False)
class Iterate:
    """Values and a policy that are being improved.

    Attributes:
        equations: The equations, loops of a row to itself being solved for.
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
    choice: Ints
    right: Floats | None = None
    work: dict[str, float] = field(default_factory=dict)

    @classmethod
    def first(cls, equations: Equations, gain: Floats, right: Floats | None = None) -> Iterate:
        """Values 0 and first actions."""
        equations, scale = equations.without_loops()
        x = np.zeros(equations.size)
        return cls(equations, gain * scale, x, equations.action_start[:-1].copy(), right)

    def only(self, keep: Mask) -> Iterate:
        """The same for the rows of whole blocks that do not refer to others."""
        eq = self.equations
        number = np.cumsum(eq.owners(keep)) - 1
        return Iterate(
            eq.only(keep),
            self.gain[eq.owners(keep)],
            self.x[keep],
            number[self.choice[keep]].astype(np.int32),
            None if self.right is None else self.right[keep],
            self.work,
        )

    @cached_property
    def owner(self) -> Ints:
        """Row of each action."""
        return self.equations.owners(np.arange(self.equations.size, dtype=np.int32))

    def count(self, what: str, times: float) -> None:
        """Add to the work done."""
        self.work[what] = self.work.get(what, 0) + times

    def improve(self, first: int, last: int) -> tuple[float, int]:
        """One sweep of value iteration over rows; greatest change, rows that switched.

        An action is kept unless another one is better by more than rounding.
        """
        if last - first >= linear.LARGE:
            return self._improve_in_order(first, last)
        eq, rows = self.equations, slice(first, last)
        a, b = int(eq.action_start[first]), int(eq.action_start[last])
        value = product(eq.lines(a, b), self.x)
        value += self.gain[a:b]
        best = np.maximum.reduceat(value, eq.action_start[rows] - a)
        choice, x = self.choice[rows], self.x[rows]
        own = value[choice - a]
        better = best > own + 8 * UNIT * np.abs(own)
        if switched := int(np.count_nonzero(better)):
            owner = self.owner[a:b] - first
            hits = np.flatnonzero(value == np.where(better, best, np.nan)[owner])[::-1]
            choice[owner[hits]] = hits + a
        with np.errstate(invalid="ignore"):
            change = float(np.abs(best - x).max())
        x[:] = best
        return change, switched

    def _improve_in_order(self, first: int, last: int) -> tuple[float, int]:
        """The same with new values of rows used by the rows after them."""
        from recurl.solving.sweep_kernel import improve_rows

        eq, m = self.equations, self.equations.matrix
        return improve_rows(
            unsigned(eq.action_start),
            unsigned(m.indptr),
            unsigned(m.indices),
            m.data,
            self.gain,
            self.x,
            self.choice.view(np.uint32),  # written to
            first,
            last,
        )

    def sweep(self, first: int, last: int, times: int) -> Floats:
        """Sweep over rows under the chosen actions; what another sweep would add to them."""
        x = self.x[first:last]
        if last - first < linear.LARGE:
            chain = self.chain(first, last)
            x[:] = chain.sweep(x, times)
            return chain.remainder(x)
        from recurl.solving.sweep_kernel import sweep_rows

        chosen, after = self.choice[first:last], np.empty_like(x)
        m, gain = chosen_lines(self.equations.matrix, chosen), self.gain[chosen]
        start, column = unsigned(m.indptr), unsigned(m.indices)
        for out in [*[x] * times, after]:
            sweep_rows(start, column, m.data, gain, self.x, out)
        after -= x
        return after

    def falls(self, first: int, last: int) -> Floats:
        """By how much ``right`` falls along each action of some rows, being 0 at earlier ones."""
        assert self.right is not None
        a, b = self.equations.action_start[[first, last]].tolist()
        right = self.right[:last].copy()
        right[:first] = 0.0
        fall: Floats = right[self.owner[a:b]] - product(self.equations.lines(a, b), right)
        return fall

    def shift(self, first: int, last: int, rest: Floats, falls: Floats) -> float:
        """Add the multiple of ``right`` after which remainders sum to 0; the greatest one left.

        That takes care of the error that dies out most slowly where rows mix well. As
        ``right >= 1 + P right``, or nearly so, the multiple is finite. What remains is added too,
        which makes a sweep of it.
        """
        assert self.right is not None
        fall = falls[self.choice[first:last] - self.equations.action_start[first]]
        total = float(fall.sum())
        factor = float(rest.sum()) / total if total > 0.0 else 0.0
        rest = rest - factor * fall
        self.x[first:last] += factor * self.right[first:last] + rest
        return float(np.abs(rest).max())

    def chain(self, first: int, last: int) -> Chain:
        """The linear equations of rows under the chosen actions; earlier rows keep their values."""
        taken = self.choice[first:last]
        matrix, others = inner_part(chosen_lines(self.equations.matrix, taken), first, self.x)
        return Chain(matrix, self.gain[taken] + others)


def policy_iteration(it: Iterate, tolerance: float, first_block: int = 0) -> tuple[int, int] | None:
    """Improve until no sweep changes a value by more than the tolerance, block after block.

    Returns:
        None, or the rows (first, last) of a block with a policy that is seen not to be proper; the
        blocks before it are solved.
    """
    start = it.equations.block_start
    it.work["blocks"] = len(start) - 1
    for first, last in batches(start[first_block:]):
        own = start[first_block + first : first_block + last + 1]
        if not _solve(it, own, tolerance):
            return _first_failure(it, own, tolerance)
    return None


def _solve(it: Iterate, start: Ints, tolerance: float) -> bool:
    """Policy iteration on some blocks; whether the policies tried are proper, as far as seen."""
    first, last = int(start[0]), int(start[-1])
    if len(start) == 2 and last - first > linear.SMALL and not _nearly_ordered(it, first, last):
        return _large_block(it, first, last, tolerance)
    return _small_blocks(it, first, last, ordered=fills_little(start))


def _nearly_ordered(it: Iterate, first: int, last: int) -> bool:
    """Whether rows of a block refer to so few others that elimination hardly fills them."""
    if last - first > linear.DIRECT:
        return False
    chosen, start = it.choice[first:last], it.equations.matrix.indptr
    return int((start[chosen + 1] - start[chosen]).sum()) <= _FEW * (last - first)


def _first_failure(it: Iterate, start: Ints, tolerance: float) -> tuple[int, int]:
    """Rows of the first block that cannot be solved, among some that cannot be solved together."""
    while len(start) > 2:
        middle = len(start) // 2
        solved = _solve(it, start[: middle + 1], tolerance)
        start = start[middle:] if solved else start[: middle + 1]
    return int(start[0]), int(start[1])


def _small_blocks(it: Iterate, first: int, last: int, *, ordered: bool = False) -> bool:
    """Policy iteration with elimination."""
    for _ in range(100 + 10 * (last - first)):
        x = solve_directly(it.chain(first, last), ordered=ordered)
        if x is None or not _plausible(it, x):
            return False
        it.x[first:last] = x
        if it.improve(first, last)[1] == 0:
            break
        # A sweep costs little beside the elimination that it may save.
        for _ in range(_BETWEEN):
            if it.improve(first, last)[1] == 0:
                break
    return True


def _plausible(it: Iterate, x: Floats) -> bool:
    """Whether values may be those of a proper policy."""
    least = -HUGE if it.right is not None else 0.0
    return bool(np.isfinite(x).all()) and least <= float(x.min()) and float(x.max()) <= HUGE


def _large_block(it: Iterate, first: int, last: int, tolerance: float) -> bool:
    """Rounds of improving and evaluating the policy."""
    left, slow = math.inf, False
    least, since = math.inf, 0
    falls: Floats | None = None
    solver = LinearSolver(last - first)
    for round_ in range(_ROUNDS):
        change, switched = it.improve(first, last)
        if slow and switched:  # a sweep costs little beside the evaluation that it may save
            change, again = it.improve(first, last)
            switched += again
        if not change < HUGE:
            return False
        x = it.x[first:last]
        least, since = (change, 0) if change < 0.9 * least else (least, since + 1)
        if change <= _floor(x, tolerance) or (since > _STALLED and switched == 0):
            break
        if not slow:
            before, left = (left, change) if it.right is None else (change, left)
            rest = it.sweep(first, last, _SWEEPS)
            if it.right is not None:
                falls = it.falls(first, last) if falls is None else falls
                left = it.shift(first, last, rest, falls)
            it.count("sweeps", _SWEEPS + 1)
            slow = round_ > 0 and _rounds_left(left, before, tolerance) > _PATIENCE
            if slow and last - first <= linear.DIRECT:
                return _small_blocks(it, first, last)
            continue
        # While the policy still changes, its exact values are not worth the effort.
        chain = it.chain(first, last)
        reduction = 0.1 if switched > len(x) / 1000 else max(1e-5, 0.3 * tolerance / change)
        right = it.x if it.right is None else it.right
        times = solver.improve(chain, x, np.maximum(right[first:last], 1.0), reduction)
        it.count("linear iterations", times)
        if times == 0 or (it.right is None and x.min() < 0):
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


def value_iteration(it: Iterate, tolerance: float) -> tuple[int, int] | None:
    """Sweep until no value changes by more than the tolerance; returns as `policy_iteration`."""
    start = it.equations.block_start
    it.work["blocks"] = len(start) - 1
    for first, last in batches(start):
        rows = int(start[first]), int(start[last])
        best, since = math.inf, 0
        while since < 2000:
            change, _ = it.improve(*rows)
            it.count("sweeps", 1)
            if not change < HUGE:
                return rows
            if change <= _floor(it.x[rows[0] : rows[1]], tolerance):
                break
            best, since = (change, 0) if change < best else (best, since + 1)
    return None


def linear_program(it: Iterate, tolerance: float) -> None:
    """The reference method on small models: the linear program, then the best actions.

    Minimise ``sum x`` subject to ``x(row) >= gain(a) + sum weight x(column)`` for each action.

    Raises:
        NotProperError: The program has no solution, or none was found.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    eq, accuracy = it.equations, float(np.clip(tolerance, _FINEST, _COARSEST))
    own = np.repeat(np.arange(eq.size), np.diff(eq.action_start))
    here = csr_array((np.ones(len(own)), own, np.arange(len(own) + 1)), shape=eq.matrix.shape)
    found = linprog(
        np.ones(eq.size),
        A_ub=eq.matrix - here,
        b_ub=-it.gain,
        bounds=(None, None),
        method="highs",
        options={"primal_feasibility_tolerance": accuracy, "dual_feasibility_tolerance": accuracy},
    )
    if found.x is None:
        raise NotProperError(f"the linear program has no solution: {found.message}")
    it.x[:] = found.x
    it.count("linear programs", 1)
    it.improve(0, eq.size)
