"""Small HTML tables for notebooks, without styles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

MOST_ROWS = 20
"""Rows of a table; more are counted, not shown."""


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], most: int | None = MOST_ROWS
) -> str:
    """A table of texts and numbers, everything escaped; rows beyond `most` are counted.

    Example:
        >>> table(["a"], [["<b>"], [2]])
        '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr><tr><td>2</td></tr></table>'
    """
    listed = list(rows)
    lines = [_row("th", head), *(_row("td", row) for row in listed[:most])]
    if most is not None and len(listed) > most:
        lines.append(_row("td", [f"... and {len(listed) - most} more"]))
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def model_html(model: RMDP) -> str:
    """A model: what kind it is, and the sizes of its components."""
    t, names = model.tables, model.names.components
    shown = min(t.n_components, MOST_ROWS)
    rows = [
        (names[c], t.n_entries[c], t.n_exits[c], (t.box_owner == c).sum(), size)
        for c, size in enumerate(np.diff(t.component_start[: shown + 1]))
    ]
    listed = table(("component", "entries", "exits", "boxes", "vertices"), rows)
    more = t.n_components - shown
    rest = paragraph(f"... and {more} more components") if more else ""
    return paragraph(f"{model.name}: {model.kind}") + listed + rest
