from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run, RunJson

pytest.importorskip("optuna", reason="needs the extra 'tune'")

TEXT = """\
seeds: 2
steps: 600
settings: {evaluate_every: 100, episode_limit: 200}
models: {cloud: }
methods: {mine: {algorithm: rql, preset: paper}}
search:
  learning_rate: {low: 0.01, high: 1.0, log: true}
  exploration: [0.1, "linear(1, 0.1, 300)"]
trials: 5
"""


def test_settings_are_found_and_learned_with(run: Run, run_json: RunJson) -> None:
    Path("settings.yaml").write_text(TEXT)
    found = run("tune", "settings.yaml", "--workers", "2")
    assert "learning_rate" in found.stdout
    assert "trial 4: " in found.stderr
    again = run_json("tune", "settings.yaml")
    assert again["trials"] == 5
    assert set(again["best"]) == {"preset", "learning_rate", "exploration"}
    options = ("--settings", "settings/best.yaml", "--steps", "500", "--out", "runs")
    learned = run_json("learn", "cloud", *options)
    assert learned["runs"][0]["steps"] == 500
    assert str(again["best"]["learning_rate"]) in Path("runs/run.json").read_text()


def test_files_that_cannot_be_used_are_refused(run: Run) -> None:
    assert "file not found" in run("tune", "nothing.yaml", code=2).stderr
    assert "file not found" in run("learn", "cloud", "--settings", "none.yaml", code=2).stderr
    two = "models: {cloud: }\nsteps: 10\nmethods: {a: {}, b: {}}\n"
    Path("two.yaml").write_text(two)
    assert "several methods" in run("learn", "cloud", "--settings", "two.yaml", code=2).stderr
