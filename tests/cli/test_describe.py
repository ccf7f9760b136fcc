"""``recurl describe``."""

from __future__ import annotations

from pathlib import Path

import pytest

from recurl.cli.describe import Limits, call_tree, print_component
from recurl.cli.output import show
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.zoo import cloud, succinct

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


def fan() -> RMDP:
    builder = Builder("fan").component("A", entries="in", exits=["x", "y", "z"]).at("in")
    builder.action("even").to("x", "1/3", 1).to("y", "1/3", -2).to("z", "1/3", "1/3")
    builder.action("long", reward="0.1234567890123").to("x")
    return builder.build()


def words(capsys: pytest.CaptureFixture[str], limits: Limits) -> list[str]:
    print_component(fan(), 0, limits)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_numbers_are_as_written_unless_they_are_long(capsys: pytest.CaptureFixture[str]) -> None:
    found = words(capsys, Limits())
    assert "in even 1/3 x (+1), 1/3 y (-2), 1/3 z (+1/3)" in found
    assert "long 0.123457 x" in found


def test_limits_count_what_they_leave_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = words(capsys, Limits(actions=1, targets=2, names=1))
    assert "exits x and 2 more" in found
    assert "in even 1/3 x (+1), 1/3 y (-2) and 1 more" in found
    assert "... and 1 more action (all with --all)" in found


def lines(model: RMDP, capsys: pytest.CaptureFixture[str], longest: int | None = None) -> list[str]:
    show(call_tree(model, longest))
    return capsys.readouterr().out.splitlines()


def test_recursion_is_marked_and_boxes_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(cloud(), capsys) == [
        "T",
        "└── S x3",
        "    ├── H",
        "    │   └── H x2 (recursive)",
        "    └── S (recursive)",
    ]


def test_what_was_unfolded_is_not_unfolded_again(capsys: pytest.CaptureFixture[str]) -> None:
    model = (
        Builder("diamond")
        .component("A", entries="i", exits="o").box("b", "B").box("c", "C")
        .at("i").action("go").to("b", 0.5).to("c", 0.5)
        .at("b.o").action("up").to("o").at("c.o").action("up").to("o")
        .component("B", entries="i", exits="o").box("d", "D")
        .at("i").action("go").to("d").at("d.o").action("up").to("o")
        .component("C", entries="i", exits="o").box("d", "D")
        .at("i").action("go").to("d").at("d.o").action("up").to("o")
        .component("D", entries="i", exits="o").box("e", "E")
        .at("i").action("go").to("e").at("e.o").action("up").to("o")
        .component("E", entries="i", exits="o")
        .at("i").action("go").to("o")
        .build()
    )  # fmt: skip
    assert lines(model, capsys) == [
        "A",
        "├── B",
        "│   └── D",
        "│       └── E",
        "└── C",
        "    └── D (above)",
    ]


def test_long_and_deep_trees_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    deep = succinct(n=3000)
    assert len(lines(deep, capsys, 5)) == 7
    assert "... and more (all with --all)" in lines(deep, capsys, 5)[-1]
