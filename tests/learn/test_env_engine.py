"""Learning in environments: protocol, masks, ends, tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit
from tests.learn.breaches import BREACHES, STEPS_BEFORE, Breach
from tests.learn.machine_line import machine_line
from tests.learn.paid_roots import PAID, Fees

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
    learner = recurl.RecursiveQLearning(env, learning_rate=1.0, quantum=0.0)
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
    learner = recurl.RecursiveQLearning(env, learning_rate=1.0).learn(20)
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
    ).learn(10_000)
    assert learner.curve.last.mean == pytest.approx(-5.34, abs=0.1)
    with pytest.raises(ValueError, match="predict"):
        learner.policy()


def test_environments_by_id_make_their_own_test_environment() -> None:
    env = gym.make("recurl/Cloud-v0")
    learner = recurl.RecursiveQLearning(env, preset="swift", evaluate_every=1000).learn(1000)
    assert len(learner.curve) == 1


def test_memory_has_a_limit() -> None:
    env = recurl.ModelEnv(recurl.zoo.stack_matters())
    learner = recurl.RecursiveQLearning(env, preset="paper", quantum=0.0, memory=100_000)
    with pytest.raises(LimitError, match="quantum"):
        learner.learn(100_000)
    assert learner.engine.n_contexts > 10


@pytest.mark.parametrize(("changes", "message"), BREACHES)
def test_a_breach_stops_the_run_and_leaves_what_was_learned(
    changes: dict[str, Any], message: str
) -> None:
    env = Breach(STEPS_BEFORE, **changes)
    learner = recurl.RecursiveQLearning(env, preset="swift").learn(STEPS_BEFORE)
    before = {name: array.tobytes() for name, array in learner.engine.arrays().items()}
    at = r"step 3[123]: "
    with pytest.raises(ProtocolError, match=at + f"(with a (call|return), )?{message}"):
        learner.learn(3)
    after = {name: array.tobytes() for name, array in learner.engine.arrays().items()}
    assert learner.steps in (31, 32, 33)
    if learner.steps == STEPS_BEFORE:
        assert after == before
    env.at = np.inf
    learner.learn(50 - learner.steps)
    assert learner.steps == 50


def test_it_learns_behind_observation_wrappers_what_it_learns_without() -> None:
    def wrapped() -> gym.Env[Any, Any]:
        inner = TimeLimit(recurl.ModelEnv(recurl.zoo.cloud()), 200)
        return RecordEpisodeStatistics(FlattenObservation(inner))

    learner = recurl.RecursiveQLearning(
        wrapped(), preset="swift", evaluate_every=5000, evaluation_env=wrapped()
    ).learn(10_000)
    assert learner.curve.last.mean == pytest.approx(-5.34, abs=0.1)
    plain = recurl.RecursiveQLearning(
        TimeLimit(recurl.ModelEnv(recurl.zoo.cloud()), 200), preset="swift"
    ).learn(10_000)
    # Observations look different, and everything else is the same to the bit.
    assert learner.engine.arrays()["q"].tolist() == plain.engine.arrays()["q"].tolist()


def test_an_environment_without_events_is_told_once() -> None:
    learner = recurl.RecursiveQLearning(gym.make("FrozenLake-v1"))
    with pytest.warns(UserWarning, match="reports no events"):
        learner.learn(50)
    learner.learn(50)
    recurl.QLearning(gym.make("FrozenLake-v1")).learn(50)


def test_predicting_without_a_mask_leaves_masks_alone() -> None:
    model = recurl.zoo.cloud()
    learner = recurl.QLearning(recurl.ModelEnv(model)).learn(20)
    for vertex in range(model.tables.n_vertices):
        assert learner.predict(vertex)[0] in (0, 1)
    learner.learn(500)


def test_counterfactual_steps_teach_states_of_the_machine_that_the_run_is_not_in() -> None:
    found = {}
    for counterfactual in (False, True):
        learner = recurl.RecursiveQLearning(
            machine_line(counterfactual), exploration=1.0, learning_rate=1.0, episode_limit=3,
            preset="paper", seed=1,
        ).learn(200)  # fmt: skip
        env = learner.engine.env
        at_home = env._encode(2, env._moves.state_number["home"], 0)
        found[counterfactual] = learner.engine.greedy(0, at_home, None)
    # An episode of three steps never comes home: only a counterfactual step shows what pays there,
    # and the first action is taken where nothing is known.
    assert found == {False: 0, True: 1}


@pytest.mark.parametrize("kind", [recurl.RecursiveQLearning, recurl.QLearning])
def test_learning_from_counterfactual_steps_ends_where_plain_learning_does(kind: Any) -> None:
    returns = []
    for counterfactual in (False, True):
        env, tests = machine_line(counterfactual), machine_line(counterfactual)
        learner = kind(
            env, exploration=0.5, learning_rate=1.0, preset="paper", episode_limit=100,
            evaluation_env=tests, seed=2,
        ).learn(10_000)  # fmt: skip
        returns.append(learner.test(3).mean)
    assert returns == [10.0, 10.0]  # one step west, three east, and one more at the east end


def test_a_counterfactual_reward_that_is_not_finite_stops_the_run() -> None:
    env = machine_line(counterfactual=True)
    step = env.step

    def broken(action: Any) -> Any:
        *rest, info = step(action)
        others = tuple(one._replace(reward=float("nan")) for one in info["counterfactuals"])
        return *rest, {**info, "counterfactuals": others}

    env.step = broken
    with pytest.raises(ProtocolError, match="step 0: the reward must be finite"):
        recurl.QLearning(env).learn(10)


def play_by_predict(learner: Any, env: gym.Env[Any, Any]) -> float:
    """Return of an episode."""
    (observation, info), state, total, over = env.reset(seed=0), None, 0.0, False
    while not over:
        action, state = learner.predict(observation, state, info=info)
        observation, reward, over, _, info = env.step(action)
        total += float(reward)
    return total


@pytest.mark.parametrize("kind", PAID)
def test_a_root_that_is_paid_at_its_end_is_learned_apart(kind: Any, tmp_path: Path) -> None:
    learner = recurl.RecursiveQLearning(kind(), episode_limit=200).learn(30_000)
    assert learner.test(1000).mean == pytest.approx(kind.best, abs=kind.tolerance)
    assert play_by_predict(learner, kind()) > kind.best - 25
    learner.save(tmp_path / "run.zip")
    again = recurl.RecursiveQLearning.load(tmp_path / "run.zip", kind()).learn(1000)
    assert again.test(1000).mean == pytest.approx(kind.best, abs=kind.tolerance)


def test_a_root_of_its_own_can_be_turned_off() -> None:
    apart = recurl.RecursiveQLearning(Fees(), episode_limit=200).learn(5000)
    shared = recurl.RecursiveQLearning(Fees(), episode_limit=200, own_root=False)
    with pytest.warns(UserWarning, match="set own_root=True"):
        shared.learn(5000)
    assert (apart.test(1).mean, shared.test(1).mean) == (-2, -8)
    assert not recurl.RecursiveQLearning(Fees(), preset="paper").settings.own_root


def test_environments_made_from_models_share_the_root_with_calls() -> None:
    env = gym.make("recurl/Cloud-v0")
    made = [recurl.RecursiveQLearning(env, own_root=own) for own in (True, False)]
    apart, shared = (learner.learn(500) for learner in made)
    for name, array in shared.engine.arrays().items():
        assert np.array_equal(apart.engine.arrays()[name], array)


def test_a_table_on_continuous_observations_says_what_helps() -> None:
    learner = recurl.QLearning(gym.make("CartPole-v1"))
    with pytest.warns(UserWarning, match="different observations in .* Use DeepRecursiveQLearning"):
        learner.learn(6000)
