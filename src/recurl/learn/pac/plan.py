"""The number of samples that is enough, before any is drawn.

Let K bound the expected steps of all models that are eps-close to the true one, from any vertex
until its component is left, and let rewards be at most r in absolute value. Then the values of two
of them differ by at most 2 eps K² r. By Weissman's inequality n samples of a pair with m outcomes
are off by eps or more, in the sum of absolute differences, with probability at most
(2^m - 2) exp(-n eps² / 2). So n = 2 / eps² · ln((2^m - 2) N / delta) samples of each of the N pairs
that are random will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from recurl.errors import LimitError

if TYPE_CHECKING:
    from recurl.learn.pac.loop import PACTask
    from recurl.solving.properness import Analysis

Longs = npt.NDArray[np.int64]
_START, _SOLVED = 0.1, 1e-3
MOST = 2**62
"""Samples of one pair that can be counted."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A number of samples for every pair.

    Attributes:
        closeness: eps, to which every distribution is then known.
        samples: Samples of each pair; 1 for pairs with one outcome.
        room: Error of values that the closeness causes at most.
        numbers: Numbers that the plan rests on, by name.
    """

    closeness: float
    samples: Longs
    room: float
    numbers: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Samples of all pairs together, as a whole number of any size."""
        return sum(self.samples.tolist())


def weissman_samples(closeness: float, outcomes: npt.ArrayLike, delta: float) -> Longs:
    """Samples that make all distributions known to a closeness at once, with 1 - delta.

    Args:
        closeness: Greatest sum of absolute differences.
        outcomes: Number of possible outcomes of each pair.
        delta: Probability with which some pair may be farther off.

    Raises:
        LimitError: More samples than can be counted.

    Example:
        >>> weissman_samples(0.1, [1, 2, 3], delta=0.05).tolist()
        [1, 877, 1097]
    """
    m = np.asarray(outcomes, np.float64)
    random = max(int((m > 1).sum()), 1)
    # ln(2^m - 2), without forming 2^m
    words = m * math.log(2) + np.log1p(-(2.0 ** (1 - np.maximum(m, 2))))
    needed = np.ceil(2 / closeness**2 * (words + math.log(random / delta)))
    needed = np.where(m > 1, needed, 1.0)
    if not needed.max(initial=0.0) < MOST:
        raise LimitError(
            f"a closeness of {closeness:.3g} takes {needed.max():.2g} samples of a pair: "
            "ask for a larger epsilon, or learn adaptively"
        )
    return needed.astype(np.int64)


def one_exit_closeness(
    epsilon: float, reward_bound: float, steps: Callable[[float], float]
) -> float:
    """The greatest closeness eps with 2 eps K(eps)² r <= epsilon.

    Args:
        epsilon: Greatest difference of values.
        reward_bound: r, the greatest reward in absolute value.
        steps: K of a closeness: the bound on the expected steps of all models that close.

    Example:
        >>> one_exit_closeness(0.1, 1.0, lambda eps: 5.0)
        0.002
    """
    if reward_bound == 0:
        return 2.0

    def enough(closeness: float) -> bool:
        return 2 * closeness * steps(closeness) ** 2 * reward_bound <= epsilon

    high = min(epsilon / (2 * steps(0.0) ** 2 * reward_bound), 2.0)
    if enough(high):
        return high
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def steps_of_analysis(analysis: Analysis) -> Callable[[float], float]:
    """K of a closeness, from the step bounds of a model at hand (see `Analysis.bound_within`)."""

    def steps(closeness: float) -> float:
        if analysis.radius is None or not 0 <= closeness < analysis.radius:
            return math.inf
        return analysis.bound_everywhere / (1 - closeness / analysis.radius)

    return steps


def discounted_closeness(epsilon: float, reward_bound: float, discount: float) -> float:
    """The closeness with which values differ by at most epsilon = eps d / (1 - lambda)².

    Example:
        >>> round(discounted_closeness(0.05, 8.0, 0.9), 7)
        6.25e-05
    """
    if reward_bound == 0:
        return 2.0
    return min(epsilon * (1 - discount) ** 2 / reward_bound, 2.0)


class DiscoveryPlan:
    """A plan for pairs that are still to be discovered.

    Number i of the discovery has the share 1 / (i (i + 1)) of delta, the start being the first
    where it is random. A start distribution known to eps changes a value by eps times its bound at
    most: K r, or r / (1 - lambda) if discounted.

    Args:
        task: What is asked for.
        gamma: Discount of each step.

    Example:
        >>> from recurl.learn.pac.loop import PACTask
        >>> plan = DiscoveryPlan(PACTask(1.5, 0.1, steps=6, reward_bound=1, support=2, starts=1))
        >>> [plan(number, 1) for number in (0, 1, 2, 3)]
        [1, 17033, 22105, 25306]
    """

    def __init__(self, task: PACTask, gamma: float = 1.0) -> None:
        self.task = task
        self.numbers: dict[str, float | str] = {}
        self.random_start = (task.starts or task.support or 1) > 1
        steps, reward = float(task.steps or 1.0), float(task.reward_bound or 0.0)
        self.room = (1 - _SOLVED) * task.epsilon
        own = _START * self.room if self.random_start else 0.0
        if gamma == 1:
            self.closeness = one_exit_closeness(self.room - own, reward, lambda _: steps)
        else:
            self.closeness = discounted_closeness(self.room - own, reward, gamma)
        reach = reward * (steps if gamma == 1 else 1 / (1 - gamma))
        self.start_closeness = min(own / reach, 2.0) if reach else 2.0

    def __call__(self, number: int, level: int) -> int:
        """Draws of a pair, by its number in the discovery, up to its only level."""
        if level > 1:
            return MOST
        if number == 0 and not self.random_start:
            return 1
        place = number + (1 if self.random_start else 0)
        share = self.task.delta / (place * (place + 1))
        closeness = self.closeness if number else self.start_closeness
        outcomes = (self.task.support if number else self.task.starts) or self.task.support or 1
        return int(weissman_samples(closeness, [outcomes], share)[0])

    def total(self, pairs: int) -> int | None:
        """Draws of the first pairs; None if they cannot be counted."""
        try:
            return sum(self(number, 1) for number in range(1, pairs + 1))
        except LimitError:
            return None
