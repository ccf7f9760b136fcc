"""The greatest expected number of steps, and bounds on it that hold.

The equations ``x(q) = 1 + max_a sum p x(q')``, with calls worth the entry plus the best return,
have a finite nonnegative solution exactly if every choice of actions has a matrix of spectral
radius below 1. `recurl.solving.blocks` solves them; blocks that it cannot solve are left out one by
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from recurl.model.tables import CALLS, EXITS, Floats, Ints, Mask, Tables, runs
from recurl.solving.blocks import Iterate, policy_iteration
from recurl.solving.digraphs import can_reach
from recurl.solving.equations import Equations
from recurl.solving.reach import rounding_of_calls
from recurl.solving.rows import Rows, rows_of_model

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_TOLERANCE, _SHARP, _ROUGH = 1e-10, 1e-9, 0.02
_POWERS, _GROWTH, _LEAST = 300, 1e-12, 1e-8


class Steps(NamedTuple):
    """The greatest expected steps, by vertex.

    Attributes:
        values: The steps, up to rounding if ``sharp``; inf where they are not known to be finite.
        choice: A best action, as number among all actions; -1 where there is none.
        stays: Vertices from which a policy can surely stay forever.
        grows: Vertices of blocks in which the chosen actions are proved to have infinitely many
            steps, as they call faster than they return.
        doubtful: Vertices of blocks without a finite solution in floats, and without such a proof.
        sharp: Whether finite values are exact up to rounding.
    """

    values: Floats
    choice: Ints
    stays: Mask
    grows: Mask
    doubtful: Mask
    sharp: bool


def greatest_steps(t: Tables) -> Steps:
    """The greatest expected steps to leave, from every vertex, all exits worth 0."""
    search = _Search(t)
    failed = policy_iteration(search.it, _TOLERANCE)
    if failed is not None:
        search.drop_staying()
        failed = policy_iteration(search.it, _TOLERANCE, search.solved(failed))
    while failed is not None:
        search.drop_block(*failed)
        failed = policy_iteration(search.it, _TOLERANCE, search.solved(failed))
    return search.found()


class _Search:
    """Policy iteration on the rows that are not known to be infinite."""

    def __init__(self, t: Tables) -> None:
        self.t = t
        self.equations = Equations.of(t, t.prob)
        self.it = Iterate.first(self.equations, self.equations.by_action(np.ones(t.n_actions)))
        left = 1.0 - self.equations.greatest_sum()
        if left > _LEAST:
            self.it.x[:] = 1.0 / left  # at least the solution, and near to it if runs are long
        self.stays, self.grows, self.doubtful = np.zeros((3, t.n_vertices), np.bool_)
        self.choice = np.full(t.n_vertices, -1, np.int32)

    def drop_staying(self) -> None:
        """Leave out what can stay forever, and what leads there."""
        self.stays, action = stay_forever(rows_of_model(self.t))
        self.choice[self.stays] = (self.t.action_start[:-1] + action)[self.stays]
        self._drop(self.stays[self.it.equations.vertex])

    def drop_block(self, first: int, last: int) -> None:
        """Leave out a block that has no finite solution, and what leads there."""
        eq = self.it.equations
        block = eq.vertex[first:last]
        self.choice[block] = eq.source[self.it.choice[first:last]]
        grows = growing(self.equations.matrix[self.it.choice[first:last]][:, first:last])
        (self.doubtful if grows is None else self.grows)[block] = True
        lost = np.zeros(eq.size, np.bool_)
        lost[first:last] = True
        self._drop(lost)

    def _drop(self, lost: Mask) -> None:
        keep = ~can_reach(self.equations.graph(), lost)
        self.it, self.equations = self.it.only(keep), self.equations.only(keep)

    def solved(self, failed: tuple[int, int]) -> int:
        """Number of blocks before a failure, which stay as they are."""
        start = self.it.equations.block_start
        return min(int(np.searchsorted(start, failed[0])), len(start) - 1)

    def found(self) -> Steps:
        """The result, by vertex."""
        it, t = self.it, self.t
        values = np.where(t.states, np.inf, 0.0)
        inner = t.states[it.equations.vertex]
        values[it.equations.vertex[inner]] = it.x[inner]
        self.choice[it.equations.vertex] = it.equations.source[it.choice]
        return Steps(
            values,
            self.choice,
            self.stays,
            self.grows,
            self.doubtful,
            _is_sharp(self.equations, it.x),
        )


def _is_sharp(eq: Equations, x: Floats) -> bool:
    """Whether values, scaled by little, are an upper and a lower bound.

    Let c be the least and C the greatest value over rows of min_a (x - P_a x). If c > 0 then x / c
    is an upper bound, and x / C a lower one.
    """
    if eq.size == 0:
        return True
    least = -eq.most(eq.matrix @ x - eq.owners(x))
    low, high = float(least.min()), float(least.max())
    return low > 0 and high - low <= _SHARP * high


def growing(matrix: csr_array) -> Floats | None:
    """Some z >= 0 with P z > z where z > 0, which proves a spectral radius above 1; else None."""
    z = np.ones(matrix.shape[0])
    for step in range(_POWERS):
        z = z + matrix @ z
        z /= z.max()
        if step % 20 == 19:
            support = np.where(z > 1e-6, z, 0.0)
            if (matrix @ support >= support * (1 + _GROWTH))[support > 0].all():
                return support
    return None


def stay_forever(rows: Rows) -> tuple[Mask, Ints]:
    """Places from which some policy surely never ends, and its actions there, counted within.

    The greatest set in which every place has an action that leads into the set only; a call does if
    its entry is in the set, or else every return place. Places that are seen not to be in it are
    taken out in rounds, each of which looks at what leads to the places taken out last.
    """
    r = rows
    stays = np.diff(r.action_start) > 0
    action = np.repeat(np.arange(len(r.transition_start) - 1), np.diff(r.transition_start))
    owner = np.repeat(np.arange(r.size), np.diff(r.action_start))
    inside = r.move != EXITS
    leading, begin = _leading(r)
    lost = np.zeros(len(r.prob), np.int64)
    open_ = np.bincount(action[~inside], minlength=len(owner)) == 0
    gone = np.flatnonzero(stays & (np.bincount(owner[open_], minlength=r.size) == 0))
    left = np.bincount(owner[open_], minlength=r.size)
    while len(gone):
        stays[gone] = False
        edges = leading[runs(begin[gone], begin[gone + 1] - begin[gone])]
        np.add.at(lost, edges[edges >= 0], 1)
        touched = np.unique(np.where(edges < 0, -1 - edges, edges))
        out = inside[touched] & ~stays[r.landing[touched]]
        out &= (r.n_returns[touched] == 0) | (lost[touched] > 0)
        inside[touched[out]] = False
        shut = np.unique(action[touched[out]])
        shut = shut[open_[shut]]
        open_[shut] = False
        np.subtract.at(left, owner[shut], 1)
        gone = np.unique(owner[shut])
        gone = gone[stays[gone] & (left[gone] == 0)]
    first = np.full(r.size, len(owner), np.int64)
    np.minimum.at(first, owner[open_], np.flatnonzero(open_))
    return stays, np.where(stays, first - r.action_start[:-1], -1).astype(np.int32)


def _leading(r: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Transitions by place that they return to, or land at (as -1 - number); and first of each."""
    lands, calls = np.flatnonzero(r.move != EXITS), np.flatnonzero(r.n_returns > 0)
    place = np.concatenate([r.landing[lands], runs(r.push[calls], r.n_returns[calls])])
    number = np.concatenate([-1 - lands, np.repeat(calls, r.n_returns[calls])])
    order = np.argsort(place, kind="stable")
    return number[order], np.searchsorted(place[order], np.arange(r.size + 1))


def no_offsets(rows: Rows) -> Floats:
    """Offset 0 for every exit vertex that rows refer to."""
    return np.zeros(int((rows.exits + np.maximum(rows.n_returns, 1)).max(initial=0)) + 1)


def no_reach(rows: Rows) -> Floats:
    """Nothing is known of the exits that runs leave by."""
    return np.zeros((rows.size, int(rows.n_exits.max(initial=1))))


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
    for slack in (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4):
        scale = (1 + slack) / margin
        if smallest_slack(rows, steps * scale, offsets * scale, p) > 0:
            return scale
    return None


def smallest_slack(rows: Rows, x: Floats, e: Floats, reach: Floats) -> float:
    """Least of x(q) - (1 + sum p x(q')) over all actions of finite places, less rounding errors.

    A call is worth ``x(entry) + reach.t + (1 - sum reach) max t``, ``t = x(returns) - e(exits)``.
    The sum in floats differs from the exact sum by rounding, and by the residue of rows that do not
    sum to 1 in floats: both are bounded and taken off.
    """
    r = rows
    leaves = r.move == EXITS
    value = np.where(leaves, e[np.where(leaves, r.exits, 0)], x[np.where(leaves, 0, r.landing)])
    calls = np.flatnonzero(r.move == CALLS)
    if len(calls):
        value[calls] = _calls_worth(r, x, e, reach, calls)
    begin = r.transition_start[:-1]
    place = np.repeat(np.arange(r.size), np.diff(r.action_start))
    with np.errstate(invalid="ignore"):
        total = 1.0 + np.add.reduceat(r.prob * value, begin)
        weight = 1.0 + np.add.reduceat(r.prob * np.abs(value), begin)
        largest = np.maximum.reduceat(np.abs(value), begin)
        count = np.diff(r.transition_start) + 8
        mass = np.add.reduceat(r.prob, begin)
        error = count * 2.3e-16 * (weight + x[place]) + np.abs(1.0 - mass) * largest
        slack = (x[place] - total - error)[np.isfinite(x[place])]
    return float(np.min(slack, initial=np.inf)) if not np.isnan(slack).any() else -np.inf


def _calls_worth(
    r: Rows, x: Floats, e: Floats, reach: Floats, calls: npt.NDArray[np.integer]
) -> Floats:
    """At least what calls are worth, and what `call_worth` rounds that up to."""
    count = r.n_returns[calls]
    begin = np.cumsum(count) - count
    exit_index = runs(np.zeros_like(count), count)
    entry = x[r.landing[calls]]
    with np.errstate(invalid="ignore"):
        change = x[runs(r.push[calls], count)] - e[runs(r.exits[calls], count)]
        best = np.maximum.reduceat(change, begin)
        size = 2 * np.maximum(entry, np.maximum.reduceat(np.abs(change), begin))
        certain = reach[np.repeat(r.landing[calls], count), exit_index]
        share = np.add.reduceat(np.where(certain > 0, certain * change, 0.0), begin)
        others = np.maximum(1.0 - np.add.reduceat(certain, begin), 0.0)
        total = entry + (share + np.where(others > 0, others * best, 0.0))
        terms = np.add.reduceat(np.sign(certain), begin)
        worth: Floats = total + 3 * rounding_of_calls(terms, size, total)
        return worth
