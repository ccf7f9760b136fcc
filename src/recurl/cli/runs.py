"""Folders of learned runs: the model, what was asked, and one file per seed."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from recurl.cli.output import UsageError
from recurl.errors import CheckpointError
from recurl.model.files import write_atomic

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

MODEL, ASKED = "model.json", "run.json"
ALGORITHMS = {
    "rql": "RecursiveQLearning",
    "q": "QLearning",
    "deep-rql": "DeepRecursiveQLearning",
    "dqn": "DQN",
}
DEEP = ("deep-rql", "dqn")


class Asked(TypedDict):
    """What a folder of runs was asked for."""

    algorithm: str
    seeds: list[int]
    settings: dict[str, Any]


def algorithm(name: str) -> type[Any]:
    """The learner that a short name stands for."""
    from recurl.errors import UnknownNameError

    if name not in ALGORITHMS:
        raise UnknownNameError("algorithm", name, ALGORITHMS)
    room = "deep.learner" if name in DEEP else "tabular"
    found: type[Any] = getattr(import_module(f"recurl.learn.{room}"), ALGORITHMS[name])
    return found


def seed_file(folder: Path, seed: int) -> Path:
    """Checkpoint of a seed."""
    return folder / f"seed-{seed}.ckpt"


def begin(folder: Path, model: RMDP, asked: Asked) -> None:
    """Make a folder for new runs; one that holds others is left alone."""
    from recurl.model.document import dump

    if (folder / ASKED).exists():
        raise UsageError(f"{folder} holds runs already: add --resume, or name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    dump(model, folder / MODEL)
    write_atomic(folder / ASKED, json.dumps(asked, indent=2))


def read(folder: Path) -> tuple[RMDP, Asked]:
    """The model of a folder of runs, and what was asked."""
    from recurl.model.document import load
    from recurl.model.limits import read_note

    if not (folder / ASKED).is_file():
        raise UsageError(
            f"{folder} holds no runs: make some with `recurl learn ... --out {folder}`"
        )
    try:
        asked = read_note(folder / ASKED, Asked)
    except ValueError as error:
        raise CheckpointError(f"{folder / ASKED} is damaged: {error}") from error
    if any(seed < 0 for seed in asked["seeds"]):
        raise CheckpointError(f"{folder / ASKED} is damaged: seeds must be 0 or more")
    algorithm(asked["algorithm"])
    return load(folder / MODEL), asked


def learners(folder: Path) -> list[Any]:
    """The learners of a folder, by seed."""
    model, asked = read(folder)
    kind = algorithm(asked["algorithm"])
    found = [seed_file(folder, seed) for seed in asked["seeds"]]
    there = [path for path in found if path.is_file()]
    if not there:
        raise UsageError(f"no run in {folder} has been saved yet")
    return [kind.load(path, model) for path in there]
