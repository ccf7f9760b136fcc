"""Settings and presets."""

from __future__ import annotations

import inspect
import math
from typing import Any

import msgspec
import numpy as np
import pytest

import recurl
from recurl.errors import UnknownSettingError
from recurl.learn.schedules import constant, harmonic
from recurl.learn.settings import PRESETS, Settings, make_settings


def test_what_is_given_overrides_the_preset() -> None:
    settings = make_settings("swift", {"learning_rate": 0.5, "replay": None})
    assert settings.learning_rate == constant(0.5)
    assert settings.replay == PRESETS["swift"]["replay"] == 8
    assert make_settings("swift", {}).learning_rate == harmonic(offset=10)


@pytest.mark.parametrize("kind", [recurl.RecursiveQLearning, recurl.QLearning])
def test_the_papers_preset_has_the_rates_of_its_experiments(kind: Any) -> None:
    for subject, rate in (
        (recurl.zoo.cloud(), 0.02),
        ("recurl/Cloud-v0", 0.02),
        (recurl.zoo.spelunking(), 0.2),
        (recurl.zoo.stack_matters(), 0.1),
        ("FrozenLake-v1", 0.1),
    ):
        s = kind(subject, preset="paper").settings
        assert (s.learning_rate, s.exploration, s.quantum) == (constant(rate), constant(0.1), 0.001)
    assert kind(recurl.zoo.cloud(), preset="paper", learning_rate=0.5).settings.learning_rate(
        1
    ) == pytest.approx(0.5)


def test_settings_survive_json() -> None:
    settings = make_settings("swift", {"episode_limit": 10})
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings) == settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("episode_limit", 0), ("episode_limit", 1.5), ("episode_limit", True), ("seed", -1),
        ("replay", -1), ("inherit", -1), ("grain", -1), ("evaluate_every", -1),
        ("evaluate_episodes", 0), ("evaluate_limit", 0), ("memory", 0), ("memory", -5),
        ("quantum", -1), ("quantum", math.nan), ("quantum", math.inf),
        ("initial_value", math.nan), ("initial_value", -math.inf),
        ("learning_rate", 1.5), ("learning_rate", -0.1), ("learning_rate", math.nan),
        ("learning_rate", "fast"), ("learning_rate", True), ("gamma", "0.9"), ("hidden", 64),
        ("exploration", 1.5), ("exploration", -0.1), ("exploration", math.nan),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [recurl.RecursiveQLearning, recurl.DeepRecursiveQLearning])
def test_values_out_of_range_are_refused_by_name(kind: Any, name: str, value: object) -> None:
    if name not in kind.settings_type.__struct_fields__:
        pytest.skip("not a setting of this learner")
    with pytest.raises(ValueError, match=f"^{name}[: ]"):
        kind(recurl.zoo.cloud(), **{name: value})


def test_whole_numbers_may_be_written_as_floats() -> None:
    settings = make_settings("paper", {"episode_limit": 2e2, "seed": np.int64(3), "quantum": 1.0})
    assert (settings.episode_limit, settings.seed) == (200, 3)
    assert isinstance(settings.episode_limit, int)
    assert isinstance(settings.quantum, float)


KINDS = [recurl.RecursiveQLearning, recurl.QLearning, recurl.DeepRecursiveQLearning, recurl.DQN]


@pytest.mark.parametrize("kind", KINDS)
def test_signatures_show_the_defaults(kind: Any) -> None:
    shown = inspect.signature(kind).parameters
    made = kind(recurl.zoo.cloud()).settings
    assert shown["preset"].default == "swift"
    assert set(made.__struct_fields__) <= set(shown)
    for name in made.__struct_fields__:
        assert shown[name].default == getattr(made, name)
    assert "power(1, offset=10)" in str(inspect.signature(recurl.QLearning))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "meant"),
    [("lr", "learning_rate"), ("step_size", "learning_rate"), ("epsilon", "exploration"),
     ("discount", "gamma"),
     ("evalute_every", "evaluate_every"), ("random_state", "seed")],
)  # fmt: skip
def test_unknown_settings_are_answered_with_the_one_meant(kind: Any, name: str, meant: str) -> None:
    with pytest.raises(UnknownSettingError, match=f"no setting '{name}': did you mean {meant}?"):
        kind(recurl.zoo.cloud(), **{name: 0.1})
    with pytest.raises(TypeError, match=r"Known: .*preset"):
        recurl.learn_many(recurl.zoo.cloud(), 2, 10, algorithm=kind, zzz=1)


def test_settings_of_an_older_file_are_not_dropped() -> None:
    with pytest.raises(msgspec.ValidationError, match="step_size"):
        msgspec.convert({"step_size": [0, 0.1, 0.1, 1, 1]}, Settings)
