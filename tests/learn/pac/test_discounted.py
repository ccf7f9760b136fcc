"""Discounted models with several exits."""

from __future__ import annotations

from pathlib import Path

import pytest

import recurl
from recurl.learn.pac.discounted import Discounted, learn_discounted, plan_discounted
from recurl.learn.pac.one_exit import Task


@pytest.mark.parametrize("adaptive", [False, True])
def test_discounted_cloud_with_two_exits_at_a_twentieth(adaptive: bool) -> None:
    model = recurl.zoo.cloud()
    learned = learn_discounted(model, Task(0.05, 0.05, seed=1), 0.9, adaptive=adaptive)
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
        found = learn_discounted(model, Task(0.3, 0.1, seed=seed), 0.5, adaptive=True)
        held += found.lower <= truth <= found.upper
    assert held >= 18


def test_the_plan_follows_the_bound() -> None:
    plan = plan_discounted(recurl.zoo.cloud(), Task(0.05, 0.05), 0.9)
    assert plan.closeness == pytest.approx(0.9 * 0.05 * 0.01 / 8)


def test_both_ends_are_asked_of_the_discounted_model() -> None:
    model, frame = recurl.zoo.cloud(), Discounted(0.9)
    assert frame.upper(model) == frame.lower(model) == recurl.discount_steps(model, 0.9)


def test_counts_are_resumed(tmp_path: Path) -> None:
    task = Task(0.5, 0.1, seed=3, checkpoint=tmp_path / "counts")
    first = learn_discounted(recurl.zoo.cloud(), task, 0.5, adaptive=True)
    second = learn_discounted(recurl.zoo.cloud(), task, 0.5, adaptive=True)
    assert second.samples == first.samples
    assert second.upper - second.lower <= 0.5
