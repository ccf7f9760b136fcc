"""What a deep learner is told: its settings as data, and the presets that name some of them."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from recurl.errors import UnknownNameError
from recurl.learn.schedules import POWER, Schedule, constant, exponential, linear
from recurl.learn.settings import chosen_settings, demand, demand_whole

Scale = float | Literal["running"]
"""A factor, or ``"running"``: one over the root mean square of what was seen so far."""

OBSERVATIONS = ("categories", "features", "onehot")


class DeepSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a deep run depends on, beside the model or environment.

    The defaults are the paper's.

    Attributes:
        learning_rate: Schedule of Adam's step size.
        exploration: Schedule of the probability to take any action.
        hidden: Sizes of the hidden layers.
        batch: Stored steps that an update learns from.
        buffer: Steps that are stored.
        warm_up: Steps before the first update.
        train_every: Steps between updates.
        target_every: Updates between copies of the online network to the target network.
        refresh: Stored calls that are entered anew with each update: the exit values with which
            they go on are computed again, by the network of now.
        averaging: Decay per update of the average of weights that the greedy policy uses; 0 uses
            the weights themselves.
        observation: How the network sees the vertices of a model: their ``"features"``, the
            ``"categories"`` of these (each distinct value of a feature is an input of its own),
            or ``"onehot"``. An environment is seen by what it observes.
        gated: Whether the state turns exit values up and down where they enter the network.
        value_scale: Factor of exit values at the input, or ``"running"``.
        reward_scale: Factor of rewards, and so of what the network learns, or ``"running"``.
        max_exits: Most exits of anything called in an environment; a model knows its own.
        episode_limit: Steps after which an episode is cut, or None.
        stack_limit: Pending calls beyond which an episode in a model is cut.
        seed: Seed of all randomness.
        evaluate_every: Test the greedy policy after so many steps; 0 for never.
        evaluate_episodes: Episodes of a test.
        evaluate_limit: Steps after which a test episode is cut.
    """

    learning_rate: Schedule = constant(0.0005)
    exploration: Schedule = linear(1.0, 0.1, 30_000)
    hidden: tuple[int, ...] = (128, 128)
    batch: int = 256
    buffer: int = 20_000
    warm_up: int = 1_000
    train_every: int = 1
    target_every: int = 500
    refresh: int = 0
    averaging: float = 0.0
    observation: str = "features"
    gated: bool = False
    value_scale: Scale = 1.0
    reward_scale: Scale = 1.0
    max_exits: int | None = None
    episode_limit: int | None = None
    stack_limit: int = 1_000
    seed: int = 0
    evaluate_every: int = 1_000
    evaluate_episodes: int = 100
    evaluate_limit: int = 100

    def __post_init__(self) -> None:
        if self.observation not in OBSERVATIONS:
            raise UnknownNameError("observation", self.observation, OBSERVATIONS)
        demand_whole(self, 1, "batch", "buffer", "train_every", "target_every", "stack_limit")
        demand_whole(self, 1, "evaluate_episodes", "evaluate_limit", "episode_limit", "max_exits")
        demand_whole(self, 0, "warm_up", "refresh", "seed", "evaluate_every")
        demand(0 <= self.averaging < 1, "averaging", "in [0, 1)", self.averaging)
        demand(all(n >= 1 for n in self.hidden), "hidden", "positive sizes", self.hidden)
        layers = bool(self.hidden) or not self.gated
        demand(layers, "gated", "False where there is no hidden layer", self.gated)
        for name in ("value_scale", "reward_scale"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and 0 < value < math.inf
            demand(value == "running" or number, name, "positive and finite, or 'running'", value)
        for name in ("learning_rate", "exploration"):
            fits = getattr(self, name).code != POWER
            demand(fits, name, "a schedule of steps, not of visits", getattr(self, name))

    @property
    def test_limit(self) -> int:
        """Steps after which a test episode is cut."""
        return self.evaluate_limit

    @property
    def plan(self) -> DeepSettings:
        """The same without the seed: what programs are compiled for."""
        return msgspec.structs.replace(self, seed=0)


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "swift": {
        "observation": "categories",
        "gated": True,
        "value_scale": 0.1,
        "learning_rate": linear(0.002, 0.00005, 80_000),
        "exploration": exponential(1.0, half_life=12_000, last=0.15),
        "averaging": 0.9995,
        "batch": 64,
        "buffer": 60_000,
        "target_every": 200,
        "refresh": 4,
    },
}
"""Settings by name; docs/deep.md has what they were measured to do."""


def make_deep_settings(preset: str, given: dict[str, Any]) -> DeepSettings:
    """The settings of a preset, with those that are given (not None) in place of its own.

    Example:
        >>> make_deep_settings("paper", {"learning_rate": 0.001, "batch": None}).batch
        256
    """
    chosen = chosen_settings(DeepSettings, PRESETS, preset, given)
    if "hidden" in chosen:
        chosen["hidden"] = tuple(chosen["hidden"])
    return DeepSettings(**chosen)
