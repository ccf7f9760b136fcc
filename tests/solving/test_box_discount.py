"""box_gamma wherever it is given, against the model that `discount_boxes` makes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recurl
from recurl.errors import ModelError

VERBS: list[Any] = [
    lambda model, rate: recurl.solve(model, box_gamma=rate),
    lambda model, rate: recurl.evaluate(recurl.Policy.uniform(model), box_gamma=rate),
    lambda model, rate: recurl.simulate(model, box_gamma=rate),
]


def single(seed: int) -> recurl.RMDP:
    return recurl.zoo.random_model(seed, components=3, nodes=5, exits=1)


@given(seed=st.integers(0, 10_000), factor=st.sampled_from(["0.3", "0.8", "0.95"]))
def test_solving_and_evaluating_agree_with_the_discounted_model(seed: int, factor: str) -> None:
    model = single(seed)
    other = recurl.discount_boxes(model, factor)
    expected, found = recurl.solve(other), recurl.solve(model, box_gamma=factor)
    assert (found.lower, found.upper) == (expected.lower, expected.upper)
    assert recurl.verify(other, found.certificate)
    policy = found.policy
    assert policy is not None
    assert policy.model == model
    own = recurl.evaluate(policy, box_gamma=factor)
    same = recurl.evaluate(recurl.Policy.stackless(other, policy.actions))
    assert (own.lower, own.value, own.upper) == (same.lower, same.value, same.upper)
    assert found.lower - 1e-9 <= own.value <= found.upper + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_weighing_rewards_is_worth_the_same_as_leaving(seed: int) -> None:
    model = single(seed)
    runs = recurl.simulate(model, episodes=40_000, seed=seed, box_gamma=0.8)
    exact = recurl.evaluate(recurl.Policy.uniform(model), box_gamma="0.8")
    assert abs(runs.mean - exact.value) <= 4 * runs.standard_error + 1e-12
    plain = recurl.simulate(model, episodes=40_000, seed=seed)
    assert (runs.lengths == plain.lengths).all()


def test_a_function_of_the_walk_is_discounted_by_calls() -> None:
    builder = recurl.Builder("nested").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("go", reward=1).to("b").at("b.out").action("on", reward=1).to("out")
    builder.component("B", entries="in", exits="out").at("in").action("go", reward=1).to("n")
    model = builder.at("n").action("on", reward=1).to("out").build("A")
    # go, then within the call a step less and another, then one step behind the call
    expected = 1 + 0.5 + 0.25 + 0.5
    assert (
        recurl.simulate(model, lambda walk: 0, 2, box_gamma=0.5).returns.tolist() == [expected] * 2
    )
    assert recurl.simulate(model, episodes=2, box_gamma=0.5).returns.tolist() == [expected] * 2
    assert recurl.solve(model, box_gamma=0.5).value == pytest.approx(expected)


@pytest.mark.parametrize("verb", VERBS)
def test_several_exits_are_refused(verb: Any) -> None:
    with pytest.raises(ModelError, match=r"component H: has 2 exits .*gamma"):
        verb(recurl.zoo.cloud(), 0.9)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("factor", [0, 1.5])
def test_a_factor_lies_between_0_and_1(verb: Any, factor: float) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1|in .0, 1."):
        verb(recurl.zoo.gambler(), factor)


def test_steps_and_boxes_are_not_discounted_together() -> None:
    model = recurl.zoo.gambler()
    for verb in (recurl.solve, recurl.simulate):
        with pytest.raises(ValueError, match="not both"):
            verb(model, gamma=0.9, box_gamma=0.9)
    with pytest.raises(ValueError, match="rewards"):
        recurl.solve(model, of="steps", box_gamma=0.9)


def test_a_factor_that_is_too_large_is_answered_with_one_that_is_not() -> None:
    # The greatest factor is between 0.884 and 0.885.
    model = recurl.zoo.gambler(p=0.6)
    for said in (
        recurl.solve(model, box_gamma=0.99).reason,
        recurl.evaluate(recurl.Policy.uniform(model), box_gamma=0.99).reason,
    ):
        assert "box_gamma = 0.99 is too large" in said
        assert "every policy ends with 0.884 or less" in said
    small, large = (recurl.discount_boxes(model, f) for f in ("0.884", "0.886"))
    assert recurl.analyse(small).verdict == "proper"
    assert recurl.analyse(large).verdict == "not proper"
    assert recurl.solve(model, box_gamma="0.884").gap < 1e-6
