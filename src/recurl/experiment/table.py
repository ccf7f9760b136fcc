"""The table of results: one row per experiment and method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from recurl.experiment.paper import Comparison, beside_published, published_curves
from recurl.experiment.record import CurveColumns, Record
from recurl.experiment.settings import Method
from recurl.experiment.statistics import (
    bootstrap,
    final_value,
    interquartile_mean,
    last_tests,
    margin,
    steps_within,
)
from recurl.experiment.study import Study
from recurl.model.text_tables import markdown_table

EXACT = 1e-5
"""A policy counts as near-optimal if it falls short of the optimum by no more than this share of
it, or of 1 if the optimum is smaller. It may still be another policy than the best."""


class Row(NamedTuple):
    """The results of one method. Numbers that do not exist are None.

    Attributes:
        experiment: Name of the experiment.
        method: Name of the method.
        label: Its name in tables and figures.
        runs: Runs that finished.
        failed: Runs that failed.
        steps: Steps of each.
        final: Final value, mean over runs of the mean of each one's last tenth of tests.
        final_margin: Half the width of the 95 % interval of the final value.
        iqm: Interquartile mean of the same.
        iqm_low: Lower end of its 95 % bootstrap interval.
        iqm_high: Upper end.
        exact: Exact value of the final greedy policy, mean over runs.
        exact_worst: The worst of them.
        near_optimal: Runs whose final policy is worth the optimum up to the share `EXACT` of it.
        optimum: The certified optimum.
        distance: Optimum less mean exact value.
        within_5: Steps to 5 % of the optimum, median over runs; None if most do not get there.
        within_1: Steps to 1 %.
        seconds: Wall time of a run, mean.
        speed: Steps a second.
        better: Published tests at which our mean is better, by its 95 % bootstrap interval.
        alike: Published tests at which the interval contains the published mean.
        worse: Published tests at which our mean is worse.
        comparison: The same in words, with steps.
    """

    experiment: str
    method: str
    label: str
    runs: int
    failed: int
    steps: int
    final: float | None = None
    final_margin: float | None = None
    iqm: float | None = None
    iqm_low: float | None = None
    iqm_high: float | None = None
    exact: float | None = None
    exact_worst: float | None = None
    near_optimal: int = 0
    optimum: float | None = None
    distance: float | None = None
    within_5: float | None = None
    within_1: float | None = None
    seconds: float | None = None
    speed: float | None = None
    better: int | None = None
    alike: int | None = None
    worse: int | None = None
    comparison: str = ""


def table_rows(studies: Iterable[Study]) -> list[Row]:
    """A row for each method of each study."""
    return [_row(study, method) for study in studies for method in study.experiment.methods]


def _row(study: Study, method: Method) -> Row:
    records = study.of_method(method.name)
    failed = sum(one.failed for one in study.records if one.method == method.name)
    row = Row(
        experiment=study.experiment.name,
        method=method.name,
        label=method.label or method.name,
        runs=len(records),
        failed=failed,
        steps=study.experiment.steps,
        optimum=study.optimum.value,
    )
    if not records:
        return row
    row = row._replace(**_finals(records), **_exacts(records, row.optimum), **_times(records))
    if row.optimum is not None:
        row = row._replace(
            within_5=_median_steps(records, row.optimum, 0.05),
            within_1=_median_steps(records, row.optimum, 0.01),
        )
    curves = comparison(study, method)
    if curves is None:
        return row
    better, worse = len(curves.better), len(curves.worse)
    return row._replace(
        better=better,
        alike=len(curves.steps) - better - worse,
        worse=worse,
        comparison=curves.words,
    )


def comparison(study: Study, method: Method) -> Comparison | None:
    """The runs of a method beside its published curve; None without one, or with one run."""
    published = published_curves().get((study.experiment.reference, method.published))
    records = study.of_method(method.name)
    if published is None or not records:
        return None
    tests = [dict(zip(r.column("steps"), r.column("mean"), strict=True)) for r in records]
    shared = sorted(set.intersection(*map(set, tests)))
    means = np.array([[run[step] for step in shared] for run in tests])
    return beside_published(np.array(shared), means, published)


def _finals(records: Sequence[Record]) -> dict[str, Any]:
    finals = [final_value(one) for one in records]
    if not np.isfinite(finals).all():
        return {}
    low, high = bootstrap(finals)
    iqm = float(interquartile_mean(finals))
    # The tests of a single run are the only samples that there are.
    samples = finals if len(finals) > 1 else last_tests(records[0])
    return {
        "final": float(np.mean(finals)),
        "final_margin": margin(samples),
        "iqm": iqm,
        "iqm_low": low,
        "iqm_high": high,
    }


def _exacts(records: Sequence[Record], optimum: float | None) -> dict[str, Any]:
    """Exact values; where one is not finite there is no mean."""
    values = [one.exact.value if one.exact else None for one in records]
    known = [value for value in values if value is not None]
    near = 0 if optimum is None else sum(_is_near(x, optimum) for x in known)
    if len(known) < len(values):
        return {"near_optimal": near}
    mean = float(np.mean(known))
    return {
        "exact": mean,
        "exact_worst": min(known),
        "near_optimal": near,
        "distance": None if optimum is None else optimum - mean,
    }


def _is_near(value: float, optimum: float) -> bool:
    return optimum - value <= EXACT * max(1.0, abs(optimum))


def _times(records: Sequence[Record]) -> dict[str, Any]:
    """Times; a record that was made of a checkpoint has none."""
    seconds = float(np.mean([one.seconds for one in records]))
    steps = float(np.mean([one.steps for one in records]))
    return {"seconds": seconds, "speed": steps / seconds} if seconds else {}


def _median_steps(records: Sequence[Record], optimum: float, share: float) -> float | None:
    steps = [steps_within(one, optimum, share) for one in records]
    median = float(np.median([np.inf if step is None else step for step in steps]))
    return median if np.isfinite(median) else None


HEADS = (
    "experiment",
    "method",
    "runs",
    "final value (sampled, 95 %)",
    "IQM [95 %]",
    "exact value of policy",
    "optimum",
    "distance",
    "steps to 5 %",
    "steps to 1 %",
    "time a run",
    "steps/s",
    "beside the published mean",
)
MISSING = "–"
TINY = 1e-9
"""Computed numbers up to this are shown as 0: less is rounding."""


def cells(row: Row) -> list[str]:
    """The texts of a row, in the order of `HEADS`.

    Example:
        >>> cells(Row("cloud", "rql", "recursive", 3, 0, 100, final=-5.3, distance=0.0))[:5]
        ['cloud', 'recursive', '3', '-5.3', '–']
    """
    runs = f"{row.runs}" + (f" ({row.failed} failed)" if row.failed else "")
    return [
        row.experiment,
        row.label,
        runs,
        _final(row),
        _interval(row.iqm, row.iqm_low, row.iqm_high),
        _exact(row),
        readable_number(row.optimum),
        _distance(row.distance),
        _count(row.within_5),
        _count(row.within_1),
        MISSING if row.seconds is None else f"{row.seconds:.3g} s",
        _count(row.speed),
        _beside(row),
    ]


def readable_number(value: float | None) -> str:
    """A number as readable text.

    Example:
        >>> readable_number(-5.34248536), readable_number(None), readable_number(0.0)
        ('-5.342485', '–', '0')
    """
    if value is None:
        return MISSING
    return f"{value:.7g}" if abs(value) > TINY else "0"


def _sampled(value: float | None) -> str:
    """A number that tests gave: they do not know it as exactly as one that was computed."""
    return MISSING if value is None else f"{value:.5g}"


def _final(row: Row) -> str:
    """The final value, with half the width of its 95 % interval where that is known."""
    if row.final_margin is None:
        return _sampled(row.final)
    return f"{_sampled(row.final)} ± {row.final_margin:.2g}"


def _distance(value: float | None) -> str:
    if value is None:
        return MISSING
    return "0" if abs(value) < 1e-6 else f"{value:.3g}"


def _beside(row: Row) -> str:
    if row.better is None:
        return MISSING
    return f"better {row.better}, alike {row.alike}, worse {row.worse}"


def _count(value: float | None) -> str:
    return MISSING if value is None else f"{value:,.0f}"


def _interval(middle: float | None, low: float | None, high: float | None) -> str:
    return MISSING if middle is None else f"{_sampled(middle)} [{_sampled(low)}, {_sampled(high)}]"


def _exact(row: Row) -> str:
    if row.exact is None:
        return "not finite" if row.runs else MISSING
    return (
        f"{readable_number(row.exact)} ({row.near_optimal} of {row.runs} within {100 * EXACT:g} %)"
    )


def markdown(rows: Sequence[Row]) -> str:
    """The table in Markdown."""
    return markdown_table(HEADS, map(cells, rows)) + "\n"


Rows = list[dict[str, Any]]


def frame(rows: Rows) -> Any:
    """A pandas DataFrame of the rows, or the rows themselves where there is no pandas.

    Example:
        >>> len(frame([{"a": 1}, {"a": 2}]))
        2
    """
    if find_spec("pandas") is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows)


def summary_table(studies: Iterable[Study]) -> Any:
    """A row for each method of each experiment; columns as of `recurl.experiment.table.Row`."""
    return frame([row._asdict() for row in table_rows(studies)])


def run_table(studies: Iterable[Study]) -> Any:
    """A row for each run: its settings and its results."""
    return frame([_run(study, record) for study in studies for record in study.records])


def _run(study: Study, record: Any) -> dict[str, Any]:
    exact = record.exact.value if record.exact else None
    return {
        "experiment": record.experiment,
        "method": record.method,
        "seed": record.seed,
        "steps": record.steps,
        "episodes": record.episodes,
        "final": final_value(record),
        "exact": exact,
        "optimum": study.optimum.value,
        "seconds": record.seconds,
        "failed": record.failed,
    }


def curve_table(studies: Iterable[Study]) -> Any:
    """A row for each test of each run."""
    return frame(
        [
            {"experiment": one.experiment, "method": one.method, "seed": one.seed, **test}
            for study in studies
            for one in study.records
            for test in _tests(one.curve)
        ]
    )


def _tests(curve: CurveColumns) -> Rows:
    return [dict(zip(curve, values, strict=True)) for values in zip(*curve.values(), strict=True)]
