from __future__ import annotations

from hypothesis import given
from tests.model.examples import two_exits
from tests.strategies import models

from recurl.model.assemble import assemble
from recurl.model.disassemble import disassemble
from recurl.model.rmdp import RMDP
from recurl.model.spec import ActionSpec, EdgeSpec


@given(models())
def test_assembling_again_gives_an_equal_model(model: RMDP) -> None:
    again = assemble(disassemble(model))
    assert again == model
    assert again.exact.binary == model.exact.binary
    t = model.tables
    assert all(again.exact.prob(i) == model.exact.prob(i) for i in range(t.n_transitions))


def test_forms_are_short() -> None:
    spec = disassemble(two_exits().build(start="A.other"))
    a, b = spec.components["A"], spec.components["B"]
    assert spec.start == {"A.other": "1"}
    assert a.vertices["in"] == {"go": ActionSpec("1", [EdgeSpec("ask", "1")])}
    assert a.vertices["other"]["go"].edges == [
        EdgeSpec("ask", "1/3", "0"),
        EdgeSpec("again.in", "2/3", "5"),
    ]
    assert b.vertices["mid"]["answer"] == ActionSpec(
        "0", [EdgeSpec("yes", "0.25"), EdgeSpec("no", "0.75")]
    )
    assert a.boxes == {"ask": "B", "again": "A"}
    assert a.features == {"in": [1.0, 2.0]}
    assert a.labels == {"in": "the first"}
