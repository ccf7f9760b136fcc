from __future__ import annotations

from pathlib import Path

import pytest

from recurl.errors import CheckpointError
from recurl.experiment.run import exact_value, run_experiments
from recurl.experiment.settings import Experiment
from recurl.experiment.study import Study, optimum_of, read_study


def test_saved_policies_are_worth_what_their_records_say(study: Study) -> None:
    for record in study.records:
        assert exact_value(study.policy(record)) == record.exact


def test_the_optimum_is_kept_and_made_again_if_damaged(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "optimum.json"
    path.write_text("{")
    found = optimum_of(study.model, path)
    assert found.value == pytest.approx(-5.3425, abs=1e-4)
    assert optimum_of(study.model, path) == found


def test_what_is_missing_or_damaged_is_counted(small: Experiment, tmp_path: Path) -> None:
    run_experiments([small], tmp_path)
    runs = tmp_path / "cloud" / "runs"
    (runs / "rql-0.json").unlink()
    (runs / "ql-1.json").write_text("{")
    found = read_study(tmp_path / "cloud")
    assert found.missing == 1
    assert len(found.records) == 5
    (damaged,) = (one for one in found.records if one.failed)
    assert (damaged.method, damaged.seed) == ("ql", 1)
    assert "ql-1.json is not a record" in damaged.error


def test_a_folder_without_an_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="recurl experiment"):
        read_study(tmp_path)
