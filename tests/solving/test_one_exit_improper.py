from __future__ import annotations

import math

import pytest

import recurl
from recurl.errors import NotProperError


def walk(stay: float, go: float) -> recurl.RMDP:
    """Leave, or stay as long as one likes."""
    return (
        recurl.Builder("walk")
        .component("A", entries="in", exits="out")
        .at("in").action("stay", reward=stay).to("n").action("go", reward=go).to("out")
        .at("n").action("stay", reward=stay).to("n").action("go", reward=go).to("out")
        .build()
    )  # fmt: skip


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("of", ["reward", "steps"])
def test_a_chain_that_need_not_end_pays_infinitely_much(objective: str, of: str) -> None:
    solution = recurl.solve(recurl.zoo.gambler(p=0.6), objective=objective, of=of)
    assert solution.lower == solution.upper == math.inf
    assert solution.at_least(1e300) is True


def test_positive_loop() -> None:
    solution = recurl.solve(walk(1, 5), "policy-iteration")
    assert solution.value == math.inf
    assert solution.policy.action_name("A.n") == "stay"


def test_negative_loop_when_the_least_is_asked_for() -> None:
    assert recurl.solve(walk(-1, -5), "policy-iteration", objective="min").value == -math.inf


def test_no_way_out() -> None:
    model = (
        recurl.Builder("stuck")
        .component("A", entries="in", exits="out")
        .at("in").action("a", reward=-1).to("n").action("b", reward=-2).to("n")
        .at("n").action("a", reward=-1).to("n").action("b", reward=-3).to("n")
        .build()
    )  # fmt: skip
    assert recurl.solve(model, "policy-iteration").value == -math.inf
    assert recurl.solve(model, "policy-iteration", of="steps", objective="min").value == math.inf


@pytest.mark.parametrize("rewards", [(-1, -5), (1, -1), (0, 1)])
def test_others_are_explained(rewards: tuple[float, float]) -> None:
    with pytest.raises(NotProperError, match=r"walk is not proper: .*'stay' at A\.n"):
        recurl.solve(walk(*rewards), "policy-iteration")


@pytest.mark.parametrize(("objective", "probability"), [("max", 2 / 3), ("min", 2 / 3)])
def test_probability_to_end(objective: str, probability: float) -> None:
    model = recurl.zoo.gambler(p=0.6)
    name = model.local_name(int(model.tables.n_entries[0]))
    solution = recurl.solve(model, of=f"exit:{name}", objective=objective)
    assert solution.value == pytest.approx(probability, abs=1e-9)
    assert solution.lower <= probability <= solution.upper
