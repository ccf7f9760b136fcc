"""Deep learning in environments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit
from tests.learn.breaches import BREACHES, STEPS_BEFORE, Breach

import recurl
from recurl.errors import LimitError, ProtocolError
from recurl.learn.deep.foreign import DeepForeignEngine
from recurl.learn.deep.foreign_loop import kept
from recurl.learn.deep.learner import DQN, DeepRecursiveQLearning
from recurl.learn.deep.replay import steps_of
from recurl.learn.deep.rule import predict
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.schedules import linear

QUICK: dict[str, Any] = {
    "preset": "paper",
    "hidden": (32, 32),
    "batch": 64,
    "buffer": 5_000,
    "warm_up": 200,
    "target_every": 100,
    "learning_rate": linear(0.003, 0.0003, 4_000),
    "exploration": linear(1.0, 0.3, 2_000),
    "averaging": 0.99,
    "evaluate_every": 0,
}
TINY: dict[str, Any] = {
    "preset": "paper",
    "hidden": (8,),
    "batch": 8,
    "warm_up": 20,
    "buffer": 300,
    "evaluate_every": 0,
}


def test_an_environment_is_learned_like_its_model() -> None:
    env = recurl.ModelEnv(recurl.zoo.stack_matters())
    learner = DeepRecursiveQLearning(env, **QUICK, evaluation_env=env).learn(5_000)
    # The optimum is 0.7818, the best without the stack 0.5; the error of the mean is 0.012.
    assert learner.test(1_000).mean > 0.72


def test_the_buffer_holds_the_three_cases() -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud(), observation="onehot")
    settings = DeepSettings(hidden=(8,), batch=8, buffer=300, warm_up=1000)
    engine = DeepForeignEngine(env, settings, flat=False)
    engine.advance(300)
    steps = steps_of(kept((settings.plan, engine.shape)), engine.mind.buffer)
    plain = {name: np.asarray(x) for name, x in steps._asdict().items()}
    brain, box = engine.mind.brain, plain["move"] == 1
    assert box.sum() > 30
    t = recurl.zoo.cloud().tables
    pending: list[np.ndarray] = []
    for i in range(300):
        here, values = plain["here"][i], plain["values"][i]
        after, other = plain["values_there"][i], plain["other"][i]
        if plain["move"][i] == 0:
            np.testing.assert_array_equal(after, values)
        elif plain["move"][i] == 2:
            assert other in values
            ended = not pending
            np.testing.assert_array_equal(after, 0 if ended else pending.pop())
        else:
            pending.append(values)
            vertex = int(here.argmax())
            calls = [
                j for a in range(t.action_start[vertex], t.action_start[vertex + 1])
                for j in range(t.transition_start[a], t.transition_start[a + 1])
                if t.move[j] == 1 and a == t.action_start[vertex] + plain["action"][i]
            ]  # fmt: skip
            boxes = {int(t.move_box[j]) for j in calls}
            assert len(boxes) == 1
            port = int(t.box_return[boxes.pop()])
            assert (after >= 0).all()
            row = np.eye(t.n_vertices, dtype=np.float32)[port]
            q = np.asarray(predict(settings, brain, brain.online, row, values))
            # What actions a return port has is known once it was seen; until then all count.
            count = int(t.action_start[port + 1] - t.action_start[port])
            if not (after > 0).any() and i > 250:
                assert other <= q.max() + 1e-5
            assert count == 1


def test_several_environments_side_by_side() -> None:
    envs = gym.make_vec("recurl/StackMatters-v0", 4, vectorization_mode="sync")
    learner = DeepRecursiveQLearning(envs, **TINY).learn(200)
    assert 200 <= learner.steps < 204
    assert learner.engine.episodes > 10
    assert np.isfinite(learner.engine.loss)
    score = learner.test(10)
    assert score.length >= 1


def test_a_run_may_be_saved_and_taken_up(tmp_path: Path) -> None:
    env = gym.make("recurl/Cloud-v0")
    learner = DQN(env, **TINY).learn(100)
    learner.save(tmp_path / "run.ckpt")
    again = DQN.load(tmp_path / "run.ckpt", env)
    for name, array in learner.engine.arrays().items():
        assert array.tobytes() == again.engine.arrays()[name].tobytes(), name
    assert (again.steps, again.engine.episodes) == (100, learner.engine.episodes)
    assert again.learn(50).steps == 150


def test_the_same_seed_gives_the_same_run() -> None:
    def weights() -> dict[str, np.ndarray]:
        env = gym.make("recurl/Cloud-v0")
        return DQN(env, **TINY, seed=4).learn(100).engine.arrays()

    one, two = weights(), weights()
    assert all(one[name].tobytes() == two[name].tobytes() for name in one)


def test_a_call_with_more_exits_than_expected_names_the_knob() -> None:
    env = gym.make("recurl/Cloud-v0")
    learner = DeepRecursiveQLearning(env, **TINY, max_exits=1)
    with pytest.raises(ProtocolError, match="has 2 exits, but the network 1: set max_exits"):
        learner.learn(500)


def test_divergence_keeps_what_was_learned() -> None:
    env = gym.make("recurl/Cloud-v0")
    learner = DQN(env, **TINY, learning_rate=1.0, reward_scale=1e30).learn(20)
    with pytest.raises(LimitError, match=r"at step 2\d: lower learning_rate.*up to step 20"):
        learner.learn(100)
    assert learner.steps == 20
    assert np.isfinite(learner.engine.arrays()["brain.online.layers.0.weights"]).all()


def test_actions_must_be_numbered() -> None:
    with pytest.raises(ProtocolError, match="Discrete actions"):
        DeepRecursiveQLearning(gym.make("Pendulum-v1"), **TINY)


class Lost(gym.Env[Any, Any]):
    """Returns without a call."""

    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return 0, {"event": None}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return 0, 0.0, False, False, {"event": "return", "exit": 0}


def test_a_return_without_a_call_is_refused() -> None:
    with pytest.raises(ProtocolError, match="no call is pending"):
        DeepRecursiveQLearning(Lost(), **TINY).learn(5)


def test_predict_in_an_environment() -> None:
    env = gym.make("recurl/Cloud-v0")
    learner = DeepRecursiveQLearning(env, **TINY).learn(60)
    observation, info = env.reset(seed=0)
    action, state = learner.predict(observation, info=info)
    assert state == ((0.0, 0.0),)
    observation, *_, info = env.step(1)
    action, state = learner.predict(observation, state, info=info)
    assert len(state) == 2
    assert min(state[1]) == 0
    assert action in (0, 1)
    assert learner.engine.legal(observation, info["action_mask"]) == [0, 1]


@pytest.mark.parametrize(("changes", "message"), BREACHES)
def test_a_breach_stops_the_run_and_leaves_what_was_learned(
    changes: dict[str, Any], message: str
) -> None:
    env = Breach(STEPS_BEFORE, **changes)
    learner = DeepRecursiveQLearning(env, **TINY).learn(STEPS_BEFORE)
    at = r"step 3[123]: "
    with pytest.raises(ProtocolError, match=at + f"(with a (call|return), )?{message}"):
        learner.learn(3)
    assert learner.steps in (31, 32, 33)
    assert np.isfinite(learner.engine.loss)
    env.at = np.inf
    learner.learn(50 - learner.steps)
    assert learner.steps == 50


@pytest.mark.parametrize("many", [False, True])
def test_it_learns_behind_observation_wrappers_what_it_learns_without(many: bool) -> None:
    def wrapped() -> gym.Env[Any, Any]:
        inner = TimeLimit(recurl.ModelEnv(recurl.zoo.cloud()), 200)
        return RecordEpisodeStatistics(FlattenObservation(inner))

    def plain() -> gym.Env[Any, Any]:
        return TimeLimit(recurl.ModelEnv(recurl.zoo.cloud()), 200)

    found = []
    for make in (wrapped, plain):
        env = gym.vector.SyncVectorEnv([make] * 2) if many else make()
        learner = DeepRecursiveQLearning(env, **TINY, evaluation_env=make()).learn(120)
        found.append({name: a.tobytes() for name, a in learner.engine.arrays().items()})
        assert learner.test(3).length > 1
    assert found[0] == found[1]


def test_an_environment_without_events_is_told_once() -> None:
    learner = DeepRecursiveQLearning(recurl.FlatView(Breach()), **TINY)
    with pytest.warns(UserWarning, match="reports no events"):
        learner.learn(10)
    learner.learn(10)
