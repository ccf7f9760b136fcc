"""The worth of calls, from bounds of how the callee is left and of what comes after.

A call leaves its callee by exit j with probability P_j, and is worth sum_j P_j b_j, where b_j is
the worth of going on from there. Known are bounds a_j of every P_j and c of their sum. From above,
P_j <= a_j and sum P_j <= c imply, for every m >= 0,

    sum_j P_j b_j <= sum_j a_j max(b_j - m, 0) + c m.

The best m is a b_j: exits are filled up in the order of their worth until c is used up. From below,
P_j >= a_j and sum P_j >= c imply, for 0 <= m <= min b,

    sum_j P_j b_j >= sum_j a_j (b_j - m) + c m,

where m = min b is best if c is more than all a_j. With m = 0 both are sums of products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.model.tables import Floats, Mask
from recurl.solving.outward import Indices

_UNIT, _LEAST = 2.4e-16, 1e-323


class CallMixes(NamedTuple):
    """Calls with bounds of how they are left, one row each; exits beyond a callee's are padding.

    Attributes:
        leave: Bounds a of the probabilities to leave by each exit, 0 for padding. ``[g, J]``
        after: Worth b of going on from there, 0 for padding. ``[g, J]``
        ends: Bound c of the probability to leave at all. ``[g]``
        level: The number m of each.
        full: Shares of exits that count with all of their a. ``[g, J]``
        last: The exit that takes what these leave of c, if m > 0.
    """

    leave: Floats
    after: Floats
    ends: Floats
    level: Floats
    full: Floats
    last: Indices

    @classmethod
    def above(cls, leave: Floats, after: Floats, ends: Floats) -> CallMixes:
        """With the best level for bounds from above."""
        order = np.argsort(-after, axis=1, kind="stable")
        filled = np.cumsum(np.take_along_axis(leave, order, 1), axis=1) >= ends[:, None]
        last = np.take_along_axis(order, filled.argmax(axis=1)[:, None], 1)
        level = np.take_along_axis(after, last, 1)[:, 0] * filled.any(axis=1)
        before = np.empty_like(filled)
        np.put_along_axis(before, order, ~filled, 1)
        return cls(leave, after, ends, level, leave * (before | (level == 0)[:, None]), last[:, 0])

    @classmethod
    def below(cls, leave: Floats, after: Floats, ends: Floats, real: Mask) -> CallMixes:
        """With the best level for bounds from below; ``real`` masks padding out."""
        worth = np.where(real, after, np.inf)
        more = ends > leave.sum(axis=1)
        last = worth.argmin(axis=1)
        return cls(leave, after, ends, np.where(more, worth.min(axis=1), 0.0), leave, last)

    @classmethod
    def products(cls, leave: Floats, after: Floats, ends: Floats) -> CallMixes:
        """With level 0: sums of products."""
        none = np.zeros(len(ends))
        return cls(leave, after, ends, none, leave, none.astype(np.int64))

    @property
    def rest(self) -> Floats:
        """By how much the worth after an exit exceeds the level."""
        return np.maximum(self.after - self.level[:, None], 0.0)

    @property
    def left(self) -> Floats:
        """The share of the last exit, beyond what counts as full."""
        left: Floats = np.maximum(self.ends - self.full.sum(axis=1), 0.0) * (self.level > 0)
        return left

    def value(self) -> Floats:
        """The bounds, in floats."""
        found: Floats = (self.leave * self.rest).sum(axis=1) + self.ends * self.level
        return found

    def outward(self, side: float) -> Floats:
        """The bounds, rounded up (side 1) or down (-1); a single product by 1 is exact."""
        counts, common = (self.leave > 0) & (self.rest > 0), (self.ends > 0) & (self.level > 0)
        terms = counts.sum(axis=1) + common
        one = (counts & ((self.leave == 1) | (self.after == 1))).any(axis=1) & (self.level == 0)
        one |= common & ((self.ends == 1) | (self.level == 1))
        total = self.value()
        rounded = total * (1 + side * (terms + 4) * _UNIT) + side * (terms + 4) * _LEAST
        exact = (terms == 0) | ((terms == 1) & one)
        found: Floats = np.where(exact, total, np.maximum(rounded, 0.0))
        return found

    def shares(self) -> Floats:
        """By how much the bounds change with the worth after each exit."""
        share = self.full.copy()
        share[np.arange(len(share)), self.last] += self.left
        return share

    def slope(self, leave: Floats, after: Floats, ends: Floats) -> Floats:
        """At least the change of the bounds from below along a direction, in floats."""
        change: Floats = (leave * self.rest).sum(axis=1) + ends * self.level
        change += (self.full * after).sum(axis=1) + self.left * after.max(axis=1, initial=0.0)
        return change
