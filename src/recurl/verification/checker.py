"""The parts that all checks share: the model's numbers, inequalities of actions, the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np

from recurl.errors import CertificateError
from recurl.model.certificate import Certificate
from recurl.model.rmdp import RMDP
from recurl.verification.arithmetic import Ints, Numbers
from recurl.verification.copies import Copies, Ports, exits_of
from recurl.verification.verdict import ENDING, Verdict


class Checker:
    """One certificate under check; its form is known to be right.

    Attributes:
        root: Worth of the exits of the start component.
        first: First entry of the start component.
        shares: Its entries in which runs begin, with their probabilities.
        unit: What 1 is in units of the certificate.
        paid: Expected reward of every action, in units of the certificate.
        steps: The bound on expected steps that was proved.
    """

    def __init__(self, model: RMDP, given: Certificate) -> None:
        t, exact, self.model, self.given = model.tables, model.exact, model, given
        self.tables, self.checked, self.steps = t, 0, math.inf
        self.first = int(t.component_start[t.start_component])
        self.root = given.exit_values or [0.0] * int(t.n_exits[t.start_component])
        self.shares = {e: x for e in range(len(t.start_prob)) if (x := exact.start(e))}
        prob, reward = exact.nearest()
        self.prob = Numbers.nearest(prob, cache(exact.prob))
        self.reward = Numbers.nearest(reward, cache(exact.reward))
        self.paid = Numbers(np.full(t.n_actions, float(given.rewards == "steps")))
        if given.rewards == "model":
            self.paid = (self.prob * self.reward).sums(np.diff(t.transition_start))
        self.unit = Fraction(2) ** -given.scale
        if given.scale:
            unit = np.ldexp(np.ones(1), -given.scale)
            self.paid = self.paid * Numbers.nearest(unit, lambda _: self.unit)

    def theorems(self) -> list[str]:
        """Check everything; the theorems that were used, by key."""
        raise NotImplementedError

    def verdict(self) -> Verdict:
        """Check everything, and say what is proved."""
        theorems = tuple(dict.fromkeys(self.theorems()))
        self._check_ends(theorems)
        given, first = self.given, self.first + len(self.tables.start_prob)
        worth = {self.model.local_name(first + k): x for k, x in enumerate(self.root) if x}
        ends = (float(given.infinite),) * 2 if given.infinite else (given.lower, given.upper)
        of, what = given.objective, given.rewards
        return Verdict(*ends, self.steps, self.checked, of, what, worth, theorems, given.endless)

    def _check_ends(self, theorems: tuple[str, ...]) -> None:
        """Whether bounds of what runs collect are bounds if endless runs are worth more, or less.

        With -inf for them, no policy is worth more than what it collects, so that upper ends hold,
        and lower ones if the policy that attains them ends; if all policies end, both hold. With
        inf, the other way round.
        """
        given = self.given
        if given.endless is None or ENDING & set(theorems):
            return
        must_end = given.endless == ("-inf" if given.objective == "max" else "inf")
        end, other = ("lower", "inf") if given.endless == "-inf" else ("upper", "-inf")
        claimed = getattr(given, end) is not None or given.infinite == other
        self.expect(not claimed or (must_end and "policy" in theorems), "that runs surely end")

    def claim(self, end: str, found: Fraction) -> None:
        """An end that is claimed, after one was found, in units of the certificate.

        Without gains, no total is above 0 or above what the best exit is worth; this is clear.
        """
        claimed: float | None = getattr(self.given, end)
        if claimed is None:
            return
        sign = 1 if end == "upper" else -1
        cost, bound = -self.paid if sign > 0 else self.paid, sign * found / self.unit
        if bound > sign * Fraction(claimed) and not any(True for _ in cost.failing()):
            bound = max(Fraction(0), *(sign * Fraction(x) for x in self.root))
        self.expect(bound <= sign * Fraction(claimed), f"the {end} claim")

    def expect(self, holds: bool, what: str) -> None:
        """One inequality, decided in exact numbers."""
        self.checked += 1
        if not holds:
            raise CertificateError(f"not proved: {what} does not hold")

    def require(
        self,
        x: Numbers,
        what: str,
        at: tuple[Copies, Ints] | None = None,
        *,
        strict: bool = False,
        always: bool = False,
    ) -> None:
        """Numbers are at least 0, or above 0; at places only where runs come to, if not always."""
        self.checked += len(x.near)
        for i in x.failing(strict=strict):
            if at is None:
                self.expect(False, what)
            elif always or at[0].visited[at[1][i]]:
                name = self.model.vertex_name(int(at[0].vertex[at[1][i]]))
                self.expect(False, f"{what.format(at[0].copy[at[1][i]])} at {name}")

    def falls(
        self, copies: Copies, x: Numbers, gain: Numbers, places: Ints, *, every: bool
    ) -> Iterator[tuple[Ints, Numbers]]:
        """x(q) - gain - sum p x(q'), for all actions of places or for the chosen ones.

        As probabilities sum to 1, which models guarantee, this is sum p (x(q) - x(q')) - gain.
        """
        yield from self.falls_of(copies, x, gain, *copies.actions(places, every=every))

    def falls_of(
        self, copies: Copies, x: Numbers, gain: Numbers, owner: Ints, action: Ints
    ) -> Iterator[tuple[Ints, Numbers]]:
        """The same for some actions, given with the place of each."""
        for begin in range(0, len(owner), 2**16):  # not all at once, for lack of memory
            own, act = (each[begin : begin + 2**16] for each in (owner, action))
            count, moves, after = copies.moves(own, act)
            change = x[own.repeat(count)] - x[after]
            yield own, (change * self.prob[moves]).sums(count) - gain[act]

    def start(self, worth: list[Fraction]) -> tuple[Ports, Numbers]:
        """The start as if its entries were called, and the worth of the exits of each call."""
        t, call, count = self.tables, np.arange(len(self.shares)), len(worth)
        exits = exits_of(t, np.full(len(call), t.start_component)) if worth else call[:0]
        entry = self.first + np.array(list(self.shares))
        ports = Ports(entry, np.full(len(call), count), call.repeat(count), exits, call[:0])
        return ports, Numbers(np.full(len(exits), np.nan), 0.0, lambda i: worth[i % count])
