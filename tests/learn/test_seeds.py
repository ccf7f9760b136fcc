"""Many seeds at once: the same runs as one by one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import recurl


def test_runs_are_those_of_single_learners() -> None:
    model = recurl.zoo.cloud()
    settings = {"preset": "swift", "episode_limit": 200, "evaluate_every": 1000}
    together = recurl.learn_many(model, [5, 7, 8], 6000, workers=3, **settings)
    for learner in together:
        alone = recurl.RecursiveQLearning(model, seed=learner.settings.seed, **settings)  # type: ignore[arg-type]
        alone.learn(6000)
        np.testing.assert_array_equal(learner.engine.arrays()["q"], alone.engine.arrays()["q"])
        np.testing.assert_array_equal(learner.curve.array, alone.curve.array)


def test_seeds_differ_and_the_algorithm_is_chosen() -> None:
    runs = recurl.learn_many(recurl.zoo.cloud(), 2, 1000, algorithm=recurl.QLearning)
    assert all(isinstance(run, recurl.QLearning) for run in runs)
    assert (runs[0].engine.arrays()["q"] != runs[1].engine.arrays()["q"]).any()


def test_every_run_has_an_environment_of_its_own() -> None:
    given: dict[str, Any] = {"algorithm": recurl.QLearning, "evaluate_every": 0}
    runs = recurl.learn_many(gym.make("FrozenLake-v1"), 2, 2000, **given)
    for seed, run in enumerate(runs):
        alone = recurl.QLearning("FrozenLake-v1", evaluate_every=0, seed=seed).learn(2000)
        np.testing.assert_array_equal(run.engine.arrays()["q"], alone.engine.arrays()["q"])
    with pytest.raises(TypeError, match="give a single one, or an id"):
        recurl.learn_many(gym.make_vec("FrozenLake-v1", 2), 2, 100)  # type: ignore[arg-type]
