"""Warm starts: from a solution the first greedy policy is optimal already."""

from __future__ import annotations

import numpy as np
import pytest

import recurl


def test_from_a_one_exit_solution() -> None:
    model = recurl.zoo.spelunking()
    solution = recurl.solve(model)
    learner = recurl.RecursiveQLearning(model).warm_start(solution)
    value = recurl.evaluate(learner.policy()).value
    assert value == pytest.approx(solution.value, abs=1e-6)
    assert learner.steps == 0


@pytest.mark.parametrize("name", ["cloud", "stack_matters"])
def test_from_a_multi_exit_solution(name: str) -> None:
    model = recurl.zoo.make(name)
    solution = recurl.solve(model)
    learner = recurl.RecursiveQLearning(model, preset="swift", grain=32, episode_limit=200)
    learner.warm_start(solution)
    assert recurl.evaluate(learner.policy()).value == pytest.approx(solution.value, abs=1e-3)
    learner.learn(20_000)
    assert recurl.evaluate(learner.policy()).value == pytest.approx(solution.value, abs=1e-3)


def test_from_another_run() -> None:
    model = recurl.zoo.cloud()
    old = recurl.RecursiveQLearning(model, preset="swift").learn(10_000)
    new = recurl.RecursiveQLearning(model, seed=9).warm_start(old, visits=7)
    np.testing.assert_array_equal(old.engine.arrays()["q"], new.engine.arrays()["q"])
    assert new.engine.arrays()["visits"].max() == 7
    assert new.policy() == old.policy() or old.settings.inherit != new.settings.inherit


def test_what_does_not_fit_is_refused() -> None:
    model, other = recurl.zoo.cloud(), recurl.zoo.gambler()
    learner = recurl.RecursiveQLearning(model)
    with pytest.raises(ValueError, match="same"):
        learner.warm_start(recurl.RecursiveQLearning(other))
    with pytest.raises(ValueError, match="model that it solves"):
        learner.warm_start(recurl.solve(other))
    with pytest.raises(ValueError, match="question"):
        learner.warm_start(recurl.solve(model, of="steps"))
    with pytest.raises(ValueError, match="before the first step"):
        learner.learn(10).warm_start(recurl.RecursiveQLearning(model))
