"""Totals in which a run that does not end is worth the worst, or the best, there is.

What such a run collects counts for nothing then. In a finite process a look at the graph says under
which policies runs surely end:

- *Worth the worst:* policies have to end with probability 1. From some states none does; the others
  are kept, with the actions that stay among them. End components that pay nothing become one state
  each. Policy iteration from a policy that ends, with switches that gain, meets none that does not,
  unless one can gain forever. What it finds bounds every policy that surely ends: the inequalities
  of single steps are enough, see docs/explanation/certificates.md.
- *Worth the best:* if some policy may stay forever, the optimum is infinite; else all end.

In a recursive model in which some policy need not end, what can be proved are the total of a policy
that ends, and what other totals cannot exceed. That may be a wide interval.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from recurl.errors import CertificateError, NotProperError
from recurl.linear.systems import solve_entries
from recurl.model.certificate import Certificate
from recurl.model.tables import EXITS, runs
from recurl.solving.digraphs import can_reach, led_by, transposed
from recurl.solving.end_components import (
    Incoming,
    Process,
    ProcessBounds,
    Quotient,
    lifted,
    staying_actions,
    surely_ending,
    with_exits,
)
from recurl.solving.equations import UNIT
from recurl.solving.finite import StackContexts, flattened, solution_of
from recurl.solving.improper import ending_interval
from recurl.solving.outward import sums
from recurl.solving.properness import analyse
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints, Mask
    from recurl.solving.question import Question

_FIRST_SLACK, _TRIES, _ROUNDS = 2.0**-46, 10, 1000
"""Slack of a step at first, as a share of what steps pay; how often it changes; policies tried."""


def solve_endless(
    kernel: Callable[..., Solution],
    model: RMDP,
    question: Question,
    epsilon: float,
    **options: Any,
) -> Solution:
    """The optimum if a run that does not end is worth an infinite amount.

    Args:
        kernel: Solves for what runs collect, whether they end or not.
        model: The model.
        question: What is asked.
        epsilon: Width of the interval to reach.
        options: Passed to the kernel.
    """
    plain = replace(question, endless=None)
    if model.kind.deterministic:
        from recurl.solving.longest_path import solve_cheapest, solve_deterministic

        if question.must_end and (cheapest := solve_cheapest(model, question)) is not None:
            return cheapest
        found = solve_deterministic(model, plain, epsilon, **options)
        if found is not None and analyse(model).verdict == "proper":
            return _meant(found, question)
    process = flattened(model)
    if process is not None:
        return _finite(*process, question)
    if analyse(model).verdict == "proper":
        return _meant(kernel(model, plain, epsilon, **options), question)
    bounds = _from_above if question.must_end else _from_below
    return bounds(kernel, model, question, epsilon, **options)


class _Kept(NamedTuple):
    """Findings about the graph of a process.

    Attributes:
        live: States that runs come to from which they surely end, if they are to.
        allowed: Actions that stay among them.
        inner: Those of them that stay in an end component and pay nothing.
        group: Class of each state: an end component, or itself; -1 of others.
        infinite: Whether runs from the start are worth what one is that does not end.
    """

    live: Mask
    allowed: Mask
    inner: Mask
    group: Ints
    infinite: bool


def _kept(process: Process, *, must_end: bool) -> _Kept:
    """Look at the graph."""
    t, none = process.flat.tables, np.zeros(process.flat.tables.n_actions, np.bool_)
    if must_end:
        live, allowed = surely_ending(process)
        infinite = not live[t.starts].all()
    else:
        live, allowed = t.states, ~none
    start = np.zeros(t.n_vertices, np.bool_)
    start[t.starts] = True
    reached = can_reach(process.edges(allowed).T.tocsr(), start & live) & live
    allowed = allowed & reached[process.owner]
    if not must_end:
        infinite = bool((allowed & _staying(process)).any())
        return _Kept(reached, allowed, none, np.where(reached, np.arange(len(live)), -1), infinite)
    free = allowed & process.every((process.paid == 0.0) | (process.prob <= 0.0))
    inner, label = staying_actions(process, reached, free)
    return _Kept(reached, allowed, inner, np.where(reached, label, -1), infinite)


def _staying(process: Process) -> Mask:
    """Actions with which a run never leaves."""
    stays = process.every((process.target >= 0) | (process.prob <= 0.0))
    return Incoming.of(process).lasting(process, stays)


class _Found(NamedTuple):
    """A policy that ends, its totals, a function that finds them, and whether none is better.

    Where the last is not known, a better one would gain without limit, or floats fail.
    """

    choice: Ints
    total: Floats
    solved: Callable[[Floats], Floats | None]
    closed: bool


class _Ending:
    """Policies of a process that end, improved; rows are classes of states.

    Totals are made great. With slack s, rewards are raised by s at every step: the greatest total x
    then satisfies the inequalities of all actions by about s, and x - 2 s d, with d the steps of
    the policy, those of its own actions.
    """

    def __init__(self, process: Process, question: Question, kept: _Kept) -> None:
        t = process.flat.tables
        used = kept.allowed & ~kept.inner
        self.quotient = Quotient.of_classes(process, question, kept.group, used)
        self.equations = self.quotient.equations
        source, start = self.equations.source, self.equations.action_start
        self.size, self.row = len(start) - 1, np.repeat(np.arange(len(start) - 1), np.diff(start))
        self.gain = process.gain[source]
        count = np.diff(t.transition_start)[source]
        moves = runs(t.transition_start[source], count)
        own = np.repeat(np.arange(len(source)), count)
        possible = process.prob[moves] > 0.0
        self.moves, self.own = moves[possible], own[possible]
        self.prob, target = process.prob[self.moves], process.target[self.moves]
        self.target = np.where(target >= 0, self.quotient.class_row[target], self.size)
        self.terms: Floats = (count + 8) * UNIT
        raw = np.abs(question.transition_rewards(t))
        raw += np.where(t.move == EXITS, np.abs(process.worth)[t.landing % len(process.worth)], 0.0)
        self.paid = self._sums(self.prob * raw[self.moves])
        # Where floats are the exact numbers, the last probability is what the others leave.
        self.residue = float(process.flat.exact.binary)
        self.work: dict[str, float] = {"policies": 0}

    def _sums(self, values: Floats) -> Floats:
        return sums(self.own, values, len(self.gain))

    def falls(self, x: Floats) -> tuple[Floats, Floats]:
        """By how much x is above what each action leads to, and by how much that may be wrong."""
        change = x[self.row[self.own]] - np.append(x, 0.0)[self.target]
        fall = self._sums(self.prob * change) - self.gain
        size = self._sums((self.prob + self.residue) * np.abs(change))
        return fall, 2.0 * self.terms * (size + self.paid) + 1e-300

    def _grain(self, x: Floats) -> Floats:
        """By how much the rounding of x itself changes its falls."""
        row = self.row[self.own]
        size = np.abs(x[row]) + np.abs(np.append(x, 0.0)[self.target])
        return UNIT * self._sums(np.where(self.target == row, 0.0, self.prob * size))

    def first(self) -> Ints:
        """Actions that may come nearer to the end."""
        n = self.size
        place = np.append(self.row[self.own], n).astype(np.int32)
        order = np.argsort(place, kind="stable")
        target = np.append(self.target, n).astype(np.int32)[order]
        begin = np.searchsorted(place[order], np.arange(n + 2)).astype(np.int32)
        after = led_by(*transposed(begin, target, n + 1), np.array([n]))[1]
        hits = np.flatnonzero(self.target == after[self.row[self.own]])
        choice = np.full(n, -1, np.int32)
        choice[self.row[self.own[hits]]] = self.own[hits]
        return choice

    def solver(self, choice: Ints) -> Callable[[Floats], Floats | None] | None:
        """A function from gains of a policy to its totals; None if the policy may not end."""
        from scipy.sparse import csr_array

        n, taken = self.size, np.zeros(len(self.gain), np.bool_)
        taken[choice] = True
        # A row that leads to itself goes on as if it did not, in the end.
        some = np.flatnonzero(taken[self.own] & (self.target != self.row[self.own]))
        row, target, prob = self.row[self.own[some]], self.target[some], self.prob[some]
        edges = csr_array((np.ones(len(row), np.int8), (row, target)), shape=(n + 1, n + 1))
        if not can_reach(edges, np.arange(n + 1) == n).all():
            return None
        self.work["policies"] += 1
        leaves, inner = sums(row, prob, n), target < n
        entries = row[inner], target[inner], (prob / leaves[row])[inner]

        def solved(gain: Floats) -> Floats | None:
            found = solve_entries(*entries, gain / leaves)
            return found if found is not None and np.isfinite(found).all() else None

        return solved

    def improved(self, choice: Ints, slack: Floats) -> _Found | None:
        """The best policy that ends, for rewards with some slack; None if floats find none."""
        begins, gain, last = self.equations.action_start[:-1], self.gain + slack, None
        for _ in range(_ROUNDS):
            solved = self.solver(choice)
            x = None if solved is None else solved(gain[choice])
            if solved is None or x is None:
                return last
            better = 0.5 * slack - self.falls(x)[0]
            best = np.maximum.reduceat(better, begins)
            # What the equations of the policy itself are off by says nothing of others.
            off = float(np.abs(better[choice] + 0.5 * slack[choice]).max())
            rows = np.flatnonzero(best > np.maximum(better[choice], 0.0) + 2.0 * off)
            last = _Found(choice, x, solved, len(rows) == 0)
            if last.closed:
                return last
            hits = np.flatnonzero(better == best[self.row])
            which, choice = np.zeros(self.size, np.int32), choice.copy()
            which[self.row[hits]] = hits
            choice[rows] = which[rows]
        return last

    def bounds(self) -> tuple[Floats, Floats | None, Ints]:
        """Totals that a policy attains, totals that none exceeds if they are known, the policy.

        Raises:
            NotProperError: Floats are too coarse for either.
        """
        choice, attained = self.first(), None
        if not self.paid.any():
            return np.zeros(self.size), np.zeros(self.size), choice
        slack = np.full(len(self.gain), _FIRST_SLACK * float(self.paid.max()))
        for k in range(_TRIES):
            found = self.improved(choice, slack)
            if found is None:
                break
            choice, x, solved, closed = found
            if k > 0:
                own = slack[choice]
                more, added = solved(own - self.falls(x)[0][choice]), solved(own)
                if more is None or added is None:
                    break
                x += more
                low, (above, doubt) = x - 2.0 * added, self.falls(x)
                below, error = self.falls(low)
                if (below[choice] <= -error[choice]).all():
                    if closed and (above >= doubt).all():
                        return low, x, choice
                    attained = attained or (low, choice)
            # As much as rounding may be wrong by, and more if that does not do.
            slack = 2.0 * 4.0**k * (self.falls(x)[1] + self._grain(x))
        if attained is None:
            raise NotProperError("floats do not tell what a policy that ends earns")
        return attained[0], None, attained[1]


def _finite(flat: RMDP, contexts: StackContexts, question: Question) -> Solution:
    """The optimum of a finite process."""
    began = time.perf_counter()
    t, sign, zero = flat.tables, question.sign, np.zeros(flat.tables.n_vertices)
    process = Process.paying(flat, question.transition_rewards(t), question.root_values(t))
    kept = _kept(process, must_end=question.must_end)
    none = np.zeros(t.n_actions, np.bool_)
    if kept.infinite:
        stays = none if question.must_end else _staying(process)
        actions = lifted(process, np.zeros(0, np.int32), stays)
        nothing = ProcessBounds(process, question, "", zero, zero, actions, zero, none, {})
        found, total = solution_of(nothing, contexts, question, began), float(question.endless or 0)
        certify = partial(_infinite, found, question)
        none_ends = question.must_end
        reason = "no policy ends with probability 1" if none_ends else "some policy may stay"
        policy = None if none_ends else found.policy
        found = replace(found, lower=total, upper=total, reason=reason, policy=policy)
        return replace(found, values_lower=None, values_upper=None, _certify=certify)
    search = _Ending(process, question, kept)
    low, high, choice = search.bounds()
    actions = lifted(process, search.equations.source[choice], kept.inner)
    row, exits = search.quotient.class_row, with_exits(process, zero.copy())
    lower, upper = (np.where(row >= 0, x[row], exits) for x in (low, low if high is None else high))
    found = solution_of(
        ProcessBounds(process, question, "", lower, upper, actions, zero, none, search.work),
        contexts,
        question,
        began,
    )
    reason = "finite: every policy ends"
    if question.must_end:
        reason = "finite: the best of the policies that end with probability 1"
    if high is None:
        reason = "a policy that surely ends; whether one can gain without limit before is not known"
        found = _open(found, "upper" if sign > 0 else "lower")
    elif contexts.is_flat:
        unknown = np.where((row >= 0) | ~t.states, 0.0, np.nan)
        known = {name: getattr(found, name) + unknown for name in ("values_lower", "values_upper")}
        found = replace(found, **known)
    return replace(found, reason=reason)


def _infinite(found: Solution, question: Question) -> Certificate:
    """The certificate of an optimum that runs have which do not end: a look at the graph."""
    own = question.certificate(found.model, (None, None), infinite=question.endless)
    assert found._certify is not None
    return msgspec.structs.replace(own, values=found._certify().values)


def _open(found: Solution, end: str) -> Solution:
    """The same answer, and certificate, without one end."""

    def certify() -> Certificate:
        assert found._certify is not None
        return msgspec.structs.replace(found._certify(), **{end: None})

    known: dict[str, Any] = {end: math.inf if end == "upper" else -math.inf}
    if found._certify is not None:
        known["_certify"] = certify
    return replace(found, **known, values_lower=None, values_upper=None)


# Recursive models


def _meant(found: Solution, question: Question) -> Solution:
    """An answer that holds for a question with endless runs, too."""

    def certify() -> Certificate:
        own = found.certificate
        if own.values is not None and own.values.contexts:
            raise CertificateError("bounds by state prove what runs collect, not that they end")
        return msgspec.structs.replace(own, endless=question.endless)

    certified = None if found._certify is None else certify
    return replace(found, question=question, _certify=certified)


def _from_above(
    kernel: Callable[..., Solution],
    model: RMDP,
    question: Question,
    epsilon: float,
    **options: Any,
) -> Solution:
    """Bounds where policies have to end: no policy is worth more than what it collects.

    Where not ending costs, the best policy ends all the same, and its certificate says so.
    """
    plain = replace(question, endless=None)
    with suppress(NotProperError, CertificateError):
        found = kernel(model, plain, epsilon, **options)
        own = found.certificate
        pieces = own.values is None and bool(own.pieces)
        if own.infinite == question.endless or (pieces and all(x.steps for x in own.pieces)):
            return _meant(found, question)
    reason = (
        "runs have to end, and some policy of this recursive model need not: one end is what a "
        "policy that ends attains, the other what no total can exceed"
    )
    found = _meant(ending_interval(model, plain, error := NotProperError(reason)), question)
    if found.policy is None:  # then no total is known that a policy attains
        found = _open(found, "lower" if question.sign > 0 else "upper")
        if math.isinf(found.lower) and math.isinf(found.upper):
            raise error
    return found


def _from_below(
    kernel: Callable[..., Solution],
    model: RMDP,
    question: Question,
    epsilon: float,
    **options: Any,
) -> Solution:
    """Bounds where it is best not to end: every policy is worth at least what it collects."""
    found = kernel(model, replace(question, endless=None), epsilon, **options)
    found = _meant(found, question)
    if found.lower == found.upper == float(question.endless or 0):
        return found
    reason = "whether some policy of this recursive model may not end is not known"
    return replace(_open(found, "upper" if question.sign > 0 else "lower"), reason=reason)
