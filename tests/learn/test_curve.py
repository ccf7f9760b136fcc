"""Curves as columns."""

from __future__ import annotations

import pytest

from recurl.learn.curve import Curve, Score


def test_columns_and_rows() -> None:
    curve = Curve()
    for i in range(3):
        curve.add(Score(i, -i, 1.0, 2.0, 0.0, 5.0, -1.0, 3.0))
    assert curve.steps.tolist() == [0, 1, 2]
    assert curve.mean.tolist() == [0, -1, -2]
    assert [score.mean for score in Curve(curve.array)] == [0, -1, -2]
    with pytest.raises(AttributeError, match="contexts"):
        _ = curve.nonsense
