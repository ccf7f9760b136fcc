"""What a learner is told: its settings as data, and the presets that name some of them."""

from __future__ import annotations

from typing import Any

import msgspec

from recurl.errors import UnknownNameError
from recurl.learn.looks import OBSERVATIONS
from recurl.learn.schedules import Schedule, as_schedule, constant, harmonic


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a tabular run depends on, beside the model or environment.

    Attributes:
        step_size: Schedule of the step size.
        exploration: Schedule of the probability to take any action.
        quantum: Step to which normalised exit values are rounded; 0 keeps them as they are.
        observation: How a table tells the vertices of a model apart: by their ``"index"``, or by
            their ``"features"``, so that vertices with the same ones share their values. An
            environment is seen by what it observes.
        grain: Most steps of rounding from the worst exit to the best: the step is the quantum,
            doubled until no more are needed; 0 for any number.
        initial_value: Q-value of pairs never tried; above the true values it is optimistic.
        episode_limit: Steps after which an episode is cut, or None.
        seed: Seed of all randomness.
        replay: How many of the last 131,072 steps, drawn at random, are learned from again after
            each step.
        inherit: New contexts start with the Q-values of the nearest one, and with its visits up to
            this number; 0 for none.
        evaluate_every: Test the greedy policy after so many steps; 0 for never.
        evaluate_episodes: Episodes of a test.
        evaluate_limit: Steps after which a test episode is cut; `episode_limit` if None.
        memory: Most bytes of the table; a share of the free memory if None.
    """

    step_size: Schedule = constant(0.1)
    exploration: Schedule = constant(0.1)
    quantum: float = 0.001
    grain: int = 0
    observation: str = "index"
    initial_value: float = 0.0
    episode_limit: int | None = None
    seed: int = 0
    replay: int = 0
    inherit: int = 0
    evaluate_every: int = 0
    evaluate_episodes: int = 100
    evaluate_limit: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.observation not in OBSERVATIONS:
            raise UnknownNameError("observation", self.observation, OBSERVATIONS)
        if not self.quantum >= 0:
            raise ValueError(f"quantum must not be negative, not {self.quantum}")
        if self.episode_limit is not None and self.episode_limit < 1:
            raise ValueError(f"episode_limit must be positive or None, not {self.episode_limit}")
        if min(self.seed, self.grain, self.replay, self.inherit, self.evaluate_every) < 0:
            raise ValueError("seed, grain, replay, inherit and evaluate_every must not be negative")
        if self.evaluate_episodes < 1:
            raise ValueError(f"evaluate_episodes must be positive, not {self.evaluate_episodes}")

    @property
    def test_limit(self) -> int:
        """Steps after which a test episode is cut."""
        return self.evaluate_limit or self.episode_limit or 100_000


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"step_size": constant(0.1), "exploration": constant(0.1)},
    "swift": {
        "step_size": harmonic(offset=10),
        "exploration": constant(0.1),
        "grain": 32,
        "replay": 8,
        "inherit": 50,
    },
}
"""Settings by name; see docs/learning.md for what they were measured to do."""


def make_settings(preset: str, given: dict[str, Any]) -> Settings:
    """The settings of a preset, with those that are given (not None) in place of its own.

    Example:
        >>> make_settings("paper", {"step_size": 0.02, "quantum": None}).step_size
        Schedule(code=0, first=0.02, last=0.02, scale=1.0, omega=1.0)
    """
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    chosen = {**PRESETS[preset], **{k: v for k, v in given.items() if v is not None}}
    for name in ("step_size", "exploration"):
        chosen[name] = as_schedule(chosen[name])
    return Settings(**chosen)
