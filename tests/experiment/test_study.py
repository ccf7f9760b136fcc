from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import recurl
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


def test_a_discount_reaches_learner_tests_values_and_optimum(
    small: Experiment, tmp_path: Path
) -> None:
    settings = {**small.settings, "gamma": 0.5}
    discounted = msgspec.structs.replace(
        small, settings=settings, methods=small.methods[:1], seeds=(0,), steps=20_000
    )
    run_experiments([discounted], tmp_path)
    study = read_study(tmp_path / small.name)
    exact = recurl.solve(study.model, gamma=0.5).value
    assert study.optimum.value == pytest.approx(exact)
    [record] = study.of_method("rql")
    assert record.config["settings"]["gamma"] == 0.5
    assert record.exact is not None
    assert record.exact.value == pytest.approx(exact, abs=0.05)
    assert record.curve["mean"][-1] == pytest.approx(exact, abs=0.5)


def test_a_discount_by_boxes_reaches_values_and_optimum(small: Experiment, tmp_path: Path) -> None:
    settings = {**small.settings, "box_gamma": 0.5}
    model = msgspec.structs.replace(small.model, parameters={"exits": 1})
    discounted = msgspec.structs.replace(
        small, model=model, settings=settings, methods=small.methods[:1], seeds=(0,), steps=20_000
    )
    run_experiments([discounted], tmp_path)
    study = read_study(tmp_path / small.name)
    exact = recurl.solve(study.model, box_gamma=0.5).value
    assert study.optimum.value == pytest.approx(exact)
    [record] = study.of_method("rql")
    assert record.exact is not None
    assert record.exact.value == pytest.approx(exact, abs=0.05)


def test_methods_with_different_discounts_have_no_common_optimum(small: Experiment) -> None:
    first = small.methods[0]
    other = msgspec.structs.replace(first, name="other", settings={**first.settings, "gamma": 0.9})
    assert small.discount == (1, 1)
    assert msgspec.structs.replace(small, methods=(first, other)).discount is None
