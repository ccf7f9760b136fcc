"""Output of the verbs: tables or JSON, errors on stderr."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.errors import RecurlError
from recurl.model.text_tables import WIDTH, text_of
from recurl.model.text_tables import table as table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


class UsageError(RecurlError):
    """A command line that makes no sense; ends with exit code 2."""


def complain(message: str) -> None:
    """Print an error on stderr, in red where that is a terminal."""
    word = typer.style("Error:", fg="red", bold=True) if _coloured(sys.stderr) else "Error:"
    typer.echo(f"{word} {message}", err=True)


def _coloured(stream: Any) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR")


def print_json(data: object) -> None:
    """Print data as JSON; infinite numbers become the texts ``"inf"`` and ``"-inf"``."""
    typer.echo(json.dumps(_finite(data), indent=2, ensure_ascii=False, default=str))


def _finite(data: Any) -> Any:
    """The same data without numbers that JSON does not know."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    return data


def show(*parts: RenderableType) -> None:
    """Print text, tables and trees, one below the other."""
    from recurl.progress import Progress

    if not parts:
        return
    with Progress("laying out the answer"):
        text = text_of(*parts, width=screen_width())
    typer.echo(text)


def screen_width() -> int:
    """Characters of a line: those of the terminal, if there is one."""
    on_screen = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size().columns if on_screen else WIDTH


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Facts by name: a table of two columns without a head."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold cyan", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(Text(name), Text(value))
    return made


def counted(count: int, what: str, many: str = "") -> str:
    """A number of things in words.

    Example:
        >>> counted(1, "box", "boxes"), counted(1200, "vertex", "vertices")
        ('1 box', '1,200 vertices')
    """
    return f"{count:,} {what if count == 1 else many or what + 's'}"


def this_command() -> str:
    """The command line of this process, as it can be pasted."""
    return shlex.join(["recurl", *sys.argv[1:]])


def sampled(mean: float, margin: float) -> str:
    """A mean of samples as what it is: with half the width of its 95 % interval.

    Example:
        >>> sampled(-5.336, 0.0412)
        '-5.336 ± 0.041 (sampled, 95 %)'
    """
    return f"{mean:.6g} ± {margin:.2g} (sampled, 95 %)"


def readable(path: Path) -> None:
    """Complain about a file that is not there, and about folders and pipes in its place."""
    if path.is_file():
        return
    save = "save it to a file, whose suffix says its format"
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file in it")
    if path.exists():
        raise UsageError(f"{path} is a pipe or a device, not a file: {save}")
    if str(path) == "-":
        raise UsageError(f"standard input (-) is not read: {save}")
    raise UsageError(f"{path}: file not found")


def writable(*paths: Path | None) -> None:
    """Complain early about files that could not be written after the work is done."""
    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"{path}: the folder {path.parent} does not exist")
        if path is not None and path.is_dir():
            raise UsageError(f"{path} is a folder: name a file in it")
