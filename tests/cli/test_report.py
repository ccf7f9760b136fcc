from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import Run


def test_report_of_runs_on_disk(run: Run, quick_look: Path) -> None:
    shutil.copytree(quick_look / "reproduced-quick" / "cloud", "here/moved")
    run("report", "here", "--out", "there")
    assert "recursive" in Path("there/table.md").read_text()
    assert Path("there/report.html").is_file()


def test_report_of_what_was_learned(run: Run) -> None:
    for name, algorithm in (("one", "rql"), ("two", "q")):
        run("learn", "cloud", "--algorithm", algorithm, "--steps", "2e3", "--out", f"runs/{name}")
    result = run("report", "runs", "--out", "there")
    assert "recursive Q-learning" in result.stdout
    assert "flat Q-learning" in result.stdout
    assert "published" not in result.stdout
    assert Path("there/report.html").is_file()


def test_a_folder_without_runs_is_an_error(run: Run) -> None:
    Path("empty").mkdir()
    assert "no saved runs" in run("report", "empty", code=1).stderr
