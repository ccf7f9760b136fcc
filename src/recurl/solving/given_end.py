"""The expected total reward of a recursive Markov chain, given that the run ends.

Let P(q, k) be the probability to leave place q by exit k, the least solution of x = f(x), and
E(q, k) the expectation of the reward on the way, counted only for runs that do so. A term
``p x_i x_j`` of f whose transition pays r adds ``p (r P_i P_j + E_i P_j + P_i E_j)`` to E, so that

    E = b + f'(P) E,   where b is f(P) with every term times its reward.

With gains and losses apart, b and f'(P) are nonnegative and grow with P. Upper bounds of P thus
give upper bounds of E, lower ones lower bounds, by the inequalities of `chains`. The answer is the
quotient of the sum of E and of the probability to end.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from recurl.model.tables import Floats, Mask
from recurl.solving.chain_equations import Polynomials, polynomials
from recurl.solving.chains import ChainBounds, Leaving, least_solution
from recurl.solving.outward import Indices, float_above, float_below
from recurl.solving.rows import Rows

_TINY = 1e-290


def ending_rewards(rows: Rows, leaving: Leaving) -> tuple[Floats, Floats]:
    """Bounds of E, by place and exit: rewards of the runs that leave there, times their chance.

    Infinite where nothing is proved. ``[n, K]``

    Example:
        A procedure that calls itself twice with probability 3/5 ends with 2/3. Given that, it
        takes 9 steps, each of which pays 1:

        >>> import recurl
        >>> from recurl.solving.chains import leave_probabilities
        >>> from recurl.solving.rows import rows_of_model
        >>> rows = rows_of_model(recurl.zoo.gambler(p=0.6).tables)
        >>> low, high = ending_rewards(rows, leave_probabilities(rows))
        >>> bool(low[0, 0] <= 9 * 2 / 3 <= high[0, 0] < low[0, 0] + 1e-9)
        True
    """
    gain, loss = (_one_side(rows, leaving, sign) for sign in (1.0, -1.0))
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = gain.lower - loss.upper, gain.upper - loss.lower
    low = np.where(np.isfinite(low), np.nextafter(low, -np.inf), -np.inf)
    high = np.where(np.isfinite(high), np.nextafter(high, np.inf), np.inf)
    table = np.zeros((2, *leaving.can.shape))
    table[:, leaving.can] = low, high
    return table[0], table[1]


def _one_side(rows: Rows, leaving: Leaving, sign: float) -> ChainBounds:
    """Bounds of E for gains or for losses, found in units of a power of two.

    Rewards that are too small for these units count as tiny ones, with a doubt that is greater.
    """
    counts: Mask = np.any(leaving.can[rows.row_place], axis=1)
    reward = np.where(counts, np.maximum(sign * rows.reward, 0.0), 0.0)
    exponent = int(np.frexp(reward.max(initial=0.0))[1])
    found = _in_units(rows, leaving, np.ldexp(reward, -exponent), reward > 0)
    with np.errstate(over="ignore"):
        low, value, high = (np.ldexp(each, exponent) for each in found)
    low = np.where(low > 0, np.nextafter(low, -np.inf), 0.0)
    return ChainBounds(low, value, np.where(found.upper > 0, np.nextafter(high, np.inf), 0.0))


def _in_units(rows: Rows, leaving: Leaving, scaled: Floats, paying: Mask) -> ChainBounds:
    paid = np.where(paying, np.maximum(scaled, _TINY), 0.0)
    weight = rows.prob * paid
    doubt = (1 + 1e-14) * rows.doubt * paid + 1e-15 * weight
    doubt = np.where(scaled < paid, doubt + 2 * _TINY, doubt)
    reward = polynomials(rows._replace(prob=weight, doubt=doubt), leaving.can)
    low, value, high = (p[leaving.can] for p in (leaving.lower, leaving.value, leaving.upper))
    most = np.where(reward.terms > 0, reward.above(high), 0.0)
    slope = _Slope(polynomials(rows, leaving.can), low, value, high)
    return least_solution(slope, most, 2 * (most - reward.below(low)))


class _Slope(NamedTuple):
    """The operator d -> f'(P) d, given bounds of P."""

    f: Polynomials
    low: Floats
    value: Floats
    high: Floats

    def above(self, d: Floats) -> Floats:
        """At least f'(P) d, for d >= 0."""
        return self.f.slope_above(self.high, d)

    def below(self, d: Floats) -> Floats:
        """At most f'(P) d, for d >= 0."""
        return self.f.slope_below(self.low, d)

    def matrix(self) -> tuple[Indices, Indices, Floats]:
        """Row, column and value of the entries of f'(P), in floats."""
        return self.f.jacobian(self.value)


def quotient(total: tuple[float, float], chance: tuple[float, float]) -> tuple[float, float]:
    """Bounds of a total over a chance, rounded outwards; infinite if the chance may be 0.

    Example:
        >>> quotient((-1.0, 3.0), (0.5, 0.75))
        (-2.0, 6.0)
    """
    if chance[0] <= 0:
        return -math.inf, math.inf
    low, high = total
    if math.isfinite(low):
        low = float_below(Fraction(low) / Fraction(chance[low >= 0]))
    if math.isfinite(high):
        high = float_above(Fraction(high) / Fraction(chance[high < 0]))
    return low, high
