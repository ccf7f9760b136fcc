"""Confidence sets hold as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from recurl.errors import UnknownNameError
from recurl.learn.pac.confidence import (
    FAMILIES,
    bernstein,
    clopper_pearson,
    confidence_sets,
    level_size,
    weissman_radius,
)


def test_levels_grow() -> None:
    sizes = [level_size(j) for j in range(40)]
    assert sizes == sorted(set(sizes))


def test_clopper_pearson_is_that_of_the_textbook() -> None:
    from scipy import stats  # takes longer to import than the test

    low, high = clopper_pearson(np.array([0, 3, 10]), np.array([10, 10, 10]), np.full(3, 0.05))
    for count, a, b in zip((0, 3, 10), low, high, strict=True):
        exact = stats.binomtest(count, 10).proportion_ci(0.95, method="exact")
        assert (a, b) == pytest.approx((exact.low, exact.high), abs=1e-8)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5])
@pytest.mark.parametrize("bounds", [clopper_pearson, bernstein])
def test_intervals_fail_no_more_often_than_stated(p: float, bounds: object) -> None:
    from scipy import stats

    n = 200
    counts = np.arange(n + 1)
    low, high = bounds(counts, np.full(n + 1, n), np.full(n + 1, 0.1))  # type: ignore[operator]
    outside = stats.binom.pmf(counts, n, p)[(p < low) | (p > high)].sum()
    assert outside <= 0.1


def test_the_ball_fails_no_more_often_than_stated() -> None:
    p, n = np.array([0.6, 0.3, 0.1]), 100
    radius = weissman_radius(np.array([n]), np.array([0.1]), np.array([3]))[0]
    drawn = np.random.default_rng(1).multinomial(n, p, size=5000) / n
    assert (np.abs(drawn - p).sum(axis=1) > radius).mean() <= 0.1


@pytest.mark.parametrize("family", FAMILIES)
def test_sets_hold_the_centre_and_leave_room_for_the_unseen(family: str) -> None:
    start = np.array([0, 1, 3, 6, 8])
    counts = np.array([7, 3, 7, 2, 0, 8, 0, 0])
    support = np.array([1, 2, 5, 2])
    sets = confidence_sets(family, counts, start, failure=np.full(4, 0.05), support=support)
    np.testing.assert_allclose(np.add.reduceat(sets.centre, start[:-1]), 1.0)
    assert (sets.low <= sets.centre).all()
    assert (sets.centre <= sets.high).all()
    assert (sets.missing > 0).tolist() == [False, False, True, False]
    known = 0.0 if family == "weissman" else 2.0
    assert sets.radius[0] == known
    if family != "weissman":
        assert (sets.low[0], sets.high[0]) == (1.0, 1.0)
    assert (sets.low[6:] == 0).all()
    assert (sets.high[6:] == 1).all()


def test_one_outcome_seen_of_two_is_the_complement_of_none() -> None:
    kwargs = {"failure": np.array([0.1]), "support": np.array([2])}
    sets = confidence_sets("clopper-pearson", np.array([50]), np.array([0, 1]), **kwargs)
    assert sets.missing[0] == pytest.approx(1 - sets.low[0], abs=1e-8)


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="bernstein"):
        confidence_sets(
            "bernstain", np.array([1]), np.array([0, 1]), failure=np.ones(1), support=np.ones(1)
        )  # type: ignore[arg-type]
