"""The settings of a learner as data, and the presets that name some of them."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec

import msgspec
import numpy as np

from recurl.arguments import refuse_unknown
from recurl.errors import UnknownNameError
from recurl.learn.schedules import Schedule, as_schedule, constant, harmonic, linear
from recurl.model.transforms.discounting import require_discounts

OBSERVATIONS = ("index", "features")
"""How the vertices of a model may be told apart."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a tabular run depends on, beside the model or environment.

    Attributes:
        learning_rate: Schedule of the step size: how far a value moves towards its target.
        exploration: Schedule of the probability to take any action.
        quantum: Step to which normalised exit values are rounded; 0 keeps them as they are.
        observation: How a table tells the vertices of a model apart: by their ``"index"``, or by
            their ``"features"``, so that vertices with the same ones share their values. An
            environment is seen by what it observes.
        grain: Most steps of rounding from the worst exit to the best: the step is the quantum,
            doubled until no more are needed; 0 for any number.
        initial_value: Q-value of pairs never tried; above the true values it is optimistic.
        own_root: In an environment, whether the outermost call has a context of its own, because
            the end of the run may pay what the end of a call does not. Models, and environments
            that say so (``metadata["root_as_callee"]``), have one context for both.
        gamma: Discount: what follows a step counts this much. Below 1, exit values are not taken
            relative to the worst exit: a constant that is promised later is worth less.
        box_gamma: Discount by boxes, where calls have one exit: within a component, what follows a
            step counts this much, and a call is one step to its caller.
        episode_limit: Steps after which an episode is cut, or None.
        seed: Seed of all randomness.
        replay: How many of the last 131,072 steps, drawn at random, are learned from again after
            each step.
        inherit: New contexts start with the Q-values of the nearest one, and with its visits up to
            this number; 0 for none.
        evaluate_every: Steps between tests of the greedy policy; 0 for never.
        evaluate_episodes: Episodes of a test.
        evaluate_limit: Steps after which a test episode is cut; `episode_limit` if None.
        memory: Most bytes of the table; a share of the free memory if None.
    """

    learning_rate: Schedule = constant(0.1)
    exploration: Schedule = constant(0.1)
    quantum: float = 0.001
    grain: int = 0
    observation: str = "index"
    initial_value: float = 0.0
    own_root: bool = False
    gamma: float = 1.0
    box_gamma: float = 1.0
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
        demand_whole(self, 0, "seed", "grain", "replay", "inherit", "evaluate_every")
        demand_whole(self, 1, "evaluate_episodes", "episode_limit", "evaluate_limit", "memory")
        demand(0 <= self.quantum < math.inf, "quantum", "at least 0 and finite", self.quantum)
        require_discounts(None, self.gamma, self.box_gamma)
        value = self.initial_value
        demand(math.isfinite(value), "initial_value", "a finite number", value)

    @property
    def test_limit(self) -> int:
        """Steps after which a test episode is cut."""
        return self.evaluate_limit or self.episode_limit or 100_000


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"learning_rate": constant(0.1), "exploration": constant(0.1)},
    "swift": {
        "learning_rate": harmonic(offset=10),
        "exploration": linear(0.3, 0.1, fraction=0.5),
        "grain": 8,
        "replay": 8,
        "inherit": 50,
        "own_root": True,
    },
    "deterministic": {
        "learning_rate": constant(1.0),
        "exploration": linear(1.0, 0.1, fraction=0.5),
        "quantum": 0.0,
        "replay": 8,
    },
}
"""Settings by name; see docs/results/learning.md for what they were measured to do."""


PUBLISHED_RATES = {"cloud": 0.02, "spelunking": 0.2}
"""The learning rates of the published experiments with tables, by the name of the model."""


DEFAULT_PRESET = "swift"
"""The preset of all learners, in Python, in experiment files and on the command line."""


def make_settings(preset: str, given: dict[str, Any]) -> Settings:
    """The settings of a preset, with those that are given (not None) in place of its own.

    Example:
        >>> make_settings("paper", {"learning_rate": 0.02, "quantum": None}).learning_rate
        constant(0.02)
    """
    return Settings(**chosen_settings(Settings, PRESETS, preset, given))


def chosen_settings(
    kind: type[Any], presets: dict[str, dict[str, Any]], preset: str, given: dict[str, Any]
) -> dict[str, Any]:
    """A preset's settings and those given (not None), rates as schedules, 2e2 as 200 if need be.

    Raises:
        UnknownNameError: The preset is unknown.
        ValueError: A rate is out of range; the message names it.
    """
    if preset not in presets:
        raise UnknownNameError("preset", preset, presets)
    chosen = {**presets[preset], **{k: v for k, v in given.items() if v is not None}}
    for name in ("learning_rate", "exploration"):
        if name in chosen:
            try:
                chosen[name] = as_schedule(chosen[name])
            except (TypeError, ValueError) as error:
                raise ValueError(f"{name}: {error}") from None
    for name, value in chosen.items():
        if kind.__annotations__.get(name) in ("int", "float", "int | None"):
            demand(isinstance(value, int | float | np.number), name, "a number", value)
        number = isinstance(value, float | np.integer) and value == value // 1
        if number and "int" in kind.__annotations__.get(name, ""):
            chosen[name] = int(value)
    return chosen


def demand(holds: bool, name: str, wanted: str, got: object) -> None:
    """Refuse the value of a setting unless something holds."""
    if not holds:
        raise ValueError(f"{name} must be {wanted}, not {got!r}")


def demand_whole(settings: Any, least: int, *names: str) -> None:
    """Refuse settings that are neither None nor whole numbers from a least one on."""
    for name in names:
        value = getattr(settings, name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        fits = value is None or (whole and value >= least)
        demand(fits, name, f"a whole number, at least {least}", value)


P = ParamSpec("P")


def with_defaults(defaults: Any) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Decorates the constructor of a learner whose settings are None where a preset has them.

    Its signature shows the defaults, and unknown settings are answered with the one that is meant.

    Args:
        defaults: The settings of the default preset.
    """

    def decorate(init: Callable[P, None]) -> Callable[P, None]:
        signature = inspect.signature(init)
        known = signature.parameters

        @functools.wraps(init)
        def wrapped(*given: P.args, **named: P.kwargs) -> None:
            learner = type(given[0]).__name__
            settings = [key for key, p in known.items() if p.kind is p.KEYWORD_ONLY]
            refuse_unknown(learner, [name for name in named if name not in known], settings)
            if len(given) > 2:
                raise TypeError(f"{learner} takes a model or an environment, and settings by name")
            init(*given, **named)

        shown = [p.replace(default=getattr(defaults, p.name, p.default)) for p in known.values()]
        wrapped.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        return wrapped

    return decorate
