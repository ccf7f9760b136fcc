from __future__ import annotations

import pytest
from tests.model.examples import server

import recurl
from recurl.model.builder import Builder


def test_a_sound_model_has_no_warnings() -> None:
    assert server().warnings == ()


@pytest.fixture
def odd() -> Builder:
    return (
        Builder()
        .component("A", entries="in", exits="out").box("b", "A")
        .at("in").action("go").to("out", "1/2").to("trap", "1/2")
        .at("trap").action("stay").to("trap")
        .at("attic").action("go").to("b")
        .at("b.out").action("go").to("out")
    )  # fmt: skip


def test_unreachable_and_dead_vertices_are_warned_about(odd: Builder) -> None:
    model = odd.build()
    assert [str(warning) for warning in model.warnings] == [
        "component A, vertex attic: no run can visit it (remove it, or lead to it)",
        "component A, box b: no run can call it (remove it, or call it)",
        "component A, vertex trap: no run can leave from it (lead to an exit, if it should end)",
    ]
    assert model.warnings[0].path == ("components", "A", "vertices", "attic")


def test_return_ports_of_exits_never_taken_are_not_mentioned() -> None:
    model = (
        Builder()
        .component("A", entries="in", exits=["good", "bad"]).box("b", "A")
        .at("in").action("go").to("good", "1/2").to("b", "1/2")
        .at("b.good").action("go").to("good")
        .at("b.bad").action("go").to("bad")
        .build()
    )  # fmt: skip
    assert model.warnings == ()
    assert recurl.zoo.palindrome().warnings == ()


def test_many_places_are_one_warning() -> None:
    builder = Builder().component("A", entries="in", exits="out").at("in").action("go").to("out")
    for number in range(9):
        builder.at(f"attic{number}").action("go").to("out")
    (warning,) = builder.build().warnings
    assert str(warning) == (
        "9 vertices, such as 'A.attic0', 'A.attic1', 'A.attic2': no run can visit them "
        "(remove them, or lead to them)"
    )
