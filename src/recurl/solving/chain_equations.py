"""The equations of a recursive Markov chain, as arrays.

Two systems are made of the rows of a chain (one action per place). The probabilities to leave by
each exit solve quadratic equations, `Polynomials`. Given bounds on them, what is added up on the
way solves linear ones, `Totals`. Both can be evaluated with outward rounding, for the exact numbers
of the model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.model.tables import CALLS, EXITS, STEP, Floats, Mask
from recurl.solving.digraphs import reaching
from recurl.solving.outward import Indices, above, below, sums
from recurl.solving.rows import Rows


def can_leave(rows: Rows) -> Mask:
    """Which exits can be reached from which places, as a mask ``[n, K]``.

    Ways through a call exist once its callee is known to leave, so that the search is repeated
    until no call has more exits than before.
    """
    shape = rows.size, int(rows.n_exits.max())
    can = np.zeros(shape, np.bool_)
    place, taken = rows.row_place, rows.prob > 0
    leave = np.flatnonzero((rows.move == EXITS) & taken)
    can[place[leave], rows.landing[leave]] = True
    step = np.flatnonzero((rows.move == STEP) & taken)
    call = np.flatnonzero((rows.move == CALLS) & taken)
    before = -1
    while True:
        returns = _returns(rows, can, call)
        if len(returns.transition) == before:
            return can
        before = len(returns.transition)
        start = np.concatenate([place[step], place[returns.transition]])
        target = np.concatenate([rows.landing[step], returns.back])
        if shape[1] == 1:
            can[:, 0] = reaching(start, target, can[:, 0])
        else:
            can = _spread_exits(start, target, can)


def _spread_exits(start: Indices, target: Indices, can: Mask) -> Mask:
    """Every exit that can be reached along edges between places."""
    every = np.arange(can.shape[1])
    own, other = ((at[:, None] * len(every) + every).ravel() for at in (start, target))
    return reaching(own, other, can.ravel()).reshape(can.shape)


class _Returns(NamedTuple):
    """Pairs of a call and an exit that it can be left by.

    Attributes:
        transition: The transition that calls; ascending.
        exit: The exit of the callee.
        back: The place to which it returns.
    """

    transition: Indices
    exit: Indices
    back: Indices


def _returns(rows: Rows, can: Mask, calls: Indices) -> _Returns:
    which, left_by = np.nonzero(can[rows.landing[calls]])
    transition = calls[which]
    return _Returns(transition, left_by, rows.push[transition] + left_by)


def visited(rows: Rows, can: Mask) -> Mask:
    """Mask of the places that a run from the start visits with positive probability."""
    place, inside = rows.row_place, np.flatnonzero((rows.move != EXITS) & (rows.prob > 0))
    returns = _returns(rows, can, np.flatnonzero((rows.move == CALLS) & (rows.prob > 0)))
    start = np.concatenate([place[inside], place[returns.transition]])
    target = np.concatenate([rows.landing[inside], returns.back])
    goal = np.zeros(rows.size, np.bool_)
    goal[rows.start] = True
    return reaching(target, start, goal)


class Polynomials(NamedTuple):
    """Sums ``f_n(x) = sum weight x_first x_second``; the unknown after the last is 1.

    Attributes:
        size: Number of unknowns.
        row: Sum of each term: an equation, or an action.
        weight: Coefficient of each term.
        low: At most the exact coefficient.
        high: At least the exact coefficient.
        first: First factor of a term.
        second: Second factor of a term.
        terms: Number of terms of each sum.
    """

    size: int
    row: Indices
    weight: Floats
    low: Floats
    high: Floats
    first: Indices
    second: Indices
    terms: Indices

    def value(self, x: Floats) -> Floats:
        """f(x), in floats."""
        return self._sum(self.weight, x)

    def above(self, x: Floats) -> Floats:
        """At least f(x)."""
        return above(self._sum(self.high, x), self.terms)

    def below(self, x: Floats) -> Floats:
        """At most f(x), also where the sums of its calls are rounded down before all others.

        Sums of m products, rounded down, lack less than (4 m + 8) half units; see `certain_reach`.
        """
        return below(self._sum(self.low, x), 2 * self.terms)

    def _sum(self, weight: Floats, x: Floats) -> Floats:
        y = np.append(x, 1.0)
        return sums(self.row, weight * y[self.first] * y[self.second], len(self.terms))

    def slope_above(self, x: Floats, w: Floats) -> Floats:
        """At least f'(x) w."""
        return above(self._slope(self.high, x, w), 2 * self.terms)

    def slope_below(self, x: Floats, w: Floats) -> Floats:
        """At most f'(x) w."""
        return below(self._slope(self.low, x, w), 2 * self.terms)

    def _slope(self, weight: Floats, x: Floats, w: Floats) -> Floats:
        y, z = np.append(x, 1.0), np.append(w, 0.0)
        inner = z[self.first] * y[self.second] + y[self.first] * z[self.second]
        return sums(self.row, weight * inner, len(self.terms))

    def jacobian(self, x: Floats) -> tuple[Indices, Indices, Floats]:
        """Row, column and value of the entries of f'(x)."""
        y = np.append(x, 1.0)
        one, two = self.first < self.size, self.second < self.size
        row = np.concatenate([self.row[one], self.row[two]])
        column = np.concatenate([self.first[one], self.second[two]])
        value = (self.weight[one] * y[self.second[one]], self.weight[two] * y[self.first[two]])
        return row, column, np.concatenate(value)

    def of(self, chosen: Indices) -> Polynomials:
        """One of the sums for each unknown."""
        unknown = np.full(len(self.terms), -1)
        unknown[chosen] = np.arange(self.size)
        kept = unknown[self.row] >= 0
        return Polynomials(
            self.size,
            unknown[self.row[kept]],
            self.weight[kept],
            self.low[kept],
            self.high[kept],
            first=self.first[kept],
            second=self.second[kept],
            terms=self.terms[chosen],
        )

    def relying_on(self, bad: Mask) -> Mask:
        """Unknowns that refer, directly or not, to one of some; these included."""
        if not bad.any():
            return bad
        row, column, _ = self.jacobian(np.ones(self.size))
        return reaching(row, column, bad)


def polynomials(rows: Rows, can: Mask) -> Polynomials:
    """The equations of the pairs (place, exit) that are possible, in the order of the mask."""
    size, place, taken = int(np.count_nonzero(can)), rows.row_place, rows.prob > 0
    number = np.full(can.shape, -1)
    number[can] = np.arange(size)
    taken &= can[place].any(axis=1)
    leave = np.flatnonzero((rows.move == EXITS) & taken)
    step = np.flatnonzero((rows.move == STEP) & taken)
    at, along = np.nonzero(can[rows.landing[step]])
    step = step[at]
    calls = _returns(rows, can, np.flatnonzero((rows.move == CALLS) & taken))
    at, exits = np.nonzero(can[calls.back])
    call, left_by, back = calls.transition[at], calls.exit[at], calls.back[at]
    none = np.full(len(leave) + len(step), size)
    i = np.concatenate([leave, step, call])
    left = np.concatenate([rows.landing[leave], along, exits])
    row = number[place[i], left]
    first = number[rows.landing[np.concatenate([step, call])], np.concatenate([along, left_by])]
    return Polynomials(
        size,
        row,
        rows.prob[i],
        *probability_bounds(rows, i),
        first=np.concatenate([none[: len(leave)], first]),
        second=np.concatenate([none, number[back, exits]]),
        terms=np.bincount(row, minlength=size),
    )


def action_polynomials(rows: Rows) -> Polynomials:
    """1-exit rows: for every action the probability to leave, given that of every place."""
    i = np.flatnonzero(rows.prob > 0)
    count, action = len(rows.transition_start) - 1, rows.action_of(i)
    return Polynomials(
        rows.size,
        action,
        rows.prob[i],
        *probability_bounds(rows, i),
        first=np.where(rows.move[i] == EXITS, rows.size, rows.landing[i]),
        second=np.where(rows.move[i] == CALLS, rows.push[i], rows.size),
        terms=np.bincount(action, minlength=count),
    )


def probability_bounds(rows: Rows, transitions: Indices) -> tuple[Floats, Floats]:
    """Bounds of the exact probabilities of some transitions."""
    p, doubt = rows.prob[transitions], rows.doubt[transitions]
    doubtful = doubt > 0
    low = np.where(doubtful, np.maximum(np.nextafter(p - doubt, -1.0), 0.0), p)
    return low, np.where(doubtful, np.nextafter(p + doubt, 2.0), p)


class Totals(NamedTuple):
    """The operator d -> A d of what is still to come, for some places.

    ``(A d)(q) = sum p d(q')``, where a call stands for ``d(en) + sum_j P(en, j) d(ret_j)``.

    Attributes:
        size: Number of places.
        place: Place of each transition that does not leave.
        at: Where it lands.
        weight: Its probability.
        low: At most its exact probability.
        high: At least its exact probability.
        call: For each way back from a call, the number of its transition in ``place``; ascending.
        back: Where it comes back.
        share: Probability to come back there.
        share_low: At most the exact one.
        share_high: At least the exact one.
        first: First way back of each call that has some.
        rest_most: What the least shares of a call leave of 1, at most.
        rest_least: The same, at least.
        sure: Whether a place leaves with probability 1.
        terms: Number of terms of the sum of each place.
    """

    size: int
    place: Indices
    at: Indices
    weight: Floats
    low: Floats
    high: Floats
    call: Indices
    back: Indices
    share: Floats
    share_low: Floats
    share_high: Floats
    first: Indices
    rest_most: Floats
    rest_least: Floats
    sure: Mask
    terms: Indices

    def after_calls(self, ways: Floats) -> Floats:
        """Sums of numbers by way back, for every transition; 0 where nothing comes back."""
        return sums(self.call, ways, len(self.place))

    def above(self, d: Floats) -> Floats:
        """At least A d, for d >= 0.

        Calls come back at most as often as the greatest shares say; and as shares add up to at most
        1, at most by the least ones, with the rest at the worst place to come back to.
        """
        later = d[self.back]
        known = self.after_calls(self.share_low * later)
        worst = np.zeros(len(self.place))
        if len(self.first):
            worst[self.call[self.first]] = np.maximum.reduceat(later, self.first)
        most = np.minimum(self.after_calls(self.share_high * later), known + self.rest_most * worst)
        total = sums(self.place, self.high * (d[self.at] + most), self.size)
        return above(total, 2 * self.terms)

    def below(self, d: Floats) -> Floats:
        """At most A d, for d >= 0; where a call surely comes back, at the best place at least."""
        later, rest = d[self.back], np.where(self.sure[self.at], self.rest_least, 0.0)
        known = self.after_calls(self.share_low * later)
        best = np.zeros(len(self.place))
        if len(self.first):
            best[self.call[self.first]] = np.minimum.reduceat(later, self.first)
        total = sums(self.place, self.low * (d[self.at] + known + rest * best), self.size)
        return below(total, 2 * self.terms)

    def matrix(self) -> tuple[Indices, Indices, Floats]:
        """Row, column and value of the entries of A, in floats."""
        row = np.concatenate([self.place, self.place[self.call]])
        column = np.concatenate([self.at, self.back])
        value = np.concatenate([self.weight, self.weight[self.call] * self.share])
        return row, column, value

    def leading_to(self, goal: Mask) -> Mask:
        """Places from which one of some can be visited; these included."""
        row, column, _ = self.matrix()
        return reaching(row, column, goal)


def totals(
    rows: Rows, can: Mask, shares: tuple[Floats, Floats, Floats], places: Indices, sure: Mask
) -> Totals:
    """The operator of some places, given least, likely and greatest probabilities to leave."""
    inside = np.zeros(rows.size, np.bool_)
    inside[places] = True
    i = np.flatnonzero((rows.move != EXITS) & (rows.prob > 0) & inside[rows.row_place])
    called = np.flatnonzero(rows.move[i] == CALLS)
    returns = _returns(rows, can, i[called])
    call = np.searchsorted(i, returns.transition)
    low, value, high = (table[rows.landing[returns.transition], returns.exit] for table in shares)
    place = rows.row_place[i]
    count = np.bincount(place, minlength=rows.size) + np.bincount(place[call], minlength=rows.size)
    rest = _rest(call, low, len(i))
    return Totals(
        rows.size,
        place,
        rows.landing[i],
        rows.prob[i],
        *probability_bounds(rows, i),
        call=call,
        back=returns.back,
        share=value,
        share_low=low,
        share_high=high,
        first=np.flatnonzero(np.diff(call, prepend=-1)),
        rest_most=rest[0],
        rest_least=rest[1],
        sure=sure,
        terms=count,
    )


def _rest(call: Indices, share: Floats, size: int) -> tuple[Floats, Floats]:
    """The remainder of 1 after the least shares of each call, at most and at least."""
    total, count = sums(call, share, size), np.bincount(call, minlength=size)
    most = np.maximum(np.nextafter(1.0 - below(total, count), 2.0), 0.0)
    least = np.maximum(np.nextafter(1.0 - above(total, count), -1.0), 0.0)
    surely = (count == 1) & (total == 1.0)
    return np.where(surely, 0.0, most), np.where(surely, 0.0, least)
