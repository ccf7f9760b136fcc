from __future__ import annotations

import pytest

import recurl
from recurl.model.drawing.picture import Rectangle, shortened, text_width
from recurl.zoo import registry


def overlap(a: Rectangle, b: Rectangle) -> bool:
    beside = a.x + a.width <= b.x + 1e-6 or b.x + b.width <= a.x + 1e-6
    return not (beside or a.y + a.height <= b.y + 1e-6 or b.y + b.height <= a.y + 1e-6)


@pytest.mark.parametrize("name", registry.names())
def test_no_two_marks_of_a_zoo_model_overlap(name: str) -> None:
    picture = registry.make(name).draw().picture
    marks = [mark for chart in picture.marks.values() for mark in chart]
    assert not [(a, b) for i, a in enumerate(marks) for b in marks[:i] if overlap(a, b)]
    for mark in marks:
        assert 0 <= mark.x <= mark.x + mark.width <= picture.size.width
        assert 0 <= mark.y <= mark.y + mark.height <= picture.size.height


def test_charts_do_not_overlap_and_the_calls_stand_above() -> None:
    picture = registry.make("language").draw().picture
    panels = [s for s in picture.shapes if isinstance(s, Rectangle) and s.style == "panel"]
    assert len(panels) == 7
    assert not [(a, b) for i, a in enumerate(panels) for b in panels[:i] if overlap(a, b)]
    assert all(panels[0].y + panels[0].height < panel.y for panel in panels[1:])


def test_long_names_are_cut_in_the_middle() -> None:
    assert shortened("below-r1c2@r0c2") == "below-r1c2@r0c2"
    assert shortened("a" * 50 + "z") == "a" * 12 + "…" + "a" * 12 + "z"


def test_wide_characters_take_more_room() -> None:
    assert text_width("\u8def") > text_width("a") > text_width("i")


def test_a_model_without_boxes_has_no_chart_of_calls() -> None:
    model = (
        recurl.Builder("one")
        .component("A", entries="in", exits="out")
        .at("in").action("go").to("out")
        .build()
    )  # fmt: skip
    assert repr(model.draw()) == "<Drawing of one: A>"
