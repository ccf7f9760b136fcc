"""``recurl evaluate``."""

from __future__ import annotations

from pathlib import Path

import pytest

import recurl

from .conftest import Run, RunJson


def test_values_are_exact(run: Run, run_json: RunJson) -> None:
    run("learn", "cloud", "exits=1", "--steps", "2e4", "--seeds", "2", "--out", "a")
    data = run_json("evaluate", "a")
    assert [row["value"] for row in data["runs"]] == pytest.approx([-5.3425, -5.3425])
    assert "-5.3425" in run("evaluate", "a").stdout


def test_damage_is_one_message(run: Run, tmp_path: Path) -> None:
    assert "no runs" in run("evaluate", "none", code=2).stderr
    run("learn", "cloud", "--steps", "10", "--out", "a")
    (tmp_path / "a" / "seed-0.ckpt").write_bytes(b"nothing")
    assert "not a valid checkpoint" in run("evaluate", "a", code=1).stderr
    (tmp_path / "a" / "run.json").write_text("[]")
    assert "damaged" in run("evaluate", "a", code=1).stderr


def test_a_discount_changes_the_value_and_not_the_steps(run: Run, run_json: RunJson) -> None:
    run("learn", "countdown", "--steps", "500", "--out", "a")
    plain, found = run_json("evaluate", "a"), run_json("evaluate", "a", "--discount", "0.5")
    assert plain["runs"][0]["value"] == pytest.approx(19)
    assert found["runs"][0]["value"] < 2
    assert found["runs"][0]["steps"] == plain["runs"][0]["steps"]
    assert "at most 1" in run("evaluate", "a", "--discount", "1.5", code=2).stderr


def test_discounted_runs_have_discounted_values(run: Run, run_json: RunJson) -> None:
    given = ("--steps", "2e4", "--discount", "0.5", "--out", "a")
    [learned] = run_json("learn", "cloud", *given)["runs"]
    [row] = run_json("evaluate", "a")["runs"]
    exact = recurl.solve(recurl.zoo.cloud(), gamma=0.5).value
    assert row["value"] == pytest.approx(exact, abs=0.01)
    assert learned["greedy"] == pytest.approx(exact, abs=3 * learned["margin"])


def test_runs_discounted_by_boxes_have_such_values(run: Run, run_json: RunJson) -> None:
    given = ("cloud", "exits=1", "--steps", "2e4", "--box-discount", "0.5", "--out", "a")
    [learned] = run_json("learn", *given)["runs"]
    [row] = run_json("evaluate", "a")["runs"]
    exact = recurl.solve(recurl.zoo.cloud(exits=1), box_gamma=0.5).value
    assert row["value"] == pytest.approx(exact, abs=0.01)
    assert learned["greedy"] == pytest.approx(exact, abs=3 * learned["margin"] + 0.01)
    [plain] = run_json("evaluate", "a", "--box-discount", "1")["runs"]
    assert plain["value"] < row["value"]
    flat = ("learn", "gambler", "--algorithm", "dqn", "--box-discount", "0.5", "--out", "b")
    assert "--box-discount is not a setting of dqn" in run(*flat, code=2).stderr


def test_a_discount_of_1_leaves_rewards_as_they_are(run: Run, run_json: RunJson) -> None:
    run("learn", "countdown", "--steps", "500", "--discount", "0.5", "--out", "a")
    found = run_json("evaluate", "a", "--discount", "1")["runs"][0]["value"]
    assert found > run_json("evaluate", "a")["runs"][0]["value"]
