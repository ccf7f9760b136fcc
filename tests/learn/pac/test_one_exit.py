"""1-exit models by a plan, and both ways side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recurl
from recurl.errors import LimitError, NotProperError
from recurl.learn.pac.access import ModelAccess
from recurl.learn.pac.one_exit import (
    Task,
    learn_adaptively,
    learn_planned,
    learned_model,
    plan_one_exit,
)


@pytest.mark.parametrize("model", [recurl.zoo.cloud(exits=1), recurl.zoo.gambler(p=0.3)])
def test_200_planned_repetitions_are_all_but_certain(model: recurl.RMDP) -> None:
    truth = recurl.solve(model, epsilon=1e-9).value
    task = Task(0.5, 0.1)
    plan, _ = plan_one_exit(model, task)
    held = 0
    for seed in range(200):
        access = ModelAccess(model, seed)
        access.draw(plan.samples)
        held += abs(recurl.solve(learned_model(access)).value - truth) <= task.epsilon
    assert held >= 0.9 * 200


def test_a_plan_states_all_its_numbers() -> None:
    model = recurl.zoo.cloud(exits=1)
    learned = learn_planned(model, Task(0.1, 0.05, seed=1))
    closeness = learned.numbers["Closeness of every pair (sum of differences)"]
    steps, reward = (
        learned.numbers["Bound K on expected steps"],
        learned.numbers["Bound on rewards"],
    )
    assert reward == 8
    assert 2 * float(closeness) * float(steps) ** 2 * 8 <= 0.1
    assert learned.lower <= -5.3425 <= learned.upper
    assert learned.upper - learned.lower <= 0.2 + 1e-9
    assert learned.samples == learned.planned == plan_one_exit(model, Task(0.1, 0.05))[0].total
    assert learned.policy is not None
    assert recurl.evaluate(learned.policy).value >= -5.3425 - learned.loss
    assert "With probability 0.95" in learned.statement


def test_a_given_bound_on_steps_is_used() -> None:
    found = plan_one_exit(recurl.zoo.gambler(p=0.4), Task(0.1, 0.1, steps=50))
    assert found[0].closeness == pytest.approx(0.999 * 0.1 / (2 * 50**2))
    assert found[1] == 50


def test_a_plan_needs_a_bound_on_steps() -> None:
    with pytest.raises(NotProperError, match="steps"):
        learn_planned(recurl.zoo.gambler(p=0.6), Task(0.1, 0.1))


def test_a_plan_that_is_too_long_is_refused() -> None:
    with pytest.raises(LimitError, match="adaptively"):
        learn_planned(recurl.zoo.cloud(exits=1), Task(0.1, 0.1, most=1000))


def test_adaptive_takes_less_than_a_hundredth_of_the_plan_on_cloud() -> None:
    learned = learn_adaptively(recurl.zoo.cloud(exits=1), Task(0.1, 0.05))
    assert learned.reached
    assert learned.planned is not None
    assert learned.samples <= 0.01 * learned.planned
    assert learned.policy is not None
    assert recurl.evaluate(learned.policy).value >= -5.3425 - learned.loss


def test_a_resumed_run_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    model, file = recurl.zoo.gambler(p=0.3), tmp_path / "counts"
    whole = learn_adaptively(model, Task(0.3, 0.1, seed=5))
    for most in (100, 1000, 10_000, None):
        parts = learn_adaptively(model, Task(0.3, 0.1, seed=5, most=most, checkpoint=file))
    assert (parts.lower, parts.upper) == (whole.lower, whole.upper)
    assert parts.samples == whole.samples
    again = learn_adaptively(model, Task(0.3, 0.1, seed=5, checkpoint=file))
    assert again.samples == whole.samples


def test_a_resumed_plan_draws_only_what_is_missing(tmp_path: Path) -> None:
    model, file = recurl.zoo.gambler(p=0.3), tmp_path / "counts"
    first = learn_planned(model, Task(1.0, 0.1, checkpoint=file))
    second = learn_planned(model, Task(0.5, 0.1, checkpoint=file))
    assert first.samples < second.samples == second.planned


def test_the_learned_model_is_what_was_counted() -> None:
    access = ModelAccess(recurl.zoo.gambler(p=0.25), 1)
    access.draw(np.array([1000, 0, 0]))
    np.testing.assert_allclose(learned_model(access).tables.prob[:2], access.counts[:2] / 1000)
