"""The settings of model-based learning."""

from __future__ import annotations

from typing import Any

import msgspec

from recurl.learn.schedules import Schedule, constant
from recurl.learn.settings import DEFAULT_PRESET, chosen_settings, demand, demand_whole
from recurl.model.transforms.discounting import require_discounts


class ModelBasedSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a run of model-based learning depends on, beside the model or environment.

    Attributes:
        prior: Weight of the unknown among the outcomes of a pair, in samples.
        own_root: In an environment, whether the outermost call has states of its own, because the
            end of the run may pay what the end of a call does not. Models, and environments that
            say so (``metadata["root_as_callee"]``), have the same states for both.
        gamma: Discount: what follows a step counts this much.
        box_gamma: Discount by boxes, where calls have one exit: within a component, what follows a
            step counts this much, and a call is one step to its caller.
        plan_every: Least steps between plans.
        plan_share: The same, as a share of the steps so far: plans become rarer.
        sweeps: Steps of value iteration in a plan.
        contexts: Most contexts of a component in a plan.
        episode_limit: Steps after which an episode is cut, or None.
        seed: Seed of the environment.
        evaluate_every: Steps between tests of the greedy policy; 0 for never.
        evaluate_episodes: Episodes of a test.
        evaluate_limit: Steps after which a test episode is cut; `episode_limit` if None.
    """

    prior: float = 1.0
    own_root: bool = False
    gamma: float = 1.0
    box_gamma: float = 1.0
    plan_every: int = 25
    plan_share: float = 1 / 8
    sweeps: int = 12
    contexts: int = 24
    episode_limit: int | None = None
    seed: int = 0
    evaluate_every: int = 0
    evaluate_episodes: int = 100
    evaluate_limit: int | None = None

    def __post_init__(self) -> None:
        demand_whole(self, 0, "seed", "evaluate_every")
        demand_whole(self, 1, "plan_every", "sweeps", "contexts", "evaluate_episodes")
        demand_whole(self, 1, "episode_limit", "evaluate_limit")
        require_discounts(None, self.gamma, self.box_gamma)
        demand(0 < self.prior < 1e6, "prior", "positive", self.prior)
        demand(0 <= self.plan_share < 1e6, "plan_share", "at least 0", self.plan_share)

    @property
    def exploration(self) -> Schedule:
        """Actions are never random: what is unknown looks good instead."""
        return constant(0.0)

    @property
    def test_limit(self) -> int:
        """Steps after which a test episode is cut."""
        return self.evaluate_limit or self.episode_limit or 100_000


PRESETS: dict[str, dict[str, Any]] = {DEFAULT_PRESET: {"own_root": True}}
"""Settings by name."""


def make_model_based_settings(preset: str, given: dict[str, Any]) -> ModelBasedSettings:
    """The settings of a preset, with those that are given (not None) in place of its own.

    Example:
        >>> make_model_based_settings("swift", {"gamma": 0.9, "sweeps": None}).sweeps
        12
    """
    return ModelBasedSettings(**chosen_settings(ModelBasedSettings, PRESETS, preset, given))
