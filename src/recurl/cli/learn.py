"""``recurl learn``: train on a model, with many seeds, into a folder."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli import runs
from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.output import AsJson, UsageError, print_json, show, table

if TYPE_CHECKING:
    from rich.table import Table

    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP

EXAMPLES = """\
  recurl learn cloud --steps 1e6 --seeds 10 --out runs/cloud
  recurl learn cloud --algorithm q --step-size 0.02 --steps 1e5 --out runs/flat
  recurl learn palindrome --algorithm deep-rql --steps 5e4 --out runs/deep --tensorboard runs/tb
  recurl learn cloud --steps 2e6 --out runs/cloud --resume
"""


def learn(
    model: ModelName,
    parameters: Parameters = None,
    *,
    algorithm: Annotated[
        str,
        typer.Option(
            help="'rql' (recursive) or 'q' (flat), with tables; 'deep-rql' or 'dqn', with networks."
        ),
    ] = "rql",
    steps: Annotated[float, typer.Option(help="Steps of each run.")] = 1e6,
    seeds: Annotated[int, typer.Option(help="How many runs, with seeds 0, 1, ...")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs"),
    preset: Annotated[str, typer.Option(help="'paper' or 'swift'.")] = "swift",
    step_size: Annotated[float | None, typer.Option(help="Constant step size.")] = None,
    exploration: Annotated[float | None, typer.Option(help="Rate of exploration.")] = None,
    quantum: Annotated[float | None, typer.Option(help="Rounding of exit values.")] = None,
    episode_limit: Annotated[int, typer.Option(help="Steps after which episodes are cut.")] = 1000,
    evaluate_every: Annotated[
        int, typer.Option(help="Test the greedy policy after so many steps; 0 for never.")
    ] = 0,
    tensorboard: Annotated[
        Path | None, typer.Option(help="Folder for event files that TensorBoard reads.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(help="Most bytes of a table, as 2e9; half of what is free.")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Continue the runs in the folder.")] = False,
    json: AsJson = False,
) -> None:
    """Learn in a model, with one seed or many.

    Runs are saved as they go, so that one that was stopped can be resumed.
    """
    if not 1 <= steps < math.inf or seeds < 1:
        raise UsageError("--steps and --seeds must be positive numbers")
    found = read_model(model, parameters)
    settings = {
        "preset": preset,
        "learning_rate" if algorithm in runs.DEEP else "step_size": step_size,
        "exploration": exploration,
        "episode_limit": episode_limit,
        "evaluate_every": evaluate_every,
        **_for_tables(algorithm, quantum=quantum, memory=memory and int(memory)),
    }
    if resume:
        learners = _resumed(out, found)
    else:
        learners = _fresh(out, found, algorithm, list(range(seeds)), settings)
    _run(out, learners, int(steps), tensorboard)
    rows = [_row(learner) for learner in learners]
    if json:
        print_json({"model": found.name, "out": str(out), "runs": rows})
    else:
        show(_table(rows), *_warnings(rows))


def _for_tables(algorithm: str, **given: Any) -> dict[str, Any]:
    if algorithm not in runs.DEEP:
        return given
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"--{name} is for tables: a network takes exit values as they are")
    return {}


def _fresh(
    out: Path, model: RMDP, name: str, seeds: list[int], settings: dict[str, Any]
) -> list[Learner]:
    kind = runs.algorithm(name)
    try:
        made = [kind(model, seed=seed, **settings) for seed in seeds]
    except ValueError as error:
        raise UsageError(str(error)) from error
    runs.begin(out, model, {"algorithm": name, "seeds": seeds, "settings": settings})
    return made


def _resumed(out: Path, model: RMDP) -> list[Learner]:
    from recurl.learn.checkpoint import restoring

    saved, asked = runs.read(out)
    if saved != model:
        raise UsageError(f"the runs in {out} are on another model than {model.name}")
    kind = runs.algorithm(asked["algorithm"])
    files = {seed: runs.seed_file(out, seed) for seed in asked["seeds"]}
    with restoring(out / runs.ASKED):
        return [
            kind.load(path, model)
            if path.is_file()
            else kind(model, seed=seed, **asked["settings"])
            for seed, path in files.items()
        ]


def _run(out: Path, learners: list[Learner], steps: int, board: Path | None) -> None:
    """Learn up to so many steps, on all cores, and save."""
    from recurl.cli.progress import Waiting

    learners[0].learn(min(1, steps - learners[0].steps))  # compiles before the threads ask for it
    with (
        Waiting(f"learning, {len(learners)} runs", total=steps * len(learners)) as waiting,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        jobs = [pool.submit(partial(_run_one, out, one, steps, board)) for one in learners]
        for job in jobs:
            job.result()
            waiting.update(sum(one.steps for one in learners))


def _run_one(out: Path, learner: Learner, steps: int, board: Path | None) -> None:
    from recurl.learn.tensorboard import TensorBoard

    path = runs.seed_file(out, learner.settings.seed)
    events = None if board is None else TensorBoard(board / path.stem)
    try:
        learner.learn(max(0, steps - learner.steps), events, checkpoint=path)
    finally:
        learner.save(path)  # what was learned up to a limit is kept too


def _row(learner: Learner) -> dict[str, Any]:
    score, engine = learner.test(), learner.engine
    return {
        "seed": learner.settings.seed,
        "steps": learner.steps,
        "episodes": engine.episodes,
        "cut": engine.cut,
        "contexts": engine.n_contexts,
        "greedy": score.mean,
        "unfinished": score.cut,
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    texts = [[f"{v:,}" if isinstance(v, int) else f"{v:.6g}" for v in row.values()] for row in rows]
    heads = ("seed", "steps", "episodes", "cut", "contexts", "greedy policy")
    return table(*heads, rows=[line[: len(heads)] for line in texts], numbers=heads)


def _warnings(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"Seed {row['seed']}: {row['unfinished']:.0%} of the test episodes never ended: they were "
        "cut at the limit. The policy may run for ever."
        for row in rows
        if row["unfinished"]
    ]
