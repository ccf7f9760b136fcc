from __future__ import annotations

from pathlib import Path

import pytest

from recurl.errors import CheckpointError
from recurl.experiment.run import exact_value
from recurl.experiment.study import Study, find_studies, optimum_of


def test_saved_policies_are_worth_what_their_records_say(study: Study) -> None:
    for record in study.records:
        assert exact_value(study.policy(record)) == record.exact


def test_the_optimum_is_kept_and_made_again_if_damaged(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "optimum.json"
    path.write_text("{")
    found = optimum_of(study.model, path)
    assert found.value == pytest.approx(-5.3425, abs=1e-4)
    assert optimum_of(study.model, path) == found


def test_studies_are_found_inside_folders(study: Study, tmp_path: Path) -> None:
    (found,) = find_studies([study.folder.parent])
    assert found.records == study.records
    with pytest.raises(CheckpointError, match="no saved runs"):
        find_studies([tmp_path])
