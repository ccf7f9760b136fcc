from __future__ import annotations

from pathlib import Path

import pytest
from tests.experiment.conftest import learn_into

import recurl
from recurl.errors import CheckpointError, LimitError
from recurl.experiment.learned import (
    Asked,
    find_studies,
    joined,
    learn_runs,
    new_learner,
    read_learned,
    saved_learner,
)
from recurl.experiment.study import Study
from recurl.experiment.table import table_rows
from recurl.learn.schedules import linear


def test_checkpoints_become_records(tmp_path: Path) -> None:
    learners = learn_into(tmp_path / "runs", "rql", seeds=2, evaluate_every=500)
    study = read_learned(tmp_path / "runs")
    assert study.experiment.steps == 1_000
    for record, learner in zip(study.records, learners, strict=True):
        assert record.curve["mean"] == learner.curve.mean.tolist()
        assert record.exact is not None
        assert record.exact.value == recurl.evaluate(learner.policy()).value
        assert study.policy(record) == learner.policy()
    (row,) = table_rows([study])
    assert (row.runs, row.seconds, row.speed) == (2, None, None)


def test_a_run_without_tests_is_tested_at_its_end(tmp_path: Path) -> None:
    (learner,) = learn_into(tmp_path, "q")
    (record,) = read_learned(tmp_path).records
    assert record.curve["steps"] == [1_000]
    assert record.curve["mean"] == [learner.test().mean]


def test_runs_on_the_same_model_are_put_together(tmp_path: Path) -> None:
    for name, algorithm in (("one", "rql"), ("two", "q")):
        learn_into(tmp_path / name, algorithm, seeds=2)
    (both,) = joined([read_learned(tmp_path / "one"), read_learned(tmp_path / "two")])
    assert len(both.records) == 4
    assert [row.runs for row in table_rows([both])] == [2, 2]
    learn_into(tmp_path / "other", "q", model=recurl.zoo.gambler())
    assert len(joined([both, read_learned(tmp_path / "other")])) == 2


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    learn_into(tmp_path, "rql", seeds=3)
    (tmp_path / "seed-0.ckpt").unlink()
    (tmp_path / "seed-1.ckpt").write_bytes(b"nonsense")
    study = read_learned(tmp_path)
    assert study.missing == 1
    assert [record.failed for record in study.records] == [True, False]
    assert "seed-1.ckpt" in study.records[0].error
    (tmp_path / "run.json").write_text('{"algorithm": "sarsa"}')
    with pytest.raises(CheckpointError, match=r"run\.json is damaged"):
        read_learned(tmp_path)


def test_a_folder_whose_runs_are_not_saved_yet_is_refused(tmp_path: Path) -> None:
    learn_into(tmp_path, "rql")
    (tmp_path / "seed-0.ckpt").unlink()
    with pytest.raises(CheckpointError, match=r"no run .* has been saved"):
        read_learned(tmp_path)


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


def test_schedules_are_fractions_of_the_steps_that_were_asked_for(tmp_path: Path) -> None:
    asked: Asked = {
        "algorithm": "rql",
        "seeds": [0, 1],
        "settings": {"preset": "paper", "exploration": "linear(1, 0.1, fraction=0.5)"},
    }
    model = recurl.zoo.cloud()
    learners = [new_learner(model, asked, seed) for seed in asked["seeds"]]
    learn_runs(tmp_path, learners, 400)
    for seed in asked["seeds"]:
        saved = saved_learner(tmp_path, model, asked, seed)
        assert saved.steps == 400
        assert saved.settings.exploration == linear(1.0, 0.1, 200)


def test_runs_that_meet_a_limit_are_saved_where_they_stopped(tmp_path: Path) -> None:
    settings = {"preset": "paper", "quantum": 1e-9, "memory": 200_000}
    asked: Asked = {"algorithm": "rql", "seeds": [0], "settings": settings}
    model = recurl.zoo.stack_matters()
    learner = new_learner(model, asked, 0)
    with pytest.raises(LimitError, match="contexts"):
        learn_runs(tmp_path, [learner], 1_000_000)
    assert 0 < saved_learner(tmp_path, model, asked, 0).steps == learner.steps < 1_000_000
