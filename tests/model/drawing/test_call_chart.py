from __future__ import annotations

import recurl
from recurl.model.drawing.call_chart import call_chart


def test_components_and_their_calls() -> None:
    chart = call_chart(recurl.zoo.cloud(), 60)
    names = [mark.text for mark in chart.marks]
    assert names == ["T", "S", "H"]
    assert [mark.bold for mark in chart.marks] == [True, False, False]
    assert chart.marks[2].note == "9 vertices, 2 exits"
    calls = {(names[a.source], names[a.target]): a.label for a in chart.arrows}
    assert calls == {
        ("T", "S"): "3 boxes", ("S", "H"): "", ("S", "S"): "", ("H", "H"): "2 boxes",
    }  # fmt: skip


def test_of_many_components_those_nearest_to_the_start_are_drawn() -> None:
    chart = call_chart(recurl.zoo.succinct(n=200), 60)
    assert len(chart.marks) == 60
    assert chart.note == "60 of 200 components"
    assert all(max(arrow.source, arrow.target) < 60 for arrow in chart.arrows)
