"""Total reward of 1-exit models, and discounted models with several exits."""

from __future__ import annotations

from pathlib import Path

import pytest

import recurl
from recurl.errors import LimitError, NotProperError
from recurl.learn.pac.criteria import Discounted, TotalReward
from recurl.learn.pac.learner import PACLearner
from recurl.learn.pac.loop import PACTask
from recurl.learn.pac.model_access import ModelAccess


@pytest.mark.parametrize("adaptive", [False, True])
def test_discounted_cloud_with_two_exits_at_a_twentieth(adaptive: bool) -> None:
    model = recurl.zoo.cloud()
    method = "adaptive" if adaptive else "plan"
    learned = PACLearner(0.05, 0.05, method, gamma=0.9, seed=1).learn(model)
    truth = recurl.solve(recurl.discount_steps(model, 0.9), epsilon=1e-7)
    assert learned.reached
    assert learned.lower <= truth.lower <= truth.upper <= learned.upper
    assert abs(learned.value - truth.value) <= 0.05
    assert learned.upper - learned.lower <= (0.05 if adaptive else 0.1)
    assert learned.policy is not None
    assert recurl.evaluate(learned.policy).value >= truth.lower - learned.loss
    assert learned.planned is not None
    if adaptive:
        assert recurl.evaluate(learned.policy).value >= learned.lower - 1e-9
        assert learned.samples < 1e-4 * learned.planned
    else:
        closeness = float(learned.numbers["Closeness of every pair (sum of differences)"])
        assert closeness * 8 / (1 - 0.9) ** 2 <= 0.05


def test_repetitions_hold_as_often_as_claimed() -> None:
    model = recurl.zoo.cloud()
    truth = recurl.solve(recurl.discount_steps(model, 0.5), epsilon=1e-7).value
    held = 0
    for seed in range(20):
        found = PACLearner(0.3, 0.1, gamma=0.5, seed=seed).learn(model)
        held += found.lower <= truth <= found.upper
    assert held >= 18


def test_the_plan_follows_the_bound() -> None:
    plan = Discounted(0.9).plan(recurl.zoo.cloud(), PACTask(0.05, 0.05))
    assert plan.closeness == pytest.approx(0.9 * 0.05 * 0.01 / 8)


def test_both_ends_are_asked_of_the_discounted_model() -> None:
    model, frame = recurl.zoo.cloud(), Discounted(0.9)
    assert frame.upper(model) == frame.lower(model) == recurl.discount_steps(model, 0.9)


def test_counts_are_resumed(tmp_path: Path) -> None:
    learner = PACLearner(0.5, 0.1, gamma=0.5, seed=3)
    first = learner.learn(recurl.zoo.cloud(), checkpoint=tmp_path / "counts")
    second = learner.learn(recurl.zoo.cloud(), checkpoint=tmp_path / "counts")
    assert (second.samples, second.lower, second.upper) == (
        first.samples, first.lower, first.upper
    )  # fmt: skip
    assert second.upper - second.lower <= 0.5


@pytest.mark.parametrize("model", [recurl.zoo.cloud(exits=1), recurl.zoo.gambler(p=0.3)])
def test_200_planned_repetitions_are_all_but_certain(model: recurl.RMDP) -> None:
    truth = recurl.solve(model, epsilon=1e-9).value
    task = PACTask(0.5, 0.1)
    plan = TotalReward().plan(model, task)
    held = 0
    for seed in range(200):
        access = ModelAccess(model, seed)
        access.draw(plan.samples)
        held += abs(recurl.solve(access.observed().learned()).value - truth) <= task.epsilon
    assert held >= 0.9 * 200


def test_a_plan_states_all_its_numbers() -> None:
    model = recurl.zoo.cloud(exits=1)
    learned = PACLearner(0.1, 0.05, "plan", seed=1).learn(model)
    closeness = learned.numbers["Closeness of every pair (sum of differences)"]
    steps, reward = (
        learned.numbers["Bound K on expected steps"],
        learned.numbers["Bound on rewards"],
    )
    assert reward == 8
    assert 2 * float(closeness) * float(steps) ** 2 * 8 <= 0.1
    assert learned.lower <= -5.3425 <= learned.upper
    assert learned.upper - learned.lower <= 0.2 + 1e-9
    assert learned.samples == learned.planned == TotalReward().plan(model, PACTask(0.1, 0.05)).total
    assert learned.policy is not None
    assert recurl.evaluate(learned.policy).value >= -5.3425 - learned.loss
    assert "With probability 0.95" in learned.statement


def test_a_given_bound_on_steps_is_used() -> None:
    found = TotalReward(50).plan(recurl.zoo.gambler(p=0.4), PACTask(0.1, 0.1))
    assert found.closeness == pytest.approx(0.999 * 0.1 / (2 * 50**2))
    assert found.numbers["Bound K on expected steps"] == 50


def test_a_plan_needs_a_bound_on_steps() -> None:
    with pytest.raises(NotProperError, match="steps"):
        PACLearner(0.1, 0.1, "plan").learn(recurl.zoo.gambler(p=0.6))


def test_a_plan_that_is_too_long_is_refused() -> None:
    with pytest.raises(LimitError, match="adaptively"):
        PACLearner(0.1, 0.1, "plan").learn(recurl.zoo.cloud(exits=1), most=1000)


def test_adaptive_takes_less_than_a_hundredth_of_the_plan_on_cloud() -> None:
    learned = PACLearner(0.1, 0.05).learn(recurl.zoo.cloud(exits=1))
    assert learned.reached
    assert learned.planned is not None
    assert learned.samples <= 0.01 * learned.planned
    assert learned.policy is not None
    assert recurl.evaluate(learned.policy).value >= -5.3425 - learned.loss


def test_a_resumed_plan_draws_only_what_is_missing(tmp_path: Path) -> None:
    model, file = recurl.zoo.gambler(p=0.3), tmp_path / "counts"
    first = PACLearner(1.0, 0.1, "plan").learn(model, checkpoint=file)
    second = PACLearner(0.5, 0.1, "plan").learn(model, checkpoint=file)
    assert first.samples < second.samples == second.planned
