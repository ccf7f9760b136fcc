"""Structured multi-exit models: their own methods against the certified search."""

from __future__ import annotations

import math

import pytest
from tests.solving.oracle import random_spec

import recurl
from recurl.solving.certified import solve_certified
from recurl.solving.question import Question
from recurl.solving.structure import has_choice


def test_who_has_a_choice() -> None:
    assert has_choice(recurl.zoo.cloud())
    assert not has_choice(recurl.zoo.and_or())


def same(model: recurl.RMDP, question: Question, method: str) -> recurl.Solution:
    """The automatic answer, found by a method, within the certified interval."""
    found = recurl.solve(model, objective=question.objective)
    interval = solve_certified(model, question, 1e-7)
    assert found.method.startswith(method)
    assert interval.lower - 1e-7 <= found.value <= interval.upper + 1e-7
    assert found.policy is not None
    assert recurl.evaluate(found.policy).value == pytest.approx(found.value, abs=1e-6)
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("objective", ["max", "min"])
def test_hierarchical(seed: int, objective: str) -> None:
    model = recurl.zoo.random_model(seed=seed, kind="hierarchical", components=3, nodes=5)
    found = same(model, Question(objective), "flattening")
    assert recurl.verify(model, found.certificate).checked > 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("objective", ["max", "min"])
def test_deterministic(seed: int, objective: str) -> None:
    model = recurl.zoo.random_model(seed=seed, kind="deterministic", components=4, nodes=6)
    found = same(model, Question(objective), "longest path")
    assert found.lower <= found.upper <= math.nextafter(found.lower, math.inf)


def test_deterministic_is_not_unravelled() -> None:
    # 2^60 - 1 stacks could not be.
    assert recurl.solve(recurl.zoo.succinct(60)).value == pytest.approx(2.0**60 - 1)


def test_chain_with_two_exits() -> None:
    solution = recurl.solve(recurl.zoo.and_or())
    assert solution.method == "evaluation"
    assert solution.lower == pytest.approx(math.sqrt(10) / 2 - 1, abs=1e-9)
    assert solution.gap <= 1e-9


def test_unreached_components_do_no_harm() -> None:
    model = (
        recurl.Builder("spare")
        .component("A", entries="in", exits=["x", "y"])
        .box("b", "B")
        .at("in")
        .action("p", reward=1)
        .to("x", "1/2")
        .to("y", "1/2")
        .action("q")
        .to("y", "1/3")
        .to("x", "2/3")
        .at("b.z")
        .action("go")
        .to("x")
        .component("B", entries="in", exits="z")
        .at("in")
        .action("go")
        .to("z")
        .build()
    )
    assert same(model, Question(), "flattening").value == pytest.approx(1.0)


@pytest.mark.parametrize("of", ["reward", "steps"])
@pytest.mark.parametrize("objective", ["max", "min"])
def test_pieces_of_policies_that_end_only_where_they_come_to(of: str, objective: str) -> None:
    """Vertices that no run visits call forever: steps of pieces need not bound them."""
    model = random_spec(20056, exits=3, actions=2)
    solution = recurl.solve(model, of=of, objective=objective, epsilon=1e-4)
    assert solution.gap <= 1e-4
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.lower == solution.lower
    assert verdict.upper == solution.upper


def test_newton_steps_beyond_all_floats_end_the_search() -> None:
    """Some policies of this model pay without end, so that steps from below lead to infinity."""
    model = random_spec(40082, exits=2, actions=2)
    for objective in ("max", "min"):
        solution = recurl.solve(model, objective=objective, epsilon=1e-3)
        assert solution.lower <= solution.upper


def test_what_is_clear_where_runs_come_to_is_not_claimed_of_the_whole() -> None:
    """Only a vertex that no run visits pays: an end of 0 is clear in the part without it alone."""
    builder = recurl.Builder("lost").component("A", entries="in", exits=["x", "y"]).box("b", "A")
    for name, share in (("go", "0.2"), ("try", "0.3")):
        builder.at("in").action(name).to("x", "0.5").to("b", share)
        builder.to("y", "0.3" if name == "go" else "0.2")
    builder.at("b.x").action("go").to("y").at("b.y").action("go").to("x")
    model = builder.at("lost").action("stay", reward=1).to("lost").build()
    for objective in ("max", "min"):
        solution = recurl.solve(model, objective=objective)
        assert "no run visits" in solution.reason
        verdict = recurl.verify(model, solution.certificate)
        assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
        assert solution.gap <= 1e-6
