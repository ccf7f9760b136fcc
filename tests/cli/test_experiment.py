from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run, RunJson

TEXT = """\
seeds: 1
steps: 1000
settings: {{evaluate_every: 500, episode_limit: 200}}
models: {{cloud: }}
methods:
  good: {{algorithm: rql}}
  other: {{algorithm: rql, {setting}}}
"""


def test_a_file_of_ones_own(run_json: RunJson, run: Run) -> None:
    Path("study.yaml").write_text(TEXT.format(setting="learning_rate: 0.5"))
    result = run("experiment", "study.yaml", "--json")
    assert '"method": "good"' in result.stdout
    assert Path("study/report.html").is_file()
    assert Path("study/cloud/runs/other-0.json").is_file()


def test_a_failing_run_is_told_by_the_exit_code(run: Run) -> None:
    Path("study.yaml").write_text(TEXT.format(setting="memory: 1"))
    result = run("experiment", "study.yaml", code=1)
    assert "1 of 2 runs failed" in result.stderr
    assert "cloud other-0:\nTraceback" in result.stderr
    assert "LimitError" in Path("study/cloud/runs/other-0.json").read_text()
    assert "Runs that failed" in Path("study/report.html").read_text()


def test_values_out_of_range_are_refused_before_anything_runs(run: Run) -> None:
    Path("study.yaml").write_text(TEXT.format(setting="learning_rate: 7"))
    assert "learning_rate: rates must lie within [0, 1], not 7" in run(
        "experiment", "study.yaml", code=1
    ).stderr.replace("\n", " ")
    assert not Path("study").exists()


def test_a_missing_file_is_a_wrong_command(run: Run) -> None:
    assert "file not found" in run("experiment", "nothing.yaml", code=2).stderr


def test_another_engine_tries_a_run_again(run: Run) -> None:
    Path("study.yaml").write_text(TEXT.format(setting="memory: 1"))
    result = run("experiment", "study.yaml", "--on", "processes", "--retries", "1", code=1)
    assert result.stderr.count("cloud other-0 is tried again: ") == 1
    assert Path("study/cloud/runs/good-0.policy").is_file()


def test_an_unknown_engine_is_answered_with_the_known_ones(run: Run) -> None:
    Path("study.yaml").write_text(TEXT.format(setting="learning_rate: 0.5"))
    assert "processes" in run("experiment", "study.yaml", "--on", "spark", code=2).stderr
