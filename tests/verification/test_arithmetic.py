"""Floats with error bounds prove nothing that is false, and nearly all that is true."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import proper_models

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate
from recurl.verification.arithmetic import Numbers


def accepted(model: recurl.RMDP, certificate: Certificate) -> bool:
    try:
        recurl.verify(model, certificate)
    except CertificateError:
        return False
    return True


def _exactly(self: Numbers, *, strict: bool = False) -> Iterator[int]:
    """Leaves everything to exact arithmetic."""
    numbers = ((i, self.exact(i)) for i in range(len(self.near)))
    return (i for i, x in numbers if x < 0 or (strict and x == 0))


def accepted_exactly(model: recurl.RMDP, certificate: Certificate) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Numbers, "failing", _exactly)
        return accepted(model, certificate)


def moved(value: float, ulps: int) -> float:
    return value + ulps * float(np.spacing(abs(value)))


@settings(max_examples=25, deadline=None)
@given(
    proper_models(), st.integers(-40, 40), st.integers(0, 10**6), st.sampled_from(["max", "min"])
)
def test_numbers_moved_by_few_units_are_judged_like_in_exact_arithmetic(
    model: recurl.RMDP, ulps: int, which: int, objective: str
) -> None:
    own = recurl.solve(model, objective=objective, epsilon=1e-3, method="certified").certificate
    assert own is not None
    point, piece = own.points[which % len(own.points)], own.pieces[which % len(own.pieces)]
    for numbers in (point.values, piece.rewards, *(piece.weights or ())[:3], own.steps):
        k = which % len(numbers)
        before, numbers[k] = numbers[k], moved(numbers[k], ulps)
        assert accepted(model, own) == accepted_exactly(model, own)
        numbers[k] = before


@pytest.mark.parametrize("name", ["cloud", "spelunking", "palindrome"])
def test_hardly_anything_is_left_to_exact_arithmetic(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = getattr(recurl.zoo, name)()
    own = recurl.solve(model, epsilon=1e-3).certificate
    left: list[int] = []
    failing = Numbers.failing

    def watched(self: Numbers, *, strict: bool = False) -> Iterator[int]:
        exact = self.exact
        self.exact = lambda i: left.append(i) or exact(i)  # type: ignore[func-returns-value]
        return failing(self, strict=strict)

    monkeypatch.setattr(Numbers, "failing", watched)
    checked = recurl.verify(model, own).checked
    assert len(left) < 0.03 * checked
    assert checked > 100


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
FORMULAS = {
    "sum": lambda a, b, c: a + b - c,
    "product": lambda a, b, c: a * b + c,
    "products": lambda a, b, c: (a * b) * (b * c) * c,
    "sums": lambda a, b, c: (a * b).sums(np.array([2, 0, 1])) + c,
    "tops": lambda a, b, c: (a - b).tops(np.array([1, 2, 0])) + c,
    "zero": lambda a, b, c: (a * b - c).or_zero(),
    "few": lambda a, b, c: a[np.array([2, 2, 0])] - b * c,
}


@pytest.mark.parametrize("formula", FORMULAS)
@given(rows=st.lists(st.lists(FLOATS, min_size=3, max_size=3), min_size=3, max_size=3))
def test_numbers_are_as_near_as_they_say(formula: str, rows: list[list[float]]) -> None:
    a, b, c = (Numbers(np.array(row)) for row in rows)
    with np.errstate(all="ignore"):
        found = FORMULAS[formula](a, b, c)
        error, low = (np.broadcast_to(x, 3) for x in (found.error, found.low))
        for i in range(3):
            if np.isfinite([found.near[i], error[i], low[i]]).all():
                off = found.exact(i) - Fraction(float(found.near[i])) - Fraction(float(low[i]))
                assert abs(off) <= Fraction(float(error[i]))
        for strict in (False, True):
            exactly = list(_exactly(found, strict=strict))
            assert list(found.failing(strict=strict)) == exactly


def test_rounded_numbers_are_not_taken_to_be_exact() -> None:
    third, same = (Numbers.nearest(np.array([1 / 3]), lambda _: Fraction(1, 3)) for _ in "ab")
    binary = Numbers(np.array([1 / 3]))
    assert list((third - binary).failing()) == []
    assert list((binary - third).failing()) == [0]
    assert list((third - same).failing()) == []
    assert list((third - same).failing(strict=True)) == [0]


def test_huge_numbers_are_left_to_exact_arithmetic() -> None:
    huge, small = Numbers(np.array([1e300])), Numbers(np.array([1e-300]))
    with np.errstate(all="ignore"):
        assert list((huge * huge - huge).failing()) == []
        assert list((huge - huge * huge).failing()) == [0]
        assert list((small * small).failing(strict=True)) == []
        assert list((-(small * small)).failing()) == [0]
        assert list((-(small * small) * (small * small)).failing()) == [0]
