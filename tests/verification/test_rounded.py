"""Rounded arithmetic proves nothing that exact arithmetic does not, and nearly all there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import proper_models

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate
from recurl.verification import checker
from recurl.verification.rounded import Rounded, binary_places


class _Nothing(Rounded):
    """Leaves everything to exact arithmetic."""

    def steps(self) -> np.ndarray:
        return np.zeros_like(super().steps())

    def points(self, points: Any) -> list[np.ndarray]:
        return [np.zeros_like(own) for own in super().points(points)]

    def pieces(self, pieces: Any) -> list[np.ndarray]:
        return [np.zeros_like(own) for own in super().pieces(pieces)]


def accepted(model: recurl.RMDP, certificate: Certificate) -> bool:
    try:
        recurl.verify(model, certificate)
    except CertificateError:
        return False
    return True


def accepted_exactly(model: recurl.RMDP, certificate: Certificate) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checker, "Rounded", _Nothing)
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
def test_hardly_anything_is_left_to_exact_arithmetic(name: str) -> None:
    model = getattr(recurl.zoo, name)()
    own = recurl.solve(model, epsilon=1e-3).certificate
    assert own is not None
    rounded = Rounded(model, own, 1)
    proved = [rounded.steps(), *rounded.points(own.points), *rounded.pieces(own.pieces)]
    assert np.concatenate(proved).mean() > 0.97
    assert rounded.proved > 100


def test_huge_numbers_are_left_to_exact_arithmetic() -> None:
    model = recurl.zoo.cloud()
    own = recurl.solve(model, epsilon=1e-3).certificate
    assert own is not None
    own.points[0].values[:] = [1e300 + x for x in own.points[0].values]
    states = model.tables.action_start[1:] > model.tables.action_start[:-1]
    first = model.tables.component_start[own.points[0].component]
    proved = Rounded(model, own, 1).points(own.points)[0]
    assert not proved[states[first : first + len(proved)]].any()


def test_binary_places_write_every_number() -> None:
    numbers = [0.0, 1.0, -0.375, 3e-5, 5e-324]
    unit = 1 << binary_places(numbers)
    assert all(unit % x.as_integer_ratio()[1] == 0 for x in numbers)
    assert binary_places([]) == binary_places([0.0]) == 0
