"""Expected steps and rewards of recursive Markov chains, given how calls leave.

Both are linear: ``E(q) = 1 + sum p E(q')`` with ``E(en) + sum_j P(en, j) E(ret_j)`` for a call, and
likewise with rewards. If d >= 1 + A d then d bounds the expected steps, runs end with probability
1, and a total whose equations are off by at most c is off by at most c d.

Where runs may not end, gains and losses are summed apart, so that a total is +inf or -inf where it
is, and undefined only where both are infinite. The probability n(q) never to leave satisfies
n = A n. So in a strongly connected part S with n > 0 from which only places with n = 0 can be
visited besides S, the spectral radius of A is 1, and whatever is added up in S or behind it is
infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from recurl.linear.systems import solve_entries
from recurl.model.tables import EXITS, Floats, Mask
from recurl.solving.chain_equations import Totals, totals
from recurl.solving.chains import ChainBounds, Leaving, least_totals, leave_probabilities
from recurl.solving.exact_chain import LARGEST, Decided, ExactRows, decide
from recurl.solving.outward import Indices, above, float_above, float_below, sums
from recurl.solving.rows import Rows

_UNIT = 2.3e-16


@dataclass(frozen=True, eq=False)
class Expectations:
    """Expectations at each place until its component is left.

    Attributes:
        leaving: Probabilities to leave by each exit.
        steps: Expected steps; inf if infinite or not bounded. ``[n]``
        steps_lower: At least this. ``[n]``
        steps_upper: At most this; inf if no bound was proved. ``[n]``
        reward: Expected total reward; inf or -inf if infinite or not bounded, nan if both. ``[n]``
        reward_lower: At least this. ``[n]``
        reward_upper: At most this. ``[n]``
    """

    leaving: Leaving
    steps: Floats
    steps_lower: Floats
    steps_upper: Floats
    reward: Floats
    reward_lower: Floats
    reward_upper: Floats

    @property
    def error(self) -> Floats:
        """Bound on the error of the reward ``[n]``; inf if none was proved."""
        with np.errstate(invalid="ignore"):
            error = np.maximum(self.reward_upper - self.reward, self.reward - self.reward_lower)
        return np.where(np.isnan(error), np.inf, np.nextafter(error, np.inf))


def expectations(
    rows: Rows, *, everywhere: bool = False, exact: ExactRows | None = None
) -> Expectations:
    """Leave probabilities, expected steps and rewards of rows with one action per place.

    Args:
        rows: The rows.
        everywhere: Whether to look at all places, and not only at those that runs visit.
        exact: Exact numbers of the rows, for small 1-exit chains that are close to critical.

    Example:
        >>> import recurl
        >>> from recurl.solving.rows import rows_of_model
        >>> found = expectations(rows_of_model(recurl.zoo.gambler(p=0.25).tables))
        >>> found.steps.round(9)[0]
        np.float64(3.0)
    """
    leaving = leave_probabilities(rows, everywhere=everywhere)
    shares = (leaving.lower, leaving.value, leaving.upper)
    chain = totals(rows, leaving.can, shares, leaving.places, leaving.sure)
    endless = chain.leading_to(_endless(leaving))
    steps = least_totals(chain, leaving.places, np.ones(rows.size), infinite=endless)
    decided = _decide(rows, leaving, steps, endless, exact)
    if decided:
        steps = _with_fractions(steps, decided, decided.steps)
        steps = ChainBounds(*(np.where(decided.infinite, np.inf, each) for each in steps))
    leaving = _surely(leaving, steps, decided)
    recurring = _recurring(leaving, chain, endless)
    if decided:
        recurring |= decided.critical
    reward = _rewards(rows, leaving, chain._replace(sure=leaving.sure), steps, recurring)
    if decided:
        reward = _with_fractions(reward, decided, decided.reward)
    return Expectations(
        leaving,
        steps.value,
        steps.lower,
        steps.upper,
        reward=reward.value,
        reward_lower=reward.lower,
        reward_upper=reward.upper,
    )


def _decide(
    rows: Rows, leaving: Leaving, steps: ChainBounds, endless: Mask, exact: ExactRows | None
) -> Decided | None:
    """Exact answers where floats leave it open whether steps are finite."""
    if exact is None or leaving.can.shape[1] > 1:
        return None
    settled = leaving.places[~endless[leaving.places]]
    if np.isfinite(steps.upper[settled]).all() or len(settled) > LARGEST:
        return None
    return decide(rows, exact, settled)


def _with_fractions(bounds: ChainBounds, decided: Decided, numbers: list[Fraction]) -> ChainBounds:
    """Bounds that are exact at places that fractions have decided."""
    ends = [each.copy() for each in bounds]
    for v, number in zip(decided.finite, numbers, strict=True):
        low, high = float_below(number), float_above(number)
        for each, value in zip(ends, (low, high if math.isinf(low) else low, high), strict=True):
            each[v] = value
    return ChainBounds(*ends)


def _surely(leaving: Leaving, steps: ChainBounds, decided: Decided | None) -> Leaving:
    """The same, with the places that surely leave by what is known of their steps."""
    sure = leaving.sure.copy()
    sure[leaving.places] |= np.isfinite(steps.upper[leaving.places])
    if decided:
        sure |= decided.infinite
    if leaving.can.shape[1] > 1:
        return replace(leaving, sure=sure)
    one = (np.where(sure[:, None], 1.0, p) for p in (leaving.value, leaving.lower, leaving.upper))
    value, lower, upper = one
    return replace(leaving, sure=sure, value=value, lower=lower, upper=upper)


def _endless(leaving: Leaving) -> Mask:
    """Places that are proved to leave with probability below 1."""
    endless = np.zeros(len(leaving.sure), np.bool_)
    most = above(leaving.upper.sum(axis=1), leaving.upper.shape[1])
    endless[leaving.places] = (most < 1)[leaving.places]
    return endless


def _rewards(
    rows: Rows, leaving: Leaving, chain: Totals, steps: ChainBounds, recurring: Mask
) -> ChainBounds:
    """Bounds of the expected reward; rewards are scaled, so that floats are in their best range."""
    exponent = int(np.frexp(np.abs(rows.reward).max(initial=0.0))[1])
    scaled = rows._replace(reward=np.ldexp(rows.reward, -exponent))
    finite = np.zeros(rows.size, np.bool_)
    finite[leaving.places] = np.isfinite(steps.upper[leaving.places])
    reward = _signed(scaled, chain, steps, finite)
    if not finite[leaving.places].all():
        apart = _apart(scaled, leaving, chain, recurring)
        reward = ChainBounds(*(np.where(finite, a, b) for a, b in zip(reward, apart, strict=True)))
    with np.errstate(over="ignore"):
        lower, value, upper = (np.ldexp(each, exponent) for each in reward)
    # Scaling back rounds numbers that are very small, and cannot show those that are very large.
    lower = np.where(np.isfinite(reward.lower), np.nextafter(lower, -np.inf), lower)
    upper = np.where(np.isfinite(reward.upper), np.nextafter(upper, np.inf), upper)
    return ChainBounds(lower, value, upper)


def _signed(rows: Rows, chain: Totals, steps: ChainBounds, finite: Mask) -> ChainBounds:
    """Rewards where the expected steps are finite: a solution, give or take its defect times d."""
    place = rows.row_place
    paid = sums(place, rows.prob * rows.reward, rows.size)
    row, column, value = chain.matrix()
    kept = finite[row] & finite[column]
    number = np.cumsum(finite) - 1
    entries = number[row[kept]], number[column[kept]], value[kept]
    reward = np.zeros(rows.size)
    for _ in range(2):  # the second time to correct the first solution
        after = sums(row[kept], value[kept] * reward[column[kept]], rows.size)
        change = solve_entries(*entries, (paid + after - reward)[finite])
        if change is not None and np.isfinite(change).all():
            reward[finite] += change
    defect = _defect(rows, chain, reward)[finite].max(initial=0.0)
    with np.errstate(invalid="ignore"):
        error = np.where(finite, above(defect * steps.upper, 1), np.inf)
    low, high = np.nextafter(reward - error, -np.inf), np.nextafter(reward + error, np.inf)
    return ChainBounds(low, reward, high)


def _defect(rows: Rows, chain: Totals, reward: Floats) -> Floats:
    """By how much rewards differ from what their equations say, at most, by place.

    As the probabilities of a row, and the shares of a call that surely comes back, add up to 1,
    their errors count by how much what follows differs from place to place.
    """
    later, share = reward[chain.back], chain.share
    count = np.maximum(chain.after_calls(np.ones(len(share))), 1.0)
    centre = chain.after_calls(later) / count
    apart = later - centre[chain.call]
    spread = np.maximum(chain.share_high - share, share - chain.share_low)
    after = chain.after_calls(share * apart) + np.where(
        np.bincount(chain.call, minlength=len(count)) > 0, centre, 0.0
    )
    size = chain.after_calls(np.abs(later)) + np.abs(centre)
    worth = rows.reward.copy()
    i = _inside(rows, chain)
    worth[i] += reward[chain.at] + after
    width = np.abs(rows.reward) * _UNIT + 1e-300
    width[i] += chain.after_calls(spread * np.abs(apart)) * (1 + 1e-9)
    width[i] += (count + 8) * _UNIT * (size + np.abs(reward[chain.at]) + np.abs(rows.reward[i]))
    place = rows.row_place
    different = worth - reward[place]
    terms = np.bincount(place, minlength=rows.size)
    off = np.abs(sums(place, rows.prob * different, rows.size))
    doubt = rows.doubt * (np.abs(different) + width)
    off += sums(place, rows.prob * width + doubt, rows.size)
    off += (terms + 8) * _UNIT * sums(place, rows.prob * np.abs(different), rows.size)
    return above(off, terms)


def _inside(rows: Rows, chain: Totals) -> Indices:
    """The transitions of a chain among those of its rows."""
    inside = np.zeros(rows.size, np.bool_)
    inside[chain.place] = True
    return np.flatnonzero((rows.move != EXITS) & (rows.prob > 0) & inside[rows.row_place])


def _apart(rows: Rows, leaving: Leaving, chain: Totals, recurring: Mask) -> ChainBounds:
    """Gains less losses."""
    gain, loss = (_one_side(rows, leaving, chain, recurring, sign) for sign in (1, -1))
    with np.errstate(invalid="ignore"):
        lower, value = gain.lower - loss.upper, gain.value - loss.value
        upper = gain.upper - loss.lower
    both = np.isinf(gain.lower) & np.isinf(loss.lower)
    lower = np.where(np.isnan(lower), np.where(both, np.nan, -np.inf), lower)
    upper = np.where(np.isnan(upper), np.where(both, np.nan, np.inf), upper)
    return ChainBounds(lower, value, upper)


def _one_side(
    rows: Rows, leaving: Leaving, chain: Totals, recurring: Mask, sign: int
) -> ChainBounds:
    """Bounds of the sum of positive rewards, or of negative ones."""
    reward, place = np.maximum(sign * rows.reward, 0.0), rows.row_place
    paid = sums(place, rows.prob * reward, rows.size)
    terms = np.bincount(place, minlength=rows.size)
    doubt = sums(place, rows.doubt * reward, rows.size) + (terms + 8) * _UNIT * paid
    adding = np.zeros(rows.size, np.bool_)
    adding[leaving.places] = paid[leaving.places] > 0
    infinite = chain.leading_to(recurring & chain.leading_to(adding))
    return least_totals(chain, leaving.places, paid, 2 * doubt, infinite=infinite)


def _recurring(leaving: Leaving, chain: Totals, endless: Mask) -> Mask:
    """Places that are visited infinitely often on average, from themselves."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    row, column, _ = chain.matrix()
    open_ = ~leaving.sure
    kept = open_[row] & open_[column]
    row, column = row[kept], column[kept]
    graph = csr_array((np.ones(len(row), np.int8), (row, column)), shape=(chain.size,) * 2)
    count, label = connected_components(graph, connection="strong")
    last, never = np.ones(count, np.bool_), np.zeros(count, np.bool_)
    last[label[row[label[row] != label[column]]]] = False
    never[label[endless & open_]] = True
    recurring: Mask = (last & never)[label] & open_
    return recurring
