"""Deep learning as a whole: what it must find, and how runs are saved and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from tests.learn.deep.small import COPIES_ON_MODEL as COPIES
from tests.learn.deep.small import ON_MODEL as TINY

import recurl
from recurl.errors import CheckpointError, LimitError
from recurl.learn.deep.learner import DQN, DeepLearner, DeepRecursiveQLearning
from recurl.learn.schedules import linear
from recurl.learn.seeds import learn_many

QUICK: dict[str, Any] = {
    "hidden": (32, 32),
    "batch": 64,
    "warm_up": 200,
    "target_every": 100,
    "learning_rate": linear(0.003, 0.0003, 3_000),
    "exploration": linear(1.0, 0.3, 1_500),
    "averaging": 0.99,
    "evaluate_every": 0,
}


def test_recursive_learning_finds_the_optimum_where_the_stack_matters() -> None:
    model = recurl.zoo.stack_matters()
    learner = DeepRecursiveQLearning(model, **QUICK).learn(4_000)
    assert recurl.evaluate(learner.policy()).value == pytest.approx(43 / 55, abs=1e-6)
    flat = DQN(model, **QUICK).learn(1_000)
    assert recurl.evaluate(flat.policy()).value <= 0.5 + 1e-9


@pytest.mark.parametrize("kind", [DeepRecursiveQLearning, DQN])
@pytest.mark.parametrize("given", [TINY, COPIES], ids=["one copy", "several copies"])
def test_a_saved_run_goes_on_to_the_bit(
    kind: type[DeepLearner], given: dict[str, Any], tmp_path: Path
) -> None:
    model = recurl.zoo.cloud()
    straight = kind(model, **given, seed=7).learn(250)
    first = kind(model, **given, seed=7).learn(130, budget=250)
    first.save(tmp_path / "run.ckpt")
    second = kind.load(tmp_path / "run.ckpt", model).learn(120)
    assert second.settings == straight.settings
    for name, array in straight.engine.arrays().items():
        assert array.tobytes() == second.engine.arrays()[name].tobytes(), name
    np.testing.assert_array_equal(second.curve.array, straight.curve.array)
    assert straight.curve.steps.tolist() == [50, 100, 150, 200, 250]


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    DeepRecursiveQLearning(recurl.zoo.cloud(), **TINY).learn(10).save(path)
    with pytest.raises(CheckpointError, match="not on this"):
        DeepRecursiveQLearning.load(path, recurl.zoo.gambler())
    with pytest.raises(CheckpointError, match="not of 'DQN'"):
        DQN.load(path, recurl.zoo.cloud())
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CheckpointError, match="damaged"):
        DeepRecursiveQLearning.load(path, recurl.zoo.cloud())


def test_divergence_leaves_the_last_good_checkpoint(tmp_path: Path) -> None:
    model, path = recurl.zoo.cloud(), tmp_path / "run.ckpt"
    learner = DeepRecursiveQLearning(
        model, **{**TINY, "warm_up": 60}, learning_rate=1.0, reward_scale=1e30
    )
    with pytest.raises(LimitError, match="What was learned up to step 50 is kept"):
        learner.learn(200, checkpoint=path)
    assert DeepRecursiveQLearning.load(path, model).steps == learner.steps == 50


@pytest.mark.parametrize("given", [TINY, COPIES], ids=["one copy", "several copies"])
def test_many_seeds_are_what_each_is_alone(given: dict[str, Any]) -> None:
    model = recurl.zoo.cloud()
    together = learn_many(model, 3, 120, algorithm=DeepRecursiveQLearning, workers=2, **given)
    alone = DeepRecursiveQLearning(model, **given, seed=2).learn(120)
    for name, array in alone.engine.arrays().items():
        assert array.tobytes() == together[2].engine.arrays()[name].tobytes(), name


def test_predict_follows_calls_and_returns() -> None:
    model = recurl.zoo.cloud()
    learner = DeepRecursiveQLearning(model, **TINY).learn(60)
    env = recurl.ModelEnv(model)
    observation, info = env.reset(seed=0)
    state, heights = None, []
    for _ in range(30):
        action, state = learner.predict(observation, state, info=info)
        heights.append((len(state), len(env.stack) + 1))
        context = learner.engine.start if len(state) == 1 else state[-1]
        assert action == learner.engine.greedy(context, observation, None)
        observation, _, terminated, _, info = env.step(
            action if action < info["action_mask"].sum() else 0
        )
        if terminated:
            break
    assert all(mine == his for mine, his in heights)


def test_what_a_learner_says_of_itself() -> None:
    learner = DeepRecursiveQLearning(recurl.zoo.countdown(p=0.01), **TINY, stack_limit=5).learn(200)
    text = repr(learner)
    assert text.startswith("<DeepRecursiveQLearning: 200 steps, ")
    assert f"cut ({learner.engine.overflowed} by a full stack), loss " in text
    assert learner.engine.overflowed > 10


def test_a_policy_needs_a_model() -> None:
    env = gym.make("recurl/Cloud-v0")
    with pytest.raises(ValueError, match="needs a learner on a model"):
        DeepRecursiveQLearning(env, **TINY).policy()


@pytest.mark.parametrize("subject", ["model", "environment"])
def test_the_best_policy_is_kept_and_rates_may_be_fractions(subject: str, tmp_path: Path) -> None:
    env = gym.make("recurl/Cloud-v0")
    given = {**TINY, "exploration": linear(1.0, 0.1, fraction=0.5), "evaluate_episodes": 5}
    learner = DeepRecursiveQLearning(recurl.zoo.cloud() if subject == "model" else env, **given)
    learner.learn(150)
    assert learner.settings.exploration == linear(1.0, 0.1, 75)
    assert learner.engine.program.plan.exploration == linear(1.0, 0.1, 75)
    assert learner.best is not None
    assert learner.best.score.mean == learner.curve.mean.max()
    kept = learner.best.learner
    assert kept.steps == learner.best.score.steps
    again = kept.engine.test(5, 100, 1 + kept.steps)[0].mean()
    assert again == pytest.approx(learner.best.score.mean)
    learner.save(tmp_path / "run.ckpt")
    loaded = DeepRecursiveQLearning.load(tmp_path / "run.ckpt", learner.model or env)
    assert loaded.best is not None
    assert loaded.best.learner.steps == kept.steps


def test_a_run_that_outlasts_the_steps_of_its_first_call_says_so() -> None:
    small = {"hidden": (8,), "batch": 8, "warm_up": 10, "buffer": 100, "evaluate_every": 0}
    learner = DeepRecursiveQLearning(recurl.zoo.cloud(), **small).learn(20)
    assert learner.settings.learning_rate == linear(0.002, 0.00005, 20)
    learner.learn(20)
    with pytest.warns(UserWarning, match=r"as in learn\(20, budget=45\)"):
        learner.learn(5)
    learner.learn(5)
    whole = DeepRecursiveQLearning(recurl.zoo.cloud(), **small).learn(20, budget=45)
    assert whole.learn(25).settings.learning_rate == linear(0.002, 0.00005, 45)


def test_the_best_policy_is_kept_without_the_replay_buffer(tmp_path: Path) -> None:
    given = {**TINY, "buffer": 5_000}
    learner = DQN(gym.make("CartPole-v1"), **given).learn(60)
    best = learner.best
    assert best is not None
    learner.save(tmp_path / "run.ckpt")
    assert len(best.content) < 20_000 < (tmp_path / "run.ckpt").stat().st_size
    with pytest.raises(ValueError, match="without the steps that it was learned from"):
        best.learner.learn(1)
    assert learner.learn(1).steps == 61


def test_a_vector_environment_takes_as_many_steps_as_asked_for_and_is_tested_on_time() -> None:
    envs = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync")
    learner = DQN(envs, **TINY, evaluate_episodes=2, n_step=3).learn(100)
    assert learner.steps == 100
    assert learner.curve.steps.tolist() == [50, 100]


def test_a_checkpoint_of_a_version_with_other_arrays_says_so(tmp_path: Path) -> None:
    from recurl.learn.checkpoint import read_checkpoint, write_checkpoint

    path = tmp_path / "run.ckpt"
    DQN(recurl.zoo.cloud(), **TINY).learn(10).save(path)
    header, arrays = read_checkpoint(path, "DQN")
    header["version"] = "0.0.1"
    some = {name: array for name, array in arrays.items() if "sums" not in name}
    write_checkpoint(path, header, some)
    with pytest.raises(CheckpointError, match=r"written by recurl 0\.0\.1, whose deep .* learn"):
        DQN.load(path, recurl.zoo.cloud())
    header["settings"]["momentum"] = 1
    write_checkpoint(path, header, arrays)
    with pytest.raises(CheckpointError, match=r"recurl 0\.0\.1, whose settings .*momentum"):
        DQN.load(path, recurl.zoo.cloud())


def test_dqn_has_defaults_of_its_own() -> None:
    import inspect

    defaults = {kind: inspect.signature(kind).parameters for kind in (DQN, DeepRecursiveQLearning)}
    assert defaults[DQN]["n_step"].default == 5
    assert defaults[DeepRecursiveQLearning]["n_step"].default == 1
    assert DQN(recurl.zoo.cloud()).settings.double
    assert DQN(recurl.zoo.cloud(), preset="paper").settings.n_step == 1
