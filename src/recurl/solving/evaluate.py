"""What a fixed policy is worth: a recursive Markov chain, solved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recurl.simulation.rollout import simulate
from recurl.solving.depth import expected_depth
from recurl.solving.expectations import Expectations, expectations
from recurl.solving.rows import rows_of_policy

if TYPE_CHECKING:
    from recurl.model.tables import Floats
    from recurl.policy import Policy

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What to expect of a policy, from the start of its model.

    Attributes:
        policy: The policy.
        value: Expected total reward, and worth of the exit; +inf or -inf where it is, nan where
            both gains and losses are infinite.
        lower: The value is at least this.
        upper: The value is at most this.
        steps: Expected number of steps; inf if infinite, or if the run may never end.
        termination: Interval that holds the probability that the run ends.
        exit_probabilities: Probability to end by each exit of the start component.
        exit_intervals: Intervals that hold these probabilities.
        reason: What stands in the way, where something is infinite or undefined.
        chain: The same by slot of the policy, for those that runs visit.
    """

    policy: Policy
    value: float
    lower: float
    upper: float
    steps: float
    termination: tuple[float, float]
    exit_probabilities: dict[str, float]
    exit_intervals: dict[str, tuple[float, float]]
    reason: str
    chain: Expectations

    @cached_property
    def depth(self) -> float:
        """Expected greatest stack height: 1 if nothing is called; inf if infinite, nan if endless.

        ``sum_h P(depth > h)``, by the probabilities to end within height h. The sum converges
        geometrically if the expected steps are finite.
        """
        if not math.isfinite(self.steps):
            return math.inf if self.termination[1] >= 1 else math.nan
        rows = rows_of_policy(self.policy)
        total, rest = expected_depth(rows, self.chain.leaving.places)
        return total + rest

    def distribution(
        self, episodes: int = 10_000, seed: int = 0, quantiles: Sequence[float] = QUANTILES
    ) -> dict[float, float]:
        """Quantiles of the total reward, from simulated episodes; exit values are not added."""
        runs = simulate(self.policy.model, self.policy, episodes, seed=seed)
        levels = np.quantile(runs.returns, quantiles)
        return dict(zip(quantiles, levels.tolist(), strict=True))

    def __str__(self) -> str:
        model, (low, high) = self.policy.model, self.termination
        ends = f"ends with probability {_between(low, high)}"
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


def evaluate(policy: Policy, *, exit_values: Sequence[float] | None = None) -> Evaluation:
    """The expected total reward of a policy of any kind, and how its runs end.

    The model under the policy is a recursive Markov chain. The probabilities to leave by each exit
    are the least solution of ``P(q, k) = sum p P(q', k)``, where a call is worth
    ``sum_j P(en, j) P(ret_j, k)``: Newton's method. Given them, steps and rewards are linear.

    Args:
        policy: A stackless policy, or one by context or by pieces.
        exit_values: What each exit of the start component is worth at the end; 0 if not given.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> policy = recurl.Policy.stackless(model, {"T.u1": "divide", "S.u3": "fast"})
        >>> round(recurl.evaluate(policy).value, 6)
        -6.0
    """
    rows = rows_of_policy(policy)
    found = expectations(rows)
    at, p = rows.start, rows.start_prob
    leaving = found.leaving
    low, mid, high = (p @ table[at] for table in (leaving.lower, leaving.value, leaving.upper))
    names, worth = _exits(policy, exit_values)
    low, mid, high = low[: len(names)], mid[: len(names)], high[: len(names)]
    value = float(p @ found.reward[at] + worth @ mid)
    error = float(p @ found.error[at] + np.abs(worth) @ (high - low))
    sure = bool(leaving.sure[at].all())
    return Evaluation(
        policy,
        value,
        lower=value - error if math.isfinite(value) else _end(value, -1),
        upper=value + error if math.isfinite(value) else _end(value, 1),
        steps=float(p @ found.steps[at]),
        termination=(1.0, 1.0) if sure else (float(low.sum()), min(float(high.sum()), 1.0)),
        exit_probabilities=dict(zip(names, mid.tolist(), strict=True)),
        exit_intervals=dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True)),
        reason=_reason(value, sure, float(high.sum())),
        chain=found,
    )


def _exits(policy: Policy, exit_values: Sequence[float] | None) -> tuple[list[str], Floats]:
    """Names and worths of the exits of the start component."""
    t, c = policy.model.tables, policy.model.tables.start_component
    first = int(t.component_start[c] + t.n_entries[c])
    names = [policy.model.local_name(first + k) for k in range(t.n_exits[c])]
    worth = np.zeros(len(names)) if exit_values is None else np.asarray(exit_values, np.float64)
    if len(worth) != len(names):
        raise ValueError(f"the start component has {len(names)} exits, exit_values {len(worth)}")
    return names, worth


def _end(value: float, sign: int) -> float:
    """End of the interval of a value that is infinite or undefined."""
    return sign * math.inf if math.isnan(value) else value


def _reason(value: float, sure: bool, most: float) -> str:
    if sure:
        return ""
    parts = [
        "The run may never end"
        if most < 1 - 1e-9
        else "The expected number of steps is infinite, or too close to it to tell"
    ]
    if math.isinf(value):
        parts.append("gains are infinite" if value > 0 else "losses are infinite")
    if math.isnan(value):
        parts.append("gains and losses are both infinite, so that the total is undefined")
    return "; ".join(parts)


def _between(low: float, high: float) -> str:
    return f"{high:.10g}" if high - low <= 1e-10 else f"in [{low:.10g}, {high:.10g}]"
