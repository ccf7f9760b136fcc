"""Rollouts: many episodes of a model under a policy."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recurl.arguments import require_numbers, with_known_names
from recurl.errors import UnknownNameError
from recurl.model.rmdp import require_model
from recurl.model.transforms.discounting import require_discounts
from recurl.policy import Policy
from recurl.policy.outcomes import outcomes_of_policy
from recurl.simulation.batches import share_out
from recurl.simulation.kernel import run_episodes
from recurl.simulation.random import streams
from recurl.simulation.trace import Trace
from recurl.simulation.walk import Step, Walk

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

Chooser = Callable[[Walk], int | str]
"""Any function from the current walk to an action: its number at the vertex, or its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Episodes of a model under a policy.

    Attributes:
        returns: Total reward of each episode, discounted if so asked.
        lengths: Steps of each episode.
        depths: Greatest stack height of each episode; 1 if nothing was called.
        truncated: Whether the step limit cut the episode.
        traces: The first episodes in full, as many as were asked for.
    """

    returns: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    depths: npt.NDArray[np.int64]
    truncated: npt.NDArray[np.bool_]
    traces: tuple[Trace, ...] = ()

    @property
    def mean(self) -> float:
        """Mean total reward, truncated episodes included as far as they went."""
        return float(self.returns.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean; infinite for a single episode."""
        count = len(self.returns)
        return float(self.returns.std(ddof=1) / math.sqrt(count)) if count > 1 else math.inf

    @property
    def margin(self) -> float:
        """Half the width of the 95 % interval around the mean."""
        return 1.96 * self.standard_error

    def __str__(self) -> str:
        count, cut = len(self.returns), int(self.truncated.sum())
        tail = f"; {cut} cut at the step limit, their rewards counted so far" if cut else ""
        return (
            f"{count} episodes: mean return {self.mean:.6g} ± {self.margin:.2g} (sampled, 95 %), "
            f"mean length {self.lengths.mean():.6g}, "
            f"greatest depth {self.depths.max()}{tail}"
        )


@with_known_names
def simulate(
    model: RMDP,
    policy: Policy | Chooser | str | None = None,
    episodes: int = 1000,
    *,
    seed: int = 0,
    step_limit: int = 1_000_000,
    gamma: float = 1.0,
    box_gamma: float = 1.0,
    traces: int = 0,
    threads: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> Simulation:
    """Run episodes of a model under a policy.

    Policies run compiled, on all cores; any function of the current `Walk` will do as well, on a
    slower path. Each episode draws from its own stream, so that the same seed gives the same
    result to the bit on any number of threads. The stack grows as far as memory goes.

    Args:
        model: The model.
        policy: A `Policy`, something that has one (a solution), or a function from the walk to an
            action; ``"uniform"``, as if not given, takes any action.
        episodes: How many episodes to run.
        seed: Seed of all randomness.
        step_limit: Steps after which an episode is cut and marked as truncated.
        gamma: Discount: the reward of step t = 0, 1, ... counts gamma to the power t.
        box_gamma: Discount by boxes, of 1-exit models: what follows a step within a component
            counts this much, and a call is one step to its caller. See `discount_boxes`; here
            nothing is left early, rewards count less instead, so that lengths are those of the
            model.
        traces: How many of the first episodes to keep in full.
        threads: How many threads to use; all cores if not given.
        callback: Called now and then with the number of episodes done.

    Example:
        >>> import recurl
        >>> result = recurl.simulate(recurl.zoo.gambler(p=0.25), episodes=20_000, seed=1)
        >>> bool(abs(result.lengths.mean() - 3) < 0.1)  # 1 + 2 p over 1 - 2 p
        True
    """
    require_model(model, "simulate")
    least = {"episodes": 1, "step_limit": 1, "seed": 0, "traces": 0, "threads": 1}
    given = {"episodes": episodes, "step_limit": step_limit, "seed": seed, "traces": traces}
    require_numbers(**given, threads=threads)
    for name, value in (given | {"threads": threads or 1}).items():
        if not value >= least[name]:
            raise ValueError(f"{name} must be at least {least[name]}, not {value}")
    require_discounts(model, gamma, box_gamma)
    policy = _policy_of(model, policy)
    if not isinstance(policy, Policy):
        return _slow(model, policy, episodes, seed, step_limit, (gamma, box_gamma), traces)
    if policy.model != model:
        raise ValueError(f"the policy is for another model than {model.name}")
    rollout = _Rollout(policy, seed, step_limit, (float(gamma), float(box_gamma)))
    totals, counts = np.empty(episodes), np.empty((episodes, 3), np.int64)

    def batch(begin: int, end: int) -> None:
        rollout.run(begin, totals[begin:end], counts[begin:end])

    share_out(batch, episodes, threads or os.cpu_count() or 1, callback=callback)
    lengths, depths, cut = counts.T.copy()
    kept = (rollout.trace(i, int(lengths[i])) for i in range(min(traces, episodes)))
    return Simulation(totals, lengths, depths, cut > 0, traces=tuple(kept))


class _Rollout:
    """Episodes of a policy by number, each from its own random stream."""

    def __init__(
        self, policy: Policy, seed: int, step_limit: int, discounts: tuple[float, float]
    ) -> None:
        outcomes = outcomes_of_policy(policy)
        self._model, self._transition = policy.model, outcomes.transition
        self._rows = (outcomes.row_start, outcomes.packed(), outcomes.start, outcomes.start_below)
        self._seed, self._limit, self._discounts = seed, step_limit, discounts

    def run(
        self, first: int, totals: np.ndarray, counts: np.ndarray, log: np.ndarray | None = None
    ) -> None:
        """Run episodes from a number on, as many as there are totals and counts."""
        done, stack = 0, np.empty(64, np.int32)
        log = np.empty(0, np.int32) if log is None else log
        while done < len(totals):
            random = streams(self._seed, first + done, first + len(totals))
            scratch = (stack, np.empty(len(stack)))
            out = (totals[done:], counts[done:], log)
            limit, rates = self._limit, self._discounts
            done += run_episodes(*self._rows, random, *scratch, limit, *rates, *out)
            stack = np.empty(2 * len(stack), np.int32)

    def trace(self, episode: int, length: int) -> Trace:
        """An episode in full."""
        log = np.empty(length, np.int32)
        self.run(episode, np.empty(1), np.empty((1, 3), np.int64), log)
        return Trace(self._model, tuple(self._transition[log].tolist()))


def _policy_of(model: RMDP, given: Any) -> Policy | Chooser:
    """The policy or function that is meant."""
    if given is None or isinstance(given, str):
        if given not in (None, "uniform"):
            raise UnknownNameError("policy", given, ["uniform"])
        return Policy.uniform(model)
    found: Any = getattr(given, "policy", given)
    if isinstance(found, Policy) or (found is given and callable(given)):
        return found
    fix = ": give learner.policy()" if callable(found) else ""
    raise TypeError(
        f"simulate takes a policy, a function of the walk or 'uniform', not a "
        f"{type(given).__name__}{fix}"
    )


def _slow(
    model: RMDP,
    choose: Chooser,
    episodes: int,
    seed: int,
    step_limit: int,
    discounts: tuple[float, float],
    traces: int,
) -> Simulation:
    runs = [
        _slow_episode(model, choose, np.random.default_rng([seed, i]), step_limit)
        for i in range(episodes)
    ]
    lengths, depths, truncated, steps = zip(*runs, strict=True)
    returns = [discounted_return(run, *discounts) for run in steps]
    return Simulation(
        np.array(returns),
        np.array(lengths),
        np.array(depths),
        np.array(truncated),
        tuple(Trace(model, tuple(s.transition for s in run)) for run in steps[:traces]),
    )


def discounted_return(steps: Sequence[Step], gamma: float, box_gamma: float) -> float:
    """The total of some steps, discounted as by `simulate`."""
    levels, level = list[float](), 1.0
    parts = []
    for t, step in enumerate(steps):
        parts.append(step.reward * gamma**t * level)
        level *= box_gamma
        if step.event == "call":
            levels.append(level)
        elif step.event == "return":
            level = levels.pop()
    return math.fsum(parts)


def _slow_episode(
    model: RMDP, choose: Chooser, random: np.random.Generator, step_limit: int
) -> tuple[int, int, bool, list[Step]]:
    walk = Walk(model, random)
    steps: list[Step] = []
    deepest = 1
    while not walk.ended and len(steps) < step_limit:
        steps.append(walk.step(_action_number(walk, choose(walk))))
        deepest = max(deepest, walk.height)
    return len(steps), deepest, not walk.ended, steps


def _action_number(walk: Walk, action: int | str) -> int:
    if isinstance(action, str):
        names = list(walk.model.action_names(walk.vertex))
        if action not in names:
            place = walk.model.vertex_name(walk.vertex)
            raise ValueError(f"{place} has no action {action!r}, only {', '.join(names)}")
        return names.index(action)
    return int(action)
