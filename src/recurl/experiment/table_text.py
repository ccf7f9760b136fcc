"""The table of results as text: the same cells for terminals, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Sequence

from recurl.experiment.table import EXACT, Row

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
    "published [10, 90 %]",
    "ours is",
)
MISSING = "–"
TINY = 1e-9
"""What computed numbers are shown as 0 up to: less is rounding."""


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
        number(row.optimum),
        _distance(row.distance),
        _count(row.within_5),
        _count(row.within_1),
        MISSING if row.seconds is None else f"{row.seconds:.3g} s",
        _count(row.speed),
        _interval(row.published, row.published_low, row.published_high),
        row.verdict or MISSING,
    ]


def number(value: float | None) -> str:
    """A number for people.

    Example:
        >>> number(-5.34248536), number(None), number(0.0)
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


def _count(value: float | None) -> str:
    return MISSING if value is None else f"{value:,.0f}"


def _interval(middle: float | None, low: float | None, high: float | None) -> str:
    return MISSING if middle is None else f"{_sampled(middle)} [{_sampled(low)}, {_sampled(high)}]"


def _exact(row: Row) -> str:
    if row.exact is None:
        return "not finite" if row.runs else MISSING
    return f"{number(row.exact)} ({row.near_optimal} of {row.runs} within {100 * EXACT:g} %)"


def markdown(rows: Sequence[Row]) -> str:
    """The table in Markdown."""
    lines = [HEADS, ["---"] * len(HEADS), *(cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
