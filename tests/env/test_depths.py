"""Comparison of what observations and actions mean by the depth of the call stack."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.learn.paid_roots import PAID, Answer, Paid, Result

import recurl
from recurl.env.depths import Depths, step_kind


class Shy(Paid):
    """Every second level pays for an answer, which no observation shows."""

    def __init__(self) -> None:
        super().__init__(2, 2)

    def step(self, action: int) -> Result:
        if not action and len(self.callers) < 4:
            return self.call(-1.0, 1)
        depth = len(self.callers)
        state, _, over, cut, info = self.leave(0.0)
        return state, float(depth == 1), over, cut, info


@pytest.mark.parametrize("kind", PAID)
def test_a_check_says_where_the_outermost_call_is_another(kind: Any) -> None:
    with pytest.warns(UserWarning, match="outermost call differs .*own_root=True.*observation"):
        recurl.check_recursive_env(kind())


def test_a_check_says_where_an_observation_leaves_out_the_depth() -> None:
    with pytest.warns(UserWarning, match="differ") as told:
        recurl.check_recursive_env(Shy())
    root, inside = (str(warning.message) for warning in told)
    assert "outermost call differs" in root
    assert "let the observation tell it" in inside
    assert "action 1: its mean reward is 1 in calls of it and 0 in deeper ones" in inside


@pytest.mark.parametrize(
    "kind",
    [recurl.RecursiveQLearning, recurl.ModelBasedRecursiveLearning],
)
def test_learners_say_it_too(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = kind(Shy(), episode_limit=50)
    monkeypatch.setattr(f"{type(learner.engine).__module__}.WATCHED", 2000)
    with pytest.warns(UserWarning, match="calls that show the same differ by how deep they are"):
        learner.learn(2000)
    with warnings.catch_warnings(action="error"):
        learner.learn(100)


def test_a_learner_without_a_root_of_its_own_says_that_it_needs_one() -> None:
    learner = recurl.RecursiveQLearning(Answer(), preset="paper", episode_limit=20)
    with pytest.warns(UserWarning, match="set own_root=True.*observation 0, action 1"):
        learner.learn(6_000)


def test_nothing_is_said_by_chance() -> None:
    random, said = np.random.default_rng(0), 0
    for _ in range(100):
        depths = Depths()
        for _ in range(200):
            depth, kind = int(random.integers(4)), step_kind(None, bool(random.integers(2)))
            depths.note(int(random.integers(3)), 0, depth, float(random.exponential()), kind)
        said += bool(depths.at_root()) + bool(depths.inside())
    assert said <= 2  # of 200, at level 0.001


def test_models_are_the_same_at_all_depths() -> None:
    with warnings.catch_warnings(action="error"):
        recurl.check_recursive_env(recurl.ModelEnv(recurl.zoo.spelunking()), steps=2000)
