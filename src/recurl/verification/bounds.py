"""Points, pieces, and the theorems that make them bounds of totals.

Bounds of single steps are bounds of totals if every policy ends; or, for the upper end, if a
potential shows that not ending costs, or what is still to come is never worth less than 0; or, for
the lower end, if the policy of the pieces ends, or what is still to come is never worth more than
0. Infinite optima rest on visits that do not fall. For the least total everything is negated.
Pieces, weights and visits are negated, too, so that all inequalities are those of a `Family`. They
are needed where runs can come to. The proofs are in docs/explanation/certificates.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

import numpy as np

from recurl.model.certificate import Certificate
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL, EXIT, RETURN, Floats
from recurl.verification.arithmetic import Ints, Numbers
from recurl.verification.checker import Checker
from recurl.verification.copies import Copies, Mixes, Ports, Within, exits_of


class Weights(Within):
    """Probabilities p to leave copies by each exit, in columns: of pieces, or of all policies."""

    def __init__(self, copies: Copies, rows: Iterable[Sequence[float]]) -> None:
        exits = copies.tables.n_exits[copies.component]
        super().__init__(copies, np.arange(len(exits)).repeat(exits))
        self.p = Numbers(self.by_place(_floats(rows)))


class Family(NamedTuple):
    """Numbers x of places, with x(q) >= gain + sum p x(q') and a rule for calls.

    The rule is x(call) >= x(entry) + rise(x(return) - x(exit)), where rise(t) is
    p.t + (1 - sum p) max t with weights, and max t without.
    """

    copies: Copies
    x: Numbers
    what: str  # names the inequalities
    mixes: Mixes | None  # of the copies that calls enter; None takes x(entry) to be 0
    weights: Weights | None = None
    base: bool = False  # whether x(exit) counts; it is taken to be 0 otherwise
    among: bool = False  # whether only return ports count that runs come to
    floor: bool = False  # whether max t is at least 0

    def entered(self, number: Ints, ports: Ports, outside: Numbers) -> Numbers:
        """That is, x(entry) + rise(outside - x(exit)), for calls with some numbers."""
        copies, change, mixes = self.copies, outside, self.mixes
        if self.base and mixes is not None:
            change = outside - mixes.at(copies, self.x, number[ports.call], ports.exit)
        rise = change.tops(ports.size).or_zero() if self.floor else change.tops(ports.size)
        if (sure := self.weights) is not None:
            p = sure.p[sure.columns(copies.callee[number], ports.entry, ports.size)]
            rise = rise + ((change - rise[ports.call]) * p).sums(ports.size)
        return rise if mixes is None else mixes.at(copies, self.x, number, ports.entry) + rise


class BoundChecker(Checker):
    """Checks points and pieces."""

    def __init__(self, model: RMDP, given: Certificate) -> None:
        super().__init__(model, given)
        t, self.sign = self.tables, 1 if given.objective == "max" else -1
        self.gain = self.paid if self.sign > 0 else -self.paid
        self.none, self.one = (Numbers(np.full(t.n_actions, x)) for x in (0.0, 1.0))
        self.above, self.below = (given.upper, given.lower)[:: self.sign]
        callee = t.box_component[t.vertex_box[t.vertex_kind == CALL]]
        self.every = Copies(t, np.arange(t.n_components), callee)
        self.every.starts = [self.first + e for e in self.shares]
        self.reach = None if given.reach is None else Weights(self.every, given.reach)
        points, pieces = ([x.component for x in xs] for xs in (given.points, given.pieces))
        self.points = Within(self.every, np.array(points, np.int64))
        start = np.full(len(self.shares), t.start_component)
        self.points.callee = np.append(self.points.callee, start)
        self.w = Numbers(_floats(point.values for point in given.points))
        begin = [given.start_pieces[e] for e in self.shares if given.start_pieces]
        calls = chain(*(piece.calls for piece in given.pieces), begin)
        actions = chain.from_iterable(piece.actions for piece in given.pieces)
        self.pieces = Copies(t, np.array(pieces, np.int64), calls, actions)
        first = self.pieces.shift[begin] + self.first
        self.pieces.starts = [int(i) + e for i, e in zip(first, self.shares, strict=False)]
        rows = (piece.weights or [[1.0]] * len(piece.rewards) for piece in given.pieces)
        self.weights = Weights(self.pieces, chain.from_iterable(rows))
        self.cost, self.grows, self.floor = -self._of_pieces("rewards"), False, False

    def theorems(self) -> list[str]:
        """Check everything."""
        used = self._check_infinite() if self.given.infinite else self._check_ending()
        self._check_points()
        self._check_pieces()
        return used

    # Why bounds of single steps are bounds of totals

    def _check_ending(self) -> list[str]:
        """The theorems that make the points and the pieces bounds."""
        if self.given.steps:
            self._check_steps()
            return ["steps"]
        used = []
        if self.above is not None:
            used.append("costs" if self.given.potential else "nonnegative")
            (self._check_potential if self.given.potential else self._check_nonnegative)()
        if self.below is not None:
            own = np.unique(self.pieces.copy[self.pieces.visited])
            ends = all(self.given.pieces[i].steps for i in own)
            used.append("policy" if ends else "nonpositive")
            (self._check_policy if ends else self._check_nonpositive)()
        return used

    def _check_steps(self) -> None:
        """Steps d >= 0, or p.d(exits), with exits at 0 somewhere; d >= 1 + sum p d'."""
        t, every, d = self.tables, self.every, self._of_vertices(self.given.steps)
        least, above = -(-d[exits_of(t, every.component)]).tops(t.n_exits), d
        for zero in (least, -least):
            self.require(zero, "steps: an exit of each component at 0")
        if self.reach is not None:
            self._check_weights(self.reach, "reach")
            count = t.n_exits[t.vertex_component]
            sure = self.reach.p[self.reach.columns(every.copy, every.vertex, count)]
            above = d - (sure * d[exits_of(t, t.vertex_component)]).sums(count)
        self.require(above, "steps", (every, every.vertex), always=True)
        steps = Family(every, d, "steps", Mixes(every.callee), self.reach, base=True)
        self._check(steps, self.one)
        self.steps = float(self._at_start(every, d))

    def _check_potential(self) -> None:
        """Falls: h > r + sum p h'; h(call) >= h(en) + max (h(ret) - h(ex)), none of them < 0."""
        every, h = self.every, self._of_vertices(self.given.potential)
        potential = Family(every, h, "the potential", Mixes(every.callee), base=True, among=True)
        ports = every.ports(every.calls)
        self.require(h[ports.back] - h[ports.exit], potential.what, (every, ports.back))
        self._check(potential, self.gain, strict=True)

    def _check_nonnegative(self) -> None:
        """All w >= 0, where exits that are worth less than those of a point change nothing."""
        self.floor, places = True, np.arange(len(self.points.vertex))
        self.require(self.w, "point {}: a value >= 0", (self.points, places))

    def _check_policy(self) -> None:
        """Steps d >= 0 of pieces; d(call) >= d(en) + p.d(ret) + (1 - sum p) max d(ret)."""
        pieces, d = self.pieces, self._of_pieces("steps")
        self.require(d, "steps of pieces at least 0")
        steps = Family(pieces, d, "steps of piece {}", Mixes(pieces.callee), self.weights)
        self._check(steps, self.one)
        self.steps = float(self._at_start(pieces, d))

    def _check_nonpositive(self) -> None:
        """R <= 0 in all pieces, and no exit of the start is worth more."""
        self.require(Numbers(-self.sign * np.array(self.root)), "exits worth at most 0")
        self.require(self.cost, "rewards of pieces at most 0")

    def _check_infinite(self) -> list[str]:
        """Visits that do not fall and a potential, or visits of pieces that grow."""
        self.grows = self.sign * float(self.given.infinite or 0) > 0
        if not self.grows:
            self._check_visits(self.every, self._of_vertices(self.given.visits))
            self._check_potential()
            return ["must go on"]
        self._check_visits(self.pieces, self._of_pieces("visits"))
        after = np.flatnonzero(self.pieces.kind == RETURN)
        self.require(self.cost[after], "rewards of pieces at most 0 after a call")
        return ["can go on"]

    def _check_visits(self, copies: Copies, f: Numbers) -> None:
        """Visits f >= 0, 0 at exits, f <= sum p f', f(call) <= f(en) + min f(ret)."""
        self.expect(self._at_start(copies, f) > 0, "visits: more than 0 at the start")
        exits = np.flatnonzero(copies.kind == EXIT)
        self.require(f, "visits", (copies, np.arange(len(copies.vertex))))
        self.require(-f[exits], "visits", (copies, exits))
        self._check(Family(copies, -f, "visits", Mixes(copies.callee), among=True), self.none)

    # Points and pieces

    def _check_points(self) -> None:
        """Points w >= F(w) at every stored vector of exit values; the claim above."""
        given, start = self.given, [] if self.above is None else list(self.shares)
        listed = [mix for point in given.points for mix in point.calls]
        listed += [given.start_points[e] for e in start]
        mixes = Mixes(np.array([mix[-1][0] for mix in listed], np.int64), listed)
        self.require(mixes.share, "weights of points at least 0")
        rest = Numbers(np.ones(len(listed))) - mixes.share.sums(mixes.count)
        self.require(rest, "weights of points that sum to at most 1")
        points = Family(
            self.points, self.w, "point {}", mixes, self.reach, base=True, floor=self.floor
        )
        self._check(points, self.gain)
        if self.above is not None:
            self._check_claim(points, self.sign)

    def _check_pieces(self) -> None:
        """Pieces R + p.v + (1 - sum p) min v are at most what they reach; the claim below."""
        exits, mixes = np.flatnonzero(self.pieces.kind == EXIT), Mixes(self.pieces.callee)
        self._check_weights(self.weights, "weights of pieces")
        self.require(self.cost[exits], "piece {}", (self.pieces, exits))
        pieces = Family(self.pieces, self.cost, "piece {}", mixes, self.weights)
        self._check(pieces, -self.gain, strict=self.grows)
        if self.below is not None:
            self._check_claim(pieces, -self.sign)

    def _check_claim(self, family: Family, sign: int) -> None:
        """The start is entered as if by calls after the others, which return to the exits."""
        ports, outside = self.start([sign * self.unit * Fraction(x) for x in self.root])
        call = np.arange(len(self.shares)) + len(family.copies.calls)
        found, shares = family.entered(call, ports, outside), self.shares.values()
        total = sum(share * found.exact(i) for i, share in enumerate(shares))
        self.claim("upper" if sign > 0 else "lower", Fraction(sign * total))

    def _check_weights(self, weights: Weights, what: str) -> None:
        """Weights p >= 0, sum p <= 1; p <= sum p p' for actions, p(call) <= sum p(en) p(ret)."""
        p, t, some = weights.p, self.tables, np.flatnonzero(weights.p.near)
        self.require(p, f"{what}: probabilities >= 0")
        if weights is self.weights:  # where there is one exit, p is 1
            some = some[t.n_exits[weights.component[weights.copy[some]]] > 1]
        some = some[np.argsort(weights.origin[some], kind="stable")]
        count = np.bincount(weights.origin[some], minlength=len(weights.base.vertex))
        rest = Numbers(np.ones(len(count))) - p[some].sums(count)
        self.require(rest, f"{what}: probabilities that sum to at most 1")
        exits = some[weights.kind[some] == EXIT]
        own = t.vertex_port[weights.vertex[exits]] == weights.column[weights.copy[exits]]
        self.require(Numbers(own - p.near[exits]), what, (weights, exits))
        self._check(Family(weights, -p, what, None, weights, floor=True), self.none, places=some)

    def _check(
        self, family: Family, gain: Numbers, *, strict: bool = False, places: Ints | None = None
    ) -> None:
        """All inequalities of a family, or those of some places; strict ones for actions."""
        copies, x, what, *_ = family
        places = np.arange(len(copies.vertex)) if places is None else places
        for own, falls in self.falls(copies, x, gain, places, every=not len(copies.chosen)):
            self.require(falls, what, (copies, own), strict=strict)
        calls = np.flatnonzero(np.isin(copies.calls, places, kind="table"))
        for begin in range(0, len(calls), 2**13):
            number = calls[begin : begin + 2**13]
            own, ports = copies.calls[number], copies.ports(copies.calls[number])
            ports = ports.among(copies.visited) if family.among else ports
            entered = family.entered(number, ports, x[ports.back])
            self.require(x[own] - entered, what, (copies, own))

    # Numbers of certificates by place

    def _of_vertices(self, listed: Sequence[float] | None) -> Numbers:
        return Numbers(np.array(listed or [0.0] * self.tables.n_vertices, np.float64))

    def _of_pieces(self, name: str) -> Numbers:
        """Numbers of all pieces; 0 where a piece lists none."""
        every = self.given.pieces
        return Numbers(_floats(getattr(x, name) or [0.0] * len(x.rewards) for x in every))

    def _at_start(self, copies: Copies, x: Numbers) -> Fraction:
        starts = zip(self.shares.values(), copies.starts, strict=True)
        return sum((share * x.exact(place) for share, place in starts), Fraction(0))


def _floats(lists: Iterable[Sequence[float]]) -> Floats:
    return np.fromiter(chain.from_iterable(lists), np.float64)
