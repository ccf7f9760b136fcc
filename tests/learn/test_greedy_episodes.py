from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from tests.learn.breaches import Breach

import recurl
from recurl.errors import ProtocolError
from recurl.learn.greedy_episodes import another, play


class Scripted:
    """Takes the second action at the first vertex, the first elsewhere, and notes its stack."""

    flat, start = False, "start"

    def __init__(self) -> None:
        self.entered: list[tuple[Any, int]] = []
        self.contexts: set[Any] = set()

    def enter(self, context: Any, exits: Sequence[Any], observation: Any) -> Any:
        self.entered.append((context, len(exits)))
        return f"{context}/{observation}"

    def greedy(self, context: Any, observation: Any, mask: np.ndarray | None) -> int:
        self.contexts.add(context)
        return 1 if observation == 0 else 0


def test_contexts_follow_calls_and_returns() -> None:
    player = Scripted()
    returns, lengths, cut = play(player, recurl.ModelEnv(recurl.zoo.cloud()), [3, 4], 500)
    assert not cut.any()
    assert (lengths >= 5).all()
    assert (returns < -4).all()
    assert player.entered[0] == ("start", 1)
    assert {"start", "start/8"} <= player.contexts


def test_long_episodes_are_cut() -> None:
    _, lengths, cut = play(Scripted(), recurl.ModelEnv(recurl.zoo.cloud()), [3], 2)
    assert (lengths.tolist(), cut.tolist()) == ([2], [True])


def test_a_breach_in_a_test_episode_is_named_with_its_step() -> None:
    learner = recurl.QLearning(Breach(), evaluation_env=Breach(3, reward=np.nan)).learn(20)
    with pytest.raises(ProtocolError, match="step 3 of a test episode: the reward must be finite"):
        learner.test(5)


def test_another_environment_like_the_first() -> None:
    env = gym.make("recurl/Gambler-v0", p=0.25)
    assert another(env).unwrapped.model == env.unwrapped.model  # type: ignore[attr-defined]
    vector = gym.make_vec("recurl/Gambler-v0", 2, vectorization_mode="sync", p=0.25)
    assert another(vector).unwrapped.model == env.unwrapped.model  # type: ignore[attr-defined]


@pytest.mark.parametrize("settings", [{}, {"vectorization_mode": "sync", "max_episode_steps": 7}])
def test_one_lane_of_a_vector_environment_has_its_limit(settings: dict[str, Any]) -> None:
    lane = another(gym.make_vec("CartPole-v1", 2, **settings))
    assert lane.spec is not None
    assert lane.spec.max_episode_steps == settings.get("max_episode_steps", 500)


class Unrecorded(gym.Wrapper[Any, Any, Any, Any]):
    """A wrapper that does not say how it was made."""


class Locked(gym.Env[Any, Any]):
    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_environments_without_a_spec_are_copied() -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud())
    for first in (env, Unrecorded(env), Unrecorded(gym.make("recurl/Cloud-v0"))):
        first.reset(seed=0)
        alone = repr(first.step(1))
        first.reset(seed=0)
        other = another(first)
        assert type(other) is type(first)
        other.reset(seed=1)
        other.step(0)
        assert repr(first.step(1)) == alone  # what the other does leaves it where it is
    lanes = gym.vector.SyncVectorEnv([lambda: recurl.ModelEnv(recurl.zoo.cloud())] * 2)
    assert isinstance(another(lanes), recurl.ModelEnv)


def test_what_cannot_be_copied_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"Locked cannot be copied .*: give evaluation_env="):
        another(Locked())
