from __future__ import annotations

import pytest

import recurl
from recurl.errors import UnknownNameError
from recurl.zoo.environment import ZooEnv, maps_of


def test_settings_go_to_the_environment_and_parameters_to_the_model() -> None:
    env = ZooEnv("palindrome", "features", "ansi", masked="error", size=2)
    assert env.model == recurl.zoo.palindrome(size=2)
    assert (env.observation_space.shape, env.render_mode, env.masked) == ((7,), "ansi", "error")


def test_an_unknown_model_is_answered_with_close_ones() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cloud'"):
        ZooEnv("clowd")


def test_frames_show_the_map_that_a_gridworld_is_made_from() -> None:
    assert maps_of("cloud") is None
    assert maps_of("battery", layout="S.T") == "S.T"
    assert maps_of("spelunking") == {"level0": "oxo/oxo/oxo", "level1": "oox/xoo/rxo"}
    plain = ZooEnv("battery", render_mode="rgb_array", layout="S.T")
    other = ZooEnv("battery", render_mode="rgb_array", layout="S.T")
    other._maps = None
    for env in (plain, other):
        env.reset(seed=0)
    assert (plain.render() != other.render()).any()
