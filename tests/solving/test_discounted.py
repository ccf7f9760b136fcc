from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solving.references import product_model, random_policy, small_model

import recurl
from recurl.policy import RANDOM
from recurl.solving.discounted import discounted_policy


@given(seed=st.integers(0, 10_000), gamma=st.sampled_from(["0.5", "0.9", "0.99"]))
def test_a_policy_earns_what_it_does_in_the_discounted_model(seed: int, gamma: str) -> None:
    model = small_model(seed)
    policy = random_policy(model, seed)
    other = recurl.discount_steps(model, gamma)
    places = [other.find(model.vertex_name(v)) for v in range(model.tables.n_vertices)]
    actions = np.where(np.diff(other.tables.action_start) > 0, 0, RANDOM)
    actions[places] = policy.actions
    found = recurl.evaluate(policy, gamma=gamma)
    expected = recurl.evaluate(recurl.Policy.stackless(other, actions))
    assert (found.lower, found.value, found.upper) == (
        expected.lower,
        expected.value,
        expected.upper,
    )
    assert found.exit_intervals == expected.exit_intervals
    assert found.termination == (1.0, 1.0)


@given(seed=st.integers(0, 10_000), contexts=st.integers(2, 3))
def test_contexts_are_kept(seed: int, contexts: int) -> None:
    policy = random_policy(small_model(seed), seed, contexts=contexts)
    product = product_model(policy)
    actions = np.where(np.diff(product.tables.action_start) > 0, policy.actions, RANDOM)
    found = recurl.evaluate(policy, gamma=0.9)
    expected = recurl.evaluate(recurl.Policy.stackless(product, actions), gamma=0.9)
    assert found.value == pytest.approx(expected.value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_weights_by_simulation_agree(seed: int) -> None:
    model = small_model(seed)
    policy = random_policy(model, seed, contexts=2)
    runs = recurl.simulate(model, policy, 20_000, seed=seed, gamma=0.9)
    found = recurl.evaluate(policy, gamma=0.9)
    assert abs(found.value - runs.mean) <= 5 * runs.standard_error + 1e-12


def test_a_run_that_never_ends_has_a_discounted_value() -> None:
    builder = recurl.Builder("ever").component("A", entries="in", exits="out")
    builder.at("in").action("stay", reward=1).to("n").action("go").to("out")
    model = builder.at("n").action("stay", reward=1).to("n").action("go").to("out").build()
    policy = recurl.Policy.stackless(model, {"A.in": "stay", "A.n": "stay"})
    assert recurl.evaluate(policy).value == math.inf
    found = recurl.evaluate(policy, gamma="0.9")
    assert found.lower <= 10 <= found.upper
    assert found.upper - found.lower < 1e-10


def test_the_worth_of_exits_is_discounted() -> None:
    builder = recurl.Builder("two").component("A", entries="in", exits=["x", "y"])
    model = builder.at("in").action("go").to("n").at("n").action("go").to("x").build()
    found = recurl.evaluate(recurl.Policy.uniform(model), exit_values=[4, 9], gamma="0.5")
    assert found.lower <= 1 <= found.upper
    assert found.lower == pytest.approx(Fraction(4, 4))
    with pytest.raises(ValueError, match="2 exits, exit_values 1"):
        recurl.evaluate(recurl.Policy.uniform(model), exit_values=[4], gamma="0.5")


@pytest.mark.parametrize("gamma", [0, 1, -0.5])
def test_other_discounts_are_refused(gamma: float) -> None:
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        discounted_policy(recurl.Policy.uniform(recurl.zoo.cloud()), gamma)


@pytest.mark.parametrize("name", ["cloud", "stack_matters", "gambler"])
def test_the_policy_of_a_discounted_solution_is_one_for_the_model(name: str) -> None:
    model = recurl.zoo.make(name)
    solution = recurl.solve(model, gamma="0.9")
    assert solution.policy is not None
    assert solution.policy.model is model
    worth = recurl.evaluate(solution.policy, gamma="0.9").value
    assert solution.lower - 1e-9 <= worth <= solution.upper + 1e-9
    runs = recurl.simulate(model, solution.policy, 20_000, seed=0, gamma=0.9)
    assert abs(runs.mean - worth) <= 5 * runs.standard_error
