from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Run, RunJson


def test_list_shows_tasks_and_agents(run: Run) -> None:
    text = run("suite", "list", "--sizes", "small").stdout
    assert "palindrome-small" in text
    assert "one exit" in text
    assert "rql" in text
    assert "cave-large" not in text


def test_list_for_machines(run_json: RunJson) -> None:
    found = run_json("suite", "list", "--tasks", "words", "--sizes", "small")
    assert found["settings"][0]["known"]["optimum"][0] <= 0.48
    assert "rql" in found["agents"]


def test_run_and_report_end_to_end(run: Run, run_json: RunJson) -> None:
    given = ("--tasks", "words,epidemic", "--sizes", "small", "--steps", "0.02", "--out", "here")
    result = run("suite", "run", "rql", "q", *given, "--seeds", "2")
    assert "words-small" in result.stdout
    again = run("suite", "run", "rql", "q", *given, "--seeds", "2")
    assert "8 of 8 runs are done already" in again.stderr
    assert "several exits" in run("suite", "table", "--out", "here").stdout
    rows = run_json("suite", "report", "--out", "here")["rows"]
    assert {row["scope"] for row in rows} == {"setting", "family", "all"}
    for name in ("table.md", "table.json", "report.html"):
        assert Path("here", name).is_file()


def test_tables_of_many_agents_fit_the_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    agents = ("rql", "q", "uniform", "rql-paper", "q-paper")
    given = ("--tasks", "palindrome-vector", "--sizes", "small", "--steps", "0.001")
    run("suite", "run", *agents, *given, "--out", "here")
    names = [line for line in _table(run) if line.startswith("palindrome-vector-small ")]
    assert len(names) == 2  # the name is in one piece, and some agents are in a second table
    monkeypatch.setenv("COLUMNS", "200")
    assert len([line for line in _table(run) if line.startswith("palindrome")]) == 1


def _table(run: Run) -> list[str]:
    lines = run("suite", "table", "--out", "here").stdout.splitlines()
    assert all(len(line) <= int(os.environ.get("COLUMNS", "100")) for line in lines)
    return list(lines)


def test_an_agent_of_ones_own_is_found_where_the_command_is_given(run: Run) -> None:
    source = Path(__file__).parents[1] / "suite" / "sarsa.py"
    Path("my_sarsa.py").write_text(source.read_text())
    given = ("--tasks", "words", "--sizes", "small", "--steps", "0.02")
    result = run("suite", "run", "my_sarsa:Sarsa", *given)
    assert "my_sarsa.Sarsa" in result.stdout
    # Short runs have a folder of their own.
    assert Path("suite-0.02/words-small/runs/my_sarsa.Sarsa-0.json").is_file()


def test_mistakes_are_told(run: Run) -> None:
    assert "list, run, table, report" in run("suite", "show", code=2).stderr
    assert "at least one agent" in run("suite", "run", code=2).stderr
    assert "only run takes" in run("suite", "list", "rql", code=2).stderr
    assert "rql" in run("suite", "run", "rqll", code=2).stderr
    assert "palindrome" in run("suite", "list", "--tasks", "palindrom", code=2).stderr
    assert "recurl suite run" in run("suite", "table", "--out", "nowhere", code=1).stderr
