"""Questions about a model: which reward to add up, what exits are worth, max or min."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import QuestionError, UnknownNameError
from recurl.model.certificate import Certificate

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Tables

OBJECTIVES = ("max", "min")
REWARDS = ("model", "steps", "none", "given end")
ENDLESS = ("inf", "-inf")


@dataclass(frozen=True, slots=True)
class Question:
    """An optimal expected total.

    Attributes:
        objective: ``"max"`` or ``"min"``.
        rewards: What a transition pays: ``"model"`` its own reward, ``"steps"`` 1, ``"none"`` 0;
            ``"given end"`` its own reward, and the total is that of the runs that end.
        exit_values: What each exit of the start component is worth at the end of the run. With no
            rewards and one exit worth 1, the total is the probability to leave by that exit. None
            given: 0 for all.
        endless: What a run that does not end is worth: ``"inf"`` or ``"-inf"``; None for what it
            collects. A policy under which such runs have a positive probability is worth that.
    """

    objective: str = "max"
    rewards: str = "model"
    exit_values: tuple[float, ...] = ()
    endless: str | None = None

    def __post_init__(self) -> None:
        values = np.array(self.exit_values, np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise QuestionError(f"exit_values are finite numbers, one per exit: {self.exit_values}")
        object.__setattr__(self, "exit_values", tuple(values.tolist()))
        if self.objective not in OBJECTIVES:
            raise UnknownNameError("objective", self.objective, OBJECTIVES)
        if self.rewards not in REWARDS:
            raise UnknownNameError("rewards", self.rewards, REWARDS)
        if self.endless is not None and self.endless not in ENDLESS:
            raise UnknownNameError("worth of runs that do not end", self.endless, ENDLESS)
        if any(self.exit_values) and self.rewards == "given end":
            raise QuestionError(
                "the reward of the runs that end goes without exit_values: "
                "evaluate(policy, exit_values=...).given_end takes them"
            )
        if self.endless is not None and self.rewards not in ("model", "steps"):
            raise QuestionError("endless goes with the total of rewards or of steps")

    @property
    def sign(self) -> float:
        """-1 if the least total is asked for: then rewards and values are negated throughout."""
        return 1.0 if self.objective == "max" else -1.0

    @property
    def must_end(self) -> bool:
        """Whether a run that does not end is worth the worst."""
        return self.endless == ("-inf" if self.objective == "max" else "inf")

    def transition_rewards(self, tables: Tables) -> Floats:
        """Reward of each transition, negated if the least total is asked for."""
        if self.rewards in ("model", "given end"):
            return self.sign * tables.reward
        return np.full(tables.n_transitions, self.sign * (self.rewards == "steps"))

    def root_values(self, tables: Tables) -> Floats:
        """Worth of each exit of the start component, negated if the least total is asked for."""
        count = int(tables.n_exits[tables.start_component])
        given = self.exit_values or (0.0,) * count
        if len(given) != count:
            raise ValueError(f"the start component has {count} exits, exit_values {len(given)}")
        return self.sign * np.array(given, np.float64)

    def with_lane(self) -> Question:
        """The same question where the start component has one more exit, worth 0."""
        return replace(self, exit_values=(*self.exit_values, 0.0)) if self.exit_values else self

    def clear_bounds(self, model: RMDP) -> tuple[float, float]:
        """Bounds of every total: without losses it is at least 0, or what the worst exit is worth.

        Example:
            >>> import recurl
            >>> Question("min", "steps").clear_bounds(recurl.zoo.cloud())
            (0.0, inf)
        """
        losses, gains = False, self.rewards == "steps"
        if self.rewards in ("model", "given end"):
            least, most = model.exact.reward_range
            losses, gains = least < 0, most > 0
        losses, gains = losses or self.endless == "-inf", gains or self.endless == "inf"
        lower = -math.inf if losses else min((0.0, *self.exit_values))
        return lower, math.inf if gains else max((0.0, *self.exit_values))

    def certificate(
        self, model: RMDP, interval: tuple[float | None, float | None], **evidence: Any
    ) -> Certificate:
        """The certificate that the answer lies in an interval.

        Args:
            model: The model that is asked about.
            interval: Both ends; None where nothing is claimed.
            **evidence: The attributes of `Certificate` that prove it.
        """
        values = list(self.exit_values)
        return Certificate(
            model.fingerprint,
            self.objective,
            self.rewards,
            values,
            *interval,
            endless=self.endless,
            **evidence,
        )

    @classmethod
    def leave_by(cls, model: RMDP, name: str, objective: str = "max") -> Question:
        """The probability to leave by an exit of the start component, given by name.

        Programs call their exits "return True" and the like; there "True" will do.
        """
        t = model.tables
        first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
        exits = [model.local_name(first + k) for k in range(t.n_exits[t.start_component])]
        if name not in exits and f"return {name}" in exits:
            name = f"return {name}"
        if name not in exits:
            raise UnknownNameError("exit of the start component", name, exits)
        return cls(objective, "none", tuple(float(e == name) for e in exits))
