"""Confidence sets for the outcome probabilities of a pair: four families.

- ``"martingale"``: mixtures of likelihood ratios for each outcome on its own. They hold at all
  times, so nothing is split over times. On 1-exit models there are bets on the value beside them
  (`recurl.learn.pac.betting`). The default: it needs the fewest samples, see
  docs/results/guarantees.md.
- ``"clopper-pearson"``: exact binomial tails for each outcome on its own.
- ``"bernstein"``: empirical Bernstein (Maurer and Pontil), with the observed variance.
- ``"weissman"``: one ball in the sum of absolute differences for the whole pair.

With the last three a pair is evaluated after certain numbers of samples only, its *levels* (see
`level_size`), so that one statement per pair and level is needed, however and whenever one decides
to go on sampling: the first n samples of a pair are independent draws. Level j of a pair may fail
with delta/(N j (j+1)).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.errors import UnknownNameError

if TYPE_CHECKING:
    from recurl.learn.pac.observed import Observed, StartCounts
    from recurl.learn.pac.plan import Longs
    from recurl.model.tables import Floats, Ints

ALL_TIMES = "martingale"
"""The family that holds at all times."""
FAMILIES = ("bernstein", "clopper-pearson", ALL_TIMES, "weissman")
_FIRST, _GROWTH = 32, 1.4
_ROUNDING, _HALVINGS = 1e-12, 60


class Sets(NamedTuple):
    """The distributions that the data allow.

    Attributes:
        low: Least probability of each transition. ``[T]``
        high: Greatest probability of each transition. ``[T]``
        centre: The observed frequencies; a distribution for each pair. ``[T]``
        radius: Greatest sum of differences from the centre, by pair; 2 says nothing. ``[A]``
        missing: Greatest probability of outcomes that were never seen, by pair. ``[A]``
    """

    low: Floats
    high: Floats
    centre: Floats
    radius: Floats
    missing: Floats


def sets_of(observed: Observed, family: str, delta: float) -> Sets:
    """The confidence sets of all pairs, valid together with probability 1 - delta."""
    return confidence_sets(
        family,
        observed.counts,
        observed.model.tables.transition_start,
        failure=delta * (observed.share if family == ALL_TIMES else observed.failure),
        support=observed.support,
    )


def start_sets(starts: StartCounts, family: str, delta: float) -> Sets:
    """The confidence set of the start distribution, as that of a single pair."""
    return confidence_sets(
        family,
        starts.counts,
        np.array([0, len(starts.vertices)], np.int32),
        failure=np.array([delta * (starts.share if family == ALL_TIMES else starts.failure)]),
        support=np.array([max(starts.most, len(starts.vertices))], np.int32),
    )


def level_size(level: int) -> int:
    """Samples of a pair at a level; level 0 has none.

    Example:
        >>> [level_size(j) for j in range(5)]
        [0, 32, 45, 63, 88]
    """
    return 0 if level == 0 else math.ceil(_FIRST * _GROWTH ** (level - 1))


def confidence_sets(
    family: str,
    counts: Longs,
    transition_start: Ints,
    *,
    failure: Floats,
    support: Ints,
) -> Sets:
    """The distributions that counts allow, each pair failing with its own probability.

    Args:
        family: One of `FAMILIES`.
        counts: How often each transition was seen. ``[T]``
        transition_start: First transition of each pair. ``[A + 1]``
        failure: Probability with which the set of a pair may miss the truth. ``[A]``
        support: How many outcomes a pair has at most; more than were seen leave room for others.

    Example:
        >>> start, ten = np.array([0, 2]), np.array([3, 7])
        >>> sets = confidence_sets(
        ...     "clopper-pearson", ten, start, failure=np.array([0.05]), support=np.array([2])
        ... )
        >>> sets.low.round(4).tolist(), sets.high.round(4).tolist()
        ([0.0667, 0.3475], [0.6525, 0.9333])
    """
    if family not in FAMILIES:
        raise UnknownNameError("family of intervals", family, FAMILIES)
    sizes = np.diff(transition_start)
    pair = np.repeat(np.arange(len(sizes)), sizes)
    total = np.add.reduceat(counts, transition_start[:-1])
    unseen = np.maximum(support - sizes, 0)
    n = total[pair]
    centre = np.where(n > 0, counts / np.maximum(n, 1), 1 / sizes[pair])
    # Of two outcomes one interval tells both; else each outcome, seen or not, has its own.
    share = np.where(support <= 2, failure, failure / np.maximum(support, 1))
    known = (support == 1) & (sizes == 1)
    if family == "weissman":
        radius = np.minimum(weissman_radius(total, failure, support), 2.0)
        ends = np.zeros(len(centre)), np.ones(len(centre))
        return Sets(*ends, centre, np.where(known, 0.0, radius), (unseen > 0).astype(np.float64))
    bounds = {"clopper-pearson": clopper_pearson, "bernstein": bernstein, ALL_TIMES: mixture}[
        family
    ]
    low, high = bounds(counts, n, share[pair])
    low, high = np.where(known[pair], 1.0, low), np.where(known[pair], 1.0, high)
    missing = unseen * bounds(np.zeros_like(total), total, share)[1]
    return Sets(low, high, centre, np.full(len(sizes), 2.0), np.minimum(missing, 1.0))


def clopper_pearson(count: Longs, n: Longs, failure: Floats) -> tuple[Floats, Floats]:
    """Exact binomial interval: each tail beyond it has probability failure / 2 at most."""
    from scipy.special import betainccinv, betaincinv

    half, safe = failure / 2, np.maximum(n, 1)
    low = betaincinv(np.maximum(count, 1), safe - count + 1, half)
    high = betainccinv(count + 1, np.maximum(safe - count, 1), half)
    # A hair wider, for the rounding of the inverse.
    low = np.where(count > 0, low * (1 - 1e-9), 0.0)
    high = np.where(count < n, np.minimum(high * (1 + 1e-9), 1.0), 1.0)
    return low, high


def mixture(count: Longs, n: Longs, failure: Floats) -> tuple[Floats, Floats]:
    """All p that a mixture of likelihood ratios does not refute, at all n together.

    With q drawn from Beta(1/2, 1/2), the mean of (q/p)^k ((1-q)/(1-p))^(n-k) over q is a martingale
    under p, and exceeds 1 / failure at some n with probability at most `failure`.

    Example:
        >>> low, high = mixture(np.array([30]), np.array([100]), np.array([0.05]))
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.166], [0.463])
    """
    from scipy.special import betaln, xlog1py, xlogy

    k, rest = count.astype(np.float64), (n - count).astype(np.float64)
    mixed = betaln(k + 0.5, rest + 0.5) - betaln(0.5, 0.5)
    needed = mixed + np.log(failure) - _ROUNDING * (1 + np.abs(mixed))
    mean = k / np.maximum(n, 1)
    ends = []
    for outer in (np.zeros(len(k)), np.ones(len(k))):
        inner = mean.copy()
        for _ in range(_HALVINGS):
            middle = 0.5 * (inner + outer)
            inside = xlogy(k, middle) + xlog1py(rest, -middle) >= needed
            inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
        ends.append(outer)
    low, high = ends
    return np.where(count > 0, low, 0.0), np.where(count < n, high, 1.0)


def bernstein(count: Longs, n: Longs, failure: Floats) -> tuple[Floats, Floats]:
    """Empirical Bernstein: sqrt(2 V L / n) + 7 L / (3 (n - 1)), L = ln(4 / failure), both sides."""
    safe = np.maximum(n, 2)
    mean = count / safe
    variance = mean * (1 - mean) * safe / (safe - 1)
    log = np.log(4 / failure)
    width = np.sqrt(2 * variance * log / safe) + 7 * log / (3 * (safe - 1))
    width = np.where(n > 1, width, 1.0)
    return np.maximum(mean - width, 0.0), np.minimum(mean + width, 1.0)


def weissman_radius(total: Longs, failure: Floats, support: Ints) -> Floats:
    """sqrt(2 / n ln((2^m - 2) / failure)), the sum of differences that n samples leave."""
    m = np.maximum(support, 2).astype(np.float64)
    words = m * math.log(2) + np.log1p(-(2.0 ** (1 - m)))
    radius: Floats = np.sqrt(2 / np.maximum(total, 1) * (words - np.log(failure)))
    return np.where(total > 0, radius, 2.0)
