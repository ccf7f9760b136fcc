from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_cloud_with_one_seed(run: Run) -> None:
    result = run("reproduce", "cloud", "--seeds", "1", "--out", "here")
    assert "recursive" in result.stdout
    listed, _, _ = result.stdout.partition("Figure, table and report")
    for words in ("episode_limit 200 the published runs", "grain 8 this package", "seeds 1 the"):
        assert words in " ".join(listed.split())
    for name in ("figure.png", "figure.pdf", "figure.svg", "table.md", "report.html"):
        assert Path("here", name).is_file()
    again = run("reproduce", "cloud", "--seeds", "1", "--out", "here")
    assert "3 of 3 runs are done already" in again.stderr


def test_a_quick_look_has_a_folder_of_its_own(quick_look: Path) -> None:
    assert (quick_look / "reproduced-quick/cloud/runs/rql-0.json").is_file()
    assert not (quick_look / "reproduced").exists()


def test_an_unknown_experiment_is_answered_with_the_known_ones(run: Run) -> None:
    assert "palindrome" in run("reproduce", "clowd", code=2).stderr
