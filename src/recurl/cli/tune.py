"""``recurl tune``: search for the settings of a learner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recurl.cli.engines import Checkpoints, On, Retries, Workers, failures
from recurl.cli.output import AsJson, complain, print_json, readable, show, table, this_command
from recurl.interrupts import farewell

if TYPE_CHECKING:
    from recurl.experiment.tune import Tuned

EXAMPLES = """\
  recurl tune settings.yaml
  recurl tune settings.yaml --on processes --out runs/tuned
  recurl tune settings.yaml --on ray --storage postgresql://db/trials
"""


def tune(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Models, a method, what to search, trials.")
    ],
    *,
    out: Annotated[Path | None, typer.Option(help="Folder; named after the file.")] = None,
    on: On = "local",
    workers: Workers = None,
    storage: Annotated[
        str | None, typer.Option(help="Database URL as Optuna takes it; a file in the folder.")
    ] = None,
    checkpoints: Checkpoints = None,
    retries: Retries = 0,
    json: AsJson = False,
) -> None:
    """Search for settings with Optuna.

    Each trial is a median over seeds. Writes the best ones as a file that `experiment` and
    `learn --settings` take. The same command continues a search that was stopped, and adds trials
    if the file asks for more.
    """
    from recurl.experiment.progress import TuneDisplay
    from recurl.experiment.search import load_search
    from recurl.experiment.tune import tune as search_settings

    readable(file)
    search, folder = load_search(file), out or Path(file.stem)
    stopped = f"Stopped. The trials are saved in {folder}. Continue: {this_command()}"
    with farewell(lambda: stopped), TuneDisplay(search) as watch:
        tuned = search_settings(
            search,
            folder,
            on=on,
            workers=workers,
            storage=storage,
            checkpoints=checkpoints,
            retries=retries,
            watch=watch,
        )
    _conclude(tuned, folder, json=json)


def _conclude(tuned: Tuned, out: Path, *, json: bool) -> None:
    from recurl.experiment.tune_report import complete_trials, importance, write_tuned

    if tuned.failures:
        typer.echo(failures(tuned.failures), err=True)
    if not (ranked := complete_trials(tuned)):
        complain("no trial is complete: there are no best settings")
        raise typer.Exit(1)
    files, shares = write_tuned(tuned, out), importance(tuned)
    if json:
        found = {"best": tuned.best, "score": ranked[0].value, "importance": shares}
        print_json({**found, "trials": len(tuned.study.trials), "files": [str(f) for f in files]})
        return
    rows = [
        (name, str(value), f"{shares[name]:.2f}" if name in shares else "")
        for name, value in tuned.best.items()
    ]
    show(table("setting", "best", "importance", rows=rows))
    show(f"Trial {ranked[0].number} of {len(tuned.study.trials)}, score {ranked[0].value:.4g}")
    show("", f"Report: {files[-1]}; best settings: {files[0]}")
