"""Equations in which every number takes the action that is best for it, calls as `CallMixes`.

For every place there are the probabilities to leave by each exit of its component, the probability
to leave at all, and, if rewards are paid, their total. An action adds up what its transitions lead
to; a call is worth, besides the total of the callee itself, a mix of what comes after. Where every
number takes the best action for itself, no policy has more (or less, with the worst actions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import CALLS, EXITS, STEP, Floats, Mask
from recurl.solving.chain_equations import can_leave, probability_bounds
from recurl.solving.digraphs import reaching
from recurl.solving.mixes import CallMixes
from recurl.solving.outward import Indices, above, below, sums
from recurl.solving.rows import place_graph

if TYPE_CHECKING:
    from recurl.solving.rows import Rows


class Columns(NamedTuple):
    """The unknowns: numbers by place.

    Attributes:
        number: Unknown of each place and column, -1 where it is 0. The columns are the exits, to
            leave at all (if there is one exit, that one), and the total. ``[n, K + 1 or K + 2]``
        own: Whether it is an unknown by itself. ``[n, K + 1 or K + 2]``
    """

    number: Indices
    own: Mask

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(np.count_nonzero(self.own))

    def spread(self, x: Floats, rest: float) -> Floats:
        """Values of unknowns as a table by place and column, ``rest`` for other entries."""
        return np.where(self.number >= 0, np.append(x, 0.0)[self.number], rest)


def referred_to(rows: Rows) -> Mask:
    """Places that equations refer to, from the start: those after calls by whatever exit too."""
    start, target = _references(rows)
    goal = np.zeros(rows.size, np.bool_)
    goal[rows.start] = True
    return reaching(target, start, goal)


def _references(rows: Rows) -> tuple[Indices, Indices]:
    """Places, and those that their equations refer to."""
    begin, target = place_graph(rows)
    return np.repeat(np.arange(rows.size), np.diff(begin)), target


def columns_of(rows: Rows, gain: Floats | None) -> Columns:
    """The unknowns that are not 0 in places that runs can come to, and after all their calls."""
    can = can_leave(rows)
    can = np.column_stack([can, can.any(axis=1)])
    start, target = _references(rows)
    if gain is not None:
        paid = np.zeros(rows.size, np.bool_)
        paid[rows.row_place[(gain > 0) & (rows.prob > 0)]] = True
        can = np.column_stack([can, reaching(start, target, paid)])
    can &= (referred_to(rows) & (np.diff(rows.action_start) > 0))[:, None]
    exits = int(rows.n_exits.max())
    own = can.copy()
    own[rows.n_exits == 1, exits] = False
    number = np.full(can.shape, -1)
    number[own] = np.arange(np.count_nonzero(own))
    number[:, exits] = np.where(rows.n_exits == 1, number[:, 0], number[:, exits])
    return Columns(number, own)


class Relaxed(NamedTuple):
    """Sums by action and column; unknown ``size`` is 1, unknown ``size + 1`` is 0.

    Attributes:
        size: Number of unknowns.
        side: 1 for bounds of mixes from above, -1 from below, 0 for products.
        owner: Unknown that each sum may be the value of; -1 if there is none.
        row: Sum of each plain term.
        weight: Coefficient of each, in floats, at least, at most. ``[3, T]``
        unknown: Its unknown.
        call_row: Sum of each call.
        call_weight: Coefficient of each. ``[3, C]``
        leave: Unknowns of the callee by exit. ``[C, J]``
        after: Unknowns of the return ports. ``[C, J]``
        ends: Unknown of the callee to leave at all.
        real: Exits that exist, as opposed to padding. ``[C, J]``
        means: Sums that are means of what their transitions lead to: no rewards.
        terms: Number of roundings of each sum.
    """

    size: int
    side: int
    owner: Indices
    row: Indices
    weight: Floats
    unknown: Indices
    call_row: Indices
    call_weight: Floats
    leave: Indices
    after: Indices
    ends: Indices
    real: Mask
    means: Mask
    terms: Indices

    def of(self, chosen: Indices) -> Relaxed:
        """One of the sums for each unknown."""
        number = np.full(len(self.terms), -1)
        number[chosen] = np.arange(self.size)
        kept, calls = number[self.row] >= 0, number[self.call_row] >= 0
        return self._replace(
            owner=np.arange(self.size),
            row=number[self.row[kept]],
            weight=self.weight[:, kept],
            unknown=self.unknown[kept],
            call_row=number[self.call_row[calls]],
            call_weight=self.call_weight[:, calls],
            leave=self.leave[calls],
            after=self.after[calls],
            ends=self.ends[calls],
            real=self.real[calls],
            means=self.means[chosen],
            terms=self.terms[chosen],
        )

    def mixes(self, x: Floats) -> CallMixes:
        """The calls, with what is known of them."""
        y = np.append(x, (1.0, 0.0))
        known = y[self.leave], y[self.after], y[self.ends]
        if self.side < 0:
            return CallMixes.below(*known, self.real)
        return CallMixes.above(*known) if self.side else CallMixes.products(*known)

    def value(self, x: Floats) -> Floats:
        """The sums, in floats."""
        return self._sum(0, np.append(x, 1.0)[self.unknown], self.mixes(x).value())

    def _sum(self, which: int, plain: Floats, calls: Floats) -> Floats:
        count = len(self.terms)
        found = sums(self.row, self.weight[which] * plain, count)
        return found + sums(self.call_row, self.call_weight[which] * calls, count)

    def above(self, x: Floats) -> Floats:
        """At least the sums; a mean is at most the greatest of its terms."""
        plain, calls = np.append(x, 1.0)[self.unknown], self.mixes(x).outward(1.0)
        most = np.zeros(len(self.terms))
        np.maximum.at(most, self.row, plain)
        np.maximum.at(most, self.call_row, calls)
        total = above(self._sum(2, plain, calls), self.terms)
        return np.where(self.means, np.minimum(total, most), total)

    def below(self, x: Floats) -> Floats:
        """At most the sums."""
        plain, calls = np.append(x, 1.0)[self.unknown], self.mixes(x).outward(-1.0)
        return below(self._sum(1, plain, calls), self.terms)

    def jacobian(self, x: Floats, toward: Floats | None = None) -> tuple[Indices, Indices, Floats]:
        """Row, column and value of the derivatives of the sums, in a direction if one is given."""
        mixes, width = self.mixes(x), self.leave.shape[1]
        if toward is not None and self.side < 0:
            ahead = np.append(toward, (0.0, 0.0))[self.after]
            mixes = mixes._replace(last=np.where(self.real, ahead, -1.0).argmax(axis=1))
        weight = self.call_weight[0][:, None]
        row = self.call_row.repeat(width)
        parts = (
            (self.row, self.unknown, self.weight[0]),
            (row, self.leave.ravel(), (weight * mixes.rest).ravel()),
            (row, self.after.ravel(), (weight * mixes.shares()).ravel()),
            (self.call_row, self.ends, weight[:, 0] * mixes.level),
        )
        found = [np.concatenate(each) for each in zip(*parts, strict=True)]
        kept = (found[1] < self.size) & (found[2] > 0)
        return found[0][kept], found[1][kept], found[2][kept]

    def slope_above(self, x: Floats, w: Floats) -> Floats:
        """At least what errors w of x, 0 where x is, amount to in the sums.

        This holds for mixes from below with m > 0 only where an error of leaving at all is at least
        those of all exits together; otherwise it is infinite.
        """
        mixes, z = self.mixes(x), np.append(np.where(x > 0, w, 0.0), (0.0, 0.0))
        leave, after, ends = z[self.leave], z[self.after], z[self.ends]
        change = mixes.slope(leave, after, ends)
        change = np.where((mixes.level == 0) | (ends >= leave.sum(axis=1)), change, np.inf)
        with np.errstate(invalid="ignore"):
            total = self._sum(2, np.append(z[: self.size], 0.0)[self.unknown], change)
        return above(total, 2 * self.terms)

    def circles(self, x: Floats, close: float) -> tuple[Indices, Mask]:
        """Groups of unknowns that lead to each other by sums of equals; which sums stay inside."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        y, width = np.append(x, (1.0, 0.0)), self.leave.shape[1]
        row = np.concatenate([self.row, self.call_row.repeat(width)])
        term = np.concatenate([self.unknown, self.after.ravel()])
        used = np.concatenate([self.weight[0], self.mixes(x).shares().ravel()]) > 0
        row, term = row[used], term[used]
        off = (np.abs(y[term] - np.append(x, -1.0)[self.owner[row]]) > close) | (term >= self.size)
        level = np.ones(len(self.terms), np.bool_)
        level[row[off]] = False
        level &= (np.abs(self.value(x) - np.append(x, -1.0)[self.owner]) <= close) & self.means
        kept = level[row]
        edges = self.owner[row[kept]], term[kept]
        graph = csr_array((np.ones(len(edges[0])), edges), shape=(self.size, self.size))
        group = connected_components(graph, connection="strong")[1]
        leaves = kept & (group[self.owner[row]] != group[np.minimum(term, self.size - 1)])
        level[row[leaves]] = False
        return group, level

    def is_zero(self, x: Floats) -> Mask:
        """Sums of zeros only."""
        found: Mask = self.value((x > 0).astype(np.float64)) == 0
        return found


def relaxed_equations(rows: Rows, columns: Columns, gain: Floats | None, side: int) -> Relaxed:
    """The equations of all actions; rewards are not negative."""
    size, number, count = columns.size, columns.number, columns.number.shape[1]
    exits, action = int(rows.n_exits.max()), rows.action_of(np.arange(len(rows.prob)))
    known = np.append(np.where(number < 0, size + 1, number), np.full((1, count), size + 1), axis=0)
    taken = rows.prob > 0
    every = np.arange(count)
    step, leave, call = (np.flatnonzero((rows.move == m) & taken) for m in (STEP, EXITS, CALLS))
    plain = [
        (step.repeat(count), np.tile(every, len(step)), known[rows.landing[step]].ravel()),
        (leave, rows.landing[leave], np.full(len(leave), size)),
        (leave, np.full(len(leave), exits), np.full(len(leave), size)),
    ]
    weight = np.stack([rows.prob, *probability_bounds(rows, np.arange(len(rows.prob)))])
    paid = np.zeros((3, 0))
    if gain is not None:
        plain.append((call, np.full(len(call), count - 1), known[rows.landing[call], count - 1]))
        pays = np.flatnonzero((gain > 0) & taken)
        plain.append((pays, np.full(len(pays), count - 1), np.full(len(pays), size)))
        paid = weight[:, pays] * np.stack([gain, *np.nextafter(gain, [[0.0], [np.inf]])])[:, pays]
        paid[1:] = np.nextafter(paid[1:], [[0.0], [np.inf]])
    i, column, index = (np.concatenate(each) for each in zip(*plain, strict=True))
    coefficient = weight[:, i]
    coefficient[:, len(i) - paid.shape[1] :] = paid
    kept = index <= size
    ports = np.arange(exits)
    real = ports < rows.n_returns[call][:, None]
    back = np.where(real, rows.push[call][:, None] + ports, rows.size)
    after = known[back].swapaxes(1, 2).reshape(-1, exits)
    inside = np.where(real, known[rows.landing[call], :exits], size + 1).repeat(count, axis=0)
    call_row = ((action[call] * count)[:, None] + every).ravel()
    useful = ((inside < size) & (after < size)).any(axis=1)
    place = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    owner = np.where(columns.own, number, -1)[place].ravel()
    row = (action[i] * count + column)[kept]
    call_row, terms = call_row[useful], np.bincount(row, minlength=len(owner))
    means = np.ones((len(owner) // count, count), np.bool_)
    if gain is not None:
        means[action[call], count - 1] = means[action[pays], count - 1] = False
    return Relaxed(
        size,
        side,
        owner,
        row,
        coefficient[:, kept],
        index[kept],
        call_row,
        weight[:, call.repeat(count)][:, useful],
        inside[useful],
        after[useful],
        known[rows.landing[call], exits].repeat(count)[useful],
        real.repeat(count, axis=0)[useful],
        means.ravel(),
        terms + (2 * exits + 6) * np.bincount(call_row, minlength=len(owner)),
    )
