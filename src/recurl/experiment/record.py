"""Records: what is kept of a run, one JSON file each."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from recurl.errors import CheckpointError
from recurl.learn.curve import Curve, Score
from recurl.model.files import write_atomic
from recurl.model.limits import read_note
from recurl.version import __version__

if TYPE_CHECKING:
    from recurl.experiment.settings import Run


FORMAT = 1


CurveColumns = dict[str, list[float | None]]
"""Columns of a learning curve by name."""


def finite(number: float) -> float | None:
    """The number, or None if it is not finite, as JSON has it.

    Example:
        >>> finite(1.5), finite(math.inf)
        (1.5, None)
    """
    return number if math.isfinite(number) else None


class Exact(msgspec.Struct, frozen=True):
    """The worth of the final greedy policy, by evaluation and not by sampling.

    Attributes:
        value: Its expected total reward; None if that is infinite or undefined.
        lower: It is at least this.
        upper: It is at most this.
        note: Why there is no value, or what it says of the policy.
    """

    value: float | None
    lower: float | None
    upper: float | None
    note: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A finished or failed run.

    Attributes:
        experiment: Name of the experiment.
        method: Name of the method.
        label: Its name in tables and figures.
        seed: The seed.
        config: All that the result depends on.
        model: Name, kind and fingerprint of the model.
        versions: Versions of what computed it.
        machine: What it was computed on.
        started: When, in UTC.
        seconds: Wall time of learning and testing.
        steps: Steps learned.
        episodes: Episodes of training.
        curve: Columns of the learning curve by name.
        exact: What the final greedy policy is worth.
        episode: Transitions of a test episode, where the policy is not on file.
        error: Traceback, if the run failed.
        format: Version of this format.
    """

    experiment: str
    method: str
    label: str
    seed: int
    config: dict[str, Any]
    model: dict[str, str] = msgspec.field(default_factory=dict)
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    machine: dict[str, Any] = msgspec.field(default_factory=dict)
    started: str = ""
    seconds: float = 0.0
    steps: int = 0
    episodes: int = 0
    curve: CurveColumns = msgspec.field(default_factory=dict)
    exact: Exact | None = None
    episode: list[int] = msgspec.field(default_factory=list)
    error: str = ""
    format: int = FORMAT

    @property
    def failed(self) -> bool:
        """Whether the run failed."""
        return bool(self.error)

    def column(self, name: str) -> np.ndarray:
        """A column of the curve; what is not a number there is nan.

        Example:
            >>> one = Record(experiment="e", method="m", label="", seed=0, config={},
            ...              curve={"steps": [0, 100], "mean": [-8, None]})
            >>> one.column("mean")
            array([-8., nan])
        """
        values = self.curve.get(name, [])
        return np.array([np.nan if x is None else x for x in values], np.float64)


def run_record(run: Run, **found: Any) -> Record:
    """A record of a run: what was asked, and what was found.

    Example:
        >>> from recurl.experiment.paper import PAPER
        >>> run_record(next(PAPER["cloud"].runs()), error="no memory").failed
        True
    """
    return Record(
        experiment=run.experiment.name,
        method=run.method.name,
        label=run.method.label or run.method.name,
        seed=run.seed,
        **{"config": run.config, **found},
    )


def curve_columns(curve: Curve) -> CurveColumns:
    """A learning curve as columns that JSON can hold."""
    columns = curve.array.T.tolist()
    return {
        name: list(map(finite, column)) for name, column in zip(Score._fields, columns, strict=True)
    }


class Files:
    """Where a run's files are, in the folder of its experiment.

    Example:
        >>> from recurl.experiment.paper import PAPER
        >>> Files("out", next(PAPER["cloud"].runs())).record.as_posix()
        'out/cloud/runs/rql-0.json'
    """

    def __init__(self, out: str | os.PathLike[str], run: Run) -> None:
        folder = Path(out) / run.experiment.name / "runs"
        self.record = folder / f"{run.name}.json"
        self.policy = folder / f"{run.name}.policy"


def write_record(path: Path, record: Record) -> None:
    """Write a record, so that a crash leaves either none or all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, msgspec.json.format(msgspec.json.encode(record), indent=1))


def read_record(path: Path) -> Record:
    """Read a record.

    Raises:
        CheckpointError: The file is damaged, or of another version.
    """
    try:
        record = read_note(path, Record)
    except ValueError as error:
        raise CheckpointError(f"{path} is not a record of a run: {error}") from error
    if record.format != FORMAT:
        raise CheckpointError(f"{path} has format {record.format}; this version reads {FORMAT}")
    return record


def is_done(path: Path, run: Run, fingerprint: str, tell: Callable[[str], None]) -> bool:
    """Whether there is a record of this very run, on this very model, that did not fail.

    A record that cannot be read is reported: its run will be done again.
    """
    if not path.is_file():
        return False
    try:
        record = read_record(path)
    except CheckpointError as error:
        tell(f"{run.experiment.name} {run.name} is done again: {error}")
        return False
    same = record.config == run.config and record.model.get("fingerprint") == fingerprint
    return same and not record.failed


PACKAGES = ("numpy", "numba", "scipy", "jax", "optax")


@cache
def versions() -> dict[str, str]:
    """Versions of Python, this package and those it computes with.

    Example:
        >>> sorted(versions())[:2]
        ['jax', 'numba']
    """
    found = {"python": platform.python_version(), "recurl": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def machine() -> dict[str, Any]:
    """Processor, cores and system; nothing that names the machine."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
