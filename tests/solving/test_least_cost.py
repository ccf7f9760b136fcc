from __future__ import annotations

import pytest
from tests.solving.references import stop_or_bet

import recurl
from recurl.solving.least_cost import least_cost
from recurl.solving.potential import potential
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
    solution = recurl.solve(model, "policy-iteration")
    assert solution.lower <= -5 <= solution.upper
    assert solution.gap < 1e-9
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)


@pytest.mark.parametrize(("chance", "width"), [(0.1, 1e-10), (1e-3, 1e-8), (1e-6, 1e-5)])
@pytest.mark.parametrize("exits", [1, 2])
def test_places_where_every_policy_may_be_lost(exits: int, chance: float, width: float) -> None:
    names = ["out", "other"][:exits]
    builder = recurl.Builder("ledge").component("A", entries="in", exits=names)
    builder.at("in").action("walk", reward=-5).to("out")
    builder.at("in").action("climb", reward=-1).to("out", 0.5).to("ledge", 0.5)
    builder.at("ledge").action("rest", reward=-1).to("ledge").action("go", reward=-1)
    builder.to("path", 1 - chance).to("pit", chance)
    builder.at("path").action("leave", reward=-1).to(names[-1]).action("back", reward=-1)
    builder.to("ledge").at("pit").action("stay", reward=-1).to("pit")
    model = builder.build()
    solution = recurl.solve(model, epsilon=width)
    assert solution.lower <= -5 <= solution.upper
    assert solution.gap < width
    if exits == 1:
        verdict = recurl.verify(model, solution.certificate)
        assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
