"""Environments, of which nothing is known but bounds: adaptively, or as planned.

The structure is discovered. What was never seen is counted in: a pair may have outcomes beside
those that it has shown, as many as `support` allows, and these may lead anywhere, to values within
the bounds on steps and rewards; runs may begin at starts that were never seen.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from recurl.errors import LimitError
from recurl.learn.pac.exploration import Exploration
from recurl.learn.pac.guarantee import Guarantee
from recurl.learn.pac.look import Look, Sight
from recurl.learn.pac.one_exit import SOLVED, Task
from recurl.learn.pac.several import SeveralExits
from recurl.model.transforms.discounting import discount_steps
from recurl.policy import Policy
from recurl.solving.api import solve

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.pac.atlas import Size
    from recurl.model.rmdp import RMDP
    from recurl.solving.solution import Solution


def learn_environment(
    env: gym.Env[Any, Any],
    task: Task,
    *,
    access: str | None = None,
    adaptive: bool = True,
    discount: float | None = None,
) -> Guarantee:
    """Sample an environment until the interval is narrow, or as often as planned.

    Args:
        env: An environment that keeps the recursive protocol.
        task: What is asked for; `reward_bound` and `support` must be given, and `steps` too unless
            there is a discount.
        access: ``"generative"`` or ``"episodes"``; None for the first if the environment says, by
            ``metadata["generative"]``, that it can.
        adaptive: Whether to draw where it matters, or as planned.
        discount: The discount of each step. With one, calls may have several exits, and a run may
            end with calls pending; access is by episodes.
    """
    if task.reward_bound is None or task.support is None or (task.steps or discount) is None:
        raise ValueError(
            "an environment may hide more than it shows: give `steps`, a bound on the expected "
            "steps to the exit of a component, or a discount; `reward_bound`; and `support`, the "
            "most outcomes of a pair"
        )
    if access is None:
        able = discount is None and env.metadata.get("generative")
        access = "generative" if able else "episodes"
    if access == "generative" and discount is not None:
        raise ValueError(
            "with a discount, environments are learned from episodes: a run that begins within a "
            "call does not tell which exit it leaves by"
        )
    adaptively = _OneExit if discount is None else _SeveralExits
    return (adaptively if adaptive else _Planned)(env, task, access, discount).run()


class _Rounds(Exploration):
    """Rounds of samples, each followed by a look at what is known."""

    method = "adaptive"
    lower, upper = -math.inf, math.inf
    sight: Any

    def rounds(self) -> None:
        """More rounds while they are needed and allowed."""
        seen = self.atlas.samples > 0
        if seen:
            self._look()
        while not seen or (self.gap > self.task.epsilon and self.atlas.samples < self.most):
            self.sampler.more(self.sight if seen else None, self.most)
            self._look()
            self.save()
            seen = True

    @property
    def gap(self) -> float:
        """Width of the interval so far."""
        return self.upper - self.lower

    def _look(self) -> None:
        self.sight, lower, upper = self.look()
        self.lower, self.upper = max(self.lower, lower), min(self.upper, upper)
        if self.task.callback is not None:
            states = float(len(self.atlas.observations))
            work = {"samples": float(self.atlas.samples), "states": states}
            self.task.callback(self.lower, self.upper, work)

    @abstractmethod
    def look(self) -> tuple[Any, float, float]:
        """What is known now, and the bounds that follow from it."""

    def guarantee(self, learned: RMDP, policy: Policy | None, attained: float) -> Guarantee:
        """The statement of what was found; the policy is worth what is attained at least."""
        task = self.task
        sets = f"{task.intervals}, discovery i, level j: delta/(i (i+1) j (j+1))"
        return Guarantee(
            learned,
            self.lower,
            self.upper,
            (self.lower + self.upper) / 2,
            policy,
            loss=self.upper - attained,
            epsilon=task.epsilon,
            delta=task.delta,
            reached=self.gap <= task.epsilon,
            samples=self.atlas.samples,
            planned=self.plan.total(len(self.atlas.pairs)),
            method="adaptive",
            numbers={**self.numbers(), "Confidence sets": sets},
            unseen=self.sight.unseen(),
            warnings=self.sight.warnings(),
        )


class _OneExit(_Rounds):
    """One exit per call: robust value iteration."""

    def look(self) -> tuple[Look, float, float]:
        """Robust bounds."""
        look = Look(self.atlas, self.task)
        look.tighten()
        return look, look.bounds.lower, look.bounds.upper

    def run(self) -> Guarantee:
        """Sample until the interval is narrow."""
        self.rounds()
        look, learned = self.sight, self.sight.learned()
        policy = Policy.stackless(learned, look.choice(-1.0))
        return self.guarantee(learned, policy, look.bounds.lower)


class _SeveralExits(_Rounds):
    """Several exits, discounted: robust bounds by the certified solver."""

    def look(self) -> tuple[SeveralExits, float, float]:
        """Bounds on the discounted optimum."""
        assert self.discount is not None
        look = SeveralExits(self.atlas, self.task, self.discount)
        look.tighten(self.gap)
        return look, look.lower, look.upper

    def run(self) -> Guarantee:
        """Sample until the interval is narrow."""
        self.rounds()
        return self.guarantee(self.sight.learned(), self.sight.policy, self.sight.lower)


class _Planned(Exploration):
    """As many samples of each pair as its place in the discovery asks for."""

    method = "plan"

    def size(self) -> Size:
        """Once, when the planned number is drawn."""
        return self.plan

    def rests_on(self) -> dict[str, float]:
        """The closeness, which the planned numbers follow from."""
        return {"closeness": self.plan.closeness, "delta": self.task.delta}

    def run(self) -> Guarantee:
        """Draw as planned, then solve what was observed."""
        done = self.sampler.complete(self.most)
        self.save()
        if not done:
            raise LimitError(
                f"the plan is not fulfilled after {self.atlas.samples:,} samples: learn adaptively"
            )
        sight, task, room = Sight(self.atlas, self.task), self.task, self.plan.room
        learned = sight.learned()
        solution = self._solved(learned)
        error = "2 closeness K² r" if self.discount is None else "closeness r / (1 - λ)²"
        return Guarantee(
            learned,
            solution.lower - room,
            solution.upper + room,
            solution.value,
            solution.policy,
            loss=2 * task.epsilon,
            epsilon=task.epsilon,
            delta=task.delta,
            reached=solution.gap <= 2 * (task.epsilon - room),
            samples=self.atlas.samples,
            planned=self.plan.total(len(self.atlas.pairs)),
            method="plan",
            numbers={
                **self.numbers(),
                "Closeness of every pair (sum of differences)": self.plan.closeness,
                "Rule": f"values differ by at most {error}; Weissman's inequality, "
                "discovery i: delta/(i (i+1))",
            },
            unseen=sight.unseen(),
            warnings=sight.warnings(),
        )

    def _solved(self, learned: RMDP) -> Solution:
        precise = SOLVED * self.task.epsilon
        if self.discount is None:
            return solve(learned, "linear-program", precise)
        return solve(discount_steps(learned, self.discount), epsilon=precise)
