"""``recurl describe``."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run, RunJson


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_small_model_is_shown_in_full(run: Run) -> None:
    found = rows(run("describe", "cloud").stdout)
    assert ["cloud", "multi-exit,", "recursive"] in found
    assert ["T", "entries", "u1"] in found
    assert ["exits", "u6,", "u7"] in found
    assert ["boxes", "b1,", "b2,", "b3", "->", "S"] in found
    assert ["u3", "reliable", "-1.5", "0.3", "b4.u5,", "0.7", "u4"] in found
    assert ["fast", "-1", "0.4", "b5.u3,", "0.6", "u4"] in found
    assert ["└──", "S", "x3"] in found


def test_one_component_can_be_asked_for(run: Run) -> None:
    text = run("describe", "cloud", "exits=1", "--component", "H").stdout
    assert "entries u5" in text
    assert "entries u3" not in text
    assert "Did you mean" not in text
    assert "Unknown component 'h'" in run("describe", "cloud", "--component", "h", code=2).stderr


def test_a_large_model_is_abbreviated(run: Run) -> None:
    short = run("describe", "palindrome").stdout
    full = run("describe", "palindrome", "--all").stdout
    assert "more actions (all with --all)" in short
    assert "--all" not in full
    assert len(short.splitlines()) < 200 < len(full.splitlines())
    many = run("describe", "succinct", "n=100").stdout
    assert "... and 94 more components" in many


def test_machines_get_everything(run_json: RunJson) -> None:
    data = run_json("describe", "cloud")
    assert data["model"] == "cloud"
    assert data["vertices"] == 24
    assert data["start"] == {"T.u1": 1.0}
    server = data["parts"]["S"]
    assert server["entries"] == ["u3"]
    assert server["exits"] == ["u4"]
    assert server["boxes"] == {"b4": "H", "b5": "S"}
    assert server["vertices"]["u3"]["fast"] == [
        {"to": "b5.u3", "prob": 0.4, "reward": -1.0},
        {"to": "u4", "prob": 0.6, "reward": -1.0},
    ]
    assert list(run_json("describe", "cloud", "--component", "T")["parts"]) == ["T"]


def test_a_model_is_drawn_into_a_file(run: Run, tmp_path: Path) -> None:
    assert run("describe", "cloud", "--draw", "cloud.svg").stdout == "Drawn into cloud.svg\n"
    assert (tmp_path / "cloud.svg").read_text().startswith("<svg")
    run("describe", "cloud", "--component", "H", "--draw", "handler.dot")
    assert "b6 calls H" in (tmp_path / "handler.dot").read_text().replace("\\ ", " ")
    assert "Unknown suffix" in run("describe", "cloud", "--draw", "cloud.png", code=2).stderr
