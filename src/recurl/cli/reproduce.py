"""``recurl reproduce``: the experiments of the paper, again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recurl.cli.engines import Checkpoints, On, Retries, Workers
from recurl.cli.experiment import run_and_report
from recurl.cli.numbers import count
from recurl.cli.output import AsJson, show, table

EXAMPLES = """\
  recurl reproduce cloud
  recurl reproduce all --quick --out runs/quick
  recurl reproduce spelunking --seeds 3
  recurl reproduce spelunking-text
  recurl reproduce all --on processes
"""


def reproduce(
    which: Annotated[
        str,
        typer.Argument(
            metavar="WHICH", help="cloud, spelunking, spelunking-text, palindrome or all."
        ),
    ] = "all",
    *,
    seeds: Annotated[
        int | None, count("Runs of each method; 10 if not given.", most=100_000)
    ] = None,
    quick: Annotated[bool, typer.Option(help="3 seeds, and palindrome cut short.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder; 'reproduced', or 'reproduced-quick'.")
    ] = None,
    on: On = "local",
    workers: Workers = None,
    checkpoints: Checkpoints = None,
    retries: Retries = 0,
    json: AsJson = False,
) -> None:
    """Rerun the experiments of the paper, with a report.

    spelunking has the rewards of the published runs (-2 for a fall, -5 for a futile climb),
    spelunking-text those of the text (every step -1). Every setting that is not from the text of
    the paper is listed first, with its origin; what else differs stands in
    docs/explanation/the_paper.md. Finished runs are not repeated: the same command continues
    where it was stopped.
    """
    from recurl.errors import UnknownNameError
    from recurl.experiment.paper import PAPER, Departure, departures, paper_experiments

    if which != "all" and which not in PAPER:
        raise UnknownNameError("experiment", which, [*PAPER, "all"])
    made = paper_experiments(seeds, quick)
    chosen = list(made.values()) if which == "all" else [made[which]]
    if not json:
        rows = [[str(part) for part in row] for one in chosen for row in departures(one)]
        show("Settings that are not from the text of the paper:")
        show(table(*Departure._fields, rows=rows), "")
    # Apart, so that a quick look does not replace long runs by short ones.
    folder = out or Path("reproduced-quick" if quick else "reproduced")
    how = {"on": on, "workers": workers, "checkpoints": checkpoints, "retries": retries}
    run_and_report(chosen, folder, json=json, **how)
