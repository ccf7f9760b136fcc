from __future__ import annotations

from fractions import Fraction

import pytest
from tests.solving.references import stop_or_bet

import recurl
from recurl.solving.least_cost import least_cost, potential
from recurl.solving.question import Question


def waiting(price: float, chance: float) -> recurl.RMDP:
    """Wait for 1 as long as one likes, or try for a price until it works."""
    builder = recurl.Builder("waiting").component("A", entries="in", exits="out")
    builder.at("in").action("come", reward=-1).to("room")
    builder.at("room").action("wait", reward=-1).to("room")
    builder.action("try", reward=-price).to("out", chance).to("room", 1 - chance)
    return builder.build()


@pytest.mark.parametrize(("price", "chance"), [(3, 0.5), (7, 0.25), (0.5, 0.125)])
def test_trying_until_it_works(price: float, chance: float) -> None:
    expected = -1 - price / chance
    solution = recurl.solve(waiting(price, chance))
    assert solution.lower <= expected <= solution.upper
    assert solution.gap < 1e-9
    assert solution.policy is not None
    assert solution.policy.action_name("A.room") == "try"


def test_least_steps_and_the_worth_of_the_exit() -> None:
    steps = recurl.solve(waiting(3, 0.25), of="steps", objective="min")
    assert steps.value == pytest.approx(5)
    model, question = waiting(3, 0.5), Question("max", "model", (100.0,))
    found = least_cost(model, question, potential(model, question))
    assert found is not None
    assert found.value == pytest.approx(100 - 7)


def test_calls() -> None:
    # Betting would end with 2/3 only; stopping takes one step.
    assert recurl.solve(stop_or_bet(), of="steps", objective="min").value == pytest.approx(1)


def test_places_without_a_way_out() -> None:
    builder = recurl.Builder("pit").component("A", entries="in", exits="out")
    builder.at("in").action("jump", reward=-1).to("pit").action("walk", reward=-5).to("out")
    builder.at("pit").action("stay", reward=-1).to("pit")
    model = builder.build()
    assert least_cost(model, Question(), potential(model, Question())) is None


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
