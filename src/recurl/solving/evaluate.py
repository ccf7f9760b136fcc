"""The value of a fixed policy: a recursive Markov chain, solved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recurl.arguments import with_known_names
from recurl.linear.systems import one_blas_thread
from recurl.model.rmdp import RMDP
from recurl.policy import Policy
from recurl.solving.depth import expected_depth
from recurl.solving.discounted import discounted_policy, discounts, too_large
from recurl.solving.exact_chain import ExactRows
from recurl.solving.expectations import Expectations, expectations
from recurl.solving.outward import float_above, float_below
from recurl.solving.rows import rows_of_policy
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.tables import Floats

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Expectations of a policy, from the start of its model.

    Attributes:
        policy: The policy.
        value: Expected total reward, and worth of the exit; +inf or -inf where it is, nan where
            both gains and losses are infinite, or where it is not known whether they are.
        lower: The value is at least this.
        upper: The value is at most this.
        steps: Expected number of steps; inf if infinite, or if the run may never end; nan if
            neither is known.
        steps_interval: Interval that holds the expected number of steps.
        termination: Interval that holds the probability that the run ends.
        exit_probabilities: Probability to end by each exit of the start component.
        exit_intervals: Intervals that hold these probabilities.
        reason: What stands in the way, where something is infinite or undefined.
        chain: The same by slot of the policy, for those that runs visit.
        exit_values: What each exit of the start component is worth at the end.
    """

    policy: Policy
    value: float
    lower: float
    upper: float
    steps: float
    steps_interval: tuple[float, float]
    termination: tuple[float, float]
    exit_probabilities: dict[str, float]
    exit_intervals: dict[str, tuple[float, float]]
    reason: str
    chain: Expectations
    exit_values: tuple[float, ...]

    @cached_property
    def given_end(self) -> tuple[float, float]:
        """Interval that holds the expected reward and worth of the exit, given that the run ends.

        Infinite ends where nothing is proved, or where the run may end with probability 0.
        """
        if self.termination[0] >= 1:
            return self.lower, self.upper
        from recurl.solving.given_end import ending_rewards, quotient

        rows, start = rows_of_policy(self.policy), _Start(self.policy.model)
        low, high = ending_rewards(rows, self.chain.leaving)
        exits = list(self.exit_intervals.values())
        own = [start.interval(low[rows.start, k], high[rows.start, k]) for k in range(len(exits))]
        total = with_worth(_sum_of(own), np.array(self.exit_values), exits)
        return quotient(total, self.termination)

    @cached_property
    def depth(self) -> float:
        """Expected greatest stack height: 1 if nothing is called; inf if infinite, nan if endless.

        Also nan if it is not known whether the expected steps are finite.

        ``sum_h P(depth > h)``, by the probabilities to end within height h. The sum converges
        geometrically if the expected steps are finite.
        """
        if not math.isfinite(self.steps):
            return self.steps if self.termination[0] >= 1 else math.nan
        rows = rows_of_policy(self.policy)
        total, rest = expected_depth(rows, self.chain.leaving.places)
        return total + rest

    def distribution(
        self, episodes: int = 10_000, seed: int = 0, quantiles: Sequence[float] = QUANTILES
    ) -> dict[float, float]:
        """Quantiles of the total reward, from simulated episodes; exit values are not added."""
        from recurl.simulation.rollout import simulate

        runs = simulate(self.policy.model, self.policy, episodes, seed=seed)
        levels = np.quantile(runs.returns, quantiles)
        return dict(zip(quantiles, levels.tolist(), strict=True))

    def __str__(self) -> str:
        model, (low, high) = self.policy.model, self.termination
        ends = f"ends with probability {_shown(low, high)}"
        exits = ", ".join(f"{name} {p:.6g}" for name, p in self.exit_probabilities.items())
        parts = [
            f"{model.name} under a policy that is {self.policy.kind}: expected reward "
            f"{self.value:.10g}{self._precision()}",
            f"A run takes {self.steps:.6g} steps on average and {ends}"
            + (f" (exits: {exits})" if len(self.exit_probabilities) > 1 else ""),
        ]
        return ". ".join([*parts, *([self.reason] if self.reason else [])]) + "."

    def _precision(self) -> str:
        width = self.upper - self.lower
        return f" (within {width / 2:.1g})" if math.isfinite(width) and width > 0 else ""


@with_known_names
@one_blas_thread()
def evaluate(
    policy: Policy | Solution,
    *,
    exit_values: Sequence[float] | None = None,
    gamma: float | str | None = 1,
    count: str = "actions",
    box_gamma: float | str | None = 1,
) -> Evaluation:
    """The expected total reward of a policy of any kind, and how its runs end.

    The model under the policy is a recursive Markov chain. The probabilities to leave by each exit
    are the least solution of ``P(q, k) = sum p P(q', k)``, where a call is worth
    ``sum_j P(en, j) P(ret_j, k)``: Newton's method. Given them, steps and rewards are linear.

    Args:
        policy: A stackless policy, or one by context or by pieces; of a solution, its policy.
        exit_values: What each exit of the start component is worth at the end; 0 if not given.
        gamma: Discount of each step, in (0, 1]; below 1, evaluates the policy in
            ``discount_steps(model, gamma)``, which is the model of the evaluation. A worth of exits
            is discounted too, and stopped runs leave by one more exit, worth 0. Steps and exits are
            those of that model.
        count: What the discount counts; see `discount_steps`.
        box_gamma: Discount by boxes of a 1-exit model, in (0, 1]; below 1, evaluates the policy in
            ``discount_boxes(model, box_gamma)``. A worth of the exit is not discounted.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> policy = recurl.Policy.stackless(model, {"T.u1": "divide", "S.u3": "fast"})
        >>> round(recurl.evaluate(policy).value, 6)
        -6.0
    """
    policy = _policy_of(policy)
    names, worth = _exits(policy, exit_values)
    undiscounted = policy.model
    if discounts(gamma, box_gamma):
        policy = discounted_policy(policy, gamma, count, box_gamma)
        lanes = policy.model.tables.n_vertices > undiscounted.tables.n_vertices
        names, worth = _exits(policy, [*worth.tolist(), *([0.0] if lanes else [])])
    rows = rows_of_policy(policy)
    found = expectations(rows, exact=ExactRows(policy))
    at, start = rows.start, _Start(policy.model)
    leaving, n_exits = found.leaving, len(names)
    exits = [start.interval(leaving.lower[at, k], leaving.upper[at, k]) for k in range(n_exits)]
    sure = bool(leaving.sure[at].all())
    steps = start.interval(found.steps_lower[at], found.steps_upper[at])
    reward = start.interval(found.reward_lower[at], found.reward_upper[at])
    lower, upper = with_worth(reward, worth, exits)
    chances = [min(max(start.mean(leaving.value[at, k]), a), b) for k, (a, b) in enumerate(exits)]
    value = start.mean(found.reward[at]) + float(worth @ np.array(chances))
    termination = (1.0, 1.0) if sure else _at_most_1(_sum_of(exits))
    reason = _reason(lower, upper, steps, termination)
    if reason and (why := too_large(undiscounted, box_gamma)) is not None:
        reason = f"{reason}; {why}"
    return Evaluation(
        policy,
        _between(value, lower, upper),
        lower,
        upper,
        steps=_between(start.mean(found.steps[at]), *steps),
        steps_interval=steps,
        termination=termination,
        exit_probabilities=dict(zip(names, chances, strict=True)),
        exit_intervals=dict(zip(names, exits, strict=True)),
        reason=reason,
        chain=found,
        exit_values=tuple(worth.tolist()),
    )


def mean_at_start(model: RMDP, lower: Floats, upper: Floats) -> tuple[float, float]:
    """The mean of bounds at the entries where runs start, rounded outwards."""
    return _Start(model).interval(lower, upper)


class _Start:
    """Sums over the entries at which runs start, by their exact probabilities."""

    def __init__(self, model: RMDP) -> None:
        t, exact = model.tables, model.exact
        self.weights = [exact.start(int(e)) for e in np.flatnonzero(t.start_prob > 0)]

    def interval(self, lower: Floats, upper: Floats) -> tuple[float, float]:
        """The mean of bounds, rounded outwards; nan where it is undefined."""
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            return self._end(lower, -math.inf), self._end(upper, math.inf)
        pairs = ((w, Fraction(a), Fraction(b)) for w, a, b in self._with(lower, upper))
        ends = [(w * a, w * b) for w, a, b in pairs]
        return float_below(sum(a for a, _ in ends)), float_above(sum(b for _, b in ends))

    def mean(self, values: Floats) -> float:
        """The mean of values, in floats."""
        return float(np.array([float(w) for w in self.weights]) @ values)

    def _with(self, lower: Floats, upper: Floats) -> Iterator[tuple[Fraction, float, float]]:
        return zip(self.weights, lower.tolist(), upper.tolist(), strict=True)

    def _end(self, values: Floats, side: float) -> float:
        """One end, where some values are infinite."""
        if np.isnan(values).any() or len(set(values[np.isinf(values)].tolist())) > 1:
            return math.nan if np.isnan(values).any() else side
        if np.isinf(values).any():
            return float(values[np.isinf(values)][0])
        mean = sum(w * Fraction(v) for w, v in zip(self.weights, values.tolist(), strict=True))
        return float_above(mean) if side > 0 else float_below(mean)


def with_worth(
    reward: tuple[float, float], worth: Floats, exits: list[tuple[float, float]]
) -> tuple[float, float]:
    """Bounds of the reward and the worth of the exit; -inf and inf where nothing is known."""
    added = [
        sorted((Fraction(w) * Fraction(a), Fraction(w) * Fraction(b)))
        for w, (a, b) in zip(worth.tolist(), exits, strict=True)
    ]
    ends = []
    for side, bound in enumerate(reward):
        rounded = float_above if side else float_below
        if math.isnan(bound):
            ends.append(math.inf if side else -math.inf)
        elif math.isinf(bound):
            ends.append(bound)
        else:
            ends.append(rounded(sum((pair[side] for pair in added), Fraction(bound))))
    return ends[0], ends[1]


def _sum_of(intervals: list[tuple[float, float]]) -> tuple[float, float]:
    """Bounds of a sum of numbers in intervals; infinite if one of them is."""
    if not np.isfinite(intervals).all():
        return -math.inf, math.inf
    low, high = (sum(Fraction(ends[side]) for ends in intervals) for side in (0, 1))
    return float_below(Fraction(low)), float_above(Fraction(high))


def _at_most_1(interval: tuple[float, float]) -> tuple[float, float]:
    """Bounds of a probability."""
    return min(interval[0], 1.0), min(interval[1], 1.0)


def _between(value: float, lower: float, upper: float) -> float:
    """An estimate that is within its bounds; nan if they leave open whether it is infinite."""
    if math.isinf(lower) or math.isinf(upper):
        return lower if lower == upper else math.nan
    return min(max(value, lower), upper)


def _policy_of(given: Policy | Solution) -> Policy:
    """A policy, or that of a solution."""
    found = given.policy if isinstance(given, Solution) else given
    if isinstance(found, Policy):
        return found
    if found is None:
        raise ValueError("this solution has no policy to evaluate: no policy attains its bound")
    fix = ""
    if isinstance(found, RMDP):
        fix = ": give Policy.uniform(model), Policy.stackless(model, {...}) or solve(model).policy"
    elif callable(getattr(found, "policy", None)):
        fix = ": give learner.policy()"
    raise TypeError(f"evaluate takes a policy or a solution, not a {type(found).__name__}{fix}")


def _exits(policy: Policy, exit_values: Sequence[float] | None) -> tuple[list[str], Floats]:
    """Names and worths of the exits of the start component."""
    t, c = policy.model.tables, policy.model.tables.start_component
    first = int(t.component_start[c] + t.n_entries[c])
    names = [policy.model.local_name(first + k) for k in range(t.n_exits[c])]
    worth = np.zeros(len(names)) if exit_values is None else np.asarray(exit_values, np.float64)
    if len(worth) != len(names):
        raise ValueError(f"the start component has {len(names)} exits, exit_values {len(worth)}")
    return names, worth


def _reason(
    lower: float, upper: float, steps: tuple[float, float], termination: tuple[float, float]
) -> str:
    if math.isfinite(steps[1]):
        return ""
    if termination[1] < 1:
        parts = ["The run may never end"]
    elif steps[0] == math.inf:
        parts = ["The expected number of steps is infinite"]
    else:
        parts = ["The expected number of steps is infinite, or too large for floats to tell"]
    if lower == upper:
        parts.append("gains are infinite" if lower > 0 else "losses are infinite")
    elif math.isinf(lower) and math.isinf(upper):
        parts.append("gains and losses may both be infinite, so that the total is undefined")
    return "; ".join(parts)


def _shown(low: float, high: float) -> str:
    return f"{high:.10g}" if high - low <= 1e-10 else f"in [{low:.10g}, {high:.10g}]"
