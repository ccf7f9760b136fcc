from __future__ import annotations

import copy
import pickle  # noqa: TID251  # what other processes are sent
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from tests.definition import models

import recurl
from recurl.env.model_env import encoding
from recurl.errors import ModelError, UnknownNameError


def test_a_run_of_cloud_by_hand() -> None:
    model = recurl.zoo.cloud()
    env = recurl.ModelEnv(model)
    observation, info = env.reset(seed=0)
    assert (observation, info["event"]) == (model.find("T.u1"), None)
    assert info.keys() == {"event", "action_mask"}
    observation, reward, terminated, truncated, info = env.step(1)
    assert (observation, reward, terminated, truncated) == (model.find("S.u3"), -0.5, False, False)
    assert (info["event"], info["exits"]) == ("call", (model.find("T.b1.u4"),))
    assert env.stack == (0,)
    while info["event"] != "return" or env.stack:
        _, _, _, _, info = env.step(0)
    assert info["exit"] == 0
    assert "exits" not in info
    assert info["action_mask"].tolist() == [1, 0]


def test_a_call_announces_every_exit_in_the_chosen_encoding() -> None:
    model = recurl.zoo.cloud()
    env = recurl.ModelEnv(model, "onehot")
    env.reset(seed=0)
    for _ in range(200):
        *_, terminated, _, info = env.step(0 if env.stack else 1)
        if info["event"] == "call" and model.names.boxes[env.stack[-1]] == "b4":
            ports = [model.vertex_name(int(row.argmax())) for row in info["exits"]]
            assert ports == ["S.b4.u6", "S.b4.u7"]
            return
        if terminated:
            env.reset()
    raise AssertionError("the handler was never called")


def test_the_last_observation_is_the_exit_and_nothing_can_be_done_there() -> None:
    model = recurl.zoo.cloud()
    env = recurl.ModelEnv(model)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(0)
    assert (observation, reward, terminated, truncated) == (model.find("T.u2"), -8.0, True, False)
    assert (info["event"], info["action_mask"].tolist()) == (None, [0, 0])
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(0)
    assert env.reset()[0] == model.find("T.u1")


def to_return_port(masked: str) -> recurl.ModelEnv:
    """An environment that stands where there is one action of two."""
    env = recurl.ModelEnv(recurl.zoo.cloud(), masked=masked)
    env.reset(seed=0)
    env.step(1)
    while env.stack:
        env.step(0)
    return env


def test_masked_actions_wrap_around_or_are_refused() -> None:
    *_, info = to_return_port("wrap").step(1)
    assert info["event"] == "call"
    message = r"T\.b1\.u4 has no action 1, only 0 \(next\): see info\['action_mask'\]"
    with pytest.raises(InvalidAction, match=message):
        to_return_port("error").step(1)


@pytest.mark.parametrize("action", [-1, 2, 0.5, "mono"])
def test_what_is_no_action_at_all_is_refused(action: object) -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud())
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"is not in Discrete\(2\)"):
        env.step(action)


def test_unknown_settings_are_answered_with_the_known_ones() -> None:
    model = recurl.zoo.cloud()
    with pytest.raises(UnknownNameError, match="Known: ansi, human, rgb_array"):
        recurl.ModelEnv(model, render_mode="pixels")
    with pytest.raises(UnknownNameError, match="Known: error, wrap"):
        recurl.ModelEnv(model, masked="ignore")


def returns(env: recurl.ModelEnv, seed: int) -> list[float]:
    env.reset(seed=seed)
    rewards, rng = [], np.random.default_rng(seed)
    for _ in range(300):
        _, reward, terminated, _, _ = env.step(rng.integers(2))
        rewards.append(reward)
        if terminated:
            env.reset()
    return rewards


def test_one_seed_is_one_run_whatever_happened_before() -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud())
    first = returns(env, 5)
    assert first != returns(env, 6)
    assert first == returns(env, 5) == returns(recurl.ModelEnv(recurl.zoo.cloud()), 5)


def test_the_mean_return_is_the_value_of_the_policy() -> None:
    env = recurl.ModelEnv(recurl.zoo.countdown(p="1/2"))
    total, episodes = 0.0, 4000
    env.reset(seed=1)
    for _ in range(episodes):
        terminated = False
        while not terminated:
            _, reward, terminated, _, _ = env.step(0)
            total += reward
        env.reset()
    # Calls are geometric: mean 1 and variance 2.
    assert abs(total / episodes - 1) < 5 * np.sqrt(2 / episodes)


def test_the_return_of_a_run_may_be_discounted_by_boxes() -> None:
    model = recurl.zoo.gambler(p=0.4)
    env = recurl.ModelEnv(model, box_gamma=0.5)
    for seed in range(20):
        env.reset(seed=seed)
        ended, counts, expected = False, [1.0], 0.0
        while not ended:
            _, reward, ended, _, info = env.step(0)
            expected += counts[-1] * reward
            counts[-1] /= 2
            if info["event"] == "call":
                counts.append(counts[-1])
            elif info["event"] == "return":
                counts.pop()
        assert env.episode_return == pytest.approx(expected)
    assert gym.make("recurl/Gambler-v0", box_gamma=0.5).unwrapped.box_gamma == 0.5  # type: ignore[attr-defined]
    with pytest.raises(recurl.errors.ModelError, match="has 2 exits"):
        recurl.ModelEnv(recurl.zoo.cloud(), box_gamma=0.9)


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_the_statistics_of_a_run_are_discounted(gamma: float) -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud(), gamma=gamma)
    for seed in (0, 1):
        env.reset(seed=seed)
        assert (env.episode_return, env.episode_length) == (0.0, 0)
        rewards, terminated = [], False
        while not terminated:
            _, reward, terminated, _, _ = env.step(1)
            rewards.append(reward)
        expected = sum(gamma**t * reward for t, reward in enumerate(rewards))
        assert env.episode_length == len(rewards)
        assert env.episode_return == pytest.approx(expected)
    made = gym.make("recurl/Cloud-v0", gamma=gamma).unwrapped
    assert made.gamma == gamma  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"gamma must be in \(0, 1\], not 0"):
        recurl.ModelEnv(recurl.zoo.cloud(), gamma=0)


def test_rendering_as_text_and_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    model = recurl.zoo.cloud()
    silent, text = recurl.ModelEnv(model), recurl.ModelEnv(model, render_mode="ansi")
    shown = recurl.ModelEnv(model, render_mode="human")
    for env in (silent, text, shown):
        env.reset(seed=0)
        env.step(1)
    assert silent.render() is None
    assert text.render() == (
        "T.u1: divide, reward -0.5, calls b1\nT  in b1\n  S  at u3: reliable | fast"
    )
    assert capsys.readouterr().out == f"T  at u1: mono | divide\n\n{text.render()}\n\n"


@given(models())
def test_small_models_of_every_shape_keep_both_protocols(model: recurl.RMDP) -> None:
    for observation in ("index", "onehot"):
        env = recurl.ModelEnv(model, observation)
        recurl.check_recursive_env(env, steps=50)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*not having a spec")
            check_env(env)


def test_a_copy_goes_its_own_way() -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud())
    env.reset(seed=0)
    env.step(1)
    other = copy.deepcopy(env)
    other.step(0)
    assert env.stack == (0,)
    assert env.model == other.model


@pytest.mark.parametrize("observation", ["index", "onehot"])
def test_a_run_begins_at_any_vertex_with_nothing_pending(observation: str) -> None:
    model = recurl.zoo.cloud()
    env = recurl.ModelEnv(model, observation)
    env.reset(seed=0)
    env.step(1)
    for name in ("S.u3", "T.b3.u4", "H.b6.u7"):
        vertex = model.find(name)
        state = vertex if observation == "index" else np.eye(model.tables.n_vertices)[vertex]
        shown, info = env.reset(options={"state": state})
        np.testing.assert_array_equal(shown, state)
        assert env.stack == ()
        assert info["action_mask"].sum() == len(model.action_names(vertex))
    left, _, terminated, *_ = env.step(0)
    assert terminated
    np.testing.assert_array_equal(left, env.observe(model.find("H.u7")))


def test_a_run_does_not_begin_where_nothing_can_be_done() -> None:
    model = recurl.zoo.cloud()
    with pytest.raises(ValueError, match="no vertex with actions"):
        recurl.ModelEnv(model).reset(options={"state": model.find("T.u2")})
    alike = recurl.ModelEnv(recurl.zoo.palindrome(), "features")
    state, _ = alike.reset(seed=0)
    alike.reset(options={"state": state})


@pytest.mark.parametrize("observation", ["index", "onehot"])
def test_copies_go_on_from_the_same_step(observation: str) -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud(), observation)
    env.reset(seed=3)
    env.step(1)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]  # noqa: S301
    assert copies[0].model is env.model
    assert copies[1].model == env.model
    for _ in range(4):
        mine = str(env.step(0))
        assert [str(other.step(0)) for other in copies] == [mine, mine]
    assert env.observe(2) in env.observation_space


def test_index_is_the_number_of_the_vertex() -> None:
    space, encode = encoding(recurl.zoo.cloud(), "index")
    assert space == spaces.Discrete(24)
    assert [encode(v) for v in range(24)] == list(range(24))


def test_onehot_has_a_one_at_the_vertex() -> None:
    space, encode = encoding(recurl.zoo.gambler(), "onehot")
    rows = np.array([encode(v) for v in range(6)])
    np.testing.assert_array_equal(rows, np.eye(6, dtype=np.float32))
    assert all(row in space for row in rows)


def test_features_are_those_of_the_model_within_their_bounds() -> None:
    model = recurl.zoo.palindrome()
    space, encode = encoding(model, "features")
    assert isinstance(space, spaces.Box)
    assert space.shape == (len(model.feature_names),)
    assert model.features is not None
    for vertex in range(0, model.tables.n_vertices, 7):
        np.testing.assert_array_equal(encode(vertex), model.features[vertex].astype(np.float32))
        assert encode(vertex) in space


def test_a_feature_that_never_changes_still_has_a_range() -> None:
    model = (
        recurl.Builder()
        .features("always")
        .component("A", entries="in", exits="out")
        .at("in", features=[0]).action("go").to("out")
        .build()
    )  # fmt: skip
    space, _ = encoding(model, "features")
    assert isinstance(space, spaces.Box)
    assert (space.low < space.high).all()


def test_every_observation_is_an_object_of_its_own() -> None:
    for name in ("onehot", "features"):
        _, encode = encoding(recurl.zoo.palindrome(), name)
        first = encode(3)
        first[:] = 99
        assert encode(3).max() < 99


def test_features_that_the_model_has_not_are_an_error() -> None:
    with pytest.raises(ModelError, match="cloud: its vertices have no features"):
        encoding(recurl.zoo.cloud(), "features")


def test_an_unknown_encoding_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'onehot'\? Known: features, index"):
        encoding(recurl.zoo.cloud(), "one-hot")


def test_masks_are_given_as_agents_with_masks_ask_for_them() -> None:
    env = gym.make("recurl/Cloud-v0")
    _, info = env.reset(seed=0)
    masks = env.get_wrapper_attr("action_masks")()
    assert masks.dtype == bool
    assert masks.tolist() == info["action_mask"].astype(bool).tolist()
