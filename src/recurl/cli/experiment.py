"""``recurl experiment``: runs of models and methods that a file names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli.engines import Checkpoints, On, Retries, Workers, end_if_failed
from recurl.cli.output import AsJson, print_json, readable, show, table, this_command
from recurl.interrupts import farewell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recurl.experiment.settings import Experiment
    from recurl.experiment.study import Study

EXAMPLES = """\
  recurl experiment study.yaml
  recurl experiment study.yaml --out runs/study --workers 1
  recurl experiment study.yaml --on ray://head:10001 --checkpoints s3://bucket/study --retries 2
"""

WIDE = ("IQM [95 %]", "distance", "steps to 5 %", "steps to 1 %", "time a run", "steps/s")
"""Columns that are left to the report: a terminal is not that wide."""


def experiment(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Models, methods, seeds, steps.")],
    *,
    out: Annotated[Path | None, typer.Option(help="Folder; named after the file.")] = None,
    on: On = "local",
    workers: Workers = None,
    checkpoints: Checkpoints = None,
    retries: Retries = 0,
    json: AsJson = False,
) -> None:
    """Run the experiments of a file; makes a figure and a report.

    Finished runs are not repeated: the same command continues where it was stopped.
    """
    from recurl.experiment.document import load_experiments

    readable(file)
    how = {"on": on, "workers": workers, "checkpoints": checkpoints, "retries": retries}
    run_and_report(load_experiments(file), out or Path(file.stem), json=json, **how)


def run_and_report(experiments: Sequence[Experiment], out: Path, *, json: bool, **how: Any) -> None:
    """Run what is not done yet, write the results, and end with 1 if a run failed.

    Args:
        experiments: What to run.
        out: Where.
        json: Whether to print JSON.
        **how: What `run_experiments` takes of engines.
    """
    from recurl.experiment.progress import Display
    from recurl.experiment.run import run_experiments
    from recurl.experiment.study import read_study
    from recurl.progress import Progress

    stopped = f"Stopped. What was learned is saved in {out}. Continue: {this_command()}"
    with farewell(lambda: stopped), Display() as watch:
        records = run_experiments(experiments, out, watch=watch, **how)
    with Progress("solving for the optimum"):
        studies = [read_study(out / one.name) for one in experiments]
    write_and_show(studies, out, json=json)
    end_if_failed(records)


def write_and_show(studies: Sequence[Study], out: Path, *, json: bool) -> None:
    """Write figure, table and report, and print the table."""
    from recurl.experiment.report import shown_columns, write_results
    from recurl.experiment.table import HEADS, cells, table_rows
    from recurl.progress import Progress

    with Progress("drawing and writing"):
        files = write_results(studies, out)
    rows = table_rows(studies)
    if json:
        print_json({"rows": [row._asdict() for row in rows], "files": [str(f) for f in files]})
        return
    kept = shown_columns(rows, without=WIDE)
    heads = [HEADS[i] for i in kept]
    show(table(*heads, rows=[[cells(row)[i] for i in kept] for row in rows]))
    show("", f"Figure, table and report: {files[-1]}")
