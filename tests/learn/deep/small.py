"""Networks of tests that ask for something else than a setting.

A program is compiled for a model, or an environment, and all of its settings, which takes seconds:
tests that take these settings as they are compile one for `cloud` and one for its environment.
"""

from __future__ import annotations

from typing import Any

from recurl.learn.schedules import exponential, linear

SMALL: dict[str, Any] = {
    "hidden": (8,),
    "batch": 8,
    "warm_up": 20,
    "buffer": 200,
    "evaluate_every": 50,
}
"""Fields of `DeepSettings`."""

ON_MODEL: dict[str, Any] = {"preset": "paper", **SMALL}
COPIES_ON_MODEL: dict[str, Any] = {
    **SMALL, "preset": "parallel", "copies": 7, "rollout": 3, "exploration_repeat": 4,
    "learning_rate": linear(0.002, 0.00005, 300_000), "exploration": exponential(1.0, 40_000),
}  # fmt: skip
ON_ENVIRONMENT: dict[str, Any] = {**ON_MODEL, "buffer": 300, "evaluate_every": 0}
"""Arguments of learners."""
