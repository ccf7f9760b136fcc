"""Recursive Markov chains: probabilities to leave by each exit, with evidence.

For one row per place (a model under a policy) the probability P(q, k) that place q leaves its
component by exit k is the least nonnegative solution of a polynomial system. Newton's method from
0, block by block of the strongly connected unknowns, finds it. The interval around it is proved
afterwards: with w = 1 + F'(x) w, the vector y = x + delta w is an upper bound if y >= F(y); and if
F'(y) w < w then F has one fixed point below y, so that x - delta w is a lower bound if F maps it
upwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recurl.model.tables import Floats, Ints
from recurl.solving.chains_kernel import can_leave, image, step_system, visited
from recurl.solving.linear import (
    DENSE,
    Blocks,
    System,
    least_solutions,
    solve_iterative,
    solve_sparse,
)
from recurl.solving.newton_kernel import (
    Polynomials,
    block_polynomials,
    jacobian,
    newton_blocks,
    residual,
    sweep_up,
    unknown_graph,
)
from recurl.solving.properness_kernel import place_graph
from recurl.solving.rows import Mask, Rows

NEWTON_LIMIT = 60
"""Iterations after which a block is taken to be critical: there Newton only halves the error."""
_UNPROVED = 1e-7


@dataclass(frozen=True, eq=False)
class Leaving:
    """Probabilities to leave by each exit, from each place.

    Attributes:
        places: Places that were looked at: all, or those that runs from the start visit.
        value: Best estimate. ``[n, K]``
        lower: At least this.
        upper: At most this.
        sure: Whether a place is known to leave with probability 1. ``[n]``
        iterations: Most Newton iterations in one block; 0 if none was needed.
    """

    places: Ints
    value: Floats
    lower: Floats
    upper: Floats
    sure: Mask
    iterations: int


def leave_probabilities(rows: Rows, *, everywhere: bool = False) -> Leaving:
    """Probabilities to leave by each exit, for rows with one action per place.

    Example:
        A procedure that calls itself twice with probability 3/5 ends with 2/3:

        >>> import recurl
        >>> from recurl.solving.rows import rows_of_model
        >>> found = leave_probabilities(rows_of_model(recurl.zoo.gambler(p=0.6).tables))
        >>> bool(abs(found.value[0, 0] - 2 / 3) < 1e-12)
        True
    """
    can = can_leave(rows, Blocks.of(*place_graph(rows)).order)
    seen = np.diff(rows.action_start) > 0 if everywhere else visited(rows, can)
    places = np.flatnonzero(seen).astype(np.int32)
    if can.shape[1] == 1 and (sure := _surely_ends(rows, places))[places].all():
        ones = np.where(seen, 1.0, 0.0)[:, None]
        return Leaving(places, ones, ones, ones, sure, 0)
    can &= seen[:, None]
    unknowns = _Unknowns(rows, can)
    x, iterations = unknowns.newton()
    value = unknowns.spread(x)
    lower, upper = _interval(rows, value, unknowns.spread(unknowns.direction(x)), places)
    sure = np.zeros(rows.size, np.bool_)
    if can.shape[1] == 1:
        sure = _surely_ends(rows, places)
        value[sure] = lower[sure] = upper[sure] = 1.0
    return Leaving(places, value, lower, upper, sure, iterations)


def _surely_ends(rows: Rows, places: Ints) -> Mask:
    """1-exit rows: places whose expected steps are finite, if calls come back."""
    system = System(*step_system(rows, np.ones((rows.size, 1)), places))
    steps = least_solutions(system, np.ones((rows.size, 1)))[:, 0]
    sure = np.zeros(rows.size, np.bool_)
    sure[places] = np.isfinite(steps[places])
    return sure


class _Unknowns:
    """The pairs (place, exit) that are possible, numbered."""

    def __init__(self, rows: Rows, can: Mask) -> None:
        self.rows, self.shape = rows, can.shape
        place, exit_index = np.nonzero(can)
        self.number = np.full(can.shape, -1, np.int32)
        self.number[place, exit_index] = np.arange(len(place))
        self.place, self.exit = place.astype(np.int32), exit_index.astype(np.int32)
        self.local = np.full(len(place), -1, np.int32)

    def spread(self, x: Floats) -> Floats:
        """Values of unknowns as a table by place and exit, 0 elsewhere."""
        table = np.zeros(self.shape)
        table[self.place, self.exit] = x
        return table

    def newton(self) -> tuple[Floats, int]:
        """The least solution, and the most iterations of a block."""
        head = (self.rows, self.number, self.place, self.exit)
        start, target = unknown_graph(*head)
        blocks = Blocks.of(start, target)
        x, at, most = np.zeros(len(self.place)), 0, 0
        while True:
            args = (*head, x, blocks.order, blocks.start, at, self.local)
            at, used = newton_blocks(*args, DENSE, NEWTON_LIMIT)
            most = max(most, used)
            if at == len(blocks.start) - 1:
                return x, most
            block = blocks.order[blocks.start[at] : blocks.start[at + 1]]
            x[block], used = newton_sparse(self.polynomials(x, block))
            most, at = max(most, used), at + 1

    def polynomials(self, x: Floats, block: Ints) -> Polynomials:
        """Equations of a block."""
        self.local[block] = np.arange(len(block))
        f = block_polynomials(self.rows, self.number, self.place, self.exit, x, block, self.local)
        self.local[block] = -1
        return f

    def direction(self, x: Floats) -> Floats:
        """The solution w of w = 1 + F'(x) w; inf where F'(x) has no radius below 1."""
        f = self.polynomials(x, np.arange(len(x), dtype=np.int32))
        row, column, value = jacobian(f, x)
        positive = value > 0
        row, column, value = row[positive], column[positive], value[positive]
        start = np.searchsorted(row, np.arange(len(x) + 1)).astype(np.int32)
        return least_solutions(System(start, column, value), np.ones((len(x), 1)))[:, 0]


def newton_sparse(f: Polynomials) -> tuple[Floats, int]:
    """Newton's method from below on a large block, after some sweeps; and its iterations."""
    x = np.zeros(len(f.constant))
    sweep_up(f, x, 32)
    for iteration in range(NEWTON_LIMIT):
        gap = np.maximum(residual(f, x), 0.0)
        if gap.max() <= 1e-15:
            return x, iteration
        entries = jacobian(f, x)
        step = solve_iterative(*entries, gap, guess=gap)
        if step is None:
            step = solve_sparse(*entries, gap)
        if step is None:
            return x, iteration
        x = np.minimum(x + step, 1.0)
        if step.max() <= 1e-15:
            return x, iteration
    return x, NEWTON_LIMIT


def _interval(rows: Rows, x: Floats, w: Floats, places: Ints) -> tuple[Floats, Floats]:
    """Proved bounds around x where w is finite; elsewhere from below only, less a margin."""
    known = np.isfinite(w)
    w = np.where(known, w, 0.0)
    lower = np.maximum(x - _UNPROVED, 0.0)
    upper = np.ones_like(x)
    upper[x == 0] = 0.0
    for delta in 10.0 ** np.arange(-15, -6):
        if (found := _proved(rows, x, w, places, known, delta)) is not None:
            lower, upper = (
                np.where(known, a, b) for a, b in zip(found, (lower, upper), strict=True)
            )
            break
    others = lower.sum(axis=1, keepdims=True) - lower
    return lower, np.minimum(upper, 1.0 - others + 1e-15)


def _proved(
    rows: Rows, x: Floats, w: Floats, places: Ints, known: Mask, delta: float
) -> tuple[Floats, Floats] | None:
    """The vectors x - delta w and x + delta w, if inductive in spite of rounding errors."""
    high, low = x + delta * w, np.maximum(x - delta * w, 0.0)
    above, slope, error = image(rows, high, w, places)
    below, _, _ = image(rows, low, w, places)
    own = known & (x > 0)
    proved = (
        (high - above >= error) & (slope * (1 + 1e-12) < w) & ((below - low >= error) | (low == 0))
    )
    return (low, high) if proved[own].all() else None
