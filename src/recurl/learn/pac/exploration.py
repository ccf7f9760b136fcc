"""An environment, what was seen of it, and a way to see more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.learn.pac.atlas import Atlas, Size, by_level
from recurl.learn.pac.discovery_plan import DiscoveryPlan
from recurl.learn.pac.episodes import Episodes
from recurl.learn.pac.explored_file import load_explored, save_explored
from recurl.learn.pac.generative import Generative

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.pac.one_exit import Task

LIMIT = 10**7
"""Samples after which to stop, where nothing else is said."""


class Exploration:
    """What both ways to learn an environment share.

    Args:
        env: The environment.
        task: What is asked for.
        access: ``"generative"`` or ``"episodes"``.
        discount: The discount of each step; with one, calls may have several exits.
    """

    method = ""

    def __init__(
        self, env: gym.Env[Any, Any], task: Task, access: str, discount: float | None
    ) -> None:
        self.task, self.discount = task, discount
        self.plan = DiscoveryPlan(task, discount)
        self.atlas = Atlas(env, self.size(), several=discount is not None)
        several = {"several": discount is not None}
        self._head = {"access": access, "method": self.method, "seed": task.seed, **several}
        self._head |= self.rests_on()
        if task.checkpoint is not None:
            load_explored(task.checkpoint, self.atlas, self._head)
        # What is drawn after a pause must not repeat what was drawn before.
        seed = int(np.random.SeedSequence([task.seed, self.atlas.samples]).generate_state(1)[0])
        make = Generative if access == "generative" else Episodes
        self.sampler = make(env, self.atlas, seed)
        self.most = LIMIT if task.most is None else task.most

    def size(self) -> Size:
        """When pairs are looked at."""
        return by_level

    def rests_on(self) -> dict[str, float]:
        """Numbers without which counts on disk mean nothing."""
        return {}

    def save(self) -> None:
        """Write what was seen down."""
        if self.task.checkpoint is not None:
            save_explored(self.task.checkpoint, self.atlas, self._head)

    def numbers(self) -> dict[str, float | str]:
        """What any statement about an environment rests on."""
        task, atlas = self.task, self.atlas
        first: dict[str, float | str] = {"Access": self.sampler.name}
        if self.discount is None:
            first["Bound K on expected steps, given"] = float(task.steps or 0.0)
        else:
            first["Discount"] = self.discount
        return first | {
            "Bound on rewards, given": float(task.reward_bound or 0.0),
            "Outcomes of a pair, at most, given": float(task.support or 0),
            "Starts, at most, given": float(task.starts or task.support or 0),
            "States discovered": float(len(atlas.observations)),
            "Pairs discovered": float(len(atlas.pairs)),
            "Exits": atlas.exits_in_words(),
            "Starts drawn": float(atlas.start.total),
        }
