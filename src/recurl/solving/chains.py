"""Recursive Markov chains: probabilities to leave by each exit, and totals, with evidence.

For one row per place (a model under a policy) the probability P(q, k) that place q leaves its
component by exit k is the least nonnegative solution of x = f(x): ``P(q, k) = sum p P(q', k)``,
with 1 or 0 for leaving, and ``sum_j P(en, j) P(ret_j, k)`` for calls. Newton's method from 0 finds
it, up to rounding. What is reported is proved afterwards, by inequalities with outward rounding:

- Upper: if u >= f(u) then u bounds the least solution z. (So does f(u), if u does.)
- Lower: if y <= f(y), and some w > 0 has f'(y) w < w, then y <= z. For let e be the positive part
  of y - z. Where it is positive, e = y - z <= f(y) - f(min(y, z)) <= f'(y) e, as f is monotone and
  convex; so e <= f'(y) e everywhere, and e = 0, as the spectral radius of f'(y) is below 1.

Both hold for any part of the unknowns that refers to no others. With x from Newton's method and w
the solution of w = x + f'(x) w, candidates are x + delta w and x - delta w.

Totals (steps, gains, losses) are the least solution of x = b + A x with b, A >= 0. The same proofs
apply, with A in place of f'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from recurl.linear.systems import DENSE, closed_rows, solve_entries
from recurl.model.tables import Floats, Ints, Mask
from recurl.solving.budget import check_time
from recurl.solving.chain_equations import (
    Polynomials,
    Totals,
    can_leave,
    polynomials,
    totals,
    visited,
)
from recurl.solving.digraphs import reaching
from recurl.solving.outward import Indices, below
from recurl.solving.rows import Rows

NEWTON_LIMIT = 60
"""Iterations after which a chain is taken to be critical: there Newton only halves the error."""
_DELTAS: Floats = np.ldexp(1.0, np.arange(-51, -5, 2))
_ROUGH, _LONG = 1e-7, 1e9
_FIRST_SWEEPS, _SWEEPS = 24, 100


@dataclass(frozen=True, eq=False)
class Leaving:
    """Probabilities to leave by each exit, from each place.

    Attributes:
        places: Places that were looked at: all, or those that runs from the start visit.
        value: Best estimate. ``[n, K]``
        lower: At least this; never more than its own image under the equations.
        upper: At most this.
        sure: Whether a place is known to leave with probability 1. ``[n]``
        iterations: Newton iterations; 0 if none was needed.
        can: Whether an exit can be reached. ``[n, K]``
    """

    places: Ints
    value: Floats
    lower: Floats
    upper: Floats
    sure: Mask
    iterations: int
    can: Mask


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
    can = can_leave(rows)
    seen = np.diff(rows.action_start) > 0 if everywhere else visited(rows, can)
    can &= seen[:, None]
    places = np.flatnonzero(seen).astype(np.int32)
    one_exit = can.shape[1] == 1
    sure = np.zeros(rows.size, np.bool_)
    if one_exit and can[places].all():
        sure = _surely_ends(rows, can, can[:, 0], hopeful=False)
        if sure[places].all():
            ones = can.astype(np.float64)
            return Leaving(places, ones, ones, ones, sure, 0, can)
    f, settled = polynomials(rows, can), sure[np.nonzero(can)[0]]
    x, iterations = newton(f, settled)
    if one_exit:
        sure |= _surely_ends(rows, can, _spread(can, x)[:, 0] > 1 - 1e-6, hopeful=True)
        settled = sure[np.nonzero(can)[0]]
    low, high = enclose(f, np.where(settled, 1.0, x), settled)
    lower, value, upper = (_spread(can, y) for y in (low, x, high))
    if not one_exit:
        upper = _without_others(lower, upper)
    return Leaving(places, _likely(lower, value, upper), lower, upper, sure, iterations, can)


def _spread(can: Mask, x: Floats) -> Floats:
    """Values of unknowns as a table by place and exit, 0 for other entries."""
    table = np.zeros(can.shape)
    table[can] = x
    return table


def _without_others(lower: Floats, upper: Floats) -> Floats:
    """Upper bounds, as probabilities of different exits add up to at most 1."""
    others = below(lower.sum(axis=1, keepdims=True), lower.shape[1]) - lower
    rest = np.nextafter(1.0 - np.maximum(np.nextafter(others, -1.0), 0.0), 2.0)
    bounded: Floats = np.minimum(upper, np.maximum(rest, lower))
    return bounded


def _likely(lower: Floats, value: Floats, upper: Floats) -> Floats:
    """Estimates within their bounds, that add up to 1 where this may be so."""
    total = value.sum(axis=1, keepdims=True)
    whole = (total > 0.999) & (upper.sum(axis=1, keepdims=True) >= 1)
    return np.clip(value / np.where(whole, total, 1.0), lower, upper)


def _surely_ends(rows: Rows, can: Mask, hoped: Mask, *, hopeful: bool) -> Mask:
    """1-exit rows: places whose expected steps are finite even if all calls come back.

    Looks at the places hoped for that refer to no others. Unless hopeful, gives up where expected
    visits are seen to grow.
    """
    ones, places = can.astype(np.float64), np.flatnonzero(can[:, 0]).astype(np.int32)
    chain = totals(rows, can, (ones, ones, ones), places, can[:, 0])
    own = hoped & ~chain.leading_to(~hoped)
    if not own.any() or not (hopeful or _shrinks(chain)):
        return np.zeros(rows.size, np.bool_)
    _, enclosure = _Sums(chain, own.astype(np.float64), 0.0 * ones[:, 0]).candidate(own, _ROUGH)
    return own & np.isfinite(enclosure.upper(np.where(own, np.inf, 0.0)))


def _shrinks(chain: Totals) -> bool:
    """Whether expected visits do not grow from round to round, as far as a few rounds tell."""
    from scipy.sparse import csr_array

    row, column, value = chain.matrix()
    matrix = csr_array((value, (row, column)), shape=(chain.size, chain.size))
    visits = np.ones(chain.size)
    for _ in range(24):
        before, visits = visits, matrix @ visits
    return bool(visits.max(initial=0.0) <= 1.01 * before.max(initial=0.0))


def newton(f: Polynomials, settled: Mask) -> tuple[Floats, int]:
    """The least solution, nearly, from below; and how many iterations it took.

    Settled unknowns are 1. Where the linear equations of a step have no positive solution, the
    chain is too close to critical for floats, and its unknowns stay as they are. The limit counts
    iterations in which no unknown was reached for the first time.
    """
    x, active = np.where(settled, 1.0, 0.0), ~settled
    iterations = since = 0
    for _ in range(_FIRST_SWEEPS):
        x = np.where(active, np.minimum(f.value(x), 1.0), x)
    while since < NEWTON_LIMIT:
        check_time()
        gap = f.value(x) - x
        if not (active & (np.abs(gap) > (f.terms + 4) * 2.3e-16 * x)).any():
            break
        step = scaled_solution(*f.jacobian(x), x, gap, active, precision=1e-7)
        active &= ~f.relying_on(active & ~((step >= -1e-6 * x) & (step <= 1.5)))
        risen = np.where(active, np.minimum(x + step, 1.0), x)
        since = 0 if ((x == 0) & (risen > 0)).any() else since + 1
        x, iterations = risen, iterations + 1
    return x, iterations


def scaled_solution(
    row: Indices,
    column: Indices,
    value: Floats,
    x: Floats,
    right: Floats,
    active: Mask,
    precision: float = 1e-5,
) -> Floats:
    """The solution d of d = right + A d on active unknowns, scaled by x; nan where there is none.

    Unknowns that refer to each other without loss stay as they are where ``right`` is 0; where it
    is positive, they and all that refer to them are infinite.
    """
    scale = np.where(x > 0, x, 1.0)
    kept = active[row] & active[column] & (value > 0)
    row, column, right = row[kept], column[kept], np.where(active, right, 0.0) / scale
    value = value[kept] * (scale[column] / scale[row])
    result = np.where(active, np.nan, 0.0)
    open_ = _open(row, column, value, right, active, result)
    kept = open_[row] & open_[column]
    number = np.cumsum(open_) - 1
    ends = number[row[kept]], number[column[kept]]
    solved = solve_entries(*ends, value[kept], right[open_], precision)
    if solved is not None:
        result[open_] = solved
    return result * scale


def _open(
    row: Indices, column: Indices, value: Floats, right: Floats, active: Mask, result: Floats
) -> Mask:
    """Unknowns whose solution is finite; results of closed ones that stay are set to 0."""
    from scipy.sparse import csr_array

    n = len(active)
    if np.count_nonzero(active) <= DENSE:  # solved in a way that sees what is singular
        return active
    closed = closed_rows(csr_array((value, (row, column)), shape=(n, n)))
    if not closed.any():
        return active
    infinite = reaching(row, column, closed & (right != 0.0))
    result[closed & ~infinite] = 0.0
    result[reaching(row, column, closed & (right > 0.0))] = np.inf
    return active & ~closed & ~infinite


def enclose(f: Polynomials, x: Floats, settled: Mask) -> tuple[Floats, Floats]:
    """Proved bounds of the least solution: close to x, where the proofs of the module succeed."""
    w = direction_of(f, x, ~settled & (x > 0))
    enclosure = _Enclosure(
        lambda y: np.minimum(f.above(y), 1.0), f.below, f.relying_on, settled, x, w
    )
    contracting = ~f.relying_on(~settled & ~(f.slope_above(x, w) < w))
    lower = enclosure.lower(settled.astype(np.float64), contracting)
    return lower, enclosure.upper(np.ones(f.size))


def direction_of(f: Polynomials, x: Floats, own: Mask) -> Floats:
    """The solution w of w = x + f'(x) w on some unknowns; 0 where it is not positive."""
    return positive_part(scaled_solution(*f.jacobian(x), x, x, own))


def positive_part(w: Floats) -> Floats:
    """A direction, 0 where it is not positive and finite."""
    with np.errstate(invalid="ignore"):
        return np.where((w > 0) & (w < np.inf), w, 0.0)


class _Enclosure(NamedTuple):
    """Search for bounds x - delta w and x + delta w that are inductive.

    Attributes:
        above: At least the image of a vector.
        below: At most the image of a vector.
        relying_on: The unknowns that refer to some.
        settled: Unknowns whose bounds are known.
        x: The candidate.
        w: The direction; 0 where there is none.
        deltas: Relative errors to try.
    """

    above: Callable[[Floats], Floats]
    below: Callable[[Floats], Floats]
    relying_on: Callable[[Mask], Mask]
    settled: Mask
    x: Floats
    w: Floats
    deltas: Floats = _DELTAS

    def upper(self, trivial: Floats) -> Floats:
        """Upper bounds; for other unknowns the trivial ones, to which the equations are applied."""
        bound, done = trivial, self.settled
        for delta in self.deltas:
            candidate = np.where(done, bound, np.minimum(self.x + delta * self.w, trivial))
            holds = (self.w > 0) & (candidate >= self.above(candidate))
            bound, done = self._accept(bound, done, candidate, holds)
            if done.all():
                return bound
        for _ in range(_SWEEPS if np.isfinite(trivial).all() else 0):
            bound = np.where(done, bound, np.minimum(bound, self.above(bound)))
        return bound

    def lower(self, trivial: Floats, contracting: Mask) -> Floats:
        """Lower bounds, by the direction only where it proves that errors contract."""
        bound, done = trivial, self.settled
        for delta in self.deltas:
            candidate = np.where(done, bound, np.maximum(self.x - delta * self.w, 0.0))
            holds = contracting & (candidate <= self.below(candidate))
            bound, done = self._accept(bound, done, candidate, holds)
            if (done | ~contracting).all():
                break
        for _ in range(0 if done.all() else _SWEEPS):
            bound = np.where(done, bound, np.maximum(bound, self.below(bound)))
        return bound

    def _accept(
        self, bound: Floats, done: Mask, candidate: Floats, holds: Mask
    ) -> tuple[Floats, Mask]:
        """Take over candidates that are inductive together with what they refer to."""
        accepted = done | ~self.relying_on(~done & ~holds)
        return np.where(accepted, candidate, bound), accepted


class ChainBounds(NamedTuple):
    """Bounds and an estimate by place; the estimate is inf where the upper bound is."""

    lower: Floats
    value: Floats
    upper: Floats


def least_totals(
    chain: Totals, places: Ints, b: Floats, doubt: Floats | float = 0.0, *, infinite: Mask
) -> ChainBounds:
    """Bounds of the least solution of x = b + A x.

    Args:
        chain: The operator A.
        places: Places to look at.
        b: Number that each place adds, nonnegative.
        doubt: The exact b is within half this distance, and 0 where b is.
        infinite: Places at which the solution is known to be infinite.
    """
    adding = np.zeros(len(b), np.bool_)
    adding[places] = b[places] > 0
    own = chain.leading_to(adding) & ~infinite
    sums = _Sums(chain, np.where(own, b, 0.0), np.where(own & (b > 0), doubt, 0.0))
    x, enclosure = sums.candidate(own, precision=1e-15)
    upper = enclosure.upper(np.where(own, np.inf, 0.0))
    if (b[places] > 0).all():  # finite totals mean finitely many steps
        sure = chain.sure | (own & np.isfinite(upper))
        enclosure = enclosure._replace(below=sums._replace(chain=chain._replace(sure=sure)).below)
    contracting = ~enclosure.relying_on(own & ~(chain.above(enclosure.w) < enclosure.w))
    lower = enclosure.lower(np.zeros(len(b)), contracting)
    value = np.where(np.isfinite(upper), np.clip(x, lower, upper), np.inf)
    return ChainBounds(*(np.where(infinite, np.inf, each) for each in (lower, value, upper)))


class Operator(Protocol):
    """A nonnegative matrix A that is known between bounds."""

    def above(self, d: Floats) -> Floats:
        """At least A d, for d >= 0."""

    def below(self, d: Floats) -> Floats:
        """At most A d, for d >= 0."""

    def matrix(self) -> tuple[Indices, Indices, Floats]:
        """Row, column and value of the entries of A, in floats."""


def least_solution(a: Operator, b: Floats, doubt: Floats) -> ChainBounds:
    """Bounds of the least solution of x = b + A x; the exact b is within half its doubt."""
    row, column, _ = a.matrix()
    own = reaching(row, column, b > 0)
    x, enclosure = _Sums(a, b, doubt).candidate(own, precision=1e-15)
    upper = enclosure.upper(np.where(own, np.inf, 0.0))
    contracting = ~enclosure.relying_on(own & ~(a.above(enclosure.w) < enclosure.w))
    lower = enclosure.lower(np.zeros(len(b)), contracting)
    return ChainBounds(lower, np.where(np.isfinite(upper), np.clip(x, lower, upper), np.inf), upper)


class _Sums(NamedTuple):
    """The operator x -> b + A x, with b known up to half a doubt."""

    chain: Operator
    b: Floats
    doubt: Floats

    def above(self, d: Floats) -> Floats:
        return np.nextafter(self.b + self.doubt + self.chain.above(d), np.inf)

    def below(self, d: Floats) -> Floats:
        least = np.nextafter(self.b - self.doubt + self.chain.below(d), -np.inf)
        return np.maximum(least, 0.0)

    def candidate(self, own: Mask, precision: float) -> tuple[Floats, _Enclosure]:
        """A solution in floats on some places, and what may enclose the exact one.

        If only a rough enclosure is asked for and b > 0, then A x = x - b < x makes x a direction,
        unless it is so large that b drowns in rounding.
        """
        row, column, value = self.chain.matrix()
        ones = np.ones(len(own))
        x = w = positive_part(scaled_solution(row, column, value, ones, self.b, own, precision))
        deltas = _DELTAS[-1:]
        if precision < _ROUGH or x.max(initial=0.0) > _LONG or not (self.b[own] > 0).all():
            w = positive_part(scaled_solution(row, column, value, x, x, own & (x > 0)))
            deltas = _DELTAS[precision <= _DELTAS]

        def relying_on(bad: Mask) -> Mask:
            return reaching(row, column, bad) if bad.any() else bad

        return x, _Enclosure(self.above, self.below, relying_on, ~own, x, w, deltas)
