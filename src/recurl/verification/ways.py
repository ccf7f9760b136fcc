"""Deterministic models with costs in which runs have to end: the best way from a vertex to an exit.

A table h with h(exit) >= 0, h(q, k) >= r + h(q', k) for all actions, and at calls
h(call, k) >= h(entry, j) + h(return j, k) for all exits j of the callee, bounds every finite run
that leaves the component of q by exit k, by induction on its length; where it lists nothing there
is none. Circles and calls without end do not matter, as runs are finite. The other end is a
way, followed to the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from recurl.model.certificate import BestWays, Certificate
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL, EXIT
from recurl.verification.checker import Checker

OTHER = {"upper": "lower", "lower": "upper"}
Place = tuple[int, int]
"""A vertex, and an exit of its component."""


class WayChecker(Checker):
    """Checks the totals of ways, as totals are made great."""

    def __init__(self, model: RMDP, given: Certificate, ways: BestWays) -> None:
        super().__init__(model, given)
        t, self.sign = self.tables, 1 if given.objective == "max" else -1
        self.expect(
            (np.diff(t.transition_start) == 1).all().item(), "that actions have one outcome"
        )
        self.expect(given.endless == ("-inf" if self.sign > 0 else "inf"), "that runs have to end")
        self.table, self.scale = ways.unit, ways.unit * self.unit
        self.best = {(v, k): x for v, own in enumerate(ways.totals) for k, x, _ in own}
        self.choice = {(v, k): i for v, own in enumerate(ways.totals) for k, _, i in own}
        self.pays = [self._reward(i) for i in range(t.n_transitions)]
        self.exits: list[list[int]] = [[k for k, _, _ in own] for own in ways.totals]

    def _reward(self, transition: int) -> Fraction:
        """The reward of a transition, in units of the table; no gain."""
        reward = Fraction(1)
        if self.given.rewards == "model":
            reward = self.model.exact.reward(transition)
        self.expect(self.sign * reward <= 0, "that steps cost, or pay nothing")
        return self.sign * reward * self.scale

    def theorems(self) -> list[str]:
        """Check everything."""
        given, t = self.given, self.tables
        for v in range(t.n_vertices):
            for k, total in self._after(v):
                found = self.best.get((v, k))
                holds = found is not None and found >= total
                self.expect(holds, f"the total of ways at {self.model.vertex_name(v)}")
        begin = int(t.component_start[t.start_component])
        starts = [(begin + e, share) for e, share in self.shares.items()]
        every = all(self.exits[v] for v, _ in starts)
        if given.infinite:
            self.expect(not every and given.infinite == given.endless, "that no run ends")
            return ["no way"]
        self.expect(every, "that some run ends")
        known: dict[Place, Fraction] = {}
        self._follow([(v, k) for v, _ in starts for k in self.exits[v]], known)
        ends: tuple[tuple[Mapping[Place, Fraction | int], str], ...]
        ends = (self.best, "upper"), (known, "lower")
        for totals, end in ends:
            worth = sum((share * self._worth(totals, v) for v, share in starts), Fraction(0))
            self.claim(end if self.sign > 0 else OTHER[end], self.sign * worth)
        return ["ways"]

    def _worth(self, totals: Mapping[Place, Fraction | int], v: int) -> Fraction:
        """The best total from a start, in units of the certificate."""
        root = [self.sign * self.unit * Fraction(x) for x in self.root]
        return max(Fraction(totals[v, k]) / self.table + root[k] for k in self.exits[v])

    def _after(self, v: int) -> list[tuple[int, Fraction]]:
        """Exits that ways from a vertex lead to, and their totals by what follows."""
        t, best, exits = self.tables, self.best, self.exits
        if t.vertex_kind[v] == EXIT:
            return [(int(t.vertex_port[v]), Fraction(0))]
        if t.vertex_kind[v] == CALL:
            entry, back = self._ports(v)
            return [
                (k, Fraction(best[entry, j] + best[back + j, k]))
                for j in exits[entry]
                for k in exits[back + j]
            ]
        actions = range(int(t.action_start[v]), int(t.action_start[v + 1]))
        moves = [int(t.transition_start[a]) for a in actions]
        return [
            (k, self.pays[i] + best[int(t.target[i]), k])
            for i in moves
            for k in exits[int(t.target[i])]
        ]

    def _ports(self, call: int) -> tuple[int, int]:
        """The entry that a call port enters, and the first port that it returns to."""
        t, box = self.tables, int(self.tables.vertex_box[call])
        entry = t.component_start[t.box_component[box]] + t.vertex_port[call]
        return int(entry), int(t.box_return[box])

    def _next(self, place: Place) -> tuple[Fraction, list[Place]]:
        """The first step of a way: what it pays, and what has to be gone through after it."""
        t, (v, k), zero = self.tables, place, Fraction(0)
        self.expect(place in self.choice, f"a way at {self.model.vertex_name(v)}")
        if t.vertex_kind[v] == EXIT:
            self.expect(k == t.vertex_port[v], f"a way at {self.model.vertex_name(v)}")
            return zero, []
        chosen = self.choice[place]
        if t.vertex_kind[v] == CALL:
            entry, back = self._ports(v)
            count = int(t.n_exits[t.box_component[t.vertex_box[v]]])
            self.expect(0 <= chosen < count, f"a way at {self.model.vertex_name(v)}")
            return zero, [(entry, chosen), (back + chosen, k)]
        count = int(t.action_start[v + 1] - t.action_start[v])
        self.expect(0 <= chosen < count, f"a way at {self.model.vertex_name(v)}")
        i = int(t.transition_start[t.action_start[v] + chosen])
        return self.pays[i], [(int(t.target[i]), k)]

    def _follow(self, places: list[Place], known: dict[Place, Fraction]) -> None:
        """Enter the totals of ways, which must not come back to where they are."""
        under_way: set[Place] = set()
        stack = list(places)
        while stack:
            place = stack[-1]
            if place in known:
                stack.pop()
                continue
            paid, after = self._next(place)
            missing = [other for other in after if other not in known]
            if not missing:
                known[place] = paid + sum((known[other] for other in after), Fraction(0))
                under_way.discard(place)
                stack.pop()
                continue
            self.expect(place not in under_way, "that a way ends")
            under_way.add(place)
            stack += missing
