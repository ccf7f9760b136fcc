from __future__ import annotations

import numpy as np
import pytest

from recurl.experiment.record import Record
from recurl.experiment.statistics import (
    Band,
    band,
    bootstrap,
    final_value,
    interquartile_mean,
    last_tests,
    margin,
    steps_within,
    thinned,
)


def record(*means: float) -> Record:
    curve = {"steps": [100 * i for i in range(len(means))], "mean": list(means)}
    return Record(experiment="e", method="m", label="", seed=0, config={}, curve=curve)  # type: ignore[arg-type]


def test_band_is_mean_and_percentiles() -> None:
    found = band([record(0, value) for value in range(11)])
    assert found.mean.tolist() == [0, 5]
    assert (found.low[1], found.high[1]) == (1, 9)


def test_band_keeps_the_steps_that_all_have() -> None:
    assert band([record(1, 2, 3), record(1, 2)]).steps.tolist() == [0, 100]
    assert len(band([]).steps) == 0


@pytest.mark.parametrize(("tests", "points"), [(1001, 125), (201, 125), (301, 125), (9, 4)])
def test_thinning_keeps_the_mean_and_the_beginning(tests: int, points: int) -> None:
    values = np.random.default_rng(0).normal(size=tests)
    curve = Band(np.arange(tests, dtype=float), values, values - 1, values + 1)
    found = thinned(curve, points)
    assert found.mean[0] == values[0]
    assert len(found.steps) <= 2 * points + 1
    sizes = np.diff([*range(1, tests, max(1, tests // points)), tests])
    assert found.mean[1:] @ sizes == pytest.approx(values[1:].sum())


@pytest.mark.parametrize("count", [4, 8, 40])
def test_interquartile_mean_cuts_a_quarter_at_each_end(count: int) -> None:
    values = np.random.default_rng(0).normal(size=count)
    middle = np.sort(values)[count // 4 : 3 * count // 4]
    assert interquartile_mean(values) == pytest.approx(middle.mean())


def test_bootstrap_interval_holds_the_estimate() -> None:
    values = np.random.default_rng(1).normal(size=10).tolist()
    low, high = bootstrap(values)
    assert low < float(interquartile_mean(values)) < high


def test_final_value_is_the_mean_of_the_last_tenth() -> None:
    assert final_value(record(*range(30))) == 28
    assert np.isnan(final_value(record()))


def test_steps_within_wants_ten_tests_in_a_row() -> None:
    lucky = [-10.0] * 20
    lucky[3] = -1.0
    assert steps_within(record(*lucky), -1.0, 0.05) is None
    assert steps_within(record(*[-10.0] * 5, *[-1.0] * 20), -1.0, 0.05) == 1400


def test_margins_come_from_runs_or_else_from_tests() -> None:
    assert margin([1.0, 1.0, 1.0]) == 0
    wide, narrow = margin([0.0, 2.0]), margin([0.0, 2.0] * 50)
    assert wide is not None
    assert narrow is not None
    assert wide > 12 > narrow  # Student's factor for two samples is 12.7
    assert last_tests(record(*range(40))).tolist() == [36, 37, 38, 39]
