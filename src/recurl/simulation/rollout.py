"""Rollouts: many episodes of a model under a policy."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recurl.errors import UnknownNameError
from recurl.model.rmdp import require_model
from recurl.policy import Policy
from recurl.simulation.batches import share_out
from recurl.simulation.chain import Chain, chain_of
from recurl.simulation.kernel import run_episodes, trace_episode
from recurl.simulation.trace import Trace, trace_of_steps, trace_of_transitions
from recurl.simulation.walk import Step, Walk

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

Chooser = Callable[[Walk], int | str]
"""Any function from the current walk to an action: its number at the vertex, or its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Episodes of a model under a policy.

    Attributes:
        returns: Total reward of each episode.
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


def simulate(
    model: RMDP,
    policy: Policy | Chooser | str | None = None,
    episodes: int = 1000,
    *,
    seed: int = 0,
    step_limit: int = 1_000_000,
    traces: int = 0,
    threads: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> Simulation:
    """Run episodes of a model under a policy.

    Policies run compiled, on all cores; any function of the current `Walk` will do as well, on a
    slower path. Each episode draws from a stream of its own, so that the same seed gives the same
    result to the bit on any number of threads. The stack grows as far as memory goes.

    Args:
        model: The model.
        policy: A `Policy`, something that has one (a solution), or a function from the walk to an
            action; ``"uniform"``, as if not given, takes any action.
        episodes: How many episodes to run.
        seed: Seed of all randomness.
        step_limit: Steps after which an episode is cut and marked as truncated.
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
    for name, value in (given | {"threads": threads or 1}).items():
        if not value >= least[name]:
            raise ValueError(f"{name} must be at least {least[name]}, not {value}")
    policy = _policy_of(model, policy)
    if not isinstance(policy, Policy):
        return _slow(model, policy, episodes, seed=seed, step_limit=step_limit, traces=traces)
    if policy.model != model:
        raise ValueError(f"the policy is for another model than {model.name}")
    chain = chain_of(policy)
    out = (
        np.empty(episodes),
        np.empty(episodes, np.int64),
        np.empty(episodes, np.int64),
        np.empty(episodes, np.bool_),
    )

    def batch(begin: int, end: int) -> None:
        run_episodes(chain, seed, begin, end, step_limit, *out)

    share_out(batch, episodes, threads or os.cpu_count() or 1, callback=callback)
    kept = (_trace(model, chain, seed, i, step_limit) for i in range(min(traces, episodes)))
    return Simulation(*out, traces=tuple(kept))


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


def _trace(model: RMDP, chain: Chain, seed: int, episode: int, step_limit: int) -> Trace:
    _, outcomes = trace_episode(chain, seed, episode, step_limit)
    return trace_of_transitions(model, chain.transition[outcomes].tolist())


def _slow(
    model: RMDP, choose: Chooser, episodes: int, *, seed: int, step_limit: int, traces: int
) -> Simulation:
    runs = [
        _slow_episode(model, choose, np.random.default_rng([seed, i]), step_limit)
        for i in range(episodes)
    ]
    returns, lengths, depths, truncated, steps = zip(*runs, strict=True)
    return Simulation(
        np.array(returns),
        np.array(lengths),
        np.array(depths),
        np.array(truncated),
        tuple(trace_of_steps(model, s) for s in steps[:traces]),
    )


def _slow_episode(
    model: RMDP, choose: Chooser, random: np.random.Generator, step_limit: int
) -> tuple[float, int, int, bool, list[Step]]:
    walk = Walk(model, random)
    steps: list[Step] = []
    deepest = 1
    while not walk.ended and len(steps) < step_limit:
        steps.append(walk.step(_action_number(walk, choose(walk))))
        deepest = max(deepest, walk.height)
    return math.fsum(s.reward for s in steps), len(steps), deepest, not walk.ended, steps


def _action_number(walk: Walk, action: int | str) -> int:
    if isinstance(action, str):
        names = list(walk.model.action_names(walk.vertex))
        if action not in names:
            place = walk.model.vertex_name(walk.vertex)
            raise ValueError(f"{place} has no action {action!r}, only {', '.join(names)}")
        return names.index(action)
    return int(action)
