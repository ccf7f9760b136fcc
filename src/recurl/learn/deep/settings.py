"""Settings of the deep learners as data, and the presets that name some of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from recurl.arguments import require_gamma
from recurl.errors import UnknownNameError
from recurl.learn.schedules import POWER, Schedule, constant, exponential, linear
from recurl.learn.settings import chosen_settings, demand, demand_whole

Scale = float | Literal["warm_up"]
"""A factor, or ``"warm_up"``: one over the root mean square of the rewards of the warm-up."""

OBSERVATIONS = ("categories", "features", "onehot")
ACTIVATION_NAMES = ("elu", "relu", "silu", "tanh")


class DeepSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a deep run depends on, beside the model or environment.

    The defaults here are those of the preset ``"paper"``.

    Attributes:
        learning_rate: Step size of Adam: a number, or a schedule of steps (`recurl.schedules`).
        exploration: Probability to take any action instead of the best: a number or a schedule.
        exploration_repeat: Most steps for which an action that explores is repeated: it is taken
            for k steps or more with probability 1/k. 1 draws every step by itself.
        own_root: In an environment, whether the network sees which states are of the outermost
            call, because the end of the run may pay what the end of a call does not. In models,
            and environments that say so (``metadata["root_as_callee"]``), it need not.
        gamma: Discount per step, in (0, 1]. Below 1 exit values are not shifted by their minimum.
        network: The network by name: ``"mlp"`` (fully connected), ``"cnn"`` (two convolutions
            before that, for images), ``"gather"`` (which reads exit values off where a state
            leads) or one added by `recurl.register_network`.
        hidden: Sizes of the hidden layers.
        activation: Activation of the hidden layers: ``"tanh"``, ``"relu"``, ``"elu"``, ``"silu"``.
        gated: Whether the state turns exit values up and down where they enter the network: the
            first layer is activation(A s + b + (1 + tanh(G s)) * B v).
        normalised: Whether the units of each hidden layer are shifted and scaled to mean 0 and
            variance 1 before the activation.
        copies: Copies of a model that are stepped side by side; several need `rollout`. A vector
            environment has as many as it has.
        rollout: Steps of each copy after which the network is updated, from these steps alone:
            they are not kept after that. 0 stores steps in a replay buffer.
        epochs: How often the steps of a rollout are learned from.
        trace: Weight, in [0, 1], that targets of a rollout give to the step that followed, where
            it was greedy or came to more than the network hoped for.
        relabel: How often each step of a rollout is also learned from in exit values of other
            steps of the same component; in half of them the greatest value is moved to any exit.
        exit_loss: Weight of the logarithmic loss of the exits that steps left through, for
            networks that predict exits (``"gather"``); 0 without it.
        aim_loss: Weight of the logarithmic loss of what each exit is worth to a step if that exit
            alone has a value, for networks that predict exits; 0 without it. With it the loss of
            exits is about all steps: where they lead if exits are worth nothing.
        batch: Stored steps that an update learns from.
        buffer: Steps that are stored, without `rollout`.
        warm_up: Steps before the first update.
        train_every: Steps between updates, without `rollout`.
        target_every: Updates between copies of the online network to the target network; 0 for
            targets by the online network itself.
        double: Whether targets take the value of the action that the online network prefers.
        clip_targets: Whether targets are cut off at twice the largest and the smallest sum of
            rewards that any part of an episode had so far; only without a discount.
        n_step: Most steps whose rewards are summed before a target looks ahead. Only ordinary
            steps are summed: a call or an exit ends the sum.
        refresh: Stored calls whose exit values are computed again with each update, so that old
            steps lead on to what their return ports are worth now.
        averaging: Decay per update of the average of weights that the greedy policy uses; 0 uses
            the weights themselves.
        observation: How the network sees the vertices of a model: their ``"features"``, the
            ``"categories"`` of these (each distinct value of a feature is an input of its own),
            or ``"onehot"``. An environment is seen by what it observes.
        reward_scale: Factor of rewards, and so the unit of the network, or ``"warm_up"``.
        value_scale: Factor of exit values at the input, in units of the network.
        max_exits: Most exits of anything called in an environment; None for as many as are seen.
            Where a later call has more, programs are compiled again and episodes begin again.
            Models, and environments made from models, know it.
        episode_limit: Steps after which an episode is cut, or None.
        stack_limit: Pending calls beyond which an episode in a model is cut.
        seed: Seed of all randomness; the same seed gives the same run to the bit.
        evaluate_every: Test the greedy policy after this number of steps, into ``curve``; 0 for
            never.
        evaluate_episodes: Episodes of a test.
        evaluate_limit: Steps after which a test episode is cut; those of `episode_limit` where a
            learner is given that alone.
    """

    learning_rate: Schedule = constant(0.0005)
    exploration: Schedule = linear(1.0, 0.1, 30_000)
    exploration_repeat: int = 1
    own_root: bool = False
    gamma: float = 1.0
    network: str = "mlp"
    hidden: tuple[int, ...] = (128, 128)
    activation: str = "tanh"
    gated: bool = False
    normalised: bool = False
    copies: int = 1
    rollout: int = 0
    epochs: int = 1
    trace: float = 0.0
    relabel: int = 0
    exit_loss: float = 0.0
    aim_loss: float = 0.0
    batch: int = 256
    buffer: int = 20_000
    warm_up: int = 1_000
    train_every: int = 1
    target_every: int = 500
    double: bool = False
    clip_targets: bool = False
    n_step: int = 1
    refresh: int = 0
    averaging: float = 0.0
    observation: str = "features"
    reward_scale: Scale = 1.0
    value_scale: float = 1.0
    max_exits: int | None = None
    episode_limit: int | None = None
    stack_limit: int = 1_000
    seed: int = 0
    evaluate_every: int = 1_000
    evaluate_episodes: int = 100
    evaluate_limit: int = 100

    def __post_init__(self) -> None:
        for name, known in (("observation", OBSERVATIONS), ("activation", ACTIVATION_NAMES)):
            if getattr(self, name) not in known:
                raise UnknownNameError(name, getattr(self, name), known)
        demand_whole(self, 1, "batch", "buffer", "train_every", "stack_limit")
        demand_whole(self, 1, "evaluate_episodes", "episode_limit", "evaluate_limit", "max_exits")
        demand_whole(self, 1, "n_step", "copies", "epochs", "exploration_repeat")
        demand_whole(self, 0, "warm_up", "refresh", "seed", "evaluate_every")
        demand(self.seed < 2**32, "seed", "below 2**32 for a network", self.seed)
        demand_whole(self, 0, "rollout", "target_every", "relabel")
        demand(self.copies == 1 or self.rollout > 0, "copies", "1 without rollout", self.copies)
        demand(not (self.refresh and self.rollout), "refresh", "0 with rollout", self.refresh)
        demand(not self.relabel or self.rollout > 0, "relabel", "0 without rollout", self.relabel)
        for name in ("exit_loss", "aim_loss"):
            weight = getattr(self, name)
            demand(0 <= weight < math.inf, name, "non-negative and finite", weight)
        alone = self.rollout > 0 and not self.relabel
        demand(
            alone or not self.aim_loss,
            "aim_loss",
            "0 with relabel or without rollout",
            self.aim_loss,
        )
        require_gamma(self.gamma)
        demand(0 <= self.trace <= 1, "trace", "in [0, 1]", self.trace)
        demand(0 <= self.averaging < 1, "averaging", "in [0, 1)", self.averaging)
        demand(all(n >= 1 for n in self.hidden), "hidden", "positive sizes", self.hidden)
        layers = bool(self.hidden) or not self.gated
        demand(layers, "gated", "False without hidden layers", self.gated)
        fits = _is_factor(self.value_scale)
        demand(fits, "value_scale", "positive and finite", self.value_scale)
        fits = self.reward_scale == "warm_up" or _is_factor(self.reward_scale)
        demand(fits, "reward_scale", "positive and finite, or 'warm_up'", self.reward_scale)
        for name in ("learning_rate", "exploration"):
            fits = getattr(self, name).code != POWER
            demand(fits, name, "a schedule of steps, not of visits", getattr(self, name))

    @property
    def test_limit(self) -> int:
        """Steps after which a test episode is cut."""
        return self.evaluate_limit

    @property
    def keeps_exits(self) -> bool:
        """Whether the numbers of exits are stored."""
        return bool(self.relabel or self.exit_loss or self.aim_loss)

    @property
    def keeps_ports(self) -> bool:
        """Whether what shows the return ports of calls is stored."""
        return bool(self.refresh or self.relabel or self.aim_loss)

    @property
    def plan(self) -> DeepSettings:
        """The same without the seed: what programs are compiled for."""
        return msgspec.structs.replace(self, seed=0)


def _is_factor(value: object) -> bool:
    return isinstance(value, int | float) and 0 < value < math.inf


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "swift": {
        "own_root": True,
        "observation": "categories",
        "gated": True,
        "reward_scale": "warm_up",
        "value_scale": 0.25,
        "learning_rate": linear(0.002, 0.00005, 80_000, fraction=1.0),
        "exploration": exponential(1.0, half_life=12_000, last=0.15, fraction=0.15),
        "averaging": 0.9995,
        "batch": 64,
        "buffer": 60_000,
        "target_every": 200,
        "refresh": 4,
        "clip_targets": True,
        "evaluate_limit": 1_000,
    },
    "parallel": {
        "own_root": True,
        "observation": "categories",
        "activation": "relu",
        "gated": True,
        "normalised": True,
        "reward_scale": "warm_up",
        "value_scale": 0.25,
        "learning_rate": linear(0.002, 0.00005, 300_000, fraction=1.0),
        "exploration": exponential(1.0, half_life=40_000, last=0.1, fraction=2 / 15),
        "exploration_repeat": 4,
        "averaging": 0.99,
        "copies": 64,
        "rollout": 16,
        "epochs": 4,
        "trace": 0.8,
        "batch": 64,
        "target_every": 0,
        "clip_targets": True,
        "evaluate_every": 10_000,
        "evaluate_limit": 1_000,
    },
}
PRESETS["gather"] = {
    **PRESETS["parallel"],
    "network": "gather",
    "gated": False,
    "normalised": False,
    "epochs": 8,
    "exit_loss": 1.0,
    "aim_loss": 10.0,
    "exploration": linear(1.0, 0.1, 250_000, fraction=5 / 6),
}
"""Settings by name; docs/results/deep.md has what they were measured to do."""

FLAT_PRESETS: dict[str, dict[str, Any]] = {
    **PRESETS,
    "swift": {
        **PRESETS["swift"],
        "learning_rate": constant(0.001),
        "exploration": linear(1.0, 0.05, fraction=0.2),
        "exploration_repeat": 16,
        "batch": 128,
        "train_every": 4,
        "target_every": 100,
        "double": True,
        "n_step": 5,
    },
}
"""The same for `DQN`."""


def make_deep_settings(preset: str, given: dict[str, Any]) -> DeepSettings:
    """The settings of a preset, with those that are given (not None) in place of its own.

    Example:
        >>> make_deep_settings("paper", {"learning_rate": 0.001, "batch": None}).batch
        256
    """
    return _made(PRESETS, preset, given)


def make_flat_settings(preset: str, given: dict[str, Any]) -> DeepSettings:
    """The same for `DQN`.

    Example:
        >>> make_flat_settings("swift", {}).exploration
        linear(1, 0.05, fraction=0.2)
    """
    return _made(FLAT_PRESETS, preset, given)


def _made(presets: dict[str, dict[str, Any]], preset: str, given: dict[str, Any]) -> DeepSettings:
    if given.get("evaluate_limit") is None and given.get("episode_limit") is not None:
        given = {**given, "evaluate_limit": given["episode_limit"]}
    chosen = chosen_settings(DeepSettings, presets, preset, given)
    if "hidden" in chosen:
        sizes = isinstance(chosen["hidden"], Sequence)
        demand(sizes, "hidden", "a list of sizes such as (64, 64)", chosen["hidden"])
        chosen["hidden"] = tuple(chosen["hidden"])
    return DeepSettings(**chosen)
