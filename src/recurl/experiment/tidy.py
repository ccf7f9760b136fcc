"""Tidy tables of results: a row per run, per test or per method; pandas' if it is there."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from recurl.experiment.statistics import final_value
from recurl.experiment.study import Study
from recurl.experiment.table import table_rows

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
    """A row for each run: what it was told, and what it came to."""
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


def _tests(curve: dict[str, list[float | None]]) -> Rows:
    return [dict(zip(curve, values, strict=True)) for values in zip(*curve.values(), strict=True)]
