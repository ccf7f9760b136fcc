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
from recurl.linear import systems
from recurl.linear.systems import (
    DENSE,
    Corrector,
    chosen_lines,
    solve,
    solve_entries,
    sweep,
    unsigned,
)
from recurl.model.tables import runs
from recurl.solving.budget import check_time, seconds_left
from recurl.solving.equations import UNIT, Equations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

    from recurl.model.tables import Floats, Ints, Mask

HUGE = 1e14
"""Values that only a model without finite ones leads to."""
_SWEEPS, _PATIENCE, _ROUNDS, _STALLED = 2, 13, 400, 5
_BETWEEN = 5
"""Sweeps over small blocks between eliminations."""
_FINEST, _COARSEST = 1e-10, 1e-4
_FEW = 2.5
"""Numbers of a row, on average, with which elimination takes no longer than a few sweeps."""
_FILL_OF_ROW = 60
"""Numbers of a row, on average, up to which inverses of blocks are small."""
SMALL, TOGETHER = 200, 3000
"""Rows up to which a block is small, and of small blocks that are solved at the same time."""


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

    @cached_property
    def action(self) -> Ints:
        """Action of each weight."""
        matrix = self.equations.matrix
        return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))

    def after(self, first: int, last: int, x: Floats) -> Floats:
        """The expected value after each of some actions, for values of rows."""
        matrix = self.equations.matrix
        if last - first == matrix.shape[0]:
            found: Floats = matrix @ x
            return found
        part = slice(*matrix.indptr[[first, last]])  # quicker than making a matrix of it
        after = matrix.data[part] * x[matrix.indices[part]]
        return np.bincount(self.action[part] - first, after, last - first).astype(np.float64)

    def count(self, what: str, times: float) -> None:
        """Add to the work done."""
        self.work[what] = self.work.get(what, 0) + times

    def improve(self, first: int, last: int) -> tuple[float, int]:
        """One sweep of value iteration over rows; greatest change, rows that switched.

        An action is kept unless another one is better by more than rounding.
        """
        if last - first >= systems.LARGE:
            return self._improve_in_order(first, last)
        eq, rows = self.equations, slice(first, last)
        a, b = int(eq.action_start[first]), int(eq.action_start[last])
        value = self.gain[a:b] + self.after(a, b, self.x)
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
        from recurl.linear.sweep_kernel import improve_rows

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
        if last - first < systems.LARGE:
            matrix, constant = self.chain(first, last)
            x[:] = sweep(matrix, constant, x, times)
            rest: Floats = constant + matrix @ x - x
            return rest
        from recurl.linear.sweep_kernel import sweep_rows

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
        right = np.zeros(self.equations.size)
        right[first:last] = self.right[first:last]
        fall: Floats = right[self.owner[a:b]] - self.after(a, b, right)
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

    def chain(self, first: int, last: int) -> tuple[csr_array, Floats]:
        """P and c of rows under the chosen actions; earlier rows keep their values."""
        taken = self.choice[first:last]
        lines, gain = chosen_lines(self.equations.matrix, taken), self.gain[taken]
        if first == 0:
            return lines[:, :last] if last < lines.shape[1] else lines, gain
        return lines[:, first:last], gain + lines[:, :first] @ self.x[:first]

    def solved(self, first: int, last: int, block_start: Ints | None) -> Floats | None:
        """Values of rows under the chosen actions, by elimination; None if there are none."""
        n, taken, matrix = last - first, self.choice[first:last], self.equations.matrix
        if n > DENSE:
            return solve(*self.chain(first, last), block_start=block_start)
        count = matrix.indptr[taken + 1] - matrix.indptr[taken]
        place, row = runs(matrix.indptr[taken], count), np.repeat(np.arange(n), count)
        column, weight = matrix.indices[place], matrix.data[place]
        inner = column >= first
        known = np.where(inner, 0.0, weight * self.x[column])
        constant = self.gain[taken] + np.bincount(row, known, n)
        return solve_entries(row[inner], column[inner] - first, weight[inner], constant)


def batches(block_start: Ints, largest: int | None = None) -> Iterator[tuple[int, int]]:
    """Runs of blocks (first, last) to be solved together: small ones, or a single large one."""
    largest = SMALL if largest is None else largest
    count = len(block_start) - 1
    large = np.append(np.flatnonzero(np.diff(block_start) > largest), count)
    first = 0
    while first < count:
        stop = int(large[np.searchsorted(large, first)])
        room = np.searchsorted(block_start, block_start[first] + TOGETHER, side="right") - 1
        last = first + 1 if stop == first else min(max(int(room), first + 1), stop)
        yield first, last
        first = last


def fills_little(block_start: Ints) -> bool:
    """Whether the inverses of all blocks have few numbers."""
    filled = float((np.diff(block_start).astype(np.float64) ** 2).sum())
    return filled <= _FILL_OF_ROW * int(block_start[-1] - block_start[0])


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
    if len(start) == 2 and last - first > SMALL and not _nearly_ordered(it, first, last):
        return _large_block(it, first, last, tolerance)
    return _small_blocks(it, first, last, start - first if fills_little(start) else None)


def _nearly_ordered(it: Iterate, first: int, last: int) -> bool:
    """Whether rows of a block refer to so few others that elimination hardly fills them."""
    if last - first > systems.DIRECT:
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


def _small_blocks(it: Iterate, first: int, last: int, start: Ints | None = None) -> bool:
    """Policy iteration with elimination."""
    for _ in range(100 + 10 * (last - first)):
        check_time()
        x = it.solved(first, last, start)
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
    corrector = Corrector()
    for round_ in range(_ROUNDS):
        check_time()
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
            if slow and last - first <= systems.DIRECT:
                return _small_blocks(it, first, last)
            continue
        # While the policy still changes, its exact values are not worth the effort.
        matrix, constant = it.chain(first, last)
        reduction = 0.1 if switched > len(x) / 1000 else max(1e-5, 0.3 * tolerance / change)
        right = it.x if it.right is None else it.right
        right = np.maximum(right[first:last], 1.0)
        times = corrector.improve(matrix, constant, x, right, reduction)
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
            check_time()
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
        options={
            "primal_feasibility_tolerance": accuracy,
            "dual_feasibility_tolerance": accuracy,
            "time_limit": seconds_left(),
        },
    )
    check_time()
    if found.x is None:
        raise NotProperError(f"the linear program has no solution: {found.message}")
    it.x[:] = found.x
    it.count("linear programs", 1)
    it.improve(0, eq.size)
