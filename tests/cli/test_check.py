"""``recurl check``."""

from __future__ import annotations

import os
from pathlib import Path

import recurl

from .conftest import Run, RunJson

WRONG = """\
recurl: 1
name: wrong
components:
  A:
    entries: in
    exits: out
    boxes: {again: B}
    vertices:
      in:
        go: {to: {out: 0.5, nowhere: 0.4}}
      again.out:
        up: {to: out}
"""

ODD = """\
recurl: 1
name: odd
components:
  A:
    entries: in
    exits: out
    vertices:
      in:
        go: {to: out}
      island:
        swim: {to: island}
"""


def test_a_valid_model_shows_its_kind_and_sizes(run: Run) -> None:
    lines = dict(line.split(maxsplit=1) for line in run("check", "cloud").stdout.splitlines())
    assert lines == {
        "cloud": "valid",
        "kind": "multi-exit, recursive",
        "size": "3 components, 24 vertices, 7 boxes, 16 actions, 19 transitions",
        "start": "T.u1",
        "longest": "way out  6 steps",
        "reward": lines["reward"],
        "warnings": "none",
    }
    assert lines["reward"].startswith("diameter")


def test_machines_get_the_same(run_json: RunJson) -> None:
    assert run_json("check", "cloud", "exits=1") == {
        "model": "cloud",
        "valid": True,
        "kind": {"one_exit": True, "deterministic": False, "hierarchical": False},
        "components": 3,
        "vertices": 20,
        "boxes": 7,
        "actions": 12,
        "transitions": 15,
        "start": {"T.u1": 1.0},
        "longest_way_out": 6.0,
        "reward_diameter": recurl.zoo.cloud(exits=1).reward_diameter,
        "problems": [],
        "warnings": [],
    }


def test_an_invalid_model_shows_every_problem(run: Run, run_json: RunJson) -> None:
    Path("wrong.yaml").write_text(WRONG)
    result = run("check", "wrong.yaml", code=1)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: wrong.yaml: ")
    assert "nowhere" in result.stderr
    assert "'B'" in result.stderr or " B" in result.stderr
    data = run_json("check", "wrong.yaml", code=1)
    assert data["valid"] is False
    assert len(data["problems"]) >= 2
    assert all(problem["message"] for problem in data["problems"])
    assert 10 in [problem["line"] for problem in data["problems"]]


def test_all_of_many_problems_are_shown(run: Run) -> None:
    vertices = "\n".join(f"      n{i}: {{go: {{to: m{i}}}}}" for i in range(60))
    head = "recurl: 1\ncomponents:\n  A:\n    entries: in\n    exits: out\n    vertices:\n"
    Path("many.yaml").write_text(f"{head}      in: {{go: {{to: out}}}}\n{vertices}\n")
    error = run("check", "many.yaml", code=1).stderr
    assert "60 problems" in error
    assert all(f"m{i}" in error for i in range(60))


def test_warnings_do_not_make_a_model_invalid(run: Run, run_json: RunJson) -> None:
    Path("odd.yaml").write_text(ODD)
    text = run("check", "odd.yaml").stdout
    assert "vertex island: no run can visit it" in text
    (warning,) = run_json("check", "odd.yaml")["warnings"]
    assert warning["place"] == "component A, vertex island"


def test_a_wrong_command_line_is_not_an_invalid_model(run: Run) -> None:
    assert "Did you mean 'cloud'?" in run("check", "clowd", code=2).stderr
    assert "file not found" in run("check", "none.yaml", code=2).stderr
    assert "exits" in run("check", "cloud", "exits=5", code=2).stderr
    assert "MODEL" in run("check", code=2).stderr


def test_damaged_files_get_one_clear_error(run: Run) -> None:
    for name, content in {
        "binary.yaml": b"\x00\x01\x02\xff",
        "half.json": b'{"recurl": 1, "components": {"A"',
        "empty.yaml": b"",
        "list.yaml": b"- 1\n- 2\n",
    }.items():
        Path(name).write_bytes(content)
        error = run("check", name, code=1).stderr
        assert error.startswith(f"Error: {name}: 1 problem:")
        assert len(error.splitlines()) == 2


def test_what_is_no_file_is_called_what_it_is(run: Run, tmp_path: Path) -> None:
    folder, pipe = tmp_path / "models", tmp_path / "pipe.yaml"
    folder.mkdir()
    os.mkfifo(pipe)
    for name in ("models", "models/", str(folder)):
        assert "is a folder: name a file in it" in run("check", name, code=2).stderr
    assert "is a pipe or a device, not a file: save it" in run("check", str(pipe), code=2).stderr
    assert "standard input (-) is not read: save it" in run("check", "-", code=2).stderr
    assert "models is a folder" in run("learn", "cloud", "--settings", "models", code=2).stderr
