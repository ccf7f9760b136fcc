from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib.util import find_spec

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import registry
from gymnasium.utils.env_checker import check_env

import recurl
from recurl.errors import UnknownNameError
from recurl.registration import environment_id, register_environments, step_limits

needs_sb3 = pytest.mark.skipif(
    find_spec("stable_baselines3") is None, reason="needs stable-baselines3 (make install-bench)"
)
IDS = [environment_id(name) for name in step_limits()]


def test_every_model_of_the_zoo_is_registered() -> None:
    assert list(step_limits()) == recurl.zoo.names()
    assert sorted(IDS) == sorted(key for key in registry if key.startswith("recurl/"))
    register_environments()  # a second time changes nothing, and warns of nothing


@pytest.mark.parametrize("key", IDS)
def test_an_id_passes_both_checks(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_env(gym.make(key).unwrapped)
    recurl.check_recursive_env(gym.make(key), steps=300)


def test_parameters_and_limits_reach_the_model() -> None:
    env = gym.make("recurl/Cloud-v0", exits=1, observation="onehot", max_episode_steps=3)
    assert env.unwrapped.model == recurl.zoo.cloud(exits=1)  # type: ignore[attr-defined]
    assert env.observation_space.shape == (20,)
    env.reset(seed=0)
    assert [env.step(1)[3] for _ in range(3)] == [False, False, True]
    assert gym.spec("recurl/Spelunking-v0").max_episode_steps == 200
    assert gym.spec("recurl/Palindrome-v0").max_episode_steps is None


def test_an_unknown_parameter_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'exits'"):
        gym.make("recurl/Cloud-v0", exit=1)


def test_a_module_in_the_id_is_enough_to_find_it() -> None:
    code = (
        "import gymnasium; print(gymnasium.make('recurl:recurl/Gambler-v0').unwrapped.model.name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "gambler"


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(("key", "observation"), [("Cloud", "index"), ("Palindrome", "features")])
def test_vector_environments_carry_the_protocol(key: str, observation: str, mode: str) -> None:
    # Other tests load libraries with threads, so that a plain fork is not safe here.
    settings = {"context": "spawn"} if mode == "async" else {}
    envs = gym.make_vec(
        f"recurl/{key}-v0", 2, mode, vector_kwargs=settings, observation=observation
    )
    singles = [gym.make(f"recurl/{key}-v0", observation=observation) for _ in range(2)]
    try:
        together, infos = envs.reset(seed=[5, 6])
        apart = [env.reset(seed=5 + i) for i, env in enumerate(singles)]
        compare(together, infos, [(o, info) for o, info in apart])
        events: set[str | None] = set()
        for step in range(40):
            actions = np.array([(step + 1) % 2, 1])
            together, rewards, ended, cut, infos = envs.step(actions)
            results = [env.step(a) for env, a in zip(singles, actions, strict=True)]
            compare(together, infos, [(r[0], r[4]) for r in results])
            assert rewards.tolist() == [r[1] for r in results]
            events |= set(infos["event"])
            if (ended | cut).any():
                break
        assert events == {None, "call", "return"}
    finally:
        envs.close()


def compare(observations: np.ndarray, infos: dict, apart: list) -> None:  # type: ignore[type-arg]
    """What vector environments say of each of their own, against it alone."""
    for i, (observation, info) in enumerate(apart):
        np.testing.assert_array_equal(observations[i], observation)
        assert infos["event"][i] == info["event"]
        np.testing.assert_array_equal(infos["action_mask"][i], info["action_mask"])
        for key in ("exits", "exit"):
            assert bool(infos.get(f"_{key}", np.zeros(2))[i]) == (key in info)
            if key in info:
                np.testing.assert_array_equal(infos[key][i], info[key])


@needs_sb3
def test_stable_baselines3_makes_environments_by_id() -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    for kind in (None, SubprocVecEnv):
        # Other processes have not imported recurl: there, the id names the module.
        name = "recurl/Cloud-v0" if kind is None else "recurl:recurl/Cloud-v0"
        envs = make_vec_env(name, 2, vec_env_cls=kind)
        envs.reset()
        assert envs.step(np.array([1, 0]))[0].tolist()[0] == 8
        envs.close()
    agent = PPO("MlpPolicy", "recurl/Cloud-v0", n_steps=64, device="cpu").learn(64)
    assert agent.num_timesteps == 64


def test_environments_of_a_model_go_to_other_processes() -> None:
    model = recurl.zoo.cloud()
    envs = gym.vector.AsyncVectorEnv(
        [partial(recurl.ModelEnv, model)] * 2, context="spawn", shared_memory=False
    )
    try:
        envs.reset(seed=0)
        assert envs.step(np.array([1, 1]))[0].tolist() == [8, 8]
    finally:
        envs.close()
