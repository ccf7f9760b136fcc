"""The greatest expected number of steps, block by block.

The equations ``x(q) = 1 + max_a sum p x(q')``, with calls worth the entry plus the best return, are
solved in the order of their strongly connected components. A finite nonnegative solution of a block
exists exactly if every choice of actions has a matrix of spectral radius below 1. Small blocks:
policy iteration with dense elimination. Large ones: sweeps from below with two-sided scaling, and
policy iteration with sparse elimination where sweeps are too slow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recurl.model.tables import Floats, Ints
from recurl.solving.linear import DENSE, SPARSE, Blocks, solve_iterative, solve_sparse
from recurl.solving.linear_kernel import HUGE
from recurl.solving.properness_kernel import (
    FINITE,
    INFINITE,
    OPEN,
    block_system,
    improve,
    margins,
    place_graph,
    relax,
    smallest_slack,
    solve_blocks,
    stay_forever,
)
from recurl.solving.rows import Mask, Rows

_BATCH, _BATCHES = 8, 8
_SHARP, _ROUGH = 1e-11, 0.02


class Steps(NamedTuple):
    """What is known of the greatest expected steps.

    Attributes:
        values: An upper bound by place (within rounding if ``sharp``); inf where there is none.
        choice: A best action by place, as number among all actions; -1 where there is none.
        bad: Places from whose block alone no finite bound comes.
        stays: Places from which a policy can surely stay forever.
        sharp: Whether the values are exact up to rounding.
        decided: Whether infinite values are known to be infinite, and not just not found finite.
    """

    values: Floats
    choice: Ints
    bad: Mask
    stays: Mask
    sharp: bool
    decided: bool


def greatest_steps(rows: Rows) -> Steps:
    """The greatest expected steps to leave, from every place, all exits worth 0."""
    blocks = Blocks.of(*place_graph(rows))
    stays, staying = stay_forever(rows, blocks.order)
    x = np.where(stays, np.inf, 0.0)
    choice = np.where(stays, rows.action_start[:-1] + staying, -1).astype(np.int32)
    status = np.zeros(len(blocks.start) - 1, np.int8)
    sharp = _solve(rows, blocks, x, choice, status)
    bad = stays | np.isin(status, (INFINITE, OPEN))[blocks.label]
    return Steps(x, choice, bad, stays, sharp, not (status == OPEN).any())


def _solve(
    rows: Rows, blocks: Blocks, x: Floats, choice: Ints, status: npt.NDArray[np.int8]
) -> bool:
    """Fill in values, choice and status by block; whether the values are sharp."""
    e = no_offsets(rows)
    local = np.full(rows.size, -1, np.int32)
    order, start, sharp, at = blocks.order, blocks.start, True, 0
    values = (rows, x, e, order, start)
    while (at := solve_blocks(*values, at, local, choice, status, DENSE)) < len(status):
        block = order[start[at] : start[at + 1]]
        status[at], exact = _large_block(rows, x, block, blocks.label, choice)
        sharp = sharp and exact
        if status[at] != FINITE:
            x[block] = np.inf
        at += 1
    return sharp


def no_offsets(rows: Rows) -> Floats:
    """Offset 0 for every exit vertex that rows speak of."""
    return np.zeros(int((rows.exits + np.maximum(rows.n_returns, 1)).max(initial=0)) + 1)


def _large_block(rows: Rows, x: Floats, block: Ints, label: Ints, choice: Ints) -> tuple[int, bool]:
    """Status of a large block, and whether its values are sharp."""
    e = no_offsets(rows)
    low, status = _sweep(rows, x, e, block, label)
    choice[block] = -1
    improve(rows, x, e, block, choice, 0.0)
    if status != OPEN:
        x[block] /= low or 1.0
        return status, True
    rough = x[block].copy()
    status = _iterate_policies(rows, x, e, block, choice)
    if status == FINITE:
        low, high = margins(rows, x, block, label)
        x[block] /= low if low > 0 else 1.0
        return FINITE, low > 0 and high - low <= 1e-9 * high
    if low > _ROUGH:
        x[block] = rough / low
        return FINITE, False
    return status, False


def _sweep(rows: Rows, x: Floats, e: Floats, block: Ints, label: Ints) -> tuple[float, int]:
    """Sweep from below until the scales meet, or the block is seen to grow without end."""
    low = 0.0
    for _ in range(_BATCHES):
        if relax(rows, x, e, block, _BATCH) >= 1 + 1e-9:
            return 0.0, INFINITE
        low, high = margins(rows, x, block, label)
        if low > 0 and high - low <= _SHARP * high:
            return low, FINITE
    return low, OPEN


def _iterate_policies(rows: Rows, x: Floats, e: Floats, block: Ints, choice: Ints) -> int:
    """Policy iteration with sparse solvers, from the actions given."""
    local = np.full(rows.size, -1, np.int32)
    local[block] = np.arange(len(block))
    for _ in range(100):
        system = block_system(rows, x, e, block, local, choice)
        solved = solve_iterative(*system, guess=x[block])
        if solved is None and len(block) <= SPARSE:
            solved = solve_sparse(*system)
            if solved is None or solved.max() > HUGE:
                return INFINITE
        if solved is None:
            return OPEN
        x[block] = solved
        if not improve(rows, x, e, block, choice, 1e-10):
            return FINITE
    return OPEN


def inductive(
    rows: Rows, steps: Floats, offsets: Floats, reach: Floats | None = None
) -> float | None:
    """A scale that makes step bounds and offsets hold in exact arithmetic, or None.

    The inequalities are homogeneous: if x - A x >= m > 0 then x / m >= 1 + A (x / m), and a little
    more than 1 / m leaves room for the rounding errors of whoever checks.
    """
    p = no_reach(rows) if reach is None else reach
    margin = 1 + smallest_slack(rows, steps, offsets, p)
    if not _ROUGH < margin < np.inf:
        return None if margin <= _ROUGH else 1.0
    for slack in (1e-10, 1e-8, 1e-6, 1e-4):
        scale = (1 + slack) / margin
        if smallest_slack(rows, steps * scale, offsets * scale, p) > 0:
            return scale
    return None


def no_reach(rows: Rows) -> Floats:
    """Nothing is known of the exits that runs leave by."""
    return np.zeros((rows.size, int(rows.n_exits.max(initial=1))))
