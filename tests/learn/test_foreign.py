"""Learning in environments: protocol, masks, ends, tests."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl.errors import LimitError, ProtocolError


class Script(gym.Env[Any, Any]):
    """Plays given steps, over and over."""

    def __init__(self, steps: list[tuple[Any, float, bool, dict[str, Any]]], n: int = 2) -> None:
        self.steps, self.place = steps, 0
        self.observation_space, self.action_space = spaces.Discrete(50), spaces.Discrete(n)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.place = 0
        return 0, {"event": None}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, info = self.steps[self.place]
        self.place += 1
        return observation, reward, terminated, False, info


CALL = {"event": "call", "exits": (2, 3)}


def test_the_three_cases_by_hand() -> None:
    env = Script([(1, -1.0, False, CALL), (2, -2.0, False, {"event": "return", "exit": 0}),
                  (9, -4.0, True, {"event": None})], n=1)  # fmt: skip
    learner = recurl.RecursiveQLearning(env, step_size=1.0, quantum=0.0)
    learner.learn(9)
    arrays = learner.engine.arrays()
    table = dict(zip(arrays["row_vertex"].tolist(), arrays["q"].tolist(), strict=False))
    assert table[2] == -4.0  # the return port: the run ends with -4
    learner.learn(30)
    arrays = learner.engine.arrays()
    root = arrays["row_context"] == 0
    start = arrays["q"][root & (arrays["row_vertex"] == 0)]
    assert start[0] == pytest.approx(-7.0)


def test_a_run_may_end_inside_a_call() -> None:
    env = Script([(1, -1.0, False, CALL), (9, -4.0, True, {"event": None})], n=1)
    learner = recurl.RecursiveQLearning(env, step_size=1.0).learn(20)
    arrays = learner.engine.arrays()
    start = arrays["q"][(arrays["row_context"] == 0) & (arrays["row_vertex"] == 0)]
    assert start[0] == pytest.approx(-5.0)


def test_breaches_of_the_protocol_are_named() -> None:
    back = Script([(1, 0.0, False, {"event": "return", "exit": 0})])
    with pytest.raises(ProtocolError, match="return"):
        recurl.RecursiveQLearning(back).learn(5)
    masks = [np.array([1, 1], np.int8), np.array([1, 0], np.int8)]
    changed = Script([(1, 0.0, False, {"event": None, "action_mask": mask}) for mask in masks])
    with pytest.raises(ProtocolError, match="mask"):
        recurl.RecursiveQLearning(changed).learn(5)
    none = Script([(1, 0.0, False, {"event": None, "action_mask": np.zeros(2, np.int8)})])
    with pytest.raises(ProtocolError, match="no action"):
        recurl.RecursiveQLearning(none).learn(5)
    continuous = Script([])
    continuous.action_space = spaces.Box(0, 1)  # type: ignore[assignment]
    with pytest.raises(ProtocolError, match="Discrete"):
        recurl.RecursiveQLearning(continuous)


def test_it_learns_what_it_learns_in_the_model() -> None:
    model = recurl.zoo.cloud()
    learner = recurl.RecursiveQLearning(
        recurl.ModelEnv(model),
        preset="swift",
        evaluate_every=5000,
        evaluation_env=recurl.ModelEnv(model),
    ).learn(10_000)
    assert learner.curve.last.mean == pytest.approx(-5.34, abs=0.1)
    with pytest.raises(ValueError, match="predict"):
        learner.policy()


def test_environments_by_id_make_their_own_test_environment() -> None:
    env = gym.make("recurl/Cloud-v0")
    learner = recurl.RecursiveQLearning(env, preset="swift", evaluate_every=1000).learn(1000)
    assert len(learner.curve) == 1
    with pytest.raises(ValueError, match="evaluation_env"):
        recurl.RecursiveQLearning(Script([]), evaluate_every=10).test()


def test_memory_has_a_limit() -> None:
    env = recurl.ModelEnv(recurl.zoo.stack_matters())
    learner = recurl.RecursiveQLearning(env, quantum=0.0, memory=100_000)
    with pytest.raises(LimitError, match="quantum"):
        learner.learn(100_000)
    assert learner.engine.n_contexts > 10
