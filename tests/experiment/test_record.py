from __future__ import annotations

import platform
from pathlib import Path

import pytest

from recurl.errors import CheckpointError
from recurl.experiment.record import (
    Files,
    Record,
    is_done,
    machine,
    read_record,
    versions,
    write_record,
)
from recurl.experiment.settings import Experiment
from recurl.version import __version__


def test_round_trip_and_what_counts_as_done(small: Experiment, tmp_path: Path) -> None:
    run = next(small.runs())
    path = Files(tmp_path, run).record
    record = Record(
        experiment="cloud", method="rql", label="", seed=0, config=run.config,
        model={"fingerprint": "f"}, curve={"mean": [1.5, None]},
    )  # fmt: skip
    write_record(path, record)
    assert read_record(path) == record
    assert is_done(path, run, "f", print)
    assert not is_done(path, run, "another", print)


def test_a_damaged_record_is_refused_and_made_again(small: Experiment, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"experiment": ')
    with pytest.raises(CheckpointError, match="not a record"):
        read_record(path)
    told: list[str] = []
    assert not is_done(path, next(small.runs()), "f", told.append)
    assert str(path) in told[0]


def test_versions_and_machine() -> None:
    assert versions()["recurl"] == __version__
    assert versions()["python"] == platform.python_version()
    assert platform.node() not in " ".join(map(str, machine().values()))
