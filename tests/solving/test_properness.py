from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solving.references import (
    broken_step_bounds,
    cubic,
    small_model,
    stackless_choices,
    stackless_steps,
    stop_or_bet,
)

import recurl
from recurl.solving.properness import step_bounds


def twice_forever() -> recurl.RMDP:
    builder = recurl.Builder("forever").component("A", entries="in", exits="out")
    builder.box("a", "A").box("b", "A")
    builder.at("in").action("go").to("a")
    builder.at("a.out").action("next").to("b")
    builder.at("b.out").action("up").to("out")
    return builder.build()


def can_loop() -> recurl.RMDP:
    builder = recurl.Builder("can_loop").component("A", entries="in", exits="out")
    builder.at("in").action("leave").to("out").action("stay").to("room")
    builder.at("room").action("leave").to("out").action("stay").to("room")
    return builder.build()


def two_exits(p: float, *, choice: bool = False) -> recurl.RMDP:
    """Calls itself twice with probability p, and leaves by two exits."""
    builder = recurl.Builder("two_exits").component("A", entries="in", exits=["x", "y"])
    builder.box("a", "A").box("b", "A")
    q = round(1 - p, 6)
    builder.at("in").action("go").to("a", p).to("x", q / 2).to("y", q / 2)
    if choice:
        builder.action("stop").to("x")
    for exit_name in ("x", "y"):
        builder.at(f"a.{exit_name}").action("next").to("b")
        builder.at(f"b.{exit_name}").action("up").to(exit_name)
    return builder.build()


@pytest.mark.parametrize("p", [0.1, 0.25, 0.4, 0.49])
def test_the_gambler_is_proper_below_one_half(p: float) -> None:
    found = recurl.analyse(recurl.zoo.gambler(p=p))
    assert found.verdict == "proper"
    assert found.exact
    assert found.bound == pytest.approx((1 + 2 * p) / (1 - 2 * p), rel=1e-9)
    assert found.steps is not None
    assert found.bound_everywhere == found.steps.max()


@pytest.mark.parametrize("p", [0.5, 0.500001, 0.6, 0.9])
def test_the_gambler_is_not_proper_from_one_half_on(p: float) -> None:
    found = recurl.analyse(recurl.zoo.gambler(p=p))
    assert found.verdict == "not proper"
    assert found.bound == math.inf
    assert found.witness is not None
    assert recurl.evaluate(found.witness).steps == math.inf


@pytest.mark.parametrize("model", [twice_forever(), can_loop(), stop_or_bet(), cubic()])
def test_a_witness_has_infinite_expected_steps(model: recurl.RMDP) -> None:
    found = recurl.analyse(model)
    assert found.verdict == "not proper"
    assert found.witness is not None
    assert recurl.evaluate(found.witness).steps == math.inf
    assert step_bounds(model.tables) is None
    assert f"{model.name} is not proper" in str(found)


def test_endless_recursion_is_not_taken_for_a_bound() -> None:
    # Without d >= 0 the inequalities have a solution here.
    assert recurl.analyse(twice_forever()).reason == "a policy can go on forever"


def test_known_bounds() -> None:
    assert recurl.analyse(recurl.zoo.countdown()).bound == pytest.approx(39)
    assert recurl.analyse(recurl.zoo.palindrome()).verdict == "proper"
    assert recurl.analyse(stop_or_bet("2/5")).bound == pytest.approx(9)


def test_vertices_that_no_run_visits_do_not_spoil_the_verdict() -> None:
    builder = recurl.Builder("odd").component("A", entries="in", exits="out")
    builder.at("in").action("leave").to("out")
    builder.at("lost").action("stay").to("lost")
    found = recurl.analyse(builder.build())
    assert found.verdict == "proper"
    assert 1.0 <= found.bound == pytest.approx(1.0, abs=1e-13)
    assert found.bound_everywhere == math.inf


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_one_exit_bound_is_the_best_policy_by_brute_force(seed: int) -> None:
    model = recurl.zoo.random_model(
        seed, components=2, nodes=2, kind="one_exit", boxes=1, exit_probability=0.4, load=1.5
    )
    choices = stackless_choices(model)
    steps = stackless_steps(model, choices)
    slowest = recurl.Policy.stackless(model, choices[steps.argmax()])
    found = recurl.analyse(model)
    assert found.bound == pytest.approx(steps.max(), rel=1e-8)
    assert found.bound == pytest.approx(recurl.evaluate(slowest).steps, rel=1e-8)


@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["one_exit", "general", "hierarchical"]))
def test_step_bounds_hold_in_exact_arithmetic(seed: int, kind: str) -> None:
    model = small_model(seed, kind)
    bounds = step_bounds(model.tables)
    assert bounds is not None
    assert broken_step_bounds(model, bounds) == []


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
def test_discounted_models_are_proper(discount: float) -> None:
    model = recurl.discount_steps(recurl.zoo.gambler(p=0.7), discount)
    bounds = step_bounds(model.tables)
    assert bounds is not None
    assert broken_step_bounds(model, bounds) == []
    found = recurl.analyse(model)
    assert found.verdict == "proper"
    assert found.bound >= recurl.evaluate(recurl.Policy.uniform(model)).steps


@pytest.mark.parametrize("choice", [False, True])
def test_multi_exit_models_that_may_never_end(choice: bool) -> None:
    found = recurl.analyse(two_exits(0.7, choice=choice))
    assert found.verdict == "not proper"
    assert found.witness is not None
    assert recurl.evaluate(found.witness).termination[1] < 1


def test_multi_exit_models_that_end() -> None:
    assert recurl.analyse(two_exits(0.4, choice=True)).bound == pytest.approx(9, rel=1e-6)
    assert recurl.analyse(recurl.zoo.and_or()).bound == pytest.approx(10.5497035508)


def test_a_critical_multi_exit_model_is_not_called_proper() -> None:
    assert recurl.analyse(two_exits(0.5)).verdict != "proper"


def perturbed(model: recurl.RMDP, epsilon: float, seed: int) -> recurl.RMDP:
    """The model with rows that differ by at most epsilon, on the same transitions."""
    t, random = model.tables, np.random.default_rng(seed)
    prob = t.prob.copy()
    for a in range(t.n_actions):
        row = slice(t.transition_start[a], t.transition_start[a + 1])
        if row.stop - row.start > 1:
            i, j = random.permutation(np.arange(row.start, row.stop))[:2]
            shift = min(epsilon / 2, prob[j] * 0.999, (1 - prob[i]) * 0.999)
            prob[i] += shift
            prob[j] -= shift
    return recurl.RMDP.from_arrays(
        t.layout,
        action_start=t.action_start,
        transition_start=t.transition_start,
        target=t.target,
        prob=prob,
        reward=t.reward,
        start_component=t.start_component,
        start_prob=t.start_prob,
    )


@given(
    seed=st.integers(0, 10_000),
    part=st.floats(0.01, 0.99),
    kind=st.sampled_from(["one_exit", "general"]),
)
def test_models_within_the_radius_are_proper_with_the_stated_bound(
    seed: int, part: float, kind: str
) -> None:
    model = small_model(seed, kind)
    found = recurl.analyse(model)
    if found.radius is None:
        assert kind == "general"
        assert found.reach is not None or found.verdict != "proper"
        return
    assert found.radius > 0
    epsilon = part * min(found.radius, 1.0)
    near = recurl.analyse(perturbed(model, epsilon, seed))
    assert near.verdict == "proper"
    assert near.bound <= found.bound_within(epsilon) * (1 + 1e-6)


def test_the_radius_of_the_gambler() -> None:
    # A call leads to 9 + 11 steps, an exit to none: 2 / 20. (Critical at 0.2: 0.1 up, 0.1 down.)
    found = recurl.analyse(recurl.zoo.gambler(p=0.4))
    assert found.radius == pytest.approx(0.1)
    assert found.bound_within(found.radius) == math.inf
    assert found.bound_within(0.0) == found.bound


def test_vertices_that_no_run_visits_do_no_harm_with_several_exits() -> None:
    """A loop that is never entered, and a trap behind an exit that is never taken."""
    builder = recurl.Builder("m").component("A", entries="in", exits=["x", "y"]).box("b", "C")
    builder.at("in").action("go").to("b").at("b.x").action("go").to("x").action("or").to("y")
    builder.at("b.z").action("go").to("trap").at("trap").action("a").to("trap")
    builder.at("lost").action("stay").to("lost")
    builder.component("C", entries="in", exits=["x", "z"]).box("c", "C")
    builder.at("in").action("go").to("x", 0.5).to("c", 0.5).action("up").to("x")
    builder.at("c.x").action("go").to("x").at("c.z").action("go").to("z")
    found = recurl.analyse(builder.build())
    assert found.verdict == "proper"
    assert found.bound == pytest.approx(5)
    assert "vertices that no run visits" in found.reason
    assert found.steps is not None
    assert found.steps[found.model.find("A.trap")] == np.inf
