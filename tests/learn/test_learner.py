from __future__ import annotations

import copy
import pickle  # noqa: TID251  # what other processes are sent
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from tests.learn.deep.small import ON_MODEL

import recurl
from recurl.errors import LimitError, ProtocolError, UnknownSettingError
from recurl.learn.learner import Learner


class Counter(gym.Env[Any, Any]):
    """Goes on without an end; counts how often it was reset."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)
    resets = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.resets += 1
        return 0, {"event": None}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 1, 0.0, False, False, {"event": None}


def test_all_learners_share_one_face() -> None:
    kinds = (recurl.QLearning, recurl.RecursiveQLearning, recurl.DQN, recurl.DeepRecursiveQLearning)
    for kind in kinds:
        assert issubclass(kind, Learner)
        for name in ("learn", "test", "predict", "save", "load"):
            assert getattr(kind, name).__qualname__ == f"Learner.{name}"
        assert kind.kind == kind.__name__


def test_stops_are_at_tests_or_after_a_chunk() -> None:
    learner = recurl.QLearning(recurl.zoo.cloud(), episode_limit=200, evaluate_every=300)
    stops: list[int] = []
    learner.learn(1000, lambda one: stops.append(one.steps))
    assert stops == [300, 600, 900, 1000]
    assert learner.curve.steps.tolist() == [300, 600, 900]


def test_a_callback_may_end_the_run() -> None:
    learner = recurl.QLearning(recurl.zoo.cloud(), episode_limit=200, evaluate_every=100)
    assert learner.learn(1000, lambda one: one.steps < 300).steps == 300


@pytest.mark.parametrize("loop", ["model", "environment"])
def test_runs_without_ends_are_reported_once(loop: str) -> None:
    build = recurl.Builder("stay").component("A", entries="in", exits="out")
    build.at("in").action("go").to("node")
    model = build.at("node").action("stay").to("node").action("leave", reward=-1).to("out").build()
    subject: Any = model if loop == "model" else recurl.ModelEnv(model)
    learner = recurl.QLearning(subject, exploration=0.0)
    learner.learn(40_000)
    with pytest.warns(UserWarning, match="no episode has ended .* gamma below 1.* episode_limit"):
        learner.learn(20_000)
    learner.learn(60_000)
    recurl.QLearning(subject, exploration=0.0, episode_limit=100).learn(60_000)


def test_a_base_learner_does_nothing_itself() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Learner()  # type: ignore[abstract]


def test_what_a_limit_leaves_is_saved_before_any_stop(tmp_path: Path) -> None:
    path = tmp_path / "run"
    learner = recurl.DQN(
        recurl.zoo.cloud(), hidden=(4,), batch=4, warm_up=20, learning_rate=1.0, reward_scale=1e30
    ).learn(10)
    with pytest.raises(LimitError, match="up to step 10 is kept"):
        learner.learn(500, checkpoint=path)
    assert recurl.DQN.load(path, recurl.zoo.cloud()).steps == 10


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (recurl.RecursiveQLearning, {"episode_limit": 50}),
        (recurl.QLearning, {"episode_limit": 50}),
        (recurl.DeepRecursiveQLearning, ON_MODEL),
    ],
)
def test_copies_of_a_learner_learn_the_same_to_the_bit(kind: Any, settings: dict[str, Any]) -> None:
    learner = kind(recurl.zoo.cloud(), **settings).learn(150)
    others = [copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]  # noqa: S301
    learner.learn(50)
    mine = {name: array.tobytes() for name, array in learner.engine.arrays().items()}
    for other in others:
        assert other.steps == 150
        theirs = other.learn(50).engine.arrays()
        assert {name: array.tobytes() for name, array in theirs.items()} == mine


def test_a_learner_takes_its_environment_along() -> None:
    learner = recurl.RecursiveQLearning(recurl.ModelEnv(recurl.zoo.cloud())).learn(500)
    other = copy.deepcopy(learner)
    assert other.engine.env is not learner.engine.env
    assert other.learn(100).steps == 600


@pytest.mark.parametrize("kind", [recurl.RecursiveQLearning, recurl.DQN])
def test_what_is_neither_model_nor_environment_is_refused(kind: Any) -> None:
    name = kind.__name__
    with pytest.raises(TypeError, match=f"{name} takes a model, a .* or its id, not 'cloud'.*make"):
        kind("cloud")
    with pytest.raises(TypeError, match=f"{name} takes a model, a Gymnasium .*, not a list"):
        kind([1])
    with pytest.raises(TypeError, match=f"{name} takes a model, .*, not the class ModelEnv"):
        kind(recurl.ModelEnv)
    with pytest.raises(TypeError, match=f"{name} takes a model or an env.*, and settings by name"):
        kind("MlpPolicy", "CartPole-v1")


@pytest.mark.parametrize("kind", [recurl.QLearning, recurl.DQN])
def test_an_environment_may_be_given_by_its_id(kind: Any) -> None:
    learner = kind("FrozenLake-v1")
    assert learner.engine.env.spec.id == "FrozenLake-v1"
    assert learner.test(2).length >= 1
    assert kind("FrozenLake-v1", evaluation_env="FrozenLake-v1").test(2).length >= 1
    with pytest.raises(TypeError, match="takes a model, a Gymnasium environment or its id"):
        kind("FrozenLake-v1", evaluation_env=3)


@pytest.mark.parametrize("kind", [recurl.QLearning, recurl.ModelBasedRecursiveLearning, recurl.DQN])
def test_learners_that_share_an_environment_begin_episodes(kind: Any) -> None:
    env = Counter()
    one, other = kind(env, evaluate_every=0), kind(env, evaluate_every=0, seed=1)
    one.learn(3)
    assert env.resets == 1
    one.learn(1)
    assert env.resets == 1
    other.learn(2)
    one.learn(1)
    assert env.resets == 3


@pytest.mark.parametrize("kind", [recurl.QLearning, recurl.ModelBasedRecursiveLearning, recurl.DQN])
def test_an_episode_begins_after_tests_in_the_same_environment(kind: Any) -> None:
    env = Counter()
    tests = gym.wrappers.TimeLimit(env, 5)
    learner = kind(env, evaluation_env=tests, evaluate_every=0).learn(3)
    learner.test(2)
    assert env.resets == 3
    learner.learn(3)
    assert env.resets == 4


def test_a_table_takes_one_environment() -> None:
    envs = gym.make_vec("recurl/Cloud-v0", num_envs=2, vectorization_mode="sync")
    with pytest.raises(ProtocolError, match="not in a vector environment: learn_many"):
        recurl.RecursiveQLearning(envs)  # type: ignore[arg-type]


def test_fractions_refer_to_the_steps_of_the_first_call() -> None:
    settings = {"preset": "paper", "exploration": recurl.schedules.linear(1, 0, fraction=0.5)}
    parts = recurl.QLearning(recurl.zoo.cloud(), **settings)  # type: ignore[arg-type]
    whole = recurl.QLearning(recurl.zoo.cloud(), **settings).learn(4000)  # type: ignore[arg-type]
    assert whole.settings.exploration == recurl.schedules.linear(1, 0, 2000)
    parts.learn(1000, budget=4000).learn(3000)
    np.testing.assert_array_equal(parts.engine.arrays()["q"], whole.engine.arrays()["q"])
    assert whole.learn(1000).settings.exploration == recurl.schedules.linear(1, 0, 2000)


def test_a_call_for_no_steps_settles_nothing() -> None:
    learner = recurl.QLearning(recurl.zoo.cloud())
    assert learner.learn(0).learn(4000).settings.exploration == recurl.schedules.linear(
        0.3, 0.1, 2000
    )


def test_unknown_arguments_of_learn_are_answered_with_those_meant() -> None:
    learner: Any = recurl.QLearning(recurl.zoo.cloud())
    with pytest.raises(UnknownSettingError, match=r"QLearning.learn has no .*mean callback\?"):
        learner.learn(10, callbacks=None)
    with pytest.raises(UnknownSettingError, match=r"'steps': did you mean total_timesteps\?"):
        learner.learn(steps=10)


@pytest.mark.parametrize(
    ("method", "name", "meant"),
    [("test", "episode", "episodes"), ("predict", "infos", "info")],
)
def test_unknown_arguments_of_methods_are_answered_with_those_meant(
    method: str, name: str, meant: str
) -> None:
    learner: Any = recurl.QLearning(recurl.zoo.cloud())
    with pytest.raises(UnknownSettingError, match=rf"'{name}': did you mean {meant}\?"):
        getattr(learner, method)(**{name: 1})


@pytest.mark.parametrize("steps", [-5, "5", float("nan"), float("inf")])
def test_steps_are_a_number_of_steps(steps: Any) -> None:
    with pytest.raises(ValueError, match="total_timesteps must be a number of steps, at least 0"):
        recurl.QLearning(recurl.zoo.cloud()).learn(steps)


def test_an_id_is_not_taken_for_a_model_of_the_zoo() -> None:
    with pytest.raises(TypeError, match=r"not 'Nonsense-v0': (?!.*zoo)"):
        recurl.QLearning("Nonsense-v0")


def test_a_loaded_run_keeps_its_budget(tmp_path: Path) -> None:
    model, fading = recurl.zoo.cloud(), recurl.schedules.linear(1, 0.1, fraction=0.5)
    whole, parts = (
        recurl.RecursiveQLearning(model, episode_limit=50, exploration=fading) for _ in range(2)
    )
    parts.learn(1000, budget=4000).save(tmp_path / "a")
    rest = recurl.RecursiveQLearning.load(tmp_path / "a", model).learn(3000)
    np.testing.assert_array_equal(rest.engine.arrays()["q"], whole.learn(4000).engine.arrays()["q"])


def test_without_a_budget_a_fraction_is_over() -> None:
    fading = recurl.schedules.linear(1, 0, fraction=0.5)
    learner = recurl.QLearning(recurl.zoo.cloud(), exploration=fading)
    assert fading.without_budget == recurl.schedules.constant(0)
    first = {learner.predict(0, deterministic=False)[0] for _ in range(20)}
    assert len(first) == 1


def test_the_best_test_is_kept_with_the_run_as_it_was(tmp_path: Path) -> None:
    model = recurl.zoo.cloud()
    learner = recurl.RecursiveQLearning(model, episode_limit=200, evaluate_every=200, seed=2)
    assert learner.best is None
    learner.learn(6000)
    best = learner.best
    assert best is not None
    assert best.score == max(learner.curve, key=lambda score: score.mean)
    assert (best.episodes, best.limit) == (100, 200)
    assert best.learner.steps == best.score.steps < learner.steps
    assert best.learner.test().mean == best.score.mean
    learner.save(tmp_path / "run.ckpt")
    again = recurl.RecursiveQLearning.load(tmp_path / "run.ckpt", model).best
    assert again is not None
    assert (again.score, again.content) == (best.score, best.content)
    assert again.learner.test().mean == best.score.mean


def test_the_best_of_a_run_on_an_environment_is_kept() -> None:
    env, other = (recurl.ModelEnv(recurl.zoo.cloud()) for _ in range(2))
    learner = recurl.QLearning(env, evaluation_env=other, episode_limit=200, evaluate_every=500)
    best = learner.learn(2000).best
    assert best is not None
    assert best.learner.test().mean == best.score.mean
    assert f"{best.score.steps:,.0f} steps" in repr(best)


class Loop(gym.Env[Any, Any]):
    """One state: go on at a cost, or end; a policy that goes on forever."""

    observation_space, action_space = gym.spaces.Discrete(1), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, -0.1 if action == 0 else -1000.0, bool(action), False, {}


def test_greedy_tests_that_are_all_cut_are_spoken_of() -> None:
    settings = {"evaluate_every": 100, "evaluate_episodes": 2, "evaluate_limit": 50}
    learner = recurl.QLearning(Loop(), episode_limit=50, **settings)
    with pytest.warns(UserWarning, match=r"\(3\) was cut after 50 steps, with a mean return of -5"):
        learner.learn(300)
    ends = recurl.QLearning(recurl.zoo.cloud(), episode_limit=200, **settings)
    ends.learn(300)
