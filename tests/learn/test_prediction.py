"""Predictions for one environment and for many, with and without ``info``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import FlattenObservation
from tests.learn.deep.small import ON_ENVIRONMENT

import recurl
from recurl.errors import ProtocolError

needs_sb3 = pytest.mark.skipif(
    find_spec("stable_baselines3") is None, reason="needs stable-baselines3 (make install-bench)"
)


def evaluate(agent: Any, envs: list[gym.Env[Any, Any]], episodes: int) -> np.ndarray:
    """Returns of episodes, played as stable-baselines3's evaluate_policy plays them."""
    space = envs[0].observation_space
    shape, dtype = space.shape or (), space.dtype
    observations = np.array([env.reset(seed=i)[0] for i, env in enumerate(envs)], dtype)
    assert observations.shape == (len(envs), *shape)
    states, starts, returns = None, np.ones(len(envs), bool), []
    totals = np.zeros(len(envs))
    while len(returns) < episodes:
        actions, states = agent.predict(
            observations, state=states, episode_start=starts, deterministic=True
        )
        for i, env in enumerate(envs):
            seen, reward, ended, cut, _ = env.step(actions[i])
            totals[i] += float(reward)
            starts[i] = ended or cut
            if starts[i]:
                returns.append(totals[i])
                totals[i], seen = 0.0, env.reset()[0]
            observations[i] = seen
    return np.array(returns)


def stack_matters() -> gym.Env[Any, Any]:
    return gym.make("recurl/StackMatters-v0", max_episode_steps=200)


@pytest.mark.parametrize("on_model", [True, False])
def test_batches_without_info_follow_calls(on_model: bool) -> None:
    source = recurl.zoo.stack_matters() if on_model else stack_matters()
    learner = recurl.RecursiveQLearning(source, preset="swift", episode_limit=200).learn(60_000)
    returns = evaluate(learner, [stack_matters() for _ in range(3)], 600)
    # The best policy earns 43/55; one that cannot see its calls does not get there.
    assert returns.mean() == pytest.approx(43 / 55, abs=0.08)


def test_batches_behind_wrappers_follow_calls() -> None:
    env = FlattenObservation(stack_matters())
    learner = recurl.RecursiveQLearning(env, preset="swift").learn(30_000)
    returns = evaluate(learner, [FlattenObservation(stack_matters()) for _ in range(2)], 600)
    assert returns.mean() == pytest.approx(43 / 55, abs=0.08)


def test_flat_learners_need_no_events() -> None:
    learner = recurl.QLearning(gym.make("recurl/Cloud-v0"), preset="swift").learn(5_000)
    returns = evaluate(learner, [gym.make("recurl/Cloud-v0")] * 1, 50)
    assert -8.01 < returns.mean() < -4.5


def test_a_deep_learner_takes_batches() -> None:
    learner = recurl.DeepRecursiveQLearning(gym.make("recurl/Cloud-v0"), **ON_ENVIRONMENT).learn(60)
    actions, states = learner.predict(np.array([0, 0]))
    assert (actions.shape, len(states)) == ((2,), 2)
    actions, states = learner.predict(np.array([8, 0]), states, np.array([False, True]))
    assert [len(state.contexts) for state in states] == [2, 1]


def test_infos_may_be_given_with_a_batch() -> None:
    model = recurl.zoo.cloud()
    learner = recurl.RecursiveQLearning(model, preset="swift").learn(1000)
    none = {"event": None}
    _, states = learner.predict(np.array([0, 0]), info=[none, none])
    call = {"event": "call", "exits": (5,)}
    _, states = learner.predict(np.array([8, 0]), states, info=[call, none])
    assert [len(state) for state in states] == [2, 1]
    with pytest.raises(ValueError, match="2 observations need as many states"):
        learner.predict(np.array([0, 0]), states[:1])


class Dive(gym.Env[Any, Any]):
    """Calls, comes back and ends."""

    observation_space = spaces.Dict({"depth": spaces.Discrete(3), "far": spaces.Box(0, 1, (2,))})
    action_space = spaces.Discrete(2)

    def show(self, depth: int) -> dict[str, Any]:
        return {"depth": np.int64(depth), "far": np.zeros(2, np.float32)}

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.place = 0
        return self.show(0), {"event": None}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place += 1
        if self.place == 1:
            return self.show(1), 0.0, False, False, {"event": "call", "exits": [self.show(2)]}
        if self.place == 2:
            return self.show(2), 0.0, False, False, {"event": "return", "exit": 0}
        return self.show(0), 1.0, True, False, {"event": None}


def test_where_calls_are_not_seen_info_is_asked_for() -> None:
    env = Dive()
    learner = recurl.RecursiveQLearning(env).learn(30)
    observation, info = env.reset()
    with pytest.raises(ProtocolError, match=r"give predict the environment's info=.*learner\.test"):
        learner.predict(observation)
    _, state = learner.predict(observation, info=info)
    with pytest.raises(ProtocolError, match="info= at every step"):
        learner.predict(observation, state)
    batch = {"depth": np.zeros(2, np.int64), "far": np.zeros((2, 2), np.float32)}
    actions, states = learner.predict(batch, info=[info, info])
    assert (actions.shape, len(states)) == ((2,), 2)


@needs_sb3
def test_stable_baselines3_evaluates_learners() -> None:
    from stable_baselines3.common.evaluation import evaluate_policy

    learner = recurl.RecursiveQLearning(recurl.zoo.cloud(), preset="swift", episode_limit=200)
    mean, _ = evaluate_policy(learner.learn(20_000), gym.make("recurl/Cloud-v0"), 100, warn=False)
    assert mean == pytest.approx(-5.34, abs=0.1)


@pytest.mark.parametrize("kind", [recurl.RecursiveQLearning, recurl.ModelBasedRecursiveLearning])
def test_calls_and_returns_without_a_state_are_refused(kind: Any) -> None:
    env = Dive()
    learner = kind(env).learn(30)
    observation, info = env.reset()
    learner.predict(observation, info=info)
    for event in ("call", "return"):
        observation, *_, info = env.step(0)
        with pytest.raises(ProtocolError, match=f"'{event}', but no state .*state, info=info"):
            learner.predict(observation, info=info)
        # A cut after a call: an episode begins.
        learner.predict(observation, info=info, episode_start=True)


def test_flat_learners_need_no_state() -> None:
    env = Dive()
    learner = recurl.QLearning(env).learn(30)
    env.reset()
    observation, *_, info = env.step(0)
    learner.predict(observation, info=info)


def learners_of_all_kinds() -> list[Any]:
    model, env = recurl.zoo.cloud(), gym.make("recurl/Cloud-v0")
    small = {**ON_ENVIRONMENT, "evaluate_every": 0}
    return [
        recurl.RecursiveQLearning(model),
        recurl.RecursiveQLearning(env),
        recurl.QLearning(model),
        recurl.ModelBasedRecursiveLearning(model, episode_limit=50),
        recurl.DeepRecursiveQLearning(env, **small),
    ]


def test_what_is_not_an_observation_or_a_state_is_refused() -> None:
    for learner in learners_of_all_kinds():
        learner.learn(60)
        info: Any = {"event": None, "action_mask": np.ones(2, np.int8)}
        wrong = [-1, 10**6, 1.5, "x", None, [[[0]]], np.zeros((2, 2)), np.float64(2.0)]
        for observation in wrong:
            with pytest.raises(ProtocolError, match=r"not in the observation space|looks like"):
                learner.predict(observation, info=info)
        for state in ((99,), (-2,), "foo", 7, (None,), ((1.0, 2.0, 3.0),), (), object()):
            with pytest.raises(ProtocolError, match="must be what the last prediction"):
                learner.predict(0, state, info=info)
        with pytest.raises(ProtocolError, match="info must be the environment's dictionary"):
            learner.predict(0, info="x")
        for given in ({"state": 7}, {"episode_start": [True] * 3}):
            with pytest.raises(ValueError, match="2 observations need as many states"):
                learner.predict(np.array([0, 0]), **given)
        _, state = learner.predict(0, info=info)
        if not learner.flat:
            with pytest.raises(ProtocolError, match="no call is pending"):
                learner.predict(5, state, info={**info, "event": "return", "exit": 0})


def test_vertices_where_nothing_is_chosen_are_refused() -> None:
    model = recurl.zoo.cloud()
    learner = recurl.RecursiveQLearning(model).learn(500)
    with pytest.raises(ProtocolError, match=r"T\.u2 has no actions"):
        learner.predict(model.find("T.u2"))
    with pytest.raises(ProtocolError, match=r"S\.u3 is not in T, which runs: hand on the state"):
        learner.predict(model.find("S.u3"))
