"""The folder of an experiment: its settings, its model, its optimum and its records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recurl.errors import CheckpointError
from recurl.experiment.record import Record, read_record
from recurl.experiment.settings import Experiment
from recurl.model.files import write_atomic

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy

SETTINGS, MODEL, OPTIMUM = "experiment.json", "model.json", "optimum.json"


class Optimum(msgspec.Struct, frozen=True):
    """The optimum of a model, as far as it is known.

    Attributes:
        lower: It is at least this.
        upper: It is at most this.
        method: How it was found; where nothing was found, why.
        fingerprint: Of the model.
    """

    lower: float | None
    upper: float | None
    method: str
    fingerprint: str

    @property
    def value(self) -> float | None:
        """Middle of the interval; None if an end is missing."""
        if self.lower is None or self.upper is None:
            return None
        return (self.lower + self.upper) / 2


class Study(NamedTuple):
    """An experiment with everything that is on disk of it.

    Attributes:
        folder: Where.
        experiment: Its settings.
        model: Its model.
        optimum: The optimum of the model.
        records: Records of its runs, as far as there are any, in the order of the runs.
    """

    folder: Path
    experiment: Experiment
    model: RMDP
    optimum: Optimum
    records: tuple[Record, ...]

    def of_method(self, name: str) -> list[Record]:
        """Records of a method that did not fail."""
        return [one for one in self.records if one.method == name and not one.failed]

    def policy(self, record: Record) -> Policy:
        """The final greedy policy of a run."""
        from recurl.policy import Policy

        # By the name of the folder now: a study may be moved and renamed.
        path = self.folder / "runs" / f"{record.method}-{record.seed}.policy"
        return Policy.load(path, self.model)


def begin_study(out: Path, experiment: Experiment, model: RMDP) -> None:
    """Make the folder of an experiment, or take the one that is there."""
    from recurl.model.document import dump

    folder = out / experiment.name
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    write_atomic(folder / SETTINGS, msgspec.json.format(msgspec.json.encode(experiment), indent=1))
    dump(model, folder / MODEL)


def read_study(folder: str | os.PathLike[str]) -> Study:
    """Everything that is on disk of an experiment; the optimum is computed if it is not there.

    Raises:
        CheckpointError: The folder holds no experiment, or a file of it is damaged.
    """
    from recurl.model.document import load

    place = Path(folder)
    if not (place / SETTINGS).is_file():
        raise CheckpointError(
            f"{place} holds no experiment: make one with `recurl reproduce` or `recurl experiment`"
        )
    try:
        experiment = msgspec.json.decode((place / SETTINGS).read_bytes(), type=Experiment)
    except msgspec.MsgspecError as error:
        raise CheckpointError(f"{place / SETTINGS} is damaged: {error}") from error
    model = load(place / MODEL)
    records = tuple(_records(place, experiment))
    return Study(place, experiment, model, optimum_of(model, place / OPTIMUM), records)


def _records(place: Path, experiment: Experiment) -> Iterable[Record]:
    for run in experiment.runs():
        path = place / "runs" / f"{run.name}.json"
        if path.is_file():
            record = read_record(path)
            if record.config == run.config:
                yield record


def find_studies(folders: Iterable[str | os.PathLike[str]]) -> list[Study]:
    """The studies in some folders: each is one, or has some inside."""
    found = []
    for folder in map(Path, folders):
        inside = [folder] if (folder / SETTINGS).is_file() else sorted(_inside(folder), key=_age)
        if not inside:
            raise CheckpointError(f"there are no saved runs in {folder}")
        found += [read_study(place) for place in inside]
    return found


def _inside(folder: Path) -> list[Path]:
    return [path.parent for path in folder.glob(f"*/{SETTINGS}")]


def _age(folder: Path) -> tuple[int, str]:
    """The paper's experiments come in its order, others after them by name."""
    from recurl.experiment.paper import PAPER

    order = list(PAPER)
    return (order.index(folder.name) if folder.name in order else len(order), folder.name)


def optimum_of(model: RMDP, path: Path) -> Optimum:
    """The certified optimum of a model, from a file if it is there, else solved and written."""
    if path.is_file():
        try:
            known = msgspec.json.decode(path.read_bytes(), type=Optimum)
            if known.fingerprint == model.fingerprint:
                return known
        except msgspec.MsgspecError:
            pass  # damaged: solved again
    found = _solve(model)
    write_atomic(path, msgspec.json.encode(found))
    return found


def _solve(model: RMDP) -> Optimum:
    from recurl.errors import RecurlError
    from recurl.experiment.run import finite
    from recurl.solving.api import solve

    try:
        solution = solve(model)
    except RecurlError as error:
        return Optimum(None, None, f"not known: {error}", model.fingerprint)
    ends = finite(solution.lower), finite(solution.upper)
    return Optimum(*ends, solution.method, model.fingerprint)
