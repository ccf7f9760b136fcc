from __future__ import annotations

import importlib.util

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import recurl

NO_SB3 = importlib.util.find_spec("stable_baselines3") is None
needs_sb3 = pytest.mark.skipif(
    NO_SB3, reason="needs stable-baselines3: pip install 'recurl[bench]'"
)


def test_calls_and_returns_are_ordinary_steps() -> None:
    model = recurl.zoo.cloud()
    recursive, flat = recurl.ModelEnv(model), recurl.FlatView(recurl.ModelEnv(model))
    events = set()
    assert flat.reset(seed=3)[1].keys() == {"action_mask"}
    recursive.reset(seed=3)
    for i in range(500):
        *one, info = recursive.step(i % 2)
        *other, flat_info = flat.step(i % 2)
        assert one == other
        assert flat_info.keys() == {"action_mask"}
        np.testing.assert_array_equal(flat_info["action_mask"], info["action_mask"])
        events.add(info["event"])
        if one[2]:
            recursive.reset()
            flat.reset()
    assert events == {None, "call", "return"}


def test_the_flat_view_keeps_what_its_environment_is() -> None:
    env = recurl.FlatView(gym.make("recurl/Cloud-v0", render_mode="ansi"))
    assert env.observation_space == gym.spaces.Discrete(24)
    assert env.render_mode == "ansi"
    assert env.spec is not None
    again = env.spec.make()
    assert isinstance(again, recurl.FlatView)


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_the_flat_view_passes_gymnasiums_check() -> None:
    check_env(recurl.FlatView(gym.make("recurl/Cloud-v0").unwrapped))


def flat_cloud() -> gym.Env:  # type: ignore[type-arg]
    return recurl.FlatView(gym.make("recurl/Cloud-v0", observation="onehot"))


@needs_sb3
@pytest.mark.parametrize("algorithm", ["DQN", "PPO"])
def test_stable_baselines3_trains_on_the_flat_view_of_cloud(algorithm: str) -> None:
    import stable_baselines3

    settings = {"DQN": {"learning_starts": 500}, "PPO": {"n_steps": 256}}[algorithm]
    learner = getattr(stable_baselines3, algorithm)
    agent = learner("MlpPolicy", flat_cloud(), seed=0, gamma=1.0, device="cpu", **settings)
    agent.learn(2000)
    env = flat_cloud()
    totals = []
    for episode in range(100):
        observation, _ = env.reset(seed=episode)
        total, over = 0.0, False
        while not over:
            action, _ = agent.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, over = total + float(reward), terminated or truncated
        totals.append(total)
    # The best is -5.3425, mono earns -8, and no stackless policy earns less.
    assert -8.01 < np.mean(totals) < -4.5
