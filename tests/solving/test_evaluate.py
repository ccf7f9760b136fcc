from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solving.references import cubic, product_model, random_policy, small_model

import recurl
from recurl.policy import RANDOM


def only(model: recurl.RMDP) -> recurl.Evaluation:
    return recurl.evaluate(recurl.Policy.uniform(model))


def test_countdown_is_worth_19() -> None:
    found = only(recurl.zoo.countdown())
    assert found.value == pytest.approx(19, abs=1e-11)
    assert found.lower <= 19 <= found.upper
    assert found.upper - found.lower < 1e-10
    assert found.steps == pytest.approx(39)
    assert found.depth == pytest.approx(20)
    assert found.termination == (1.0, 1.0)


def test_the_best_policies_of_the_cloud() -> None:
    model = recurl.zoo.cloud()
    best = {"T.u1": "divide", "S.u3": "reliable", "H.u5": "no"}
    assert recurl.evaluate(recurl.Policy.stackless(model, best)).value == pytest.approx(
        -5.3425, abs=1e-4
    )
    fast = recurl.Policy.stackless(model, {"T.u1": "divide", "S.u3": "fast"})
    assert recurl.evaluate(fast).value == pytest.approx(-6)


def test_the_and_or_tree() -> None:
    found = only(recurl.zoo.and_or())
    assert found.value == pytest.approx(math.sqrt(10) / 2 - 1, abs=1e-11)


def test_a_run_that_may_never_end() -> None:
    found = only(cubic())
    low, high = found.termination
    assert low <= (math.sqrt(5) - 1) / 2 <= high
    assert (found.value, found.steps) == (math.inf, math.inf)
    assert math.isnan(found.depth)
    assert found.reason == "The run may never end; gains are infinite"
    assert "0.6180339887" in str(found)


def test_a_critical_run_is_infinite_and_says_so() -> None:
    found = only(recurl.zoo.gambler(p=0.5))
    assert (found.value, found.steps, found.depth) == (math.inf, math.inf, math.inf)
    assert found.termination == (1.0, 1.0)
    assert found.reason == "The expected number of steps is infinite; gains are infinite"


def test_exits_have_a_worth() -> None:
    model = recurl.zoo.palindrome()
    policy = recurl.Policy.uniform(model)
    plain = recurl.evaluate(policy)
    worth = [100.0, 10.0, 1.0]
    names = list(plain.exit_probabilities)
    expected = plain.value + sum(
        w * plain.exit_probabilities[n] for w, n in zip(worth, names, strict=True)
    )
    assert recurl.evaluate(policy, exit_values=worth).value == pytest.approx(expected)
    assert sum(plain.exit_probabilities.values()) == pytest.approx(1)
    for name, (low, high) in plain.exit_intervals.items():
        assert low <= plain.exit_probabilities[name] <= high
    with pytest.raises(ValueError, match="3 exits, exit_values 1"):
        recurl.evaluate(policy, exit_values=[1.0])


@given(seed=st.integers(0, 10_000), contexts=st.integers(1, 3))
def test_a_policy_by_context_is_a_stackless_one_of_the_product(seed: int, contexts: int) -> None:
    model = small_model(seed)
    policy = random_policy(model, seed, contexts=contexts)
    product = product_model(policy)
    actions = np.where(np.diff(product.tables.action_start) > 0, policy.actions, RANDOM)
    found = recurl.evaluate(policy)
    expected = recurl.evaluate(recurl.Policy.stackless(product, actions))
    assert found.value == pytest.approx(expected.value, rel=1e-9, abs=1e-9)
    assert found.steps == pytest.approx(expected.steps, rel=1e-9)
    assert found.depth == pytest.approx(expected.depth, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_simulation_agrees(seed: int) -> None:
    model = small_model(seed)
    policy = random_policy(model, seed, contexts=2)
    found = recurl.evaluate(policy)
    runs = recurl.simulate(model, policy, 20_000, seed=seed)
    assert abs(found.value - runs.mean) <= 5 * runs.standard_error + 1e-12
    for exact, sample in ((found.steps, runs.lengths), (found.depth, runs.depths)):
        assert abs(exact - sample.mean()) <= 5 * sample.std() / math.sqrt(20_000) + 1e-12


def test_quantiles_of_the_reward() -> None:
    # At most n with probability 1 - 0.6^(n + 1): 0.4, 0.64, 0.784, 0.87, 0.92, 0.953.
    found = only(recurl.zoo.countdown(p=0.4)).distribution(20_000, seed=1)
    assert found == {0.05: 0.0, 0.25: 0.0, 0.5: 1.0, 0.75: 2.0, 0.95: 5.0}


def test_a_hundred_thousand_vertices() -> None:
    model = recurl.zoo.random_model(1, components=10, nodes=10_000, kind="one_exit")
    found = only(model)
    assert found.termination == (1.0, 1.0)
    runs = recurl.simulate(model, episodes=20_000, seed=1)
    assert abs(found.value - runs.mean) <= 5 * runs.standard_error
    assert found.upper - found.lower < 1e-6


def test_a_solution_stands_for_its_policy() -> None:
    solution = recurl.solve(recurl.zoo.cloud(), epsilon=0.01)
    assert solution.policy is not None
    assert recurl.evaluate(solution).value == recurl.evaluate(solution.policy).value


def test_what_is_no_policy_is_answered_with_what_is() -> None:
    model = recurl.zoo.cloud()
    with pytest.raises(TypeError, match=r"not a RMDP: give Policy\.uniform"):
        recurl.evaluate(model)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not a QLearning: give learner\.policy\(\)"):
        recurl.evaluate(recurl.QLearning(model))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="evaluate takes a policy or a solution, not a str"):
        recurl.evaluate("cloud")  # type: ignore[arg-type]
    bare = recurl.Solution(model, recurl.Question(), 0.0, 1.0, "guessing")
    with pytest.raises(ValueError, match="has no policy"):
        recurl.evaluate(bare)
