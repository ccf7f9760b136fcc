"""Settings and presets."""

from __future__ import annotations

import msgspec
import pytest

from recurl.learn.schedules import constant, harmonic
from recurl.learn.settings import PRESETS, Settings, make_settings


def test_what_is_given_overrides_the_preset() -> None:
    settings = make_settings("swift", {"step_size": 0.5, "replay": None})
    assert settings.step_size == constant(0.5)
    assert settings.replay == PRESETS["swift"]["replay"] == 8
    assert make_settings("swift", {}).step_size == harmonic(offset=10)


def test_settings_survive_json() -> None:
    settings = make_settings("swift", {"episode_limit": 10})
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings) == settings


@pytest.mark.parametrize(
    "wrong",
    [{"episode_limit": 0}, {"seed": -1}, {"replay": -1}, {"evaluate_episodes": 0}],
)
def test_nonsense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        make_settings("paper", wrong)
