"""`PACLearner`: one door to all guarantees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from recurl.errors import ModelError, Problem, UnknownNameError
from recurl.learn.pac.intervals import FAMILIES
from recurl.learn.pac.one_exit import Task, learn_adaptively, learn_planned
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.pac.adaptive import Callback
    from recurl.learn.pac.drift import Drift
    from recurl.learn.pac.guarantee import Guarantee

METHODS = ("adaptive", "plan")
ACCESS = ("episodes", "generative")


class PACLearner:
    """Learns the optimum of a model that can only be tried, with a guarantee.

    The answer is *probably approximately correct*: with probability 1 - delta over the samples, the
    optimum lies in the interval given.

    - 1-exit models: ``method="plan"`` draws every pair as often as `recurl.learn.pac.plan` says and
      solves what was observed by the linear program; ``"adaptive"`` keeps a confidence set per pair
      and robust bounds, and draws where it matters.
    - 1-exit environments: likewise, and what was never seen is counted in.
    - Any model, adaptively: robust bounds by the certified solver.
    - Any model, discounted: with `discount`.
    - Any model under assumptions on stack height and values: with `drift`.

    Args:
        epsilon: Precision: half the width of the interval if planned, its width if adaptive.
        delta: Probability with which the answer may be wrong.
        method: ``"adaptive"`` or ``"plan"``.
        steps: K, a bound on the expected steps from any vertex until its component is left, in the
            true model and all that are close. Not needed for a model that is at hand.
        reward_bound: Greatest reward in absolute value; needed where unseen outcomes are possible.
        support: Most outcomes that a pair of an environment may have.
        starts: Most states at which an environment may start; as many as `support` if not given.
        access: How an environment is sampled: ``"generative"``, by runs from any state, or
            ``"episodes"``; if not given, by what the environment says that it can.
        intervals: Family of confidence sets: see `recurl.learn.pac.intervals`.
        discount: λ of step-wise discounting.
        drift: Assumptions (c_o, mu, b) on an undiscounted model with several exits.
        seed: Seed of all randomness.

    Example:
        >>> import recurl
        >>> learned = PACLearner(epsilon=0.1, delta=0.05, seed=1).learn(recurl.zoo.cloud(exits=1))
        >>> learned.lower <= -5.3425 <= learned.upper, learned.upper - learned.lower <= 0.1
        (True, True)
        >>> learned.policy.action_name("S.u3"), learned.samples < learned.planned / 1e6
        ('reliable', True)
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        delta: float = 0.05,
        method: str = "adaptive",
        *,
        steps: float | None = None,
        reward_bound: float | None = None,
        support: int | None = None,
        starts: int | None = None,
        access: str | None = None,
        intervals: str = "clopper-pearson",
        discount: float | None = None,
        drift: Drift | None = None,
        seed: int = 0,
    ) -> None:
        if not epsilon > 0 or not 0 < delta < 1:
            raise ValueError(f"epsilon must be positive, delta in (0, 1), not {epsilon}, {delta}")
        if method not in METHODS:
            raise UnknownNameError("way to learn", method, METHODS)
        if intervals not in FAMILIES:
            raise UnknownNameError("family of intervals", intervals, FAMILIES)
        if access is not None and access not in ACCESS:
            raise UnknownNameError("access", access, ACCESS)
        if any(number is not None and number < 1 for number in (support, starts)):
            raise ValueError(f"support and starts are at least 1, not {support}, {starts}")
        if reward_bound is not None and not reward_bound >= 0:
            raise ValueError(f"reward_bound must not be negative, it is {reward_bound}")
        if discount is not None and drift is not None:
            raise ValueError("a discount makes assumptions on drift needless: give one of both")
        if discount is not None and not 0 < discount < 1:
            raise ValueError(f"the discount must lie strictly between 0 and 1, not {discount}")
        if steps is not None and not steps >= 1:
            raise ValueError(f"steps bounds the expected steps of a run, it is not {steps}")
        self.epsilon, self.delta, self.method = epsilon, delta, method
        self.steps, self.reward_bound = steps, reward_bound
        self.support, self.starts, self.access = support, starts, access
        self.intervals, self.discount, self.drift, self.seed = intervals, discount, drift, seed

    def learn(
        self,
        source: RMDP | gym.Env[Any, Any],
        *,
        most: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callback | None = None,
    ) -> Guarantee:
        """Sample a model or an environment, and say what is known then.

        Args:
            source: A model, whose pairs are drawn from but whose probabilities are not looked at
                (except that `steps`, where it is needed and not given, comes from its analysis); or
                a recursive environment, in which episodes are played.
            most: Samples after which to stop, with whatever interval there is.
            checkpoint: File for the counts; sampling goes on from it where it exists.
            callback: Called as ``callback(lower, upper, work)`` with every new interval.

        Raises:
            NotProperError: A plan needs `steps`, and none is given or found.
            LimitError: A plan takes more samples than allowed.
            CheckpointError: The checkpoint is damaged, or of another model or seed.
        """
        task = Task(
            self.epsilon,
            self.delta,
            self.steps,
            self.reward_bound,
            intervals=self.intervals,
            seed=self.seed,
            most=most,
            checkpoint=checkpoint,
            callback=callback,
            support=self.support,
            starts=self.starts,
        )
        if not isinstance(source, RMDP):
            return self._learn_environment(source, task)
        if self.discount is not None:
            from recurl.learn.pac.discounted import learn_discounted

            return learn_discounted(source, task, self.discount, adaptive=self.method == "adaptive")
        if self.drift is not None:
            from recurl.learn.pac.drift import learn_with_drift

            return learn_with_drift(source, task, self.drift, adaptive=self.method == "adaptive")
        if source.kind.one_exit:
            return (learn_adaptively if self.method == "adaptive" else learn_planned)(source, task)
        return self._learn_several_exits(source, task)

    def _learn_environment(self, env: gym.Env[Any, Any], task: Task) -> Guarantee:
        from recurl.learn.pac.explore import learn_environment

        if self.drift is not None:
            raise ValueError("assumptions on drift are for models: give a discount, or the model")
        adaptive = self.method == "adaptive"
        return learn_environment(
            env, task, access=self.access, adaptive=adaptive, discount=self.discount
        )

    def _learn_several_exits(self, model: RMDP, task: Task) -> Guarantee:
        from recurl.learn.pac.general import learn_general

        if self.method == "adaptive":
            return learn_general(model, task)
        fix = "learn adaptively, give a discount, or assumptions on drift (c_o, mu, b)"
        raise ModelError([Problem(model.name, "a plan for several exits needs more", fix)])
