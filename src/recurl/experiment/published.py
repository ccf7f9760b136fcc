"""The published curves, which come with the package; see ``data/README.md`` for their source."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

import numpy as np

from recurl.learn.curve import Band

SOURCE = (
    "Hahn, Perez, Schewe, Somenzi, Trivedi, Wojtczak: Recursive Reinforcement Learning, "
    "NeurIPS 2022"
)


@cache
def published_curves() -> dict[tuple[str, str], Band]:
    """The curves by experiment and method: mean and percentiles of the authors' ten runs.

    Example:
        >>> curve = published_curves()["cloud", "rql"]
        >>> float(curve.steps[-1]), float(curve.mean[-1])
        (99900.0, -5.3338)
    """
    text = (files("recurl.experiment") / "data/published_curves.csv").read_text(encoding="utf-8")
    columns: dict[tuple[str, str], list[list[float]]] = {}
    for row in csv.DictReader(text.splitlines()):
        key = row["experiment"], row["method"]
        numbers = [float(row[name]) for name in ("step", "mean", "p10", "p90")]
        columns.setdefault(key, []).append(numbers)
    return {key: Band(*np.array(rows).T) for key, rows in columns.items()}


def published_end(experiment: str, method: str, steps: float = np.inf) -> Band | None:
    """What the last tenth of a published curve says, as a band of one step; None if unknown.

    Where the curve that comes with the package has no test in that tenth, it is interpolated in the
    middle of it.

    Args:
        experiment: Name of the experiment.
        method: Name of the method.
        steps: Where a shorter run ended: the curve is taken to end there too.

    Example:
        >>> round(float(published_end("palindrome", "deep-rql").mean[0]), 1)
        40.0
    """
    curve = published_curves().get((experiment, method))
    if curve is None or steps <= 0:
        return None
    end = min(steps, float(curve.steps[-1]))
    last = (curve.steps >= 0.9 * end) & (curve.steps <= end)
    if not last.any():
        return Band(np.array([end]), *(np.interp([0.95 * end], curve.steps, x) for x in curve[1:]))
    return Band(np.array([end]), *(np.array([x[last].mean()]) for x in curve[1:]))
