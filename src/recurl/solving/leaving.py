"""Probabilities to leave by exits, where policies need not end: bounds for models of any kind.

The probability x(q, k) to leave by exit k has products at calls, and a policy that is good for one
exit may be bad for another. One end of the interval is what a policy attains, one action per
vertex. The other end is that of the equations in which every x(q, k) takes the action that is best
for it: no policy has more (or, for the least worth, less). Both ends are proved by inductive
vectors, checked with outward rounding. Without choices both ends are the same.

A policy is improved by what its probabilities count for at the start: the solution of the
transposed equations, linearised at x.
"""

from __future__ import annotations

import time
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import structs

from recurl.model.tables import Floats, Ints, Mask
from recurl.policy import Policy
from recurl.solving.chain_equations import Polynomials, can_leave, polynomials, visited
from recurl.solving.chains import direction_of, newton, progress_of
from recurl.solving.leaving_certificate import LeavingProof, leaving_certificate
from recurl.solving.linear import solve_nonnegative
from recurl.solving.outward import Indices, float_above, float_below
from recurl.solving.rows import rows_of_model
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question
    from recurl.solving.rows import Rows

_DELTAS: Floats = np.ldexp(1.0, np.arange(-48, -12, 2))
_SWEEPS, _LIMIT = 300, 30


def solve_leaving(model: RMDP, question: Question) -> Solution | None:
    """The worth of the exits, of one sign, times the probabilities to leave there.

    Returns:
        The solution, whose interval may be wide where there are several exits; None where floats
        prove nothing.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.6)
        >>> found = solve_leaving(model, recurl.Question("max", "none", (1.0,)))
        >>> round(found.lower, 9), round(found.upper, 9)
        (0.666666667, 0.666666667)
    """
    began = time.perf_counter()
    worth = np.array(question.exit_values, np.float64)
    if question.rewards != "none" or ((worth > 0).any() and (worth < 0).any()):
        return None
    greatest = (question.objective == "max") == bool((worth >= 0).all())
    search = _Search.of(model, np.abs(worth))
    proof = search.proof(greatest=greatest)
    if proof is None:
        return None
    low, high = sorted(search.worth_of(model, worth, bound) for bound in proof[1:3])
    ends = float_below(low), float_above(high)
    several = "a policy attains one end; for the other, every exit has the best actions for itself"
    return Solution(
        model,
        question,
        *ends,
        method="products of exit probabilities",
        reason=several,
        policy=Policy.stackless(model, proof.actions),
        seconds=time.perf_counter() - began,
        _certify=partial(leaving_certificate, model, question, ends, proof),
    )


def leaving_of_chain(model: RMDP, question: Question) -> Certificate | None:
    """The certificate of a model with one action everywhere, where runs need not end."""
    found = solve_leaving(model, question)
    return None if found is None else found.certificate


def may_not_end(model: RMDP, question: Question, total: float) -> Certificate | None:
    """The certificate of an infinite total: every step counts, and runs may not end.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.6)
        >>> found = may_not_end(model, recurl.Question("min", "steps"), float("inf"))
        >>> recurl.verify(model, found).lower
        inf
    """
    t = model.tables
    gain = question.sign * question.transition_rewards(t) * np.sign(total)
    met = model.reach.reachable[t.action_vertex[rows_of_model(t).action_of(np.arange(len(gain)))]]
    if question.rewards == "none" or not (gain[met & (t.prob > 0)] > 0).all():
        return None
    search = _Search.of(model, np.ones(t.n_exits[t.start_component]))
    proof = search.proof(greatest=(question.objective == "max") != (total > 0))
    if proof is None or float(search.start @ proof.upper[search.can]) >= 1 - 1e-12:
        return None
    zero = np.zeros_like(proof.lower)
    found = leaving_certificate(model, question, (None, None), proof._replace(lower=zero))
    return structs.replace(found, infinite="inf" if total > 0 else "-inf")


class _Search(NamedTuple):
    """The equations of all actions.

    Attributes:
        rows: The rows of the model.
        can: Pairs of place and exit that are unknowns. ``[n, K]``
        f: Sums by action and exit.
        owner: Unknown that each sum may be the value of; -1 if there is none.
        start: What each unknown counts for at the start.
    """

    rows: Rows
    can: Mask
    f: Polynomials
    owner: Indices
    start: Floats

    @classmethod
    def of(cls, model: RMDP, worth: Floats) -> _Search:
        t, rows = model.tables, rows_of_model(model.tables)
        can = can_leave(rows)
        can &= visited(rows, can)[:, None]
        number = np.full(can.shape, -1)
        number[can] = np.arange(np.count_nonzero(can))
        place = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
        start = np.zeros(can.shape)
        start[t.starts, : len(worth)] = t.start_prob[t.start_prob > 0][:, None] * worth
        f = polynomials(rows, can, by_action=True)
        return cls(rows, can, f, number[place].ravel(), start[can])

    def worth_of(self, model: RMDP, worth: Floats, bound: Floats) -> Fraction:
        """The exact worth of exits at the start, by bounds of probabilities."""
        t, total = model.tables, Fraction(0)
        first = int(t.component_start[t.start_component])
        for e in range(len(t.start_prob)):
            chances = zip(worth.tolist(), bound[first + e].tolist(), strict=False)  # others: 0
            share = sum((Fraction(w) * Fraction(x) for w, x in chances), Fraction(0))
            total += model.exact.start(e) * share
        return total

    def proof(self, *, greatest: bool) -> LeavingProof | None:
        """Both ends, by a policy and by the best action for every exit."""
        if not self.can.any():  # no run can leave
            zero, one = np.zeros(self.can.shape), np.ones(self.can.shape)
            return LeavingProof(np.zeros(self.rows.size, np.int32), zero, zero, one)
        chosen, free = self._relaxed(greatest=greatest)
        actions = self._policy(chosen, free, greatest=greatest)
        own = self.f.of(self._sums_of(actions))
        x, _ = newton(own, np.zeros(own.size, np.bool_))
        unknowns = np.arange(own.size)
        if greatest:
            progress = progress_of(own, x)
            lower = _lower(own, unknowns, x, progress)
            upper = _upper(self.f, self.owner, free, self.f.of(chosen))
        else:
            progress = self._progress(chosen, free)
            lower = _lower(self.f, self.owner, free, progress)
            upper = _upper(own, unknowns, x, own)
        if lower is None or upper is None or progress is None:
            return None
        tables = [np.full(self.can.shape, rest) for rest in (0.0, 0.0, progress[1])]
        for table, vector in zip(tables, (lower, upper, progress[0]), strict=True):
            table[self.can] = vector
        return LeavingProof(actions, *tables)

    def _best(self, values: Floats, *, greatest: bool) -> tuple[Indices, Floats]:
        """The best sum of each unknown, the first of equals, and its value."""
        real = np.flatnonzero(self.owner >= 0)
        owner, value = self.owner[real], values[real] if greatest else -values[real]
        most = np.full(self.f.size, -np.inf)
        np.maximum.at(most, owner, value)
        hits = np.flatnonzero(value == most[owner])[::-1]
        chosen = np.zeros(self.f.size, np.int64)
        chosen[owner[hits]] = real[hits]
        return chosen, most if greatest else -most

    def _relaxed(self, *, greatest: bool) -> tuple[Indices, Floats]:
        """The best sum for every exit by itself, and the probabilities that follow, at most 1."""
        chosen, x = self._swept(np.zeros(self.f.size), greatest=greatest)
        for _ in range(_LIMIT):
            x, _ = newton(self.f.of(chosen), np.zeros(self.f.size, np.bool_))
            found, value = self._best(self.f.value(x), greatest=greatest)
            better = np.minimum(value, 1.0) > x + 1e-12 if greatest else value < x - 1e-12
            if not better.any():
                return chosen, x
            chosen = np.where(better, found, chosen)
        return self._swept(x, greatest=greatest)

    def _swept(self, x: Floats, *, greatest: bool) -> tuple[Indices, Floats]:
        """The best sums after many sweeps. Newton's method stops where probabilities exceed 1."""
        for _ in range(_SWEEPS):
            chosen, value = self._best(self.f.value(x), greatest=greatest)
            x = np.minimum(value, 1.0)
        return chosen, x

    def _sums_of(self, actions: Ints) -> Indices:
        """The sum of each unknown by a policy."""
        place, port = np.nonzero(self.can)
        sums: Indices = (self.rows.action_start[place] + actions[place]) * self.can.shape[1] + port
        return sums

    def _policy(self, chosen: Indices, x: Floats, *, greatest: bool) -> Ints:
        """A policy that is improved by what its probabilities count for at the start."""
        best, most = np.zeros(self.rows.size, np.int32), -np.inf
        actions = best
        for _ in range(_LIMIT):
            actions = self._improved(actions, chosen, x, greatest=greatest)
            chosen = self._sums_of(actions)
            x, _ = newton(self.f.of(chosen), np.zeros(self.f.size, np.bool_))
            total = float(self.start @ x) * (1 if greatest else -1)
            if not total > most + 1e-13:
                break
            best, most = actions, total
        return best

    def _improved(self, actions: Ints, chosen: Indices, x: Floats, *, greatest: bool) -> Ints:
        """The best action of every place that counts, others as before."""
        row, column, value = self.f.of(chosen).jacobian(x)
        counts = solve_nonnegative(column, row, value, self.start)
        if counts is None or not np.isfinite(counts).all():
            return actions
        real = self.owner >= 0
        worth = np.where(real, self.f.value(x) * np.maximum(counts, 0.0)[self.owner], 0.0)
        by_action = worth.reshape(-1, self.can.shape[1]).sum(axis=1) * (1 if greatest else -1)
        table = np.zeros(self.can.shape)
        table[self.can] = counts
        improved = actions.copy()
        for place in np.flatnonzero((table > 0).any(axis=1)).tolist():
            own = by_action[self.rows.action_start[place] : self.rows.action_start[place + 1]]
            if own.max() > own[actions[place]] + 1e-14:
                improved[place] = own.argmax()
        return improved

    def _progress(self, chosen: Indices, x: Floats) -> tuple[Floats, float] | None:
        """A direction along which errors contract by all actions, and half the least rest."""
        for _ in range(_LIMIT):
            found = progress_of(self.f.of(chosen), x)
            if found is None:
                return None
            w = found[0]
            worst, slope = self._best(self.f.slope_above(x, w), greatest=True)
            room = float((w - slope)[x > 0].min(initial=2.0)) / 2
            if room > 0:
                return w, room
            chosen = np.where((slope >= w) & (x > 0), worst, chosen)
        return None


def _lower(
    f: Polynomials, owner: Indices, x: Floats, progress: tuple[Floats, float] | None
) -> Floats | None:
    """A vector near x that is at most all its images."""
    if progress is None:
        return None
    for delta in _DELTAS:
        y: Floats = np.maximum(x - delta * progress[0], 0.0)
        if ((y[owner] <= f.below(y)) | (y[owner] == 0) | (owner < 0)).all():
            return y
    return None


def _upper(f: Polynomials, owner: Indices, x: Floats, best: Polynomials) -> Floats | None:
    """A vector near x that is at least all its images, or 1; 0 where these are 0."""
    whole = x > 1 - 1e-9
    w = direction_of(best, x, (x > 0) & ~whole)
    for delta in _DELTAS:
        y: Floats = np.where(whole, 1.0, np.minimum(x + delta * w, 1.0))
        nothing = f.value((y > 0).astype(np.float64)) == 0
        if ((y[owner] >= f.above(y)) | (y[owner] >= 1) | nothing | (owner < 0)).all():
            return y
    return None
