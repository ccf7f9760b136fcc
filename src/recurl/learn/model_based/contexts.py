"""Contexts of a plan: what the exits of a running call are worth, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from recurl.learn.model_based.counts import CALL, END, EXIT, STEP, OutcomeCounts
from recurl.learn.model_based.estimate import Estimate
from recurl.model.tables import Floats

_HOPE = 0.05
"""Share of the distance to the unknown that counts in how finely contexts are distinguished."""


@dataclass(eq=False, slots=True)
class Context:
    """Exit values of a call, and the values of its states that follow from them.

    Attributes:
        state: A state of the component, which names it.
        worth: Worth of each exit, of the best exit, and of a state of which nothing is known.
        values: Worth of states.
        children: Context that a call through each box enters.
        visited: Whether a run has been in it since the last plan.
    """

    state: int
    worth: list[float]
    values: dict[int, float] = field(default_factory=dict)
    children: dict[int, Context] = field(default_factory=dict)
    visited: bool = False


@dataclass(slots=True)
class Beliefs:
    """Beliefs of a plan beyond the counts.

    A pair that was tried n times is worth ``(n Q + prior U) / (n + prior)``: Q as counted, U what
    the unknown is worth. With exits of which the best is worth m, an optimist has
    ``U = m + earnings`` if m < 0, else ``U = max(m, earnings)``: a call is worth at most what its
    exits are worth, plus what a run may still earn in all. So hope is not added at every call. A
    pessimist has U below the worst exit by the earnings.

    Attributes:
        gamma: Discount of a step.
        prior: Weight of the unknown among the outcomes of a pair, in samples.
        optimistic: Whether the unknown is good.
        earnings: What the unknown may earn, or cost.
        same: Differences, as a share of those between exits, that make no other context.
        shifts: Whether a constant added to all exits is added to all values: without discount.
        box_gamma: Discount by boxes: the share of a step that goes on; the rest leaves by the exit.
        estimate: The frequencies that are made of the counts.
    """

    gamma: float
    prior: float
    optimistic: bool
    earnings: float = 1.0
    same: float = 0.003
    shifts: bool = True
    box_gamma: float = 1.0
    estimate: Estimate = field(default_factory=Estimate)

    def extended(self, exits: Floats) -> Floats:
        """Exit values (last axis), with those of the best exit and of the unknown behind them.

        Example:
            >>> Beliefs(1.0, 1.0, optimistic=True, earnings=2.0).extended(np.array([-3.0, -1.0]))
            array([-3., -1., -1.,  1.])
        """
        best = exits.max(axis=-1, keepdims=True)
        if self.optimistic:
            unknown = best + np.maximum(self.earnings - np.maximum(best, 0.0), 0.0)
        else:
            unknown = exits.min(axis=-1, keepdims=True) - self.earnings
        return np.concatenate([exits, best, unknown], axis=-1)

    def size(self, worth: Floats) -> Floats:
        """How far apart the numbers of each vector are; the unknown counts for optimists only."""
        low, high = self._ends(worth)
        found: Floats = high - low
        return found

    def _ends(self, worth: Floats) -> tuple[Floats, Floats]:
        own = worth if self.optimistic else worth[..., :-1]
        low, high = own.min(axis=-1), own.max(axis=-1)
        if self.shifts:
            return low, high
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def tolerance(self, worth: Floats) -> Floats:
        """How far apart exit values of one context may be; hope counts little there."""
        # The best exit and the unknown stand last, as `extended` has put them.
        best, greatest = worth[..., -2], worth[..., -1 if self.optimistic else -2]
        least = low = worth[..., :-2].min(axis=-1)
        if not self.shifts:
            low, greatest = np.minimum(low, 0.0), np.maximum(greatest, 0.0)
        found: Floats = self.same * (best - least + _HOPE * (greatest - low)) + 1e-9
        return found

    def shift(self, worth: Floats, known: Floats) -> Floats:
        """Values at some exit values less those at known ones: at least, or about.

        Values rise with exit values, and by no more than those do: by at least the least
        difference. Half way to the greatest is taken where both are close.
        """
        low, high = self._ends(worth - known)
        close = high - low <= 2 * self.tolerance(worth)
        found: Floats = np.where(close, 0.5 * (low + high), low)
        return found

    def enter(self, context: Context, after: Sequence[int], entry: int) -> Context:
        """A new context for a call, by the states after its exits."""
        get, unknown = context.values.get, context.worth[-1]
        exits = np.array([get(state, unknown) for state in after])
        return Context(entry, self.extended(exits).tolist())

    def call(self, context: Context, box: int, after: Sequence[int], entry: int) -> float:
        """The value of a call in a context."""
        child = context.children.get(box)
        if child is None:
            return context.worth[-1]
        get, unknown, worth = context.values.get, context.worth[-1], child.worth
        now = [get(state, unknown) for state in after]
        value = child.values.get(entry, worth[-1])
        apart = [a - w for a, w in zip(now, worth, strict=False)]
        span = max(now) - min(now)
        if self.optimistic:
            best, earnings = max(now), self.earnings
            now.append(best + earnings if best < 0 else max(best, earnings))
            apart.append(now[-1] - worth[-1])
        if not self.shifts:
            now.append(0.0)
            apart.append(0.0)
        low, high = min(apart), max(apart)
        close = high - low <= 2 * (self.same * (span + _HOPE * (max(now) - min(now))) + 1e-9)
        return value + (0.5 * (low + high) if close else low)

    def pair(self, counts: OutcomeCounts, pair: int, context: Context) -> float:
        """The value of a pair in a context, by the present counts."""
        unknown = context.worth[-1]
        if not counts.tried[pair]:
            return unknown
        estimate, count, reward = self.estimate, counts.count, counts.reward
        weights = estimate.weight
        seen = earned = later = 0.0
        for outcome in counts.outcomes[pair]:
            weight = weights[outcome] if outcome < len(weights) else 1.0
            times = weight * count[outcome]
            seen += times
            earned += weight * reward[outcome]
            later += times * self.outcome(counts, outcome, context)
        if pair in estimate.more:
            outcome, times = estimate.more[pair]
            earned += times * earned / seen
            later += times * self.outcome(counts, outcome, context)
            seen += times
        hope = estimate.hope[pair] if pair < len(estimate.hope) else self.prior
        if self.box_gamma < 1.0:
            leaves = (1.0 - self.box_gamma) * context.worth[0] * (seen + hope)
            return (earned + self.gamma * (self.box_gamma * (later + hope * unknown) + leaves)) / (
                seen + hope
            )
        return (earned + self.gamma * (later + hope * unknown)) / (seen + hope)

    def outcome(self, counts: OutcomeCounts, outcome: int, context: Context) -> float:
        """The value of what follows an outcome in a context."""
        kind, target, worth = counts.kind[outcome], counts.target[outcome], context.worth
        if kind == STEP:
            return context.values.get(target, worth[-1])
        if kind == CALL:
            box = counts.box[outcome]
            return self.call(context, box, counts.after[box], target)
        if kind == EXIT and target < len(worth) - 2:
            return worth[target]
        return 0.0 if kind == END else worth[-2]

    def choose(self, counts: OutcomeCounts, state: int, context: Context) -> tuple[int, float]:
        """The best pair of a state, among equals the one tried least, and what it is worth."""
        best, value = -1, 0.0
        for pair in counts.pairs_of[state]:
            worth = self.pair(counts, pair, context)
            equal = worth == value and counts.tried[pair] < counts.tried[best]
            if best < 0 or worth > value or equal:
                best, value = pair, worth
        return best, value
