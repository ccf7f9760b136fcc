"""Statistics over runs: means, percentiles, interquartile means with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recurl.experiment.record import Record
from recurl.learn.curve import Band, over_runs
from recurl.model.tables import Floats

RESAMPLES = 10_000
SMOOTHING = 10
"""Tests over which a curve is averaged before it counts as near the optimum."""


def band(records: Sequence[Record]) -> Band:
    """Mean and percentiles over runs, at the steps that all of them tested at.

    Example:
        >>> def one(*means):
        ...     return Record(experiment="", method="", label="", seed=0, config={},
        ...                   curve={"steps": [0, 100], "mean": list(means)})
        >>> band([one(0, 1), one(2, 3)]).mean
        array([1., 2.])
    """
    return over_runs([dict(zip(r.column("steps"), r.column("mean"), strict=True)) for r in records])


def thinned(curve: Band, points: int) -> Band:
    """The curve with the means of neighbouring tests in place of them, if it has many more tests.

    The first test stays as it is, so that the curve begins where learning does.

    Example:
        >>> line = np.arange(9.0)
        >>> thinned(Band(line, line, line, line), 4).mean
        array([0. , 1.5, 3.5, 5.5, 7.5])
    """
    group = len(curve.steps) // max(1, points)
    if group < 2:
        return curve
    starts = np.arange(1, len(curve.steps), group)
    sizes = np.diff(np.append(starts, len(curve.steps)))
    means = (np.add.reduceat(column, starts) / sizes for column in curve)
    return Band(*(np.append(old[0], new) for old, new in zip(curve, means, strict=True)))


def final_value(record: Record) -> float:
    """Mean of the last tenth of a run's tests; nan if there is none.

    Example:
        >>> final_value(Record(experiment="", method="", label="", seed=0, config={},
        ...                    curve={"steps": list(range(20)), "mean": list(range(20))}))
        18.5
    """
    means = last_tests(record)
    return float(means.mean()) if len(means) else float("nan")


def last_tests(record: Record) -> Floats:
    """The last tenth of a run's tests."""
    means = record.column("mean")
    return means[-max(1, len(means) // 10) :]


def margin(samples: Sequence[float] | Floats) -> float | None:
    """Half the width of Student's 95 % interval of a mean; None for less than two samples.

    Example:
        >>> margin([1.0]), round(margin([1.0, 2.0, 3.0]), 4)
        (None, 2.4841)
    """
    from scipy.special import stdtrit

    count = len(samples)
    if count < 2:
        return None
    return float(stdtrit(count - 1, 0.975) * np.std(samples, ddof=1) / np.sqrt(count))


def interquartile_mean(values: Sequence[float] | Floats) -> Floats:
    """Mean of the middle half, of each row: a quarter of the values is cut off at each end.

    Where a quarter is not a whole number, the values at the edge count with the part that is left.

    Example:
        >>> float(interquartile_mean([0, 1, 2, 100])), float(interquartile_mean([1, 2, 6]))
        (1.5, 2.5)
    """
    ordered = np.sort(np.asarray(values, np.float64))
    count = ordered.shape[-1]
    inside = np.clip(np.arange(count + 1), count / 4, 3 * count / 4)
    found: Floats = ordered @ (np.diff(inside) / (count / 2))
    return found


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the interquartile mean.

    Example:
        >>> bootstrap([3.0, 3.0, 3.0])
        (3.0, 3.0)
    """
    sample = np.asarray(values, np.float64)
    random = np.random.default_rng(0)
    drawn = sample[random.integers(len(sample), size=(RESAMPLES, len(sample)))]
    low, high = np.percentile(interquartile_mean(drawn), [2.5, 97.5])
    return float(low), float(high)


def mean_interval(values: Floats) -> tuple[Floats, Floats]:
    """The 95 % percentile bootstrap interval of the mean over the rows, for each column.

    Example:
        >>> low, high = mean_interval(np.array([[1.0, 0.0], [1.0, 2.0]]))
        >>> low.tolist(), high.tolist()
        ([1.0, 0.0], [1.0, 2.0])
    """
    random = np.random.default_rng(0)
    weights = random.multinomial(len(values), [1 / len(values)] * len(values), RESAMPLES)
    low, high = np.percentile(weights @ values / len(values), [2.5, 97.5], axis=0)
    return low, high


def steps_within(record: Record, optimum: float, share: float) -> float | None:
    """Steps after which the mean of ten tests in a row is within a share of the optimum.

    One test of a hundred episodes is noisy, and may be near the optimum by luck.

    Returns:
        Steps at the last of these tests; None if that never happens.
    """
    means, steps = record.column("mean"), record.column("steps")
    width = min(SMOOTHING, len(means))
    if not width:
        return None
    smooth = np.convolve(means, np.full(width, 1 / width), mode="valid")
    near = np.flatnonzero(smooth >= optimum - share * abs(optimum))
    return float(steps[near[0] + width - 1]) if len(near) else None
