"""Bounds by state of finite processes in which a run that does not end is worth the worst or best.

The checker looks at the graph of the process itself. If such a run is worth the worst, runs have to
end: U >= r + sum p U' for all actions that stay among the states from which some policy surely ends
bounds every policy that does, as U is bounded, and a run goes on for n steps with a probability
that goes to 0. Neither signs nor free circles matter. L <= r + sum p L' for the actions of a policy
is attained if from wherever it comes to it can end. If such a run is worth the best, either some
policy can stay forever, or all end. The proofs are in docs/explanation/certificates.md.
"""

from __future__ import annotations

import numpy as np

from recurl.model.certificate import Certificate, Values
from recurl.model.rmdp import RMDP
from recurl.model.tables import Mask
from recurl.verification.values import ValueChecker


class EndlessChecker(ValueChecker):
    """Checks bounds by state of vertices of contexts.

    A *way* is an action of a place, or the move through a call port or an exit.

    Attributes:
        owner: Place of each way.
        action: Action of each way, -1 for moves through ports.
        after: Places that ways lead to with a positive probability.
        way: The way of each of these.
    """

    def __init__(self, model: RMDP, given: Certificate, values: Values) -> None:
        super().__init__(model, given, values)
        base = self.base
        base.chosen = np.zeros(0, np.int64)
        owner, action = base.actions(np.flatnonzero(base.visited), every=True)
        count, moves, after = base.moves(owner, action)
        prob = self.prob
        possible = prob.near > 0.0
        possible[[i for i in np.flatnonzero(~possible).tolist() if prob.exact(i) > 0]] = True
        way = np.arange(len(owner)).repeat(count)[possible[moves]]
        number = np.flatnonzero(base.visited[base.calls])
        calls, ports = base.calls[number], base.ports(base.calls[number])
        callee = base.shift[base.callee[number]]
        source = np.append(calls, callee[ports.call] + ports.exit)
        self.owner = np.append(owner, source)
        self.action = np.append(action, np.full(len(source), -1))
        self.way = np.append(way, len(owner) + np.arange(len(source)))
        self.after = np.append(after[possible[moves]], np.append(callee + ports.entry, ports.back))
        order = np.argsort(self.after, kind="stable")
        begin = np.searchsorted(self.after[order], np.arange(len(base.vertex) + 1))
        self._leading = self.way[order].tolist(), begin.tolist()

    def theorems(self) -> list[str]:
        """Check everything, where runs can come to."""
        given, sign = self.given, 1 if self.given.objective == "max" else -1
        worst, infinite = given.endless == ("-inf" if sign > 0 else "inf"), bool(given.infinite)
        self.expect(given.infinite in (None, given.endless), "an infinite total of the other sign")
        allowed, starts = np.ones(len(self.owner), np.bool_), np.zeros(len(self.last), np.bool_)
        starts[self.base.starts] = True
        if worst:
            allowed = self._surely_ending()
            none = bool((starts & ~self.last & ~self._with(allowed)).any())
            self.expect(none == infinite, f"that {'no' if infinite else 'some'} policy surely ends")
        reached = self._reached(starts, allowed)
        if not worst:
            stays = self._lasting(allowed, np.zeros_like(starts))
            stay = bool((self._with(stays) & reached).any())
            self.expect(stay == infinite, f"that {'some' if infinite else 'no'} policy may stay")
        if infinite:
            return ["none ends" if worst else "may stay"]
        above, below = (x is not None for x in (given.upper, given.lower)[::sign])
        own = self._of_policy() & allowed
        counted = self._reached(starts, own)
        ends = self._leads(self.last, own)
        self.expect(not below or bool(ends[counted].all()), "that the policy surely ends")
        gain = self.paid if sign > 0 else -self.paid
        bounded, counted = reached & above, counted & below
        for x, paid, some, ways, what in (
            (self.high, gain, bounded, allowed, "an upper value"),
            (-self.low, -gain, counted, own, "a lower value"),
        ):
            taken = np.flatnonzero(ways & some[self.owner] & (self.action >= 0))
            owner, action = self.owner[taken], self.action[taken]
            for places, falls in self.falls_of(self.states, x, paid, owner, action):
                self.require(falls, what, (self.states, places), always=True)
            for places, falls in self._ports(x, some):
                self.require(falls, what, (self.states, places), always=True)
        self._check_exits(sign, bounded, counted)
        self._check_claims(sign)
        return ["surely ends" if worst else "all end"]

    # The graph

    def _with(self, ways: Mask) -> Mask:
        """Places that have one of some ways."""
        found = np.zeros(len(self.last), np.bool_)
        found[self.owner[ways]] = True
        return found

    def _of_policy(self) -> Mask:
        """The ways of the policy."""
        begin = self.tables.action_start[self.states.vertex[self.owner]]
        taken: Mask = self.action == begin + self.states.chosen[self.owner]
        return taken | (self.action < 0)

    def _surely_ending(self) -> Mask:
        """The ways that stay among the places from which some policy ends with probability 1."""
        ways = np.ones(len(self.owner), np.bool_)
        while True:
            ways = self._lasting(ways, self.last)
            ends = self._leads(self.last, ways)
            if ends[self.owner[ways]].all():
                return ways
            ways &= ends[self.owner]

    def _lasting(self, ways: Mask, kept: Mask) -> Mask:
        """Of some ways, those that lead only to places that keep one of them, or are kept."""
        owner, (leading, begin), lasting = self.owner.tolist(), self._leading, ways.tolist()
        left = np.bincount(self.owner[ways], minlength=len(kept)) + kept
        gone, count = np.flatnonzero(left == 0).tolist(), left.tolist()
        while gone:
            place = gone.pop()
            for way in leading[begin[place] : begin[place + 1]]:
                if lasting[way]:
                    lasting[way] = False
                    count[owner[way]] -= 1
                    if count[owner[way]] == 0:
                        gone.append(owner[way])
        return np.array(lasting, np.bool_)

    def _leads(self, goal: Mask, ways: Mask) -> Mask:
        """Places from which some ways can lead to a goal."""
        owner, (leading, begin), taken = self.owner.tolist(), self._leading, ways.tolist()
        found, new = goal.tolist(), np.flatnonzero(goal).tolist()
        while new:
            place = new.pop()
            for way in leading[begin[place] : begin[place + 1]]:
                if taken[way] and not found[owner[way]]:
                    found[owner[way]] = True
                    new.append(owner[way])
        return np.array(found, np.bool_)

    def _reached(self, starts: Mask, ways: Mask) -> Mask:
        """Places that some ways can lead to from the start."""
        taken = ways[self.way]
        source, target = self.owner[self.way[taken]], self.after[taken]
        order = np.argsort(source, kind="stable")
        begin = np.searchsorted(source[order], np.arange(len(starts) + 1)).tolist()
        ahead, found = target[order].tolist(), starts.tolist()
        new = np.flatnonzero(starts).tolist()
        while new:
            place = new.pop()
            for after in ahead[begin[place] : begin[place + 1]]:
                if not found[after]:
                    found[after] = True
                    new.append(after)
        return np.array(found, np.bool_)
