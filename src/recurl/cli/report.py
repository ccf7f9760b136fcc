"""``recurl report``: figure, table and report of runs that are on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recurl.cli.experiment import write_and_show
from recurl.cli.output import AsJson

EXAMPLES = """\
  recurl report reproduced
  recurl report reproduced/cloud runs/study --out summary
  recurl report runs/recursive runs/flat --out summary
"""


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of runs.")],
    *,
    out: Annotated[Path | None, typer.Option(help="Folder; the first DIR if not given.")] = None,
    json: AsJson = False,
) -> None:
    """Make figure, table and report from saved runs.

    DIR was written by `recurl reproduce`, `recurl experiment` or `recurl learn`, or holds such
    folders. Runs of `recurl learn` on the same model are compared in one panel.
    """
    from recurl.experiment.learned import find_studies
    from recurl.progress import Progress

    with Progress("reading the runs"):
        studies = find_studies(folders)
    write_and_show(studies, out or folders[0], json=json)
