"""Folders of ``recurl learn``: learned in, written and read; and saved runs as studies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from recurl.errors import CheckpointError, RecurlError
from recurl.execution.pieces import results_of, run_pieces
from recurl.experiment.options import check_settings, learner_class, learner_options
from recurl.experiment.record import CurveColumns, Record, curve_columns, run_record
from recurl.experiment.run import exact_value, learn_to
from recurl.experiment.settings import Experiment, Method, ModelChoice, Rates, Run
from recurl.experiment.study import MODEL, OPTIMUM, SETTINGS, Study, experiment_optimum, read_study
from recurl.interrupts import aside
from recurl.learn.checkpoint import restoring
from recurl.model.files import write_atomic
from recurl.model.limits import cut, read_note

if TYPE_CHECKING:
    from recurl.execution.engine import PieceLink
    from recurl.execution.pieces import Observer
    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy


ASKED = "run.json"
"""The settings of ``recurl learn``, beside the model and a checkpoint for each seed."""

WORDS = {
    "rql": "recursive Q-learning",
    "q": "flat Q-learning",
    "model-based": "model-based recursive learning",
    "deep-rql": "deep recursive Q-learning",
    "dqn": "DQN",
}


class Asked(TypedDict):
    """The algorithm, seeds and settings of a folder of runs."""

    algorithm: str
    seeds: list[int]
    settings: dict[str, Any]


def write_asked(folder: Path, model: RMDP, asked: Asked) -> None:
    """Make a folder for runs: the model, and the settings."""
    from recurl.model.document import dump

    folder.mkdir(parents=True, exist_ok=True)
    dump(model, folder / MODEL)
    write_atomic(folder / ASKED, json.dumps(asked, indent=2))


def read_asked(folder: Path) -> tuple[RMDP, Asked]:
    """The model of a folder of runs, and the settings.

    Raises:
        CheckpointError: They are damaged.
    """
    from recurl.model.document import load

    path = folder / ASKED
    try:
        asked = read_note(path, Asked)
        check_settings(asked["algorithm"], asked["settings"])
    except (TypeError, ValueError, OverflowError, RecurlError) as error:
        raise CheckpointError(f"{path} is damaged: {cut(str(error))}") from error
    if any(seed < 0 for seed in asked["seeds"]):
        raise CheckpointError(f"{path} is damaged: seeds must be 0 or more")
    return load(folder / MODEL), asked


def seed_file(folder: Path, seed: int) -> Path:
    """Checkpoint of a seed."""
    return folder / f"seed-{seed}.ckpt"


def new_learner(model: RMDP, asked: Asked, seed: int) -> Learner:
    """The learner of a seed before its first step.

    Raises:
        ValueError: A setting is out of range.
    """
    kind: Any = learner_class(asked["algorithm"])
    learner: Learner = kind(model, seed=seed, **learner_options(asked["settings"]))
    return learner


def saved_learner(folder: Path, model: RMDP, asked: Asked, seed: int) -> Learner:
    """The learner of a seed as it was saved; a new one if it was not.

    Raises:
        CheckpointError: The checkpoint, or a setting, is damaged.
    """
    file = seed_file(folder, seed)
    if file.is_file():
        return learner_class(asked["algorithm"]).load(file, model)
    with restoring(folder / ASKED):
        return new_learner(model, asked, seed)


def learn_runs(
    folder: Path,
    learners: list[Learner],
    steps: int,
    *,
    board: Path | None = None,
    observer: Observer | None = None,
) -> None:
    """Learn up to a number of steps on all cores; runs are saved in a folder as they go.

    Args:
        folder: The folder.
        learners: A learner for each seed.
        steps: How many steps each run has in the end.
        board: Folder for the event files of TensorBoard, or None.
        observer: Follows what happens.

    Raises:
        KeyboardInterrupt: After Ctrl-C, when the runs are saved.
        LimitError: Memory is full, or values are not finite; all runs are saved.
    """
    for one in learners:
        one.set_budget(steps)
    # The first one compiles, where it must, before the threads ask for it all at once.
    if learners[0].steps < steps:
        aside(lambda: learners[0].learn(1))
    found = run_pieces(_learn, learners, shared=(folder, steps, board), observer=observer)
    results_of(found)


def _learn(shared: tuple[Path, int, Path | None], learner: Learner, link: PieceLink) -> None:
    """The piece of a run."""
    from recurl.learn.loggers import TensorBoard

    folder, steps, board = shared
    path = seed_file(folder, learner.settings.seed)
    logger = None if board is None else TensorBoard(board / path.stem)
    try:
        learn_to(learner, steps, link, partial(learner.save, path), logger=logger)
    finally:
        learner.save(path)


def saved_seeds(folder: Path, seeds: Iterable[int]) -> dict[int, Path]:
    """The checkpoints that there are, by seed.

    Raises:
        CheckpointError: There are none.
    """
    files = {seed: seed_file(folder, seed) for seed in seeds}
    saved = {seed: file for seed, file in files.items() if file.is_file()}
    if not saved:
        raise CheckpointError(f"no run in {folder} has been saved yet")
    return saved


def read_learned(folder: Path) -> Study:
    """The runs of a folder as a study of one method, which is named after the folder.

    What a checkpoint does not know is missing in the records: the time that the run took, and the
    machine. The final policies are evaluated exactly, and tested where the run was not.

    Raises:
        CheckpointError: The folder holds no run that is saved, or what was asked is damaged.
    """
    model, asked = read_asked(folder)
    algorithm, seeds = asked["algorithm"], asked["seeds"]
    settings = {name: x for name, x in asked["settings"].items() if x is not None}
    saved = saved_seeds(folder, seeds)
    experiment = Experiment(
        name=model.name,
        model=ModelChoice(file=str(folder / MODEL)),
        methods=(Method(folder.as_posix(), algorithm, settings, f"{WORDS[algorithm]}, {folder}"),),
        steps=1,
        seeds=tuple(saved),
    )
    found = [_read(run, model, saved[run.seed]) for run in experiment.runs()]
    return Study(
        folder=folder,
        experiment=_lasting(experiment, [record for record, _ in found]),
        model=model,
        optimum=experiment_optimum(experiment, model, folder / OPTIMUM),
        records=tuple(record for record, _ in found),
        missing=len(seeds) - len(saved),
        policies={f"{r.method}-{r.seed}": policy for r, policy in found if policy is not None},
    )


def _lasting(experiment: Experiment, records: Iterable[Record]) -> Experiment:
    """The experiment with the steps of its longest run."""
    steps = max((record.steps for record in records), default=1)
    return msgspec.structs.replace(experiment, steps=max(1, steps))


def _read(run: Run, model: RMDP, file: Path) -> tuple[Record, Policy | None]:
    """A record of a checkpoint, and its policy; one that cannot be read is a failed run."""
    try:
        learner: Any = learner_class(run.method.algorithm).load(file, model)
        policy: Policy = learner.policy()
    except RecurlError as error:
        return run_record(run, error=str(error)), None
    record = run_record(
        run,
        config={**run.config, "steps": learner.steps},
        model={"name": model.name, "kind": str(model.kind), "fingerprint": model.fingerprint},
        steps=learner.steps,
        episodes=int(learner.engine.episodes),
        curve=_curve(learner),
        exact=exact_value(policy, *run.discount),
    )
    return record, policy


def _curve(learner: Learner) -> CurveColumns:
    """The curve of a run, with a test at its end if there is none."""
    if not len(learner.curve) or learner.curve.last.steps < learner.steps:
        learner.curve.add(learner.test())
    return curve_columns(learner.curve)


def joined(studies: Iterable[Study]) -> list[Study]:
    """Studies on the same model, equally discounted, as one with all their methods."""
    by_model: dict[tuple[str, Rates | None], Study] = {}
    for study in studies:
        key = study.model.fingerprint, study.experiment.discount
        by_model[key] = _both(by_model[key], study) if key in by_model else study
    return list(by_model.values())


def _both(one: Study, other: Study) -> Study:
    first, second = one.experiment, other.experiment
    experiment = msgspec.structs.replace(
        first,
        methods=(*first.methods, *second.methods),
        seeds=tuple(sorted({*first.seeds, *second.seeds})),
        steps=max(first.steps, second.steps),
    )
    return one._replace(
        experiment=experiment,
        records=(*one.records, *other.records),
        missing=one.missing + other.missing,
        policies={**one.policies, **other.policies},
    )


def find_studies(folders: Iterable[str | os.PathLike[str]]) -> list[Study]:
    """The studies in some folders: each is one, or has some inside.

    Runs of ``recurl learn`` on the same model with the same discount are put together as one study,
    so that they stand side by side in its figure.

    Raises:
        CheckpointError: A folder holds no saved runs, or damaged ones.
    """
    experiments: dict[Path, Study] = {}
    learned: dict[Path, Study] = {}
    for folder in map(Path, folders):
        inside = _inside(folder)
        if not inside:
            raise CheckpointError(
                f"there are no saved runs in {folder}: `recurl reproduce`, `recurl experiment` and "
                "`recurl learn` make some"
            )
        for place in inside:
            if (place / SETTINGS).is_file():
                experiments.setdefault(place.resolve(), read_study(place))
            else:
                learned.setdefault(place.resolve(), read_learned(place))
    return [*experiments.values(), *joined(learned.values())]


def _inside(folder: Path) -> list[Path]:
    """The folder itself if it holds runs, else those in it that do."""
    if any((folder / name).is_file() for name in (SETTINGS, ASKED)):
        return [folder]
    found = {path.parent for name in (SETTINGS, ASKED) for path in folder.glob(f"*/{name}")}
    return sorted(found, key=_rank)


def _rank(folder: Path) -> tuple[int, str]:
    """The paper's experiments come in its order, others after them by name."""
    from recurl.experiment.paper import PAPER

    order = list(PAPER)
    return (order.index(folder.name) if folder.name in order else len(order), folder.name)
