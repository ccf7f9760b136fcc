"""Wrappers that change observations, around recursive environments."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import (
    AddRenderObservation,
    DelayObservation,
    DtypeObservation,
    FlattenObservation,
    FrameStackObservation,
    NormalizeObservation,
    RecordEpisodeStatistics,
    RepeatAction,
    RescaleObservation,
    TimeAwareObservation,
    TimeLimit,
    TransformObservation,
)

import recurl
from recurl.env.observation import exits_view
from recurl.errors import ProtocolError


def onehot(**parameters: Any) -> gym.Env[Any, Any]:
    return recurl.ModelEnv(recurl.zoo.cloud(**parameters), observation="onehot")


def shifted(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    space = spaces.Box(2, 3, env.observation_space.shape, np.float32)
    return TransformObservation(env, lambda seen: (seen + 2).astype(np.float32), space)


def index() -> gym.Env[Any, Any]:
    return recurl.ModelEnv(recurl.zoo.cloud())


@pytest.mark.parametrize(
    "make",
    [
        lambda: FlattenObservation(index()),
        lambda: RecordEpisodeStatistics(FlattenObservation(TimeLimit(index(), 50))),
        lambda: TimeLimit(shifted(RecordEpisodeStatistics(FlattenObservation(index()))), 50),
        lambda: RescaleObservation(
            shifted(onehot()), np.full(24, -1, np.float32), np.full(24, 1, np.float32)
        ),
        lambda: DtypeObservation(TimeLimit(FlattenObservation(index()), 50), np.float32),
        lambda: TransformObservation(index(), lambda seen: seen + 5, spaces.Discrete(25, start=5)),
        lambda: FlattenObservation(gym.make("recurl/Cloud-v0")),
    ],
)
def test_any_order_of_wrappers_keeps_the_protocol(make: Any) -> None:
    recurl.check_recursive_env(make())


def test_exits_are_shown_as_the_outermost_wrapper_shows_observations() -> None:
    env = shifted(onehot())
    env.reset(seed=0)
    info = env.step(1)[-1]
    (shown,) = exits_view(env)(info["exits"])
    assert shown in env.observation_space
    assert shown.argmax() == recurl.zoo.cloud().find("T.b1.u4")


def test_without_wrappers_nothing_is_done() -> None:
    assert exits_view(TimeLimit(recurl.ModelEnv(recurl.zoo.cloud()), 5)) is None


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (NormalizeObservation, "NormalizeObservation"),
        (lambda env: FrameStackObservation(env, 2), "FrameStackObservation"),
        (lambda env: DelayObservation(env, 1), "DelayObservation"),
        (lambda env: TimeAwareObservation(TimeLimit(env, 9)), "TimeAwareObservation"),
        (lambda env: RepeatAction(env, 2), "RepeatAction"),
        (lambda env: FlattenObservation(FrameStackObservation(env, 2)), "FrameStackObservation"),
    ],
)
def test_wrappers_with_a_state_are_refused_by_name(wrap: Any, name: str) -> None:
    env = wrap(onehot())
    with pytest.raises(ProtocolError, match=f"the wrapper {name}"):
        recurl.check_recursive_env(env)
    with pytest.raises(ProtocolError, match=f"the wrapper {name}"):
        recurl.RecursiveQLearning(env)
    recurl.QLearning(env)
    recurl.RecursiveQLearning(recurl.FlatView(env))


def test_a_picture_in_the_observation_is_refused() -> None:
    class Drawn(recurl.ModelEnv):
        def render(self) -> Any:
            return np.zeros((2, 2, 3), np.uint8)

    env = Drawn(recurl.zoo.cloud(), render_mode="ansi")
    env.reset(seed=0)
    with pytest.raises(ProtocolError, match="AddRenderObservation"):
        exits_view(AddRenderObservation(env, render_only=False))


def test_a_state_that_no_rule_finds_is_found_when_it_shows() -> None:
    class Noisy(gym.ObservationWrapper[Any, Any, Any]):
        def observation(self, observation: Any) -> Any:
            return (observation + np.random.default_rng().random(1)).astype(np.float32)

    env = Noisy(onehot())
    env.observation_space = spaces.Box(0, 2, env.observation_space.shape, np.float32)
    with pytest.raises(ProtocolError, match=r"(?s)announced as .*free of state"):
        recurl.check_recursive_env(env)
    with pytest.raises(ProtocolError, match=r"(?s)announced as .*free of state"):
        recurl.RecursiveQLearning(env).learn(100)


def test_a_wrapper_may_say_that_it_announces_exits_itself() -> None:
    class Own(gym.ObservationWrapper[Any, Any, Any]):
        exits_as_observed = True

        def observation(self, observation: Any) -> Any:
            return observation + 5

        def step(self, action: Any) -> Any:
            seen, reward, ended, cut, info = super().step(action)
            if "exits" in info:
                info["exits"] = tuple(map(self.observation, info["exits"]))
            return seen, reward, ended, cut, info

    env = Own(recurl.ModelEnv(recurl.zoo.cloud()))
    env.observation_space = spaces.Discrete(25, start=5)
    recurl.check_recursive_env(env)


def test_vector_environments_show_the_wrappers_inside_them() -> None:
    model = recurl.zoo.cloud()
    make = [lambda: FlattenObservation(recurl.ModelEnv(model))] * 2
    # Other tests load libraries with threads, so that a plain fork is not safe here.
    for envs in (gym.vector.SyncVectorEnv(make), gym.vector.AsyncVectorEnv(make, context="spawn")):
        try:
            assert exits_view(envs)((2,))[0].argmax() == 2
        finally:
            envs.close()
    outside = gym.wrappers.vector.FlattenObservation(
        gym.vector.SyncVectorEnv([lambda: recurl.ModelEnv(model)] * 2)
    )
    with pytest.raises(ProtocolError, match="wrap each environment instead"):
        exits_view(outside)
