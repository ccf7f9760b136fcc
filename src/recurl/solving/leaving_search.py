"""The search for bounds of totals of one sign: a policy, and the best action for every number.

One end of the interval is what a policy attains. The other end is that of the equations in which
every number takes the action that is best for it, see `recurl.solving.relaxed`: no policy has more
(or, for the least total, less). Both ends are proved by inductive vectors, checked with outward
rounding. A policy is improved by what its numbers count for at the start: the solution of the
transposed equations, linearised at x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.linear.systems import solve_entries
from recurl.model.tables import Floats, Ints, Mask
from recurl.solving.budget import check_time
from recurl.solving.chains import NEWTON_LIMIT, positive_part, scaled_solution
from recurl.solving.leaving_certificate import LeavingProof
from recurl.solving.outward import Indices
from recurl.solving.relaxed import Columns, Relaxed, columns_of, relaxed_equations
from recurl.solving.rows import rows_of_model

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.rows import Rows

_DELTAS: Floats = np.ldexp(1.0, np.arange(-48, -12, 2))
_SWEEPS, _LIMIT = 300, 30
_CLOSE, _SAME, _HUGE = 1e-9, 1e-12, 1e12


class LeavingSearch(NamedTuple):
    """The equations of all actions.

    Attributes:
        rows: The rows of the model.
        gain: Rewards of transitions, not negative; None if there are none.
        columns: The unknowns.
        most: The most that each can be: 1, or for totals what is as good as infinite.
        start: Number that each counts for at the start.
    """

    rows: Rows
    gain: Floats | None
    columns: Columns
    most: Floats
    start: Floats

    @classmethod
    def of(
        cls, model: RMDP, worth: Floats, gain: Floats | None, *, everywhere: bool = False
    ) -> LeavingSearch:
        """The equations of a model; everywhere, or only where runs from the start come to."""
        t, rows = model.tables, rows_of_model(model.tables)
        if everywhere:
            rows = rows._replace(start=np.flatnonzero(t.states).astype(np.int32))
        columns = columns_of(rows, gain)
        most, start = np.ones(columns.own.shape), np.zeros(columns.own.shape)
        share = t.start_prob[t.start_prob > 0]
        start[t.starts, : len(worth)] = share[:, None] * worth
        if gain is not None:
            most[:, -1] = _HUGE
            start[t.starts, -1] = share
        return cls(rows, gain, columns, most[columns.own], start[columns.own])

    def proof(self, *, greatest: bool, actions: Ints | None = None) -> LeavingProof:
        """Both ends, by a policy, given or found, and by the best action for every unknown."""
        if not self.columns.size:  # no run can leave, and none is paid
            zero = np.zeros(self.columns.number.shape)
            return LeavingProof(np.zeros(self.rows.size, np.int32), zero, zero, 1.0 + zero)
        free = relaxed_equations(self.rows, self.columns, self.gain, 1 if greatest else -1)
        plain = free._replace(side=0)
        chosen, bound = self.relaxed(free, greatest=greatest)
        if actions is None:
            actions = self._policy(plain, chosen, bound, greatest=greatest)
        own = plain.of(self.sums_of(actions))
        attained = self.solved(own, np.zeros(own.size))
        if greatest:
            below = self._below(own, np.arange(own.size), attained)
            upper = self._upper(free, chosen, bound)
        else:
            below = self._below(free, chosen, bound)
            if below is None:
                free = plain
                below = self._below(free, *self.relaxed(free, greatest=False))
            upper = self._upper(own, np.arange(own.size), attained)
        lower, progress = below or (np.zeros(own.size), np.zeros(own.size))
        if greatest or not free.side:  # calls are products
            lower[np.nonzero(self.columns.own)[1] == self.rows.n_exits.max()] = 0.0
        upper = np.where(self.most > 1, np.inf, 1.0) if upper is None else upper
        bounds = self.columns.spread(lower, 0.0), self.columns.spread(upper, 0.0)
        return LeavingProof(actions, *bounds, self.columns.spread(progress, 0.0))

    def _best(self, f: Relaxed, x: Floats, *, greatest: bool) -> tuple[Indices, Floats]:
        """The best sum of each unknown, the first of equals, and its value."""
        return _extreme(f, f.value(x), greatest=greatest)

    def relaxed(self, f: Relaxed, *, greatest: bool) -> tuple[Indices, Floats]:
        """The best sum for every unknown by itself, and the numbers that follow."""
        chosen, x = self._swept(f, np.zeros(f.size), greatest=greatest)
        for _ in range(_LIMIT):
            check_time()
            solved = self.solved(f.of(chosen), x if greatest else 0.0 * x)
            found, value = self._best(f, solved, greatest=greatest)
            value = np.minimum(value, self.most)
            room = _SAME * np.maximum(1.0, solved)
            better = value > solved + room if greatest else value < solved - room
            x = solved
            if not better.any():
                return chosen, x
            chosen = np.where(better, found, chosen)
        return self._swept(f, x, greatest=greatest)

    def _swept(self, f: Relaxed, x: Floats, *, greatest: bool) -> tuple[Indices, Floats]:
        """The best sums after many sweeps; those of before where others are not better."""
        chosen, x = self._best(f, x, greatest=greatest)
        for _ in range(_SWEEPS):
            check_time()
            found, value = self._best(f, x, greatest=greatest)
            value = np.minimum(value, self.most)
            chosen = np.where(value > x if greatest else True, found, chosen)
            if (value == x).all():  # and so after all later sweeps
                break
            x = value
        return chosen, x

    def solved(self, f: Relaxed, x: Floats) -> Floats:
        """The least solution of one sum per unknown, nearly, from below, by Newton's method."""
        for _ in range(24):
            x = np.minimum(f.value(x), self.most)
        for _ in range(NEWTON_LIMIT):
            check_time()
            gap = np.minimum(f.value(x), self.most) - x
            if not (np.abs(gap) > (f.terms + 4) * 2.3e-16 * x).any():
                break
            active = (x > 0) & (x < self.most)
            step = scaled_solution(*f.jacobian(x), x, gap, active)
            fine = (step >= -1e-6 * x) & (step <= 1.5 * np.maximum(self.most, x))
            risen = np.minimum(x + np.where(fine & active, step, 0.0), self.most)
            risen[np.isinf(step) & (self.most > 1.0)] = _HUGE
            x = np.maximum(risen, np.minimum(f.value(risen), self.most))
        return x

    def sums_of(self, actions: Ints) -> Indices:
        """The sum of each unknown by a policy."""
        place, column = np.nonzero(self.columns.own)
        first = self.rows.action_start[place] + actions[place]
        sums: Indices = first * self.columns.own.shape[1] + column
        return sums

    def _policy(self, f: Relaxed, chosen: Indices, x: Floats, *, greatest: bool) -> Ints:
        """The best policy from several starts: actions that are best for the start, or a column."""
        side = 1 if greatest else -1
        none = np.zeros(self.rows.size, np.int32)
        first = [self._improved(f, none, chosen, x, side), *self.by_column(chosen)]
        found = [self.local_optimum(f, actions, side) for actions in first]
        return max(found, key=lambda each: each[0])[1]

    def local_optimum(self, f: Relaxed, actions: Ints, side: int) -> tuple[float, Ints]:
        """A policy that is improved by what its numbers count for at the start, and its worth."""
        x = self.solved(f.of(self.sums_of(actions)), np.zeros(f.size))
        for _ in range(_LIMIT):
            check_time()
            other = self._improved(f, actions, self.sums_of(actions), x, side)
            better = self.solved(f.of(self.sums_of(other)), np.zeros(f.size))
            if not float(self.start @ (better - x)) * side > 1e-13:
                break
            actions, x = other, better
        return float(self.start @ x) * side, actions

    def by_column(self, chosen: Indices) -> list[Ints]:
        """For every column the actions that are chosen for it."""
        place, column = np.nonzero(self.columns.own)
        found = []
        for k in range(self.columns.own.shape[1]):
            own = column == k
            actions = np.zeros(self.rows.size, np.int32)
            sums = chosen[own] // self.columns.own.shape[1]
            actions[place[own]] = sums - self.rows.action_start[place[own]]
            found.append(actions)
        return found

    def _improved(self, f: Relaxed, actions: Ints, chosen: Indices, x: Floats, side: int) -> Ints:
        """The best action of every place that counts, others as before."""
        row, column, value = f.of(chosen).jacobian(x)
        counts = solve_entries(column, row, value, self.start)
        if counts is None or not np.isfinite(counts).all():
            return actions
        real = f.owner >= 0
        worth = np.where(real, f.value(x) * np.maximum(counts, 0.0)[f.owner], 0.0)
        width = self.columns.own.shape[1]
        by_action = worth.reshape(-1, width).sum(axis=1) * side
        table = self.columns.spread(np.maximum(counts, 0.0), 0.0)
        improved = actions.copy()
        for place in np.flatnonzero((table > 0).any(axis=1)).tolist():
            own = by_action[self.rows.action_start[place] : self.rows.action_start[place + 1]]
            if own.max() > own[actions[place]] + 1e-14:
                improved[place] = own.argmax()
        return improved

    def _below(self, f: Relaxed, chosen: Indices, x: Floats) -> tuple[Floats, Floats] | None:
        """A lower bound near x, and what proves it; totals that are infinite count as 0."""
        if x.max() >= _HUGE:
            less = self._replace(most=np.where(x >= _HUGE, 0.0, self.most))
            chosen, x = less.relaxed(f, greatest=False)
        progress = self._progress(f, chosen, x)
        lower = None if progress is None else self._lower(f, x, progress)
        return None if progress is None or lower is None else (lower, progress)

    def _progress(self, f: Relaxed, chosen: Indices, x: Floats) -> Floats | None:
        """A direction along which errors contract by all sums."""
        w = x
        for _ in range(_LIMIT):
            check_time()
            w = _direction(f.of(chosen) if len(f.terms) > f.size else f, x, x > 0, w)
            if not (w[x > 0] > 0).all():
                return None
            worst, excess = _extreme(f, _excess(f, x, w), greatest=True)
            if (excess < 0)[x > 0].all():
                return w
            chosen = np.where((excess >= 0) & (x > 0), worst, chosen)
        return None

    def _lower(self, f: Relaxed, x: Floats, w: Floats) -> Floats | None:
        """A vector near x that is at most all its images, with errors that contract."""
        for delta in _DELTAS:
            y: Floats = np.maximum(x - delta * w, 0.0)
            fine = (y[f.owner] <= f.below(y)) & (_excess(f, y, w) < 0)
            if (fine | (y[f.owner] == 0) | (f.owner < 0)).all():
                return y
        return None

    def _upper(self, f: Relaxed, chosen: Indices, x: Floats) -> Floats | None:
        """A vector near x that is at least all its images, or 1; 0 where these are 0.

        Unknowns that lead to each other without loss have the same bound.
        """
        if x.max() >= _HUGE:
            return None
        whole = (self.most == 1) & (x > 1 - _CLOSE)
        group, inside = f.circles(x, _CLOSE)
        w = _rising(f, chosen, x, (x > 0) & ~whole, group, inside)
        for delta in _DELTAS:
            y: Floats = np.where(whole, 1.0, np.minimum(x + delta * w, self.most))
            most = np.zeros(f.size)
            np.maximum.at(most, group, y)
            y = most[group]
            fine = (y[f.owner] >= f.above(y)) | ((y >= 1) & (self.most == 1))[f.owner]
            if (fine | f.is_zero(y) | (f.owner < 0)).all():
                return y
        return None


def _rising(
    f: Relaxed, chosen: Indices, x: Floats, own: Mask, group: Indices, inside: Mask
) -> Floats:
    """A direction of upper bounds: that of a group is that of one which leaves it."""
    best = f.of(chosen) if len(f.terms) > f.size else f
    row, column, value = best.jacobian(x)
    leads = np.full(group.max(initial=0) + 1, -1)
    leaving = np.flatnonzero(~inside[chosen])[::-1]
    leads[group[leaving]] = leaving
    follows = (leads[group] >= 0) & (leads[group] != np.arange(f.size))
    kept, others = ~follows[row], np.flatnonzero(follows)
    row, column = np.append(row[kept], others), np.append(column[kept], leads[group[others]])
    value = np.append(value[kept], np.ones(len(others)))
    return positive_part(scaled_solution(row, column, value, x, np.where(follows, 0.0, x), own))


def _excess(f: Relaxed, x: Floats, w: Floats) -> Floats:
    """By how much errors of c w, for the greatest c with c w <= x, may grow, divided by c.

    A sum that exceeds its unknown by s has errors that are less by s.
    """
    greatest = float(np.max(x[x > 0] / w[x > 0], initial=0.0)) or 1.0
    room = np.maximum(f.value(x) * (1 - _SAME) - x[f.owner], 0.0) * (1 - _SAME) / greatest
    return f.slope_above(x, w) - w[f.owner] - room


def _direction(f: Relaxed, x: Floats, own: Mask, toward: Floats) -> Floats:
    """The solution w of w = x + f'(x) w on some unknowns; 0 where it is not positive."""
    return positive_part(scaled_solution(*f.jacobian(x, toward), x, x, own))


def _extreme(f: Relaxed, values: Floats, *, greatest: bool) -> tuple[Indices, Floats]:
    """The sum of each unknown of greatest (or least) value, the first of equals, and its value."""
    real = np.flatnonzero(f.owner >= 0)
    owner, value = f.owner[real], values[real] if greatest else -values[real]
    most = np.full(f.size, -np.inf)
    np.maximum.at(most, owner, value)
    hits = np.flatnonzero(value == most[owner])[::-1]
    chosen = np.zeros(f.size, np.int64)
    chosen[owner[hits]] = real[hits]
    return chosen, most if greatest else -most
