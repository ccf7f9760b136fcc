"""The folder of an experiment: its settings, its model, its optimum and its records."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recurl.errors import CheckpointError
from recurl.experiment.record import Record, finite, read_record, run_record
from recurl.experiment.settings import Experiment, Run
from recurl.model.files import write_atomic
from recurl.model.limits import read_note

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
        optimum: The optimum of the model, discounted as the runs are.
        records: Records of its runs, as far as there are any, in the order of the runs.
        missing: How many runs have no record.
        policies: Final policies by name of the run, where they have no files.
    """

    folder: Path
    experiment: Experiment
    model: RMDP
    optimum: Optimum
    records: tuple[Record, ...]
    missing: int = 0
    policies: Mapping[str, Policy] = MappingProxyType({})

    def of_method(self, name: str) -> list[Record]:
        """Records of a method that did not fail."""
        return [one for one in self.records if one.method == name and not one.failed]

    def policy(self, record: Record) -> Policy:
        """The final greedy policy of a run."""
        from recurl.policy import Policy

        name = f"{record.method}-{record.seed}"
        if name in self.policies:
            return self.policies[name]
        # By the name of the folder now: a study may be moved and renamed.
        return Policy.load(self.folder / "runs" / f"{name}.policy", self.model)


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
        experiment = read_note(place / SETTINGS, Experiment)
    except ValueError as error:
        raise CheckpointError(f"{place / SETTINGS} is damaged: {error}") from error
    model = load(place / MODEL)
    found = [_record(place / "runs" / f"{run.name}.json", run) for run in experiment.runs()]
    return Study(
        folder=place,
        experiment=experiment,
        model=model,
        optimum=experiment_optimum(experiment, model, place / OPTIMUM),
        records=tuple(record for record in found if record is not None),
        missing=found.count(None),
    )


def _record(path: Path, run: Run) -> Record | None:
    """The record of a run, if there is one; one that cannot be read counts as a failed run."""
    if not path.is_file():
        return None
    try:
        record = read_record(path)
    except CheckpointError as error:
        return run_record(run, error=str(error))
    return record if record.config == run.config else None


def experiment_optimum(experiment: Experiment, model: RMDP, path: Path) -> Optimum:
    """The certified optimum that the runs of an experiment are compared with."""
    from recurl.solving.discounted import discounted_model, discounts

    rates = experiment.discount
    if rates is None:
        return Optimum(None, None, "not known: gamma differs between methods", model.fingerprint)
    if discounts(*rates):
        model = discounted_model(model, rates.gamma, box_gamma=rates.box_gamma)
    return optimum_of(model, path)


def optimum_of(model: RMDP, path: Path) -> Optimum:
    """The certified optimum of a model, from a file if it is there, else solved and written."""
    if path.is_file():
        try:
            known = read_note(path, Optimum)
            if known.fingerprint == model.fingerprint:
                return known
        except ValueError:
            pass  # damaged: solved again
    found = _solve(model)
    write_atomic(path, msgspec.json.encode(found))
    return found


def _solve(model: RMDP) -> Optimum:
    from recurl.errors import RecurlError
    from recurl.solving.api import solve

    try:
        solution = solve(model)
    except RecurlError as error:
        return Optimum(None, None, f"not known: {error}", model.fingerprint)
    ends = finite(solution.lower), finite(solution.upper)
    return Optimum(*ends, solution.method, model.fingerprint)
