"""Many seeds at once: the same runs as one by one."""

from __future__ import annotations

import numpy as np

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
