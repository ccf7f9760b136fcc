from __future__ import annotations

from pathlib import Path

import pytest

from recurl.experiment.record import Files
from recurl.experiment.run import execute
from recurl.experiment.settings import Experiment


def test_a_stopped_run_continues_to_the_same_result(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    cut, whole = Files(tmp_path / "cut", run), Files(tmp_path / "whole", run)
    assert execute(run, model, cut, stopping=lambda: True) is None
    assert cut.checkpoint.is_file()
    assert not cut.record.exists()
    resumed, straight = execute(run, model, cut), execute(run, model, whole)
    assert resumed is not None
    assert straight is not None
    assert resumed.curve == straight.curve
    assert resumed.exact == straight.exact
    assert not cut.checkpoint.exists()


def test_record_has_what_is_needed_to_repeat_it(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    record = execute(run, model, Files(tmp_path, run))
    assert record is not None
    assert record.config["settings"]["alpha"] == 0.02
    assert record.model["fingerprint"] == model.fingerprint
    assert {"python", "recurl", "numpy"} <= set(record.versions)
    assert record.machine["cores"] >= 1
    assert record.curve["steps"][:2] == [0, 100]
    assert record.exact is not None
    assert record.exact.value == pytest.approx(-5.5, abs=2.6)
