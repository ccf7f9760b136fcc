from __future__ import annotations

import recurl
from recurl.experiment.drawing import DRAWN, component_data, spot

CLOUD, CAVE = recurl.zoo.cloud(), recurl.zoo.spelunking()


def test_a_small_component_is_drawn_whole() -> None:
    assert component_data(CLOUD, "S", set()) == {
        "entries": ["u3"],
        "exits": ["u4"],
        "nodes": [],
        "boxes": [{"name": "b4", "calls": "H"}, {"name": "b5", "calls": "S"}],
        "more": {"entries": 0, "exits": 0, "nodes": 0, "boxes": 0},
    }


def test_of_a_large_component_what_is_touched_is_drawn() -> None:
    box, node = "below-r1c0@r0c2", "r1c2@r0c2"
    found = component_data(CAVE, "level0", {("boxes", box), ("nodes", node)})
    assert found["boxes"] == [{"name": box, "calls": "level1"}]
    assert found["nodes"] == [node]
    assert found["more"]["boxes"] == 80
    untouched = component_data(CAVE, "level0", set())
    assert 0 < len(untouched["boxes"]) <= DRAWN["boxes"]


def test_every_vertex_has_its_spot() -> None:
    names = {name: spot(CLOUD, CLOUD.find(name)) for name in ("T.u1", "T.u2", "T.b1.u3", "T.b1.u4")}
    assert names == {
        "T.u1": ("entries", "u1", ""),
        "T.u2": ("exits", "u2", ""),
        "T.b1.u3": ("boxes", "b1", "call"),
        "T.b1.u4": ("boxes", "b1", "return"),
    }
    assert spot(CAVE, CAVE.find("level0.r0c2@r0c2")).part == "nodes"
