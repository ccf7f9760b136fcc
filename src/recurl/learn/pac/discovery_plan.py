"""How often to draw pairs that are still to be discovered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recurl.errors import LimitError
from recurl.learn.pac.one_exit import SOLVED
from recurl.learn.pac.plan import (
    MOST,
    discounted_closeness,
    one_exit_closeness,
    weissman_samples,
)

if TYPE_CHECKING:
    from recurl.learn.pac.one_exit import Task

_START = 0.1


class DiscoveryPlan:
    """How often each pair is to be drawn beforehand, whatever will be discovered.

    Number i of the discovery has the share 1 / (i (i + 1)) of delta, the start being the first
    where it is random. A start distribution known to eps changes a value by eps times its bound at
    most: K r, or r / (1 - lambda) if discounted.

    Args:
        task: What is asked for.
        discount: The discount of each step, if there is one.

    Example:
        >>> from recurl.learn.pac.one_exit import Task
        >>> plan = DiscoveryPlan(Task(1.5, 0.1, steps=6, reward_bound=1, support=2, starts=1))
        >>> [plan(number, 1) for number in (0, 1, 2, 3)]
        [1, 17033, 22105, 25306]
    """

    def __init__(self, task: Task, discount: float | None = None) -> None:
        self.task = task
        self.random_start = (task.starts or task.support or 1) > 1
        steps, reward = float(task.steps or 1.0), float(task.reward_bound or 0.0)
        self.room = (1 - SOLVED) * task.epsilon
        own = _START * self.room if self.random_start else 0.0
        if discount is None:
            self.closeness = one_exit_closeness(self.room - own, reward, lambda _: steps)
        else:
            self.closeness = discounted_closeness(self.room - own, reward, discount)
        reach = reward * (steps if discount is None else 1 / (1 - discount))
        self.start_closeness = min(own / reach, 2.0) if reach else 2.0

    def __call__(self, number: int, level: int) -> int:
        """Draws of what was discovered as a number, before it is looked at once."""
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
        """Draws of so many pairs; None if they cannot be counted."""
        try:
            return sum(self(number, 1) for number in range(1, pairs + 1))
        except LimitError:
            return None
