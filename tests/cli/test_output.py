"""Tables, JSON and errors."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from recurl.cli.output import UsageError, complain, facts, print_json, show, table, writable


def test_json_holds_no_number_that_json_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [math.inf, -math.inf, 1.5], "b": {"c": math.nan}, "d": (1, None)})
    data = json.loads(capsys.readouterr().out)
    assert data == {"a": ["inf", "-inf", 1.5], "b": {"c": "nan"}, "d": [1, None]}


def test_a_table_is_printed_without_trailing_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    show(table("name", "size", rows=[("a", "10"), ("[b]", "7")], numbers=["size"]))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if "─" not in line] == [
        ["name", "size"],
        ["a", "10"],
        ["[b]", "7"],
    ]
    assert all(line == line.rstrip() for line in lines)
    assert lines[2].endswith("  10")
    assert lines[3].endswith("   7")


def test_a_pipe_is_wide_enough(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    show(facts([("text", "word " * 40)]))
    widths = [len(line) for line in capsys.readouterr().out.splitlines()]
    assert 90 <= max(widths) <= 100
    monkeypatch.setenv("COLUMNS", "50")
    show(facts([("text", "word " * 40)]))
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 50


def test_an_error_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    complain("it is [red] like this")
    assert capsys.readouterr() == ("", "Error: it is [red] like this\n")


def test_files_that_cannot_be_written_are_refused_early(tmp_path: Path) -> None:
    writable(None, tmp_path / "new.json")
    with pytest.raises(UsageError, match=r"the folder .*nowhere does not exist"):
        writable(tmp_path / "nowhere" / "new.json")
    with pytest.raises(UsageError, match="is a folder"):
        writable(tmp_path)
