"""Options of verbs that run many independent pieces: where, how many at once, how often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from recurl.cli.numbers import count
from recurl.cli.output import complain

if TYPE_CHECKING:
    from recurl.experiment.record import Record

On = Annotated[
    str,
    typer.Option(
        metavar="ENGINE",
        help="'local' (this process), 'processes', 'ray' or 'ray://HOST:PORT' (a Ray cluster).",
    ),
]
Workers = Annotated[int | None, count("Runs at once; all cores if not given.", most=1024)]
Checkpoints = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help="Folder or fsspec URL for unfinished runs, reached by all machines; --out if not "
        "given.",
    ),
]
Retries = Annotated[int, count("How often a run that fails is tried again.", least=0, most=1000)]


def end_if_failed(records: Sequence[Record]) -> None:
    """Say which runs failed, and why, and end with 1 if any did."""
    errors = {f"{r.experiment} {r.method}-{r.seed}": r.error for r in records if r.failed}
    if errors:
        typer.echo(failures(errors), err=True)
        complain(f"{len(errors)} of {len(records)} runs failed; their records have the tracebacks")
        raise typer.Exit(1)


def failures(errors: dict[str, str]) -> str:
    """The tracebacks of pieces that failed, equal ones once, under the names of their pieces.

    Example:
        >>> print(failures({"cloud bad-0": "ValueError: 7", "cloud bad-1": "ValueError: 7"}))
        cloud bad-0, cloud bad-1:
        ValueError: 7
    """
    names: dict[str, list[str]] = {}
    for name, error in errors.items():
        names.setdefault(error.strip(), []).append(name)
    return "\n\n".join(f"{', '.join(group)}:\n{error}" for error, group in names.items())
