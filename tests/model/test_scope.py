from __future__ import annotations

from tests.model.examples import two_exits

from recurl.model.assemble import disassemble
from recurl.model.scope import lay_out
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec


def test_names_mean_vertices() -> None:
    layout, scopes = lay_out(disassemble(two_exits().build()))
    a, b = scopes["A"], scopes["B"]
    assert layout.component_start.tolist() == [0, 11, 15]
    assert (a.first, a.last, b.first, b.last) == (0, 11, 11, 15)
    assert a.nodes == ["in", "other", "good", "bad"]
    assert a.states == {
        "in": 0, "other": 1, "good": 2, "bad": 3,
        "ask.yes": 7, "ask.no": 8, "again.good": 9, "again.bad": 10,
    }  # fmt: skip
    assert a.targets == {
        "good": 2, "bad": 3, "ask": 4, "ask.in": 4, "again.in": 5, "again.other": 6,
    }  # fmt: skip
    assert b.targets == {"yes": 12, "no": 13, "mid": 14}
    assert sorted(a.vertices().values()) == list(range(11))


def test_boxes_that_call_nothing_known_are_vague() -> None:
    go = {"go": ActionSpec(0, [EdgeSpec("out")])}
    boxes = {"b": "A", "x": "nowhere", "y": "C"}
    spec = ModelSpec(
        components={
            "A": ComponentSpec(["in"], ["out"], boxes, {"in": go}),
            "C": ComponentSpec(["in"], [], vertices={"in": go}),
        }
    )
    layout, scopes = lay_out(spec)
    a = scopes["A"]
    assert layout.n_boxes == 2
    assert a.vague == {"x", "y"}
    assert [a.may_name(name) for name in ("x", "x.out", "y.out", "b.in", "mid")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert scopes["C"].may_name("out")
