"""Values by state: bounds of totals of one sign, whether runs end or not.

In the sense of the greatest total: U >= f(U) for all actions and U >= 0 imply that no policy has
more than U, with f(U) = r + sum p U'. L <= f(L) for the chosen actions implies that they reach L,
if errors of L get smaller along a direction g. For the least total, chosen and all actions change
places. An infinite total has U < 1 to leave at all, and losses in the place of its own U.
The proofs are in docs/explanation/certificates.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from recurl.model.certificate import Certificate, Values
from recurl.model.rmdp import RMDP
from recurl.model.tables import EXIT, RETURN, Mask
from recurl.verification.arithmetic import Ints, Numbers
from recurl.verification.checker import Checker
from recurl.verification.copies import Copies, Ports, Within


class Entry(NamedTuple):
    """Numbers of entries that are called, or in which runs start."""

    ports: Ports
    leave: Numbers  # to leave by each exit
    ends: Numbers  # to leave at all
    total: Numbers  # rewards until then, if they count

    def at_least(self, after: Numbers, m: Numbers) -> Numbers:
        """sum_j leave_j (after_j - m) + ends m, with the total."""
        worth = self.leave * (after - m[self.ports.call])
        return worth.sums(self.ports.size) + self.ends * m + self.total

    def levels(self, after: Numbers) -> list[Numbers]:
        """0, and the least of after."""
        return [Numbers(np.zeros(len(self.ports.size))), -(-after).tops(self.ports.size)]

    def at_most(self, after: Numbers) -> Iterator[Numbers]:
        """sum_j leave_j max(after_j - m, 0) + ends m, for m = 0 and for each after_j."""
        count, call = self.ports.size, self.ports.call
        begin = np.cumsum(count) - count
        for k in range(-1, int(count.max(initial=0))):
            m = after[begin + np.minimum(k, count - 1)] if k >= 0 else self.levels(after)[0]
            worth = (self.leave * (after - m[call]).or_zero()).sums(count)
            yield worth + self.ends * m + self.total


class ValueChecker(Checker):
    """Checks bounds by state.

    States are vertices of contexts; or those of copies of components, in columns: to leave by each
    exit, to leave at all if there are several, the total of rewards if they are paid. Calls are
    then worth a mix of what they enter and of what they return to.
    """

    def __init__(self, model: RMDP, given: Certificate, values: Values) -> None:
        super().__init__(model, given)
        t, self.mixes, paid = self.tables, not values.contexts, given.rewards != "none"
        component, child = values.copied(t)
        self.base = base = Copies(t, np.array(component, np.int64))
        boxes = np.stack([base.copy, t.vertex_box[base.vertex]], axis=1)[base.calls].tolist()
        base.callee = np.array([child.get((i, box), -1) for i, box in boxes], np.int64)
        self.begin = int(t.start_component) if self.mixes and not values.copies else 0
        base.starts = [int(base.shift[self.begin]) + self.first + e for e in self.shares]
        base.returns, exits = self.mixes, t.n_exits[base.component]
        self.width = exits + (exits > 1) + paid if self.mixes else np.ones_like(exits)
        self.states = states = Within(base, np.arange(len(exits)).repeat(self.width))
        actions = np.array(values.actions, np.int64)
        states.chosen = actions[states.origin]
        if not self.mixes:
            self.followed = Copies(t, base.component, base.callee, actions)
            self.followed.starts = base.starts
        if given.infinite and (given.objective == "max") == (given.infinite == "inf"):
            base.chosen = actions  # the total of a policy: no run of another one matters
        self.low, self.high, self.left = (
            Numbers(states.by_place(np.array(x, np.float64)))
            for x in (values.lower, values.upper, values.progress)
        )
        self.column, self.exits = states.column[states.copy], exits[states.of[states.copy]]
        self.pays = (self.column >= self.exits + (self.exits > 1)) | (not self.mixes)
        self.last = (states.kind == EXIT) & (self.mixes | (states.copy == 0))

    def theorems(self) -> list[str]:
        """Check everything, where runs can come to."""
        given, states = self.given, self.states
        sign, ends = self._sign()
        gain, none = self.paid if sign > 0 else -self.paid, Numbers(np.zeros(len(self.paid.near)))
        upper = (self.high, -gain if given.infinite else gain)
        free = self.pays & (states.kind != RETURN) & bool(given.infinite)
        for x in (self.left,) if ends else (self.left, self.low, self.high[np.flatnonzero(~free)]):
            self.require(x, "numbers that may not be negative")
        greatest = ((given.objective == "max") == (sign > 0)) == (given.infinite is None)
        claimed = given.infinite is not None or (given.lower, given.upper)[sign > 0] is not None
        bounded = states.visited & claimed & (self.pays | (self.high.near < 1.0))
        if not (greatest or self.mixes):  # no run of another policy matters
            bounded &= self.followed.visited[states.origin]
        counted = states.visited & (ends | (self.low.near > 0.0))
        left = Numbers(np.where(counted & ~self.last, self.left.near, 0.0))
        self.require(left[np.flatnonzero(counted & ~self.last)], "progress above 0", strict=True)
        most = self._most(left)
        progress = (left, none, True) if ends else (left * most - self.low, -gain, not greatest)
        for what, strict, some, (x, paid, every) in (
            ("an upper value", False, bounded, (*upper, greatest)),
            ("growth", True, bounded & self.pays & bool(given.infinite), (*upper, greatest)),
            ("a lower value", False, counted, (-self.low, -gain, not greatest)),
            ("progress", True, counted, progress),
        ):
            for own, falls in self._falls(x, paid, some, every=every):
                self.require(falls, what, (states, own), strict=strict)
            for own, falls in () if self.mixes else self._ports(x, some):
                self.require(falls, what, (states, own))
        self._check_exits(sign, bounded, counted)
        if self.mixes:
            self._check_calls(bounded, left, most)
        self._check_claims(sign)
        return ["may not end" if given.infinite else "stacks" if ends else "values"]

    def _sign(self) -> tuple[int, bool]:
        """1 if nothing that runs can meet is negative, -1 if nothing is positive.

        If both occur, every policy must end: the second result.
        """
        if self.given.infinite:
            return 1 if self.given.infinite == "inf" else -1, False
        _, action = self.base.actions(np.flatnonzero(self.base.visited), every=True)
        paid = [Numbers(np.array(self.root, np.float64)), self.paid[np.unique(action)]]
        losses = any(True for x in paid for _ in x.failing())
        gains = any(True for x in paid for _ in (-x).failing())
        self.expect(not (gains and losses and self.mixes), "that totals have one sign")
        return -1 if losses and not gains else 1, losses and gains

    def _most(self, left: Numbers) -> Numbers:
        """The greatest L as a multiple of g: C of the proofs."""
        some = np.flatnonzero(left.near)
        ratio = np.append(self.low.near[some] / left.near[some], 0.0)
        near = some[(ratio >= ratio.max() * (1.0 - 1e-15) - 1e-300)[:-1]]
        most = max((self.low.exact(i) / left.exact(i) for i in near), default=Fraction(0))
        return Numbers.nearest(ratio.max(keepdims=True), lambda _: most)

    def _falls(
        self, x: Numbers, gain: Numbers, some: Mask, *, every: bool
    ) -> Iterator[tuple[Ints, Numbers]]:
        """How much x exceeds f(x) for actions."""
        none = Numbers(np.zeros(len(gain.near)))
        for paid, own in ((gain, some & self.pays), (none, some & ~self.pays)):
            yield from self.falls(self.states, x, paid, np.flatnonzero(own), every=every)

    def _ports(self, x: Numbers, some: Mask) -> Iterator[tuple[Ints, Numbers]]:
        """How much calls exceed what they enter in contexts, and exits what they return to."""
        base = self.base
        number = np.flatnonzero(base.visited[base.calls])
        own, callee = base.calls[number], base.shift[base.callee[number]]
        ports = base.ports(own)
        exits = callee[ports.call] + ports.exit
        for q, after in ((own, callee + ports.entry), (exits, ports.back)):
            kept = np.flatnonzero(some[q])
            yield q[kept], x[q[kept]] - x[after[kept]]

    def _check_exits(self, sign: int, bounded: Mask, counted: Mask) -> None:
        """Exits from which runs do not return are worth what is asked, or 1 for themselves."""
        port = self.tables.vertex_port[self.states.vertex]
        own = (self.column == port) | ((self.column == self.exits) & (self.exits > 1))
        worth = Numbers(own.astype(np.float64))
        if not self.mixes:
            asked = [sign * self.unit * Fraction(x) for x in self.root]
            worth = Numbers(np.full(len(port), np.nan), 0.0, lambda i: asked[port[i]])
        above, below = (np.flatnonzero(self.last & some) for some in (bounded, counted))
        self.require(self.high[above] - worth[above], "an upper value", (self.states, above))
        self.require(worth[below] - self.low[below], "a lower value", (self.states, below))

    # Calls that are worth a mix, and the start

    def _entry(self, x: Numbers, copy: Ints, ports: Ports, pays: Mask) -> Entry:
        """Numbers of entries that are called."""
        first, states = self.states.first[copy], self.states
        ends = states.shift[first + np.where(ports.size > 1, ports.size, 0)] + ports.entry
        last = states.shift[first + self.width[copy] - 1] + ports.entry
        leave = x[states.columns(copy, ports.entry, ports.size)]
        return Entry(ports, leave, x[ends], x[last] * Numbers(pays.astype(np.float64)))

    def _check_calls(self, bounded: Mask, left: Numbers, most: Numbers) -> None:
        """U is at least, and L at most, what follows from the entry and from the return ports."""
        states, high, low = self.states, self.high, self.low
        number = np.flatnonzero(states.visited[states.calls])
        own, ports = states.calls[number], states.ports(states.calls[number])
        up, down, g = (
            self._entry(x, states.callee[number], ports, self.pays[own]) for x in (high, low, left)
        )
        above = (set((high[own] - x).failing()) for x in up.at_most(high[ports.back]))
        wrong = set(np.flatnonzero(bounded[own])).intersection(*above)
        self.expect(not wrong, "an upper value of a call")
        after, error, count = low[ports.back], left[ports.back], ports.size
        rest = (down.ends - down.leave.sums(count)).or_zero() * error.tops(count)
        wrong = set(np.flatnonzero(low.near[own]))
        for m in down.levels(after):
            room = down.at_least(after, m) - low[own]
            rise = g.at_least(after, m) + (down.leave * error).sums(count) - left[own]
            fails = set(room.failing())
            if m.near.any():
                rise, fits = rise + rest, g.ends - g.leave.sums(count)
                fails.update(fits.failing())
            wrong &= fails.union((room - rise * most).failing(strict=True))
        self.expect(not wrong, "a lower value of a call")

    def _check_claims(self, sign: int) -> None:
        """The ends that are claimed of the start."""
        given, some = self.given, self.root if self.mixes else []
        worth = [Fraction(1) if given.infinite else abs(Fraction(x)) * self.unit for x in some]
        (ports, after), count = self.start(worth), len(self.shares)
        copy, pays = (
            np.full(count, self.begin),
            np.full(count, not given.infinite and self.pays.any()),
        )
        up, down = (self._entry(x, copy, ports, pays) for x in (self.high, self.low))
        lows = [down.at_least(after, m) for m in down.levels(after)]
        highs = list(up.at_most(after))
        shares = list(enumerate(self.shares.values()))
        low = sum((share * max(x.exact(i) for x in lows) for i, share in shares), Fraction(0))
        high = sum((share * min(x.exact(i) for x in highs) for i, share in shares), Fraction(0))
        if given.infinite:
            self.expect(high < 1, "that runs may not end")
        self.claim("lower", low if sign > 0 else -high)
        self.claim("upper", high if sign > 0 else -low)
