"""Curves as columns."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest

from recurl.learn.curve import Curve, Score, over_runs

mpl.use("Agg")


def curve_of(*means: float) -> Curve:
    curve = Curve()
    for i, mean in enumerate(means):
        curve.add(Score(100 * i, mean, 1.0, 2.0, 0.0, 5.0, -1.0, 3.0))
    return curve


@pytest.fixture
def closing() -> Iterator[None]:
    """Close the figures of a test."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def test_columns_and_rows() -> None:
    curve = Curve()
    for i in range(3):
        curve.add(Score(i, -i, 1.0, 2.0, 0.0, 5.0, -1.0, 3.0))
    assert curve.steps.tolist() == [0, 1, 2]
    assert curve.mean.tolist() == [0, -1, -2]
    assert [score.mean for score in Curve(curve.array)] == [0, -1, -2]
    with pytest.raises(AttributeError, match="contexts"):
        _ = curve.nonsense


@pytest.mark.usefixtures("closing")
def test_one_curve_is_a_line() -> None:
    axes = curve_of(-3, -2, -1).plot(optimum=-0.5)
    line, optimum = axes.lines
    assert list(np.asarray(line.get_xdata())) == [0, 100, 200]
    assert list(np.asarray(line.get_ydata())) == [-3, -2, -1]
    assert np.asarray(optimum.get_ydata())[0] == -0.5
    assert not axes.collections
    assert axes.get_xlabel() == "training steps"
    assert axes.get_ylabel() == "return of the greedy policy"


@pytest.mark.usefixtures("closing")
def test_several_curves_are_their_mean_with_a_shade() -> None:
    axes = curve_of(0, 1).plot(curve_of(2, 3, 4))
    assert list(np.asarray(axes.lines[0].get_ydata())) == [1, 2]
    assert len(axes.collections) == 1
    again = curve_of(5, 5).plot(axes=axes, label="other")
    assert again is axes
    assert axes.lines[0].get_color() != axes.lines[1].get_color()


def test_a_curve_without_tests_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="set evaluate_every"):
        Curve().plot()


def test_runs_are_compared_at_the_steps_that_all_have() -> None:
    band = over_runs([{0: 1.0, 10: 2.0}, {10: 4.0, 20: 5.0}])
    assert (band.steps.tolist(), band.mean.tolist()) == ([10], [3.0])
    assert over_runs([]).steps.size == 0
