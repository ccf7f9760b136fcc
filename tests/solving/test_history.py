from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pytest

import recurl
from recurl.solving.history import MOST, History, is_watched

mpl.use("Agg")


def test_intervals_are_noted_and_passed_on() -> None:
    told = []
    history = History(lambda *interval: told.append(interval))
    history(-2.0, 1.0, {"rounds": 1})
    assert told == [(-2.0, 1.0, {"rounds": 1})]
    assert history.intervals[0][1:] == (-2.0, 1.0)


def test_of_many_intervals_some_are_kept_in_order() -> None:
    history = History()
    for i in range(10 * MOST):
        history(float(i), 1e9, {})
    lows = [low for _, low, _ in history.intervals]
    assert len(lows) <= MOST
    assert lows == sorted(lows)
    assert (lows[0], lows[-1]) == (0.0, 10.0 * MOST - 1)


def test_a_history_alone_is_nobody_who_watches() -> None:
    assert not is_watched(None)
    assert not is_watched(History())
    assert is_watched(History(print))
    assert is_watched(print)


def test_noting_does_not_change_how_a_model_is_solved() -> None:
    """With somebody to tell, 1-exit methods refine in stages; a history is no such body."""
    model = recurl.zoo.spelunking()
    alone = recurl.solve(model, "value-iteration")
    watched = recurl.solve(model, "value-iteration", callback=lambda *_: None)
    assert len(watched.history) > len(alone.history) == 2


@pytest.mark.parametrize("model", [recurl.zoo.cloud(), recurl.zoo.cloud(exits=1)])
def test_bounds_close_over_time(model: recurl.RMDP) -> None:
    solution = recurl.solve(model)
    seconds, lower, upper = np.array(solution.history).T
    assert (np.diff(seconds) >= 0).all()
    assert (lower <= upper).all()
    assert (lower[-1], upper[-1], seconds[-1]) == (solution.lower, solution.upper, solution.seconds)


def test_a_plot_shows_both_bounds() -> None:
    import matplotlib.pyplot as plt

    solution = recurl.solve(recurl.zoo.cloud())
    axes = solution.plot()
    low, high = axes.lines[:2]
    assert list(np.asarray(low.get_ydata())) == [one[1] for one in solution.history]
    assert list(np.asarray(high.get_ydata())) == [one[2] for one in solution.history]
    assert axes.get_xlabel() == "seconds"
    assert axes.get_ylabel() == "greatest expected total reward"
    bottom, top = axes.get_ylim()
    assert bottom < solution.lower <= solution.upper < top
    plt.close("all")


def test_an_infinite_value_is_not_plotted() -> None:
    endless = (
        recurl.Builder("endless")
        .component("A", entries="in", exits="out")
        .at("in").action("go").to("on")
        .at("on").action("more", reward=1).to("on").action("stop").to("out")
        .build()
    )  # fmt: skip
    with pytest.raises(ValueError, match="nothing to plot: the value is inf"):
        recurl.solve(endless).plot()


def test_certified_intervals_never_widen() -> None:
    seen: list[tuple[float, float]] = []
    solution = recurl.solve(
        recurl.zoo.stack_matters(),
        "certified",
        callback=lambda low, high, work: seen.append((low, high)),
    )
    assert len(seen) > 1
    for before, after in itertools.pairwise(seen):
        assert after[0] >= before[0]
        assert after[1] <= before[1]
    assert solution.lower <= 43 / 55 <= solution.upper
