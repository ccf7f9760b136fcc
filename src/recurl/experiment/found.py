"""Saved runs, wherever they are: folders of experiments and folders that were learned in."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from recurl.errors import CheckpointError
from recurl.experiment.learned import ASKED, joined, read_learned
from recurl.experiment.study import SETTINGS, Study, read_study


def find_studies(folders: Iterable[str | os.PathLike[str]]) -> list[Study]:
    """The studies in some folders: each is one, or has some inside.

    Runs of ``recurl learn`` on the same model are put together as one study, so that they stand
    side by side in its figure.

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
