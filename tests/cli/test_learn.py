"""``recurl learn``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from recurl.execution.lock import locked
from recurl.learn.deep.learner import DeepRecursiveQLearning
from recurl.learn.tabular import RecursiveQLearning
from recurl.learn.tensorboard import read_events
from recurl.solving.evaluate import evaluate
from recurl.zoo import cloud, spelunking

from .conftest import Run, RunJson

STAY = """
recurl: 1
name: stay
start: A
components:
  A:
    entries: [in]
    exits: [out]
    vertices:
      in:
        go: {to: room}
      room:
        stay: {to: room}
        leave: {reward: -1, to: out}
"""


def test_runs_are_those_of_the_library(run_json: RunJson, tmp_path: Path) -> None:
    data = run_json("learn", "cloud", "--steps", "5e3", "--seeds", "2", "--out", "a")
    assert [row["seed"] for row in data["runs"]] == [0, 1]
    saved = RecursiveQLearning.load(tmp_path / "a" / "seed-1.ckpt", cloud())
    alone = RecursiveQLearning(cloud(), preset="swift", seed=1, episode_limit=1000).learn(5000)
    score = alone.test()
    assert (data["runs"][1]["greedy"], data["runs"][1]["margin"]) == (
        score.mean,
        score.margin(alone.settings.evaluate_episodes),
    )
    np.testing.assert_array_equal(saved.engine.arrays()["q"], alone.engine.arrays()["q"])


def test_a_run_is_tested_on_the_way_unless_that_is_turned_off(run: Run, tmp_path: Path) -> None:
    def tested(*given: str, out: str) -> list[float]:
        run("learn", "cloud", "--steps", "4e3", *given, "--out", out)
        saved = RecursiveQLearning.load(tmp_path / out / "seed-0.ckpt", cloud())
        return [score.steps for score in saved.curve]

    assert tested(out="a") == list(range(200, 4001, 200))
    assert tested("--evaluate-every", "0", out="b") == []
    assert tested("--evaluate-every", "2000", out="c") == [2000, 4000]


def test_it_ends_with_what_to_run_next(run: Run) -> None:
    told = run("learn", "cloud", "--steps", "2e3", "--seeds", "2", "--out", "my runs").stdout
    table, _, after = told.partition("Next:")
    assert table.count("(sampled, 95 %)") == 2
    commands = [line.partition("#")[0] for line in after.splitlines() if line.strip()]
    assert [command.split()[1] for command in commands] == [
        "evaluate",
        "explain",
        "report",
        "learn",
    ]
    for command in commands:  # each can be pasted
        run(*shlex.split(command)[1:])
    deep = run("learn", "cloud", "--algorithm", "dqn", "--steps", "9", "--out", "deep").stdout
    assert "explain" not in deep


def test_a_resumed_run_is_one_run(run: Run, tmp_path: Path) -> None:
    # At a constant rate: a schedule by default is a fraction of the first number of steps.
    given = ("--exploration", "0.1", "--evaluate-every", "1000")
    run("learn", "cloud", *given, "--steps", "3000", "--out", "a")
    run("learn", "cloud", "--steps", "7000", "--out", "a", "--resume")
    run("learn", "cloud", *given, "--steps", "7000", "--out", "b")
    one, two = ((tmp_path / name / "seed-0.ckpt").read_bytes() for name in "ab")
    load = RecursiveQLearning.load
    first, second = (
        load(tmp_path / "a" / "seed-0.ckpt", cloud()),
        load(tmp_path / "b" / "seed-0.ckpt", cloud()),
    )
    assert len(one) == len(two)
    np.testing.assert_array_equal(first.engine.arrays()["q"], second.engine.arrays()["q"])


def test_nonsense_is_refused(run: Run) -> None:
    assert "algorithm" in run("learn", "cloud", "--algorithm", "sarsa", code=2).stderr
    for steps in ("0", "nan", "inf"):
        assert "--steps" in run("learn", "cloud", "--steps", steps, code=2).stderr
    assert "no runs" in run("learn", "cloud", "--out", "none", "--resume", code=2).stderr
    run("learn", "cloud", "--steps", "10", "--out", "a")
    assert "--resume" in run("learn", "cloud", "--steps", "10", "--out", "a", code=2).stderr
    other = run("learn", "gambler", "--steps", "10", "--out", "a", "--resume", code=2)
    assert "another model" in other.stderr


def test_a_full_memory_is_one_error_and_what_was_learned_is_kept(
    run: Run, run_json: RunJson
) -> None:
    given = ("--preset", "paper", "--quantum", "1e-9", "--memory", "2e5", "--out", "a")
    told = run("learn", "stack_matters", "--steps", "1e6", *given, code=1).stderr
    assert "contexts" in told
    assert "quantum of" in told
    [row] = run_json("evaluate", "a")["runs"]
    assert 0 < row["learned"] < 1_000_000
    assert row["value"] <= 43 / 55 + 1e-9


def test_a_policy_that_never_ends_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "stay.yaml").write_text(STAY)
    told = run("learn", "stay.yaml", "--exploration", "0", "--steps", "1000", "--out", "a")
    assert "100% of the test episodes never ended" in " ".join(told.stdout.split())


def test_damaged_settings_are_one_error(run: Run, tmp_path: Path) -> None:
    run("learn", "cloud", "--steps", "10", "--out", "a")
    (tmp_path / "a" / "seed-0.ckpt").unlink()
    asked = json.loads((tmp_path / "a" / "run.json").read_text())
    for settings in ({"nonsense": 1}, {"quantum": -1}, {"quantum": "x"}):
        (tmp_path / "a" / "run.json").write_text(json.dumps({**asked, "settings": settings}))
        told = run("learn", "cloud", "--steps", "20", "--out", "a", "--resume", code=1).stderr
        assert "run.json" in told


def test_networks_learn_by_the_same_verb(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    given = ("--algorithm", "deep-rql", "--evaluate-every", "50", "--out", "a")
    run("learn", "cloud", "--steps", "60", *given, "--tensorboard", "tb")
    run("learn", "cloud", "--steps", "120", "--out", "a", "--resume")
    saved = DeepRecursiveQLearning.load(tmp_path / "a" / "seed-0.ckpt", cloud())
    assert saved.steps == 120
    assert saved.curve.steps.tolist() == [50, 100]
    [events] = (tmp_path / "tb" / "seed-0").iterdir()
    assert [step for step, numbers in read_events(events) if numbers] == [50, 60]
    [row] = run_json("evaluate", "a")["runs"]
    assert row["value"] == evaluate(saved.policy()).value


def test_the_model_can_be_learned(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    given = ("--algorithm", "model-based", "--episode-limit", "200", "--out", "m")
    run("learn", "cloud", "--steps", "500", *given)
    run("learn", "cloud", "--steps", "1000", "--out", "m", "--resume")
    [row] = run_json("evaluate", "m")["runs"]
    assert row["value"] == pytest.approx(-5.3425, abs=1e-3)


def test_an_option_that_an_algorithm_does_not_have_is_refused(run: Run) -> None:
    done = run("learn", "cloud", "--algorithm", "dqn", "--quantum", "0.1", code=2)
    assert "--quantum is not a setting of dqn" in done.stderr


def test_vertices_are_seen_as_asked(run: Run, tmp_path: Path) -> None:
    run("learn", "spelunking", "--observation", "features", "--steps", "500", "--out", "a")
    model = spelunking()
    saved = RecursiveQLearning.load(tmp_path / "a" / "seed-0.ckpt", model)
    assert saved.settings.observation == "features"
    wrong = run("learn", "cloud", "--observation", "faces", "--out", "b", code=2)
    assert "'faces'" in wrong.stderr
    assert "features" in wrong.stderr


def test_a_folder_is_for_one_process(run: Run, tmp_path: Path) -> None:
    with locked(tmp_path / "runs"):
        refused = run("learn", "cloud", "--steps", "100", code=1).stderr
    assert "runs is in use by process" in refused
    assert list((tmp_path / "runs").iterdir()) == []
    run("learn", "cloud", "--steps", "100")
