"""The table of results in the report: grouped by experiment, with what holds for all above."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from recurl.experiment.study import Optimum, Study
from recurl.experiment.table import Row, table_rows
from recurl.experiment.table_text import HEADS, MISSING, cells, number

ABOVE = ("experiment", "optimum")
"""Columns that hold for a whole group."""


def shown_columns(rows: Iterable[Row], without: Sequence[str] = ABOVE) -> list[int]:
    """Columns that have something to say of some row."""
    lines = [cells(row) for row in rows]
    there = [i for i, name in enumerate(HEADS) if name not in without]
    return [i for i in there if any(line[i] != MISSING for line in lines)]


def table_html(studies: Sequence[Study]) -> str:
    """The table: a group of rows per study, a row per method, the cells of `table_text`."""
    columns = shown_columns(table_rows(studies))
    head = "".join(f"<th>{escape(HEADS[i])}</th>" for i in columns)
    groups = "".join(_group(study, columns) for study in studies)
    return f'<table id="results"><thead><tr>{head}</tr></thead>{groups}</table>'


def _group(study: Study, columns: Sequence[int]) -> str:
    rows = "".join(
        f'<tr data-method="{escape(row.experiment)}/{escape(row.method)}">'
        + "".join(_cell(i, cells(row)[i]) for i in columns)
        + "</tr>"
        for row in table_rows([study])
    )
    return (
        f'<tbody><tr class="group"><th colspan="{len(columns)}">{escape(title_of(study))} '
        f"<span>{escape(_facts(study))}</span></th></tr>{rows}</tbody>"
    )


def title_of(study: Study) -> str:
    """Name of a study for people."""
    return study.experiment.title or study.experiment.name


def _facts(study: Study) -> str:
    """What holds for all rows of a study."""
    steps = f"{study.experiment.steps:,} steps a run"
    return f"{study.model.kind}; {steps}; {optimum_words(study.optimum)}"


def optimum_words(optimum: Optimum) -> str:
    """The optimum in words.

    Example:
        >>> optimum_words(Optimum(-5.342486, -5.342485, "certified", ""))
        'certified optimum -5.342486 (within 5e-07)'
        >>> optimum_words(Optimum(None, None, "not known: not proper", ""))
        'optimum not known: not proper'
    """
    if optimum.value is None:
        return f"optimum {optimum.method}"
    assert optimum.lower is not None
    radius = optimum.value - optimum.lower
    return f"certified optimum {number(optimum.value)} (within {radius:.1g})"


def _cell(column: int, text: str) -> str:
    """A cell; what stands in brackets goes below, and the verdict is a badge.

    On narrow screens, where the head of the table is not shown, a cell shows its own.
    """
    opening = f'<td data-head="{escape(HEADS[column])}">'
    if HEADS[column] == "ours is" and text.isalpha():
        return f'{opening}<span class="verdict {text}">{text}</span></td>'
    for bracket in " [", " (":
        first, found, rest = text.partition(bracket)
        if found:
            return f"{opening}{escape(first)} <small>{escape(found.strip() + rest)}</small></td>"
    return f"{opening}{escape(text)}</td>"
