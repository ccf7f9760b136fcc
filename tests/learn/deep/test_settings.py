from __future__ import annotations

from typing import Any

import pytest

from recurl.errors import UnknownNameError
from recurl.learn.deep.settings import PRESETS, DeepSettings, make_deep_settings
from recurl.learn.schedules import constant, harmonic, linear


def test_the_defaults_are_the_papers() -> None:
    s = make_deep_settings("paper", {})
    assert s == DeepSettings()
    assert (s.batch, s.buffer, s.warm_up, s.target_every) == (256, 20_000, 1_000, 500)
    assert (s.hidden, s.train_every) == ((128, 128), 1)
    assert s.learning_rate == constant(0.0005)
    assert s.exploration == linear(1, 0.1, 30_000)
    assert (s.evaluate_every, s.evaluate_episodes, s.test_limit) == (1_000, 100, 100)
    assert s.episode_limit is None


def test_what_is_given_goes_before_the_preset() -> None:
    given = {"batch": 32, "learning_rate": 0.01, "hidden": [8], "value_scale": None}
    s = make_deep_settings("swift", given)
    assert (s.batch, s.learning_rate, s.hidden) == (32, constant(0.01), (8,))
    assert s.value_scale == PRESETS["swift"]["value_scale"]


def test_the_plan_leaves_out_the_seed() -> None:
    assert DeepSettings(seed=5).plan == DeepSettings(seed=6).plan
    assert hash(DeepSettings(seed=5).plan) == hash(DeepSettings().plan)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch": 0}, "batch must be a whole number, at least 1, not 0"),
        ({"seed": 2**32}, r"seed must be below 2\*\*32 for a network, not 4294967296"),
        ({"averaging": 1.0}, r"averaging must be in \[0, 1\)"),
        ({"hidden": (3, 0)}, "hidden must be positive sizes"),
        ({"value_scale": -1.0}, "value_scale must be positive and finite"),
        ({"reward_scale": "running"}, "reward_scale must be positive and finite, or 'warm_up'"),
        ({"gamma": 0.0}, r"gamma must be in \(0, 1\]"),
        ({"n_step": 0}, "n_step must be a whole number, at least 1"),
        ({"copies": 2}, "copies must be 1 without rollout, not 2"),
        ({"rollout": 4, "refresh": 1}, "refresh must be 0 with rollout"),
        ({"trace": 1.5}, r"trace must be in \[0, 1\]"),
        ({"exploration_repeat": 0}, "exploration_repeat must be a whole number, at least 1"),
        ({"episode_limit": 0}, "episode_limit must be a whole number, at least 1"),
        ({"learning_rate": harmonic()}, "learning_rate must be a schedule of steps, not of visits"),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DeepSettings(**given)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'swift'"):
        make_deep_settings("swiftt", {})
    with pytest.raises(UnknownNameError, match="categories, features, onehot"):
        DeepSettings(observation="feature")


@pytest.mark.parametrize("preset", ["swift", "parallel", "gather"])
def test_schedules_of_presets_fit_into_short_runs_and_stay_as_they_are_in_long_ones(
    preset: str,
) -> None:
    s = make_deep_settings(preset, {})
    for schedule in (s.learning_rate, s.exploration):
        assert schedule.within(10**6) == schedule.without_budget
        reached = schedule.within(10_000)(10_000) - schedule.last
        assert reached <= 0.011 * (schedule.first - schedule.last)
    assert make_deep_settings("paper", {}).exploration.within(100) == linear(1, 0.1, 30_000)


def test_tests_are_cut_where_episodes_are_unless_another_limit_is_given() -> None:
    assert make_deep_settings("swift", {"episode_limit": 200}).test_limit == 200
    assert make_deep_settings("swift", {}).test_limit == 1_000
    assert make_deep_settings("swift", {"episode_limit": 9, "evaluate_limit": 70}).test_limit == 70
