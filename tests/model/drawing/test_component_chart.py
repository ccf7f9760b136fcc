from __future__ import annotations

import recurl
from recurl.model.drawing.chart import Mark
from recurl.model.drawing.component_chart import component_chart


def marks(model: recurl.RMDP, component: int, most: int = 60) -> tuple[Mark, ...]:
    return component_chart(model, component, {}, most).marks


def test_a_small_component_is_drawn_as_a_whole() -> None:
    model = recurl.zoo.cloud()
    chart = component_chart(model, model.names.find_component("S"), {}, 60)
    assert not chart.note
    found = {(mark.kind, mark.text, mark.note) for mark in chart.marks}
    assert found == {
        ("entry", "u3", ""), ("exit", "u4", ""), ("box", "b4", "H"), ("box", "b5", "S"),
        ("action", "reliable", "-1.5"), ("action", "fast", "-1"),
        ("action", "up", "0.2"), ("action", "up", "0"),
    }  # fmt: skip
    (handler,) = (mark for mark in chart.marks if mark.text == "b4")
    assert [port.title for port in handler.calls] == ["S.b4.u5"]
    assert [port.title for port in handler.returns] == ["S.b4.u6", "S.b4.u7"]
    assert sorted(arrow.label for arrow in chart.arrows if arrow.label) == [
        "0.3", "0.4", "0.6", "0.7",
    ]  # fmt: skip


def test_rewards_that_differ_stand_at_the_probabilities() -> None:
    model = (
        recurl.Builder("coin")
        .component("A", entries="in", exits=["out", "tail"])
        .at("in").action("toss").to("out", "1/3", reward=2).to("tail", "2/3", reward=-1)
        .build()
    )  # fmt: skip
    chart = component_chart(model, 0, {}, 60)
    assert [arrow.label for arrow in chart.arrows] == ["", "1/3 (+2)", "2/3 (-1)"]


def test_of_a_large_component_a_part_is_drawn_and_the_rest_is_counted() -> None:
    model = recurl.zoo.spelunking()
    chart = component_chart(model, 0, {}, 60)
    assert chart.note == "14 of 982 vertices, 20 of 1260 actions"
    assert chart.marks[0].title == "level0.r0c2"
    assert any(mark.kind == "more" and mark.text.endswith("targets") for mark in chart.marks)
    there = model.find("level0.r2c2@r0c2")
    assert component_chart(model, 0, {}, 60, [there]).marks[0].title == "level0.r2c2@r0c2"


def test_return_ports_that_are_left_out_are_counted() -> None:
    model = recurl.zoo.palindrome()
    boxes = [mark for mark in marks(model, 0) if mark.kind == "box"]
    assert [port.text for port in boxes[0].returns] == ["r0c0-ok", "r0c0-wrong", "+16"]


def test_labels_are_shown_with_the_name() -> None:
    model = (
        recurl.Builder("one")
        .component("A", entries="in", exits="out")
        .at("in", label="how far?").action("go").to("out")
        .build()
    )  # fmt: skip
    assert marks(model, 0)[0].title == "A.in: how far?"
