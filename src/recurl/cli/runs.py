"""Folders of learned runs on the command line: mistakes that a user can make with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from recurl.cli.output import UsageError
from recurl.errors import CheckpointError

if TYPE_CHECKING:
    from recurl.experiment.learned import Asked
    from recurl.model.rmdp import RMDP


def begin(folder: Path, model: RMDP, asked: Asked) -> None:
    """Make a folder for new runs; one that holds others is left alone."""
    from recurl.experiment.learned import ASKED, write_asked

    if (folder / ASKED).exists():
        raise UsageError(f"{folder} holds runs already: add --resume, or name another folder")
    write_asked(folder, model, asked)


def read(folder: Path) -> tuple[RMDP, Asked]:
    """The model of a folder of runs, and the settings."""
    from recurl.experiment.learned import ASKED, read_asked

    if not (folder / ASKED).is_file():
        raise UsageError(
            f"{folder} holds no runs: make some with `recurl learn ... --out {folder}`"
        )
    return read_asked(folder)


def learners(folder: Path) -> list[Any]:
    """The learners of a folder, by seed."""
    from recurl.experiment.learned import saved_seeds
    from recurl.experiment.options import learner_class

    model, asked = read(folder)
    kind: Any = learner_class(asked["algorithm"])
    try:
        saved = saved_seeds(folder, asked["seeds"])
    except CheckpointError as error:
        raise UsageError(str(error)) from error
    return [kind.load(path, model) for path in saved.values()]
