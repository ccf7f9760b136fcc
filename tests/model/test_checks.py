from __future__ import annotations

import pytest
from tests.model.examples import server

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
        "component A, vertex b.out: no run can visit it (remove it, or lead to it)",
        "component A, vertex trap: no run can leave from it (lead to an exit, if it should end)",
    ]
    assert model.warnings[0].path == ("components", "A", "vertices", "attic")
