"""The call graph as a tree."""

from __future__ import annotations

import pytest

from recurl.cli.call_tree import call_tree
from recurl.cli.output import show
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.zoo import cloud, succinct


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
