from __future__ import annotations

import pytest

import recurl
from recurl.errors import UnknownNameError
from recurl.zoo.environment import ZooEnv


def test_settings_go_to_the_environment_and_parameters_to_the_model() -> None:
    env = ZooEnv("palindrome", "features", "ansi", masked="error", size=2)
    assert env.model == recurl.zoo.palindrome(size=2)
    assert (env.observation_space.shape, env.render_mode, env.masked) == ((7,), "ansi", "error")


def test_an_unknown_model_is_answered_with_close_ones() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cloud'"):
        ZooEnv("clowd")
