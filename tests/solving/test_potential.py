from __future__ import annotations

from fractions import Fraction

import recurl
from recurl.solving.potential import potential
from recurl.solving.question import Question


def test_a_free_loop_has_no_potential() -> None:
    builder = recurl.Builder("free").component("A", entries="in", exits="out")
    builder.at("in").action("go", reward=-1).to("n")
    builder.at("n").action("turn").to("n").action("go", reward=-1).to("out")
    assert potential(builder.build(), Question()) is None


def test_a_potential_keeps_something_for_every_pending_box() -> None:
    """Calls itself twice at a price of 1; the steps after a call are free."""
    builder = recurl.Builder("grow").component("A", entries="in", exits="out")
    builder.box("a", "A").box("b", "A")
    builder.at("in").action("grow", reward=-1).to("a").action("die", reward=-5).to("out")
    builder.at("a.out").action("next").to("b").at("b.out").action("up").to("out")
    model = builder.build()
    found = potential(model, Question())
    assert found is not None
    t, h = model.tables, [Fraction(x) for x in found.values.tolist()]
    out = int(t.n_entries[0])
    for a, v in enumerate(t.action_vertex):
        row = range(t.transition_start[a], t.transition_start[a + 1])
        after = sum(Fraction(t.prob[i]) * (Fraction(t.reward[i]) + h[t.target[i]]) for i in row)
        assert after <= h[v] - Fraction(found.cost)
    for box in range(2):
        kept = max(Fraction(0), h[t.box_return[box]] - h[out])
        assert h[t.box_call[box]] >= h[0] + kept
    solution = recurl.solve(model)
    assert solution.lower <= -5 <= solution.upper
    assert solution.gap < 1e-9
