"""`PACLearner`: learns models and environments with a guarantee."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from recurl.arguments import require_gamma, require_numbers, with_known_names
from recurl.errors import UnknownNameError
from recurl.execution.engine import Work
from recurl.execution.lock import locked_file
from recurl.execution.pieces import Session
from recurl.learn.learner import subject_of
from recurl.learn.pac.confidence import ALL_TIMES, FAMILIES
from recurl.learn.pac.environment_draws import draw_outcomes
from recurl.learn.pac.loop import PACTask, learn_adaptively, learn_planned, planned_total
from recurl.learn.pac.model_access import draw_counts
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.pac.criteria import Criterion
    from recurl.learn.pac.drift import Drift
    from recurl.learn.pac.guarantee import Guarantee
    from recurl.learn.pac.loop import Callback, SetBounds

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
    - Any model, discounted: with `gamma`.
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
            ``"episodes"``; if not given, generative where ``metadata["generative"]`` is true.
        intervals: Family of confidence sets: see `recurl.learn.pac.confidence`. If not given,
            ``"martingale"`` for the total reward of 1-exit models, else ``"clopper-pearson"``.
        gamma: Discount: what follows a step counts this much.
        drift: Assumptions (c_o, mu, b) on an undiscounted model with several exits.
        seed: Seed of all randomness.
        workers: How many workers share the samples of each round, each with a stream of draws of
            its own: for models, and for environments with generative access. The answer depends on
            their number, and not on where they are.
        on: Where they are: ``"local"``, ``"processes"``, ``"ray"`` or ``"ray://HOST:PORT"``.

    Example:
        >>> import recurl
        >>> learned = PACLearner(epsilon=0.1, delta=0.05, seed=1).learn(recurl.zoo.cloud(exits=1))
        >>> learned.lower <= -5.3425 <= learned.upper, learned.upper - learned.lower <= 0.1
        (True, True)
        >>> learned.policy.action_name("S.u3"), learned.samples < learned.planned / 1e6
        ('reliable', True)
    """

    @with_known_names
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
        intervals: str | None = None,
        gamma: float = 1.0,
        drift: Drift | None = None,
        seed: int = 0,
        workers: int = 1,
        on: str = "local",
    ) -> None:
        if isinstance(epsilon, RMDP):
            raise TypeError("PACLearner takes epsilon first: give the model to its method learn")
        require_numbers(
            epsilon=epsilon, delta=delta, steps=steps, reward_bound=reward_bound, support=support,
            starts=starts, seed=seed, workers=workers,
        )  # fmt: skip
        if workers < 1:
            raise ValueError(f"there is at least one worker, not {workers}")
        if not epsilon > 0 or not 0 < delta < 1:
            raise ValueError(f"epsilon must be positive, delta in (0, 1), not {epsilon}, {delta}")
        if method not in METHODS:
            raise UnknownNameError("way to learn", method, METHODS)
        if intervals is not None and intervals not in FAMILIES:
            raise UnknownNameError("family of intervals", intervals, FAMILIES)
        if access is not None and access not in ACCESS:
            raise UnknownNameError("access", access, ACCESS)
        if any(number is not None and number < 1 for number in (support, starts)):
            raise ValueError(f"support and starts are at least 1, not {support}, {starts}")
        if reward_bound is not None and not reward_bound >= 0:
            raise ValueError(f"reward_bound must not be negative, it is {reward_bound}")
        require_gamma(gamma)
        if gamma < 1 and drift is not None:
            raise ValueError("a discount makes assumptions on drift needless: give only one")
        if steps is not None and not steps >= 1:
            raise ValueError(f"steps bounds the expected steps of a run, it is not {steps}")
        self.epsilon, self.delta, self.method = epsilon, delta, method
        self.steps, self.reward_bound = steps, reward_bound
        self.support, self.starts, self.access = support, starts, access
        self.intervals, self.gamma, self.drift, self.seed = intervals, gamma, drift, seed
        self.workers, self.on = workers, on

    @with_known_names
    def learn(
        self,
        source: RMDP | gym.Env[Any, Any] | str,
        *,
        most: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callback | None = None,
    ) -> Guarantee:
        """Sample a model or an environment, and say what is known then.

        Args:
            source: A model, whose pairs are drawn from but whose probabilities are not looked at
                (except that `steps`, where it is needed and not given, comes from its analysis); or
                a recursive environment, or its id, in which episodes are played.
            most: Samples after which to stop, with whatever interval there is.
            checkpoint: File for the counts; sampling goes on from it where it exists.
            callback: Called as ``callback(lower, upper, work)`` with every new interval.

        Raises:
            NotProperError: A plan needs `steps`, and none is given or found.
            LimitError: A plan takes more samples than allowed.
            CheckpointError: The checkpoint is damaged, or of another model or seed.
            BusyError: Another process saves its counts there.
            ProtocolError: The environment does not keep the recursive protocol.
        """
        subject: RMDP | gym.Env[Any, Any] = subject_of(source, "PACLearner.learn")
        task = PACTask(
            self.epsilon,
            self.delta,
            self.steps,
            self.reward_bound,
            intervals=self._intervals(subject),
            seed=self.seed,
            most=most,
            checkpoint=checkpoint,
            callback=callback,
            support=self.support,
            starts=self.starts,
        )
        with locked_file(checkpoint):
            if isinstance(subject, RMDP):
                with self._session(draw_counts, subject) as session:
                    return self._learn_model(subject, task, session)
            with self._session(draw_outcomes, subject) as session:
                return self._learn_environment(subject, task, session)

    def _is_robust(self, source: RMDP | gym.Env[Any, Any]) -> bool:
        """Whether bounds come from robust value iteration on a model."""
        plain = self.gamma == 1 and self.drift is None
        return plain and isinstance(source, RMDP) and source.kind.one_exit

    def _intervals(self, source: RMDP | gym.Env[Any, Any]) -> str:
        if self.intervals is not None:
            return self.intervals
        return ALL_TIMES if self._is_robust(source) else "clopper-pearson"

    def _session(self, work: Work, shared: Any) -> AbstractContextManager[Session | None]:
        """The workers that take samples; none if this process does."""
        if self.workers == 1 and self.on == "local":
            return nullcontext()
        return Session(work, shared=shared, on=self.on, workers=self.workers)

    def _criterion(self) -> Criterion:
        from recurl.learn.pac.criteria import Discounted, TotalReward
        from recurl.learn.pac.drift import Cut

        if self.gamma < 1:
            return Discounted(self.gamma)
        if self.drift is not None:
            return Cut.of(self.drift, self.epsilon)
        return TotalReward(self.steps)

    def _learn_model(self, model: RMDP, task: PACTask, session: Session | None) -> Guarantee:
        from recurl.learn.pac.betting import FIRST_DRAWS
        from recurl.learn.pac.bounds import CertifiedBounds, RobustIteration
        from recurl.learn.pac.drift import contradictions
        from recurl.learn.pac.model_access import ModelAccess

        criterion = self._criterion()
        robust = self._is_robust(model)
        first = FIRST_DRAWS if robust and task.intervals == ALL_TIMES else None
        source = ModelAccess(model, task.seed, self.workers, session, first=first)
        found = () if self.drift is None else contradictions(model, self.drift, task.seed)
        for text in found:
            warnings.warn(text, UserWarning, stacklevel=3)
        if self.method == "plan":
            plan = criterion.plan(model, task)
            return learn_planned(source, plan, task, criterion, warnings=found)
        bounds: SetBounds = RobustIteration(task) if robust else CertifiedBounds(task, criterion)
        total = planned_total(lambda: self._criterion().plan(model, task))
        return learn_adaptively(source, bounds, task, criterion, planned=total, warnings=found)

    def _learn_environment(
        self, env: gym.Env[Any, Any], task: PACTask, session: Session | None
    ) -> Guarantee:
        from recurl.learn.pac.bounds import CertifiedBounds, RobustIteration
        from recurl.learn.pac.environment import EpisodeAccess, Generative

        access, reward = self._access(env), float(task.reward_bound or 0.0)
        kind = Generative if access == "generative" else EpisodeAccess
        source = kind(
            env,
            task,
            self.gamma,
            planned=self.method == "plan",
            workers=self.workers,
            session=session,
        )
        criterion = self._criterion()
        if self.method == "plan":
            return learn_planned(source, source.plan, task, criterion)
        bounds: SetBounds = RobustIteration(task, (-reward, reward))
        if self.gamma < 1:
            bounds = CertifiedBounds(task, criterion, reward / (1 - self.gamma))
        return learn_adaptively(source, bounds, task, criterion)

    def _access(self, env: gym.Env[Any, Any]) -> str:
        """The access to an environment, after a check that nothing is missing."""
        if self.drift is not None:
            raise ValueError(
                "assumptions on drift are for models: give a discount (gamma below 1), or the model"
            )
        known = self.steps is not None or self.gamma < 1
        if self.reward_bound is None or self.support is None or not known:
            raise ValueError(
                "an environment may hide more than it shows: give `steps`, a bound on the expected "
                "steps to the exit of a component, or `gamma` below 1; `reward_bound`; and "
                "`support`, the most outcomes of a pair"
            )
        if self.access == "generative" and self.gamma < 1:
            raise ValueError(
                "with a discount, environments are learned from episodes: a run that begins within "
                "a call does not tell which exit it leaves by"
            )
        able = self.gamma == 1 and env.metadata.get("generative")
        access = self.access or ("generative" if able else "episodes")
        if access == "episodes" and (self.workers > 1 or self.on != "local"):
            raise ValueError(
                "workers share the draws of a model, or of an environment with generative access; "
                "episodes are played by one"
            )
        return access
