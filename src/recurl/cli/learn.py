"""``recurl learn``: train on a model, with many seeds, into a folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli import runs
from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.numbers import BoxDiscount, Discount, count, real
from recurl.cli.output import (
    AsJson,
    UsageError,
    counted,
    print_json,
    readable,
    sampled,
    show,
    table,
)
from recurl.interrupts import farewell
from recurl.registration import register_environments

if TYPE_CHECKING:
    from rich.table import Table

    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP

EXAMPLES = """\
  recurl learn cloud --steps 1e6 --seeds 10 --out runs/cloud
  recurl learn cloud --algorithm q --learning-rate 0.02 --steps 1e5 --out runs/flat
  recurl learn palindrome --algorithm deep-rql --steps 5e4 --out runs/deep --tensorboard runs/tb
  recurl learn cloud --steps 2e6 --out runs/cloud --resume
  recurl learn cloud --settings tuned/best.yaml --out runs/tuned
"""

TABULAR = ("rql", "q")
"""Algorithms with tables, which `recurl explain` shows."""


TESTS = 20
"""Tests of a run, from which `recurl report` draws its curve."""


def learn(
    model: ModelName,
    parameters: Parameters = None,
    *,
    algorithm: Annotated[
        str,
        typer.Option(
            help="'rql' (recursive) or 'q' (flat), with tables; 'model-based'; 'deep-rql' or "
            "'dqn', with networks."
        ),
    ] = "rql",
    steps: Annotated[int, count("Steps of each run.")] = 1_000_000,
    seeds: Annotated[int, count("How many runs, with seeds 0, 1, ...", most=100_000)] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs"),
    settings: Annotated[
        Path | None,
        typer.Option(
            help="File as `recurl tune` writes it, with one method: its algorithm and settings "
            "replace the options."
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="'swift' or 'paper'; 'deterministic' (tables); 'parallel' or 'gather' (deep)."
        ),
    ] = "swift",
    learning_rate: Annotated[float | None, real("Constant learning rate.", above=0, most=1)] = None,
    exploration: Annotated[float | None, real("Rate of exploration.", least=0, most=1)] = None,
    quantum: Annotated[float | None, real("Rounding of exit values.", least=0)] = None,
    observation: Annotated[
        str | None,
        typer.Option(
            help="How vertices are seen: 'index' or 'features' (tables); 'categories', "
            "'features' or 'onehot' (deep)."
        ),
    ] = None,
    discount: Discount = 1.0,
    box_discount: BoxDiscount = 1.0,
    episode_limit: Annotated[int, count("Steps after which episodes are cut.")] = 1000,
    evaluate_every: Annotated[
        int | None,
        count("Test the greedy policy every N steps; 0 for never; 20 times if not given.", least=0),
    ] = None,
    tensorboard: Annotated[
        Path | None, typer.Option(help="Folder for event files that TensorBoard reads.")
    ] = None,
    memory: Annotated[
        int | None, count("Most bytes of a table, as 2e9; half of what is free.")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Continue the runs in the folder.")] = False,
    json: AsJson = False,
) -> None:
    """Learn in a model, with one seed or many.

    Runs are saved as they go, so that one that was stopped can be resumed.
    """
    from recurl.execution.lock import locked

    register_environments()  # imports what learners need, before a run is said to begin
    found = read_model(model, parameters)
    algorithm, from_file = (algorithm, {}) if settings is None else _from_file(settings)
    chosen = {
        "preset": preset,
        "gamma": discount,
        "episode_limit": episode_limit,
        "evaluate_every": max(1, steps // TESTS) if evaluate_every is None else evaluate_every,
        **_settings_of(
            algorithm,
            learning_rate=learning_rate,
            exploration=exploration,
            quantum=quantum,
            observation=observation,
            memory=memory,
            box_gamma=None if box_discount == 1 else box_discount,
        ),
        **from_file,
    }
    again = shlex.join(["recurl", "learn", model, *(parameters or ()), "--out", str(out)])
    if resume and not out.is_dir():
        runs.read(out)  # refused before the folder is made
    with locked(out):
        if resume:
            learners = _resumed(out, found)
        else:
            learners = _fresh(out, found, algorithm, list(range(seeds)), chosen)
        with farewell(lambda: _stopped(out, learners, f"{again} --steps {steps} --resume")):
            _run(out, learners, steps, tensorboard)
    rows = [_row(learner) for learner in learners]
    if json:
        print_json({"model": found.name, "out": str(out), "runs": rows})
    else:
        show(_table(rows), *_warnings(rows))
        tables = algorithm in TABULAR
        typer.echo(_next(out, f"{again} --steps {2 * steps} --resume", tables=tables))


def _from_file(path: Path) -> tuple[str, dict[str, Any]]:
    """Algorithm and settings of a file with one method."""
    from recurl.experiment.document import load_experiments

    readable(path)
    experiment = load_experiments(path)[0]
    if len(experiment.methods) != 1:
        names = ", ".join(method.name for method in experiment.methods)
        raise UsageError(f"{path} has several methods ({names}): learn takes one")
    run = next(experiment.runs())
    return run.method.algorithm, run.settings


def _settings_of(algorithm: str, **given: Any) -> dict[str, Any]:
    """The options that an algorithm has settings for; the others must not be given."""
    from recurl.experiment.options import learner_class

    known = learner_class(algorithm).settings_type.__struct_fields__
    for name, value in given.items():
        if name not in known and value is not None:
            option = {"box_gamma": "box-discount"}.get(name, name.replace("_", "-"))
            raise UsageError(f"--{option} is not a setting of {algorithm}: leave it out")
    return {name: value for name, value in given.items() if name in known}


def _fresh(
    out: Path, model: RMDP, name: str, seeds: list[int], settings: dict[str, Any]
) -> list[Learner]:
    from recurl.experiment.learned import Asked, new_learner

    asked: Asked = {"algorithm": name, "seeds": seeds, "settings": settings}
    try:
        made = [new_learner(model, asked, seed) for seed in seeds]
    except ValueError as error:
        raise UsageError(str(error)) from error
    runs.begin(out, model, asked)
    return made


def _resumed(out: Path, model: RMDP) -> list[Learner]:
    from recurl.experiment.learned import saved_learner

    saved, asked = runs.read(out)
    if saved != model:
        raise UsageError(f"the runs in {out} are on another model than {model.name}")
    return [saved_learner(out, model, asked, seed) for seed in asked["seeds"]]


def _run(out: Path, learners: list[Learner], steps: int, board: Path | None) -> None:
    """Learn up to a number of steps, on all cores, and show how far the runs are."""
    from recurl.execution.pieces import Observer
    from recurl.experiment.learned import learn_runs
    from recurl.progress import Progress

    runs_text = f" with {counted(len(learners), 'seed')}" if len(learners) > 1 else ""
    text, total = f"learning {learners[0].subject}{runs_text}", steps * len(learners)
    with Progress(text, total, "steps") as progress:

        class Shown(Observer):
            def report(self, piece: int, done: int, latest: float) -> None:
                progress.update(sum(one.steps for one in learners), _latest(learners))

        learn_runs(out, learners, steps, board=board, observer=Shown())


def _latest(learners: list[Learner]) -> str:
    """The latest return of the run that is the furthest of those still learning."""
    running = [one for one in learners if one.steps] or learners
    return max(running, key=lambda one: one.steps).latest()


def _stopped(out: Path, learners: list[Learner], again: str) -> str:
    """The message when a run is interrupted: the state, and how to continue."""
    from recurl.experiment.learned import seed_file

    least, most = (f(one.steps for one in learners) for f in (min, max))
    steps = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    saved = [one for one in learners if seed_file(out, one.settings.seed).is_file()]
    where = f"Saved in {out}." if saved else "Nothing was saved yet."
    return f"Stopped after {steps} steps. {where} Continue: {again}"


def _next(out: Path, more: str, *, tables: bool) -> str:
    """The next steps with the runs, as commands."""
    folder = shlex.quote(str(out))
    ways = [
        (f"recurl evaluate {folder}", "exact worth of the policies"),
        (f"recurl explain {folder}", "what they do where"),
        (f"recurl report {folder}", "curves and a table"),
        (more, "learn on"),
    ]
    shown = [way for way in ways if tables or "explain" not in way[0]]
    width = max(len(command) for command, _ in shown)
    lines = [f"  {command:{width}}  # {why}" for command, why in shown]
    return "\n".join(["", "Next:", *lines])


def _row(learner: Learner) -> dict[str, Any]:
    score, engine = learner.test(), learner.engine
    return {
        "seed": learner.settings.seed,
        "steps": learner.steps,
        "episodes": engine.episodes,
        "cut": engine.cut,
        "contexts": engine.n_contexts,
        "greedy": score.mean,
        "margin": score.margin(learner.settings.evaluate_episodes),
        "unfinished": score.cut,
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    counts = ("seed", "steps", "episodes", "cut", "contexts")
    texts = [
        [*(f"{row[name]:,}" for name in counts), sampled(row["greedy"], row["margin"])]
        for row in rows
    ]
    heads = (*counts, "greedy policy")
    return table(*heads, rows=texts, numbers=heads)


def _warnings(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"Seed {row['seed']}: {row['unfinished']:.0%} of the test episodes never ended: they were "
        "cut at the limit. The policy may run forever."
        for row in rows
        if row["unfinished"]
    ]
