"""Tables as plain text: for terminals, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

WIDTH = 100
"""Characters of a line, where nothing else is known."""


def table(*columns: str, rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> Table:
    """A table without lines except one below its head.

    Args:
        columns: Heads of the columns.
        rows: Texts of the cells.
        numbers: Columns that are aligned to the right.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, border_style="dim")
    for column in columns:
        justify = "right" if column in numbers else "left"
        made.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def markdown_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> str:
    """The same in Markdown.

    Example:
        >>> print(markdown_table(["at", "visits"], [["W.in", "2"]], numbers=["visits"]))
        | at | visits |
        | --- | ---: |
        | W.in | 2 |
    """
    rule = ["---:" if column in numbers else "---" for column in columns]
    cells = ([_escaped(cell) for cell in line] for line in (columns, rule, *rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def text_of(*parts: RenderableType, width: int = WIDTH) -> str:
    """Text, tables and trees, one below the other."""
    from rich.console import Console

    screen = Console(width=width, highlight=False, markup=False)
    with screen.capture() as captured:
        for part in parts:
            screen.print(part)
    # Tables are padded with spaces, which do not belong in a file.
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
