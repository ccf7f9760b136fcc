from __future__ import annotations

from pathlib import Path

import pytest
from tests.experiment.conftest import learn_into

from recurl.errors import CheckpointError
from recurl.experiment.found import find_studies
from recurl.experiment.study import Study


def test_studies_are_found_inside_folders(study: Study) -> None:
    (found,) = find_studies([study.folder.parent])
    assert found.records == study.records
    (again,) = find_studies([study.folder, study.folder.parent])
    assert again.records == study.records


def test_experiments_and_learned_runs_are_found_side_by_side(study: Study, tmp_path: Path) -> None:
    learn_into(tmp_path / "one", "rql")
    learn_into(tmp_path / "two", "q")
    first, second = find_studies([study.folder, tmp_path])
    assert first.experiment.name == "cloud"
    assert [method.algorithm for method in second.experiment.methods] == ["rql", "q"]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no saved runs"):
        find_studies([tmp_path])
