"""Deep learning in environments."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import (
    FlattenObservation,
    RecordEpisodeStatistics,
    TimeLimit,
    TransformObservation,
)
from tests.learn.breaches import BREACHES, STEPS_BEFORE, Breach, LateToTell
from tests.learn.deep.small import ON_ENVIRONMENT as TINY
from tests.learn.machine_line import machine_line
from tests.learn.paid_roots import Fees

import recurl
from recurl.errors import LimitError, ProtocolError
from recurl.learn.deep import env_engine, loop, rule
from recurl.learn.deep.env_engine import (
    DeepEnvEngine,
    Seen,
    Sheets,
    blank,
    first_actions,
    policy_action,
    policy_values,
    read,
    take_in,
)
from recurl.learn.deep.learner import DQN, DeepRecursiveQLearning
from recurl.learn.deep.loop import DeepAgent, LoopProgram, new_agent
from recurl.learn.deep.network import NetworkShape
from recurl.learn.deep.replay import ReplayRecord, steps_of
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.learner import SLICE_SECONDS
from recurl.learn.schedules import constant, linear
from recurl.model.tables import CALLS, EXITS, STEP

# Compiled as a whole, as in a run: operation by operation takes longer.
enter = jax.jit(loop.enter, static_argnums=0)
predict = jax.jit(rule.predict, static_argnums=(0, 1))

QUICK: dict[str, Any] = {
    "preset": "paper",
    "hidden": (32, 32),
    "batch": 64,
    "warm_up": 200,
    "target_every": 100,
    "learning_rate": linear(0.003, 0.0003, 3_000),
    "exploration": linear(1.0, 0.3, 1_500),
    "averaging": 0.99,
    "evaluate_every": 0,
}


def test_an_environment_is_learned_like_its_model() -> None:
    env = recurl.ModelEnv(recurl.zoo.stack_matters())
    learner = DeepRecursiveQLearning(env, **QUICK, evaluation_env=env).learn(4_000)
    # The optimum is 0.7818, the best without the stack 0.5; the error of the mean is 0.02.
    assert learner.test(400).mean > 0.72


def test_the_buffer_holds_the_three_cases() -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud(), observation="onehot")
    settings = DeepSettings(hidden=(8,), batch=8, buffer=300, warm_up=1000)
    engine = DeepEnvEngine(env, settings, flat=False)
    engine.advance(300)
    steps = engine.stored
    plain = {name: np.asarray(x) for name, x in steps._asdict().items()}
    learned, box = engine.agent.learned, plain["move"] == 1
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
            q = np.asarray(predict(settings, engine.shape, learned, learned.online, row, values))
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


class Slow(gym.Wrapper[Any, Any, Any, Any]):
    """Steps that take some time."""

    def step(self, action: Any) -> Any:
        time.sleep(SLICE_SECONDS / 8)
        return super().step(action)


def test_a_copy_that_takes_long_is_made_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = DQN(Slow(gym.make("recurl/Cloud-v0")), **TINY).learn(20)
    copied, copies = env_engine._copied, []

    def slowly(agent: DeepAgent) -> DeepAgent:
        copies.append(agent.step)
        time.sleep(2 * SLICE_SECONDS)
        return copied(agent)

    monkeypatch.setattr(env_engine, "_copied", slowly)
    learner._slice = 16
    learner.learn(112)
    assert len(copies) <= 5  # about 20 if slices take a moment, whatever the copy takes


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
    assert np.isfinite(learner.engine.arrays()["learned.online.layers.0.weights"]).all()


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": np.nan}, "the reward must be finite, not nan"),
        ({"exit": 5}, r"with a return, info\['exit'\] must .* not 5"),
        ({"event": "cal"}, r"info\['event'\] must be one of .* not 'cal'"),
        ({"exits": ()}, r"with a call, info\['exits'\] must be a list"),
        ({"after": 1.0}, "exit 0 was announced as .* but the observation is "),
        ({"mask": np.zeros(2, np.int8)}, r"info\['action_mask'\] leaves no action"),
    ],
)
def test_a_breach_in_one_of_several_environments_is_named(
    changes: dict[str, Any], message: str
) -> None:
    broken = Breach(15, **changes)
    envs = gym.vector.SyncVectorEnv([Breach, lambda: broken])
    learner = DeepRecursiveQLearning(envs, **TINY).learn(28)
    with pytest.raises(ProtocolError, match=rf"step (28|30|32): environment 1: {message}"):
        learner.learn(10)
    broken.at = np.inf
    assert learner.learn(50 - learner.steps).steps == 50


@pytest.mark.parametrize("seen", [-1, 3, 1.5])
def test_an_observation_beyond_a_discrete_space_is_named(seen: Any) -> None:
    env = TransformObservation(Breach(), lambda _: seen, spaces.Discrete(3))
    with pytest.raises(ProtocolError, match=f"{seen} is not of Discrete"):
        DQN(env, **TINY).learn(40)


@pytest.mark.parametrize("reward", [1e39, -1e300])
def test_a_reward_beyond_single_precision_is_named(reward: float) -> None:
    learner = DeepRecursiveQLearning(Breach(STEPS_BEFORE, reward=reward), **TINY)
    with pytest.raises(ProtocolError, match=r"step 31: the reward must be at most 3.4e\+38"):
        learner.learn(40)
    assert learner.steps == STEPS_BEFORE


def test_an_exit_value_that_is_not_finite_is_named() -> None:
    def apply(settings: Any, weights: Any, observations: Any, values: Any) -> Any:
        return 3e38 * (weights + observations[:, :1] ** 2 + values.sum(-1, keepdims=True))

    recurl.register_network("huge", lambda settings, shape, key: jnp.ones(shape.actions), apply)
    learner = DeepRecursiveQLearning(Breach(), **{**TINY, "network": "huge", "warm_up": 100})
    with pytest.raises(LimitError, match="an exit value is inf at step 1:"):
        learner.learn(10)


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


def test_an_environment_that_tells_no_event_on_reset_is_not_called_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DeepRecursiveQLearning(LateToTell(), **TINY).learn(20)


SHAPE = NetworkShape((3,), 2, 4)
PLAN = DeepSettings(hidden=(6,), batch=4, buffer=10, warm_up=100, exploration=constant(0.0))


def program(plan: DeepSettings = PLAN) -> LoopProgram:
    return LoopProgram(plan, SHAPE, ReplayRecord(3, 0, "float32", 2, 4))


def new(plan: DeepSettings = PLAN, lanes: int = 3) -> DeepAgent:
    # Compiled, so that no two of its arrays are one.
    return jax.jit(lambda seed: new_agent(program(plan), seed, lanes))(jnp.uint32(0))


def test_what_is_written_is_read() -> None:
    sheets, seen = blank(SHAPE, 2, "uint8")
    rng, written = np.random.default_rng(0), {}
    for name in Seen._fields:
        part = getattr(seen, name)
        part[...] = written[name] = rng.integers(0, 2, part.shape)
    found = read(SHAPE, sheets)
    for name, numbers in written.items():
        np.testing.assert_array_equal(getattr(found, name), numbers)
    assert (found.action.dtype, found.move.dtype) == (jnp.int32, jnp.uint8)
    assert (found.mask.dtype, found.there.dtype) == (jnp.bool_, jnp.uint8)
    assert found.ports.shape == (2, 2, 3)
    assert found.ports_mask.shape == (2, 2, 4)


def filled() -> tuple[Sheets, Seen]:
    """A step, a call with one of two exits, and a return through an exit worth 7."""
    rng = np.random.default_rng(0)
    sheets, seen = blank(SHAPE, 3, "float32")
    for part in (seen.here, seen.there, seen.next, seen.values, seen.popped, seen.ports):
        part[...] = rng.random(part.shape)
    seen.move[:], seen.worth[:] = [STEP, CALLS, EXITS], [0, 0, 7]
    seen.reward[:], seen.action[:] = [1, 2, 3], [0, 1, 2]
    seen.mask[...] = seen.next_mask[...] = 1
    seen.real[:] = 1
    seen.ports_mask[1, 0, :3] = 1
    return sheets, seen


def test_each_move_is_stored_with_its_number_and_goes_on_in_its_values() -> None:
    agent = new()
    learned = jax.tree.map(jnp.copy, agent.learned)
    sheets, seen = filled()
    agent, told = take_in(program(), agent, sheets)
    steps = steps_of(program().record, agent.buffer)
    about = (PLAN, SHAPE, learned, learned.online)
    q = predict(*about, jnp.asarray(seen.ports[1, 0]), jnp.asarray(seen.values[1]))
    np.testing.assert_allclose(steps.other[1:3], [float(q[:3].max()), 7], rtol=1e-5)
    after = [seen.values[0], np.zeros(2), seen.popped[2]]
    np.testing.assert_allclose(steps.values_there[:3], after, rtol=1e-6)
    np.testing.assert_allclose(told[:, 2:], after, rtol=1e-6)
    assert steps.move[:3].tolist() == [STEP, CALLS, EXITS]
    assert int(agent.step) == 3
    wanted = predict(*about, jnp.asarray(seen.next), jnp.asarray(after))
    assert told[:, 0].tolist() == wanted.argmax(axis=1).tolist()


def test_lanes_that_only_begin_are_not_stored_and_begin_with_equal_exits() -> None:
    sheets, seen = filled()
    seen.real[:], seen.ends[:] = [0, 1, 0], [1, 0, 0]
    agent, told = take_in(program(), new(), sheets)
    assert int(agent.step) == 1
    assert steps_of(program().record, agent.buffer).reward.tolist() == [2, *[0] * 9]
    assert told[0, 2:].tolist() == [0, 0]


def test_as_many_updates_as_steps() -> None:
    plan = DeepSettings(hidden=(6,), batch=4, buffer=10, warm_up=1)
    sheets, _ = filled()
    agent, _ = take_in(program(plan), new(plan), sheets)
    assert int(agent.learned.updates) == 2  # the first step is for warming up
    single, seen = blank(SHAPE, 1, "float32")
    seen.real[:], seen.mask[...], seen.next_mask[...] = 1, 1, 1
    agent, _ = take_in(program(plan), agent, single)
    assert int(agent.learned.updates) == 3


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_exit_values_of_exits_that_exist(gamma: float) -> None:
    plan = DeepSettings(hidden=(6,), batch=4, buffer=10, gamma=gamma)
    learned, rng = new(plan).learned, np.random.default_rng(1)
    values = jnp.asarray(rng.random(2, np.float32))
    ports, mask = jnp.asarray(rng.random((2, 3), np.float32)), jnp.ones((2, 4), bool)
    both = (learned, learned.online)
    found, least = enter(program(plan), *both, values, (ports, mask))
    q = predict(plan, SHAPE, *both, ports, jnp.stack([values, values])).max(axis=1)
    # With a discount exit values are not shifted.
    shift = float(q.min()) if gamma == 1 else 0.0
    np.testing.assert_allclose(found, q - shift, atol=1e-6)
    assert float(least) == pytest.approx(shift)
    np.testing.assert_allclose(policy_values(program(plan), learned, values, ports, mask), found)
    one, least = enter(program(plan), *both, values, (ports, mask.at[0].set(False)))
    np.testing.assert_allclose(one, [0, 0 if gamma == 1 else q[1]], atol=1e-6)
    assert float(least) == pytest.approx(float(q[1]) if gamma == 1 else 0.0)


def test_actions_that_do_not_exist_are_not_chosen() -> None:
    plan = DeepSettings(hidden=(6,), batch=4, buffer=10, exploration=constant(1.0))
    lanes = 400
    agent = new(plan, lanes)
    features, values = np.zeros((lanes, 3), np.float32), np.zeros((lanes, 2), np.float32)
    mask = np.tile(np.array([False, True, False, True]), (lanes, 1))
    found = np.asarray(first_actions(program(plan), agent, features, values, mask)[0])
    assert set(found.tolist()) == {1, 3}
    assert 140 < (found == 1).sum() < 260
    single = policy_action(program(plan), agent.learned, features[0], values[0], mask[0])
    assert int(single) in (1, 3)


class Pictures(gym.Env[Any, Any]):
    """A bright or a dark half of a picture says which action pays."""

    observation_space = spaces.Box(0, 255, (6, 4), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = bool(self.np_random.integers(2))
        picture = self.np_random.integers(0, 100, (6, 4), np.uint8)
        picture[:, :2] += 100 * self.left
        return picture, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        picture = np.zeros((6, 4), np.uint8)
        return picture, float(action == self.left), True, False, {}


def test_pictures_are_learned_from_and_stored_as_bytes() -> None:
    given = {**TINY, "hidden": (16,), "batch": 16, "buffer": 2_000}
    learner = DQN(
        Pictures(), **given, network="cnn", activation="relu", evaluation_env=Pictures(),
        learning_rate=0.005, exploration=0.3,
    )  # fmt: skip
    learner.learn(300)
    assert learner.engine.agent.buffer.shown.dtype == np.uint8
    assert learner.test(100).mean > 0.95


@pytest.mark.parametrize("kind", [DQN, DeepRecursiveQLearning])
def test_counterfactual_steps_are_stored_beside_the_steps_of_the_run(kind: Any) -> None:
    env = machine_line(counterfactual=True)
    most = env.counterfactuals
    told: list[tuple[float, ...]] = []
    step = env.step

    def watched(action: Any) -> Any:
        result = step(action)
        told.append((result[1], *(one.reward for one in result[4].get("counterfactuals", ()))))
        return result

    env.step = watched
    given = {**TINY, "max_exits": 13, "warm_up": 100}
    learner = kind(env, **given, episode_limit=20).learn(40)
    engine = learner.engine
    rows = 1 + most
    rewards = np.asarray(engine.stored.reward)[: 40 * rows].reshape(40, rows)
    for found, wanted in zip(rewards, told, strict=True):
        if kind is DQN:
            assert found[: len(wanted)].tolist() == pytest.approx(wanted)
        # Rows of counterfactual steps that do not exist repeat the step itself.
        assert set(found[len(wanted) :].tolist()) <= {float(wanted[0])}
    calls = np.asarray(engine.stored.move)[: 40 * rows].reshape(40, rows)[:, 1:] == CALLS
    assert calls.any() == (kind is DeepRecursiveQLearning)


def test_counterfactual_steps_do_not_take_the_place_of_those_of_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes, draws = [], loop.batch_draws
    monkeypatch.setattr(loop, "batch_draws", lambda *to: sizes.append(to[2]) or draws(*to))
    env = machine_line(counterfactual=True)
    learner = DQN(env, **{**TINY, "hidden": (5,)}).learn(40)
    rows = 1 + env.counterfactuals
    assert set(sizes) == {learner.settings.batch * rows}
    assert len(learner.engine.stored.reward) == learner.settings.buffer * rows


def test_lanes_of_a_vector_environment_store_their_own_counterfactual_steps() -> None:
    envs = gym.vector.SyncVectorEnv([lambda: machine_line(counterfactual=True)] * 2)
    learner = DQN(envs, **{**TINY, "warm_up": 100}).learn(20)
    rows = 1 + machine_line(counterfactual=True).counterfactuals
    stored = np.asarray(learner.engine.stored.reward)
    assert np.count_nonzero(stored[: 20 * rows]) == 20 * rows
    assert not stored[20 * rows :].any()


def test_the_network_sees_whether_the_outermost_call_runs(tmp_path: Path) -> None:
    settings = {**TINY, "batch": 16, "warm_up": 100, "buffer": 2000, "target_every": 50}
    settings |= {"learning_rate": 0.01, "exploration": 0.3, "episode_limit": 20, "max_exits": 1}
    apart, shared = (DeepRecursiveQLearning(Fees(), own_root=x, **settings) for x in (True, False))
    assert (apart.engine.shape.observation, shared.engine.shape.observation) == ((3,), (2,))
    assert (apart.learn(1500).test(2).mean, shared.learn(1500).test(2).mean) == (-2, -8)
    env = Fees()
    (observation, info), state, actions, over = env.reset(), None, [], False
    while not over:
        action, state = apart.predict(observation, state, info=info)
        actions.append(int(action))
        observation, _, over, _, info = env.step(action)
    assert actions == [0, 1, 1]
    apart.save(tmp_path / "run.zip")
    again = DeepRecursiveQLearning.load(tmp_path / "run.zip", Fees())
    assert again.test(2).mean == -2


class Halls(gym.Env[Any, Any]):
    """Calls with two exits, from the fourth episode on with five; only the last one pays."""

    observation_space = gym.spaces.Discrete(12)
    action_space = gym.spaces.Discrete(2)
    episode, doors = 0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode += 1
        self.doors, self.at = 2 if self.episode < 4 else 5, 0
        return 0, {"event": None}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if self.at == 0:
            self.at = 1
            call = {"event": "call", "exits": [2 + k for k in range(self.doors)]}
            return 1, 0.0, False, False, call
        if self.at == 1:
            self.at = 2 + (self.doors - 1) * int(action)
            return self.at, 0.0, False, False, {"event": "return", "exit": self.at - 2}
        return 11, float(self.at == 1 + self.doors), True, False, {"event": None}


def test_the_number_of_exits_is_inferred_and_grows(tmp_path: Path) -> None:
    learner = DeepRecursiveQLearning(Halls(), **TINY, own_root=False)
    with pytest.warns(UserWarning, match=r"more exits than all before \(2\)"):
        learner.learn(300)
    assert learner.engine.shape.exits == 5
    assert learner.steps == 300
    learner.save(tmp_path / "run")
    loaded = DeepRecursiveQLearning.load(tmp_path / "run", Halls())
    assert loaded.engine.shape.exits == 5
    for name, array in learner.engine.arrays().items():
        assert array.tobytes() == loaded.engine.arrays()[name].tobytes(), name


def test_what_was_learned_with_fewer_exits_is_kept() -> None:
    env = Halls()
    learner = DeepRecursiveQLearning(env, **TINY, own_root=False)
    learner.learn(
        6
    )  # two episodes; one before them ended at the first call, which showed two exits
    seen = steps_of(learner.engine.program.record, learner.engine.agent.buffer)
    info = {"event": None}
    before = [learner.predict(x, info=info)[0] for x in range(12)]
    with pytest.warns(UserWarning, match="more exits"):
        learner.learn(1)
    after = steps_of(learner.engine.program.record, learner.engine.agent.buffer)
    assert before == [learner.predict(x, info=info)[0] for x in range(12)]
    np.testing.assert_array_equal(after.reward[:6], seen.reward[:6])
    np.testing.assert_array_equal(after.values[:6, :2], seen.values[:6])
    assert not after.values[:6, 2:].any()
