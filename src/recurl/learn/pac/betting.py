"""Bets on the worth of pairs: test martingales that hold at all times, for one exit.

Before a round, a tilt t and worths w of the outcomes are chosen for every pair from what was seen
so far. Each draw X of the pair then multiplies a capital by exp(-t w(X)) / E exp(-t w), where the
expectation is under the true distribution p of the pair. So the capital is a positive martingale
that begins with 1, and by Ville's inequality it ever exceeds 1 / alpha with probability alpha at
most. In logarithms, and with the tangent of ln at any u > 0 in place of ln, at all times

    -(p . E) <= L = ln(1 / alpha),
    E(k) = sum over rounds of  t (sum of w(X)) + n (ln u - 1 + exp(-t w(k)) / u).

That is linear in p. For any m >= 0 the expectation p . w is at most p . (w + m E) + m L, which is
the robust expectation with another reward. As E is nearly -(sum of t n) (w - mean), with
m = 1 / (sum of t n) nothing is left to gain by another p, and the rest is the width of a single
tail in the direction that matters, whatever the number of outcomes. The argument in full is in
docs/explanation/learning_guarantees.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.pac.robust import best_actions

if TYPE_CHECKING:
    from recurl.learn.pac.confidence import Sets
    from recurl.learn.pac.plan import Longs
    from recurl.learn.pac.robust import RobustBounds
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints

SETS_SHARE = 0.15
"""Share of delta that belongs to the sets of the pairs; the bets share the rest evenly."""
FIRST_DRAWS = 8
"""Draws of each random pair in the first round."""
_ROOM, _GROWTH, _NEAR, _AGAIN = 0.92, 0.2, 0.8, 0.05
_STEPS = (0.3, 0.15, 0.08, 0.04, 0.02, 0.01)
_MOST_TILT, _LEAST, _SLACK = 1.0, 0.5, 1e-12
_SWEEPS, _FAR, _HORIZON = 300, 1e9, 4


class Side:
    """The bets against worths that are greater (sign 1), or less (-1), than they look.

    Attributes:
        gained: E, by transition.
        spent: Sum of tilt times draws, by pair.
        tilt: The tilt of the coming draws, by pair.
        worth: The worths that they are bet on, by transition.
    """

    NAMES = ("gained", "spent", "tilt", "worth")

    def __init__(self, model: RMDP, sign: float) -> None:
        t = model.tables
        self.model, self.sign = model, sign
        self.gained, self.worth = np.zeros((2, t.n_transitions))
        self.spent, self.tilt = np.zeros((2, t.n_actions))

    def settle(self, drawn: Longs, centre: Floats) -> None:
        """Take the draws of a round into account; the frequencies say where tangents touch."""
        first, sizes = self.model.tables.transition_start[:-1], sizes_of(self.model)
        total = np.add.reduceat(drawn, first)
        tilt = np.repeat(np.where(total > 0, self.tilt, 0.0), sizes)
        gain = np.exp(-tilt * self.worth)
        touch = np.repeat(np.add.reduceat(centre * gain, first), sizes)
        bet = tilt * self.worth
        seen, size = (np.repeat(np.add.reduceat(drawn * b, first), sizes) for b in (bet, abs(bet)))
        times, log = np.repeat(total, sizes), np.log(touch)
        more = seen + times * (log - 1 + gain / touch)
        safe = _SLACK * (size + times * (np.abs(log) + 1 + gain / touch))
        self.gained += np.where(tilt != 0, more + safe, 0.0)
        self.spent += self.tilt * total

    def reward(self, bounds: RobustBounds, sets: Sets, log: float) -> Floats:
        """Rewards with which robust expectations take the bets into account, where that helps.

        Args:
            bounds: The bounds so far.
            sets: The distributions that the data allow.
            log: L, the logarithm of the capital that is never exceeded.
        """
        plain, sizes = self.model.tables.reward, sizes_of(self.model)
        price = (self.gained + log) / np.repeat(np.where(self.spent > 0, self.spent, np.inf), sizes)
        price = self.sign * (price + _SLACK * np.abs(price))

        def paid(part: Floats) -> Floats:
            found: Floats = plain + np.repeat(part, sizes) * price
            return found

        def worst(part: Floats) -> Floats:
            found: Floats = self.sign * bounds.expected(sets, self.sign, paid(part))
            return found

        part: Floats = np.ones(len(sizes))
        best = worst(part)
        for step in _STEPS:
            for tried in (part * (1 + step), part * (1 - step)):
                value = worst(tried)
                part, best = np.where(value < best, tried, part), np.minimum(value, best)
        return paid(np.where(best < worst(np.zeros(len(sizes))), part, 0.0))


class PairBets:
    """The bets on both sides of all pairs, and the draws that they need.

    Args:
        model: The model.
        epsilon: Width of the interval that is asked for.
        delta: Probability with which the statements of the learner may be wrong.
    """

    def __init__(self, model: RMDP, epsilon: float, delta: float) -> None:
        t = model.tables
        self.model, self.epsilon = model, epsilon
        self.random = sizes_of(model) > 1
        pairs = max(int(self.random.sum()), 1)
        self.log = math.log(2 * pairs / ((1 - SETS_SHARE) * delta)) * (1 + 1e-12)
        self.sides = Side(model, 1.0), Side(model, -1.0)
        self.counts = np.zeros(t.n_transitions, np.int64)
        self.values: Floats = np.zeros(t.n_vertices)
        self.wanted: Longs = np.where(self.random, FIRST_DRAWS, 0).astype(np.int64)

    @property
    def total(self) -> Longs:
        """Draws of each pair."""
        total: Longs = np.add.reduceat(self.counts, self.model.tables.transition_start[:-1])
        return total

    def settle(self, counts: Longs, centre: Floats) -> None:
        """Take new counts into account."""
        for side in self.sides:
            side.settle(counts - self.counts, centre)
        self.counts[:] = counts

    def rewards(self, bounds: RobustBounds, sets: Sets) -> tuple[Floats, Floats]:
        """The rewards for the upper and for the lower bound."""
        above, below = (side.reward(bounds, sets, self.log) for side in self.sides)
        return above, below

    def prepare(self, bounds: RobustBounds, sets: Sets, scores: Floats) -> None:
        """Choose the coming draws and the bets on them.

        Args:
            bounds: Bounds so far.
            sets: The distributions that the data allow.
            scores: How much of the gap is due to each pair.
        """
        total = self.total
        parts, spread = self._nominal(bounds, sets.centre)
        goal = self._goal(parts)
        if bounds.bounded:
            self.wanted[:] = np.ceil(self._draws(goal, total, scores))
        else:
            more = np.maximum(np.ceil(_GROWTH * total), FIRST_DRAWS)
            self.wanted[:] = np.where(bounds.slow_pairs(sets) & self.random, more, 0)
        known = goal > total
        even = np.sqrt(2 * self.log / np.where(known, goal, _HORIZON * (total + self.wanted + 1)))
        for side in self.sides:
            rest = (even * goal - side.spent * spread) / np.where(known, goal - total, 1.0)
            rest = np.clip(rest, _LEAST * even, even / _LEAST)
            tilt = np.minimum(np.where(known, rest, even), _MOST_TILT)
            side.tilt[:] = tilt / np.where(spread > 0, spread, np.inf)
            side.worth[:] = side.sign * self._worths(self._ahead(bounds, side.sign))[0]

    def _draws(self, goal: Floats, total: Longs, scores: Floats) -> Floats:
        """Draws towards the goal; where it is reached, of the pairs that the gap is due to."""
        left, most = np.maximum(goal - total, 0.0), np.maximum(_GROWTH * total, FIRST_DRAWS)
        per = np.where(self.random, scores / np.maximum(total, 1), 0.0)
        near = (per >= _NEAR * per.max()) & (left == 0)
        again, towards = np.maximum(_AGAIN * total, FIRST_DRAWS), np.minimum(left, most)
        draws: Floats = np.where(near, again, towards)
        return draws

    def _ahead(self, bounds: RobustBounds, sign: float) -> Floats:
        """Worths of transitions by a bound as it will be where the width asked for is reached."""
        t, x = self.model.tables, np.append(self.values, 0.0)
        if bounds.bounded:
            off = (bounds.above if sign > 0 else bounds.below) - x
            start = abs(self.model.start_value(off[:-1]))
            x += off * min(0.5 * self.epsilon / max(start, 1e-12), 1.0)
        return bounds.successors.worths(t.reward, x)

    def _nominal(self, bounds: RobustBounds, centre: Floats) -> tuple[Floats, Floats]:
        """Visits times spread of each pair, and spreads, by the observed frequencies."""
        t = self.model.tables
        first, states = t.transition_start[:-1], np.flatnonzero(t.states)
        x = np.append(self.values, 0.0)
        for _ in range(_SWEEPS):
            worth = bounds.successors.worths(t.reward, x)
            values = np.add.reduceat(centre * worth, first)
            new = np.maximum.reduceat(values, t.action_start[states])
            change, x[states] = np.abs(new - x[states]).max(), new
            if change <= 1e-3 * self.epsilon:
                break
        # A model that need not end has no values: then any bets will do.
        self.values = x[:-1] if np.abs(x).max() < _FAR else 0 * x[:-1]
        spread = self._worths(worth)[1]
        chosen = (t.action_start[:-1] + best_actions(values, t.action_start))[states]
        parts: Floats = np.zeros(t.n_actions)
        parts[chosen] = bounds.visits(centre, chosen)[states] * spread[chosen]
        return np.where(self.random, parts, 0.0), spread

    def _worths(self, worth: Floats) -> tuple[Floats, Floats]:
        """Worths less their mean, and their standard deviation, by frequencies that avoid 0."""
        first, sizes = self.model.tables.transition_start[:-1], sizes_of(self.model)
        prob = (self.counts + 0.5) / np.repeat(self.total + 0.5 * sizes, sizes)
        worth = worth - np.repeat(np.add.reduceat(prob * worth, first), sizes)
        return worth, np.sqrt(np.add.reduceat(prob * worth**2, first))

    def _goal(self, parts: Floats) -> Floats:
        """Draws of each pair that end with the width asked for, with the fewest draws in all.

        A pair adds part sqrt(2 L / n) to either side: n is proportional to part^(2/3).
        """
        power, half = parts ** (2 / 3), _ROOM * self.epsilon / 2
        goal: Floats = 2 * self.log * power * power.sum() ** 2 / half**2
        return goal

    def state(self) -> dict[str, np.ndarray]:
        """Everything to continue from."""
        sides = zip(("above", "below"), self.sides, strict=True)
        found = {f"{name} {side}": getattr(own, name) for side, own in sides for name in Side.NAMES}
        return {**found, "settled": self.counts, "wanted": self.wanted, "values": self.values}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a state, if it is one of bets.

        Raises:
            ValueError: It is that of another model.
        """
        if "settled" not in state:
            return
        for name, own in self.state().items():
            if state[name].shape != own.shape:
                raise ValueError(f"{name} has another size")
            own[:] = state[name]


def sizes_of(model: RMDP) -> Ints:
    """Outcomes of each pair."""
    return np.diff(model.tables.transition_start)
