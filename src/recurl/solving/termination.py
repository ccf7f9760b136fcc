"""Greatest and least probability to end, for 1-exit models.

The probability is the least solution z of ``x(q) = opt_a f_a(x)`` with ``f_a(x) = sum p x(q')``,
where a call is worth ``x(en) x(ret)`` and an exit 1.

- Greatest: policy iteration, each policy evaluated by Newton's method. When no action improves, the
  policy attains a solution of the equations, and nothing is above the least one. If y >= f_a(y) for
  all actions then y >= z.
- Least: policy iteration could stop too early (where an action that may never end looks as good as
  one that ends). Instead Newton's method under control, from 0: as the functions are convex, the
  least solution of the linearised equations never overshoots. If y <= f_a(y) for all actions, and
  some w > 0 has f_a'(y) w < w for all actions that may be best at z where y > 0, then y <= z: the
  proof of `recurl.solving.chains` applies to the actions that are best at z. Any y that comes from
  0 by applying the equations is below z too; an action that is worse at such a y than what some
  policy attains is not best at z.

One end is what a policy attains, the other one such a vector, checked with outward rounding. Where
w proves the lower end for all actions that count, both vectors and w make a certificate; else that
of `recurl.solving.leaving` does, which may prove a little less of a critical model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.errors import ModelError, Problem
from recurl.linear.systems import solve_entries
from recurl.model.rmdp import require_model
from recurl.model.tables import Floats, Ints, Mask
from recurl.policy import Policy
from recurl.solving.budget import check_time
from recurl.solving.chain_equations import Polynomials, action_polynomials
from recurl.solving.chains import leave_probabilities
from recurl.solving.evaluate import evaluate, mean_at_start
from recurl.solving.leaving import solve_leaving
from recurl.solving.leaving_certificate import LeavingProof, leaving_certificate
from recurl.solving.outward import Indices, float_above, float_below, sums
from recurl.solving.question import Question
from recurl.solving.rows import Rows, rows_of_model, rows_of_policy
from recurl.solving.solution import NEARLY_BALANCED, Solution
from recurl.solving.steps import stay_forever

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP

_LIMIT, _SWEEPS, _FROM_ZERO = 80, 16, 200
_NARROW = 1e-8
"""Width that is reached unless a policy nearly calls as often as it returns."""
_PROOF = "the policy attains one end, an inductive vector proves the other"
_DELTAS: Floats = np.ldexp(1.0, np.arange(-51, -12, 3))


def termination(model: RMDP, objective: str = "max") -> Solution:
    """The greatest or least probability, over policies, that a run of a 1-exit model ends.

    One end of the interval is what the policy of the solution attains, by the proof of
    `leave_probabilities`. The other end comes from an inductive vector over all actions: for the
    greatest probability y >= F(y), which bounds the least solution from above.

    Args:
        model: A 1-exit model. (For multi-exit models ask `solve` for the probability of an exit.)
        objective: ``"max"`` or ``"min"``.

    Example:
        >>> import recurl
        >>> round(termination(recurl.zoo.gambler(p=0.6)).value, 9)
        0.666666667
    """
    require_model(model, "termination")
    if (model.tables.n_exits != 1).any():
        problem = Problem("", "has several exits", 'use solve(model, of="exit:NAME") instead')
        raise ModelError([problem], headline=f"{model.name}: ")
    return solve_ending(model, Question(objective, "none", (1.0,)))


def solve_ending(model: RMDP, question: Question) -> Solution:
    """The worth of the exit of a 1-exit model times the optimal probability to reach it."""
    begin = time.perf_counter()
    worth = Fraction(question.exit_values[0] if question.exit_values else 0.0)
    greatest = (question.objective == "max") == (worth >= 0)
    control = _Control.of(rows_of_model(model.tables))
    found = (_greatest if greatest else _least)(model, control)
    policy = Policy.stackless(model, found.choice)
    found, (low, high) = _interval(policy, control.rows, found, greatest=greatest)
    ends = sorted((worth * Fraction(low), worth * Fraction(high)))
    lower, upper = float_below(ends[0]), float_above(ends[1])
    other = solve_leaving(model, question) if found.progress is None else None
    if other is not None and other.gap <= max(upper - lower, _NARROW):
        return replace(other, reason=_PROOF, seconds=time.perf_counter() - begin)
    certify: Callable[[], Certificate] | None = None
    if other is not None:
        certify = partial(getattr, other, "certificate")
    if found.progress is not None:
        vectors = (x[:, None] for x in (found.lower, found.upper, found.progress))
        proof = LeavingProof(found.choice, *vectors)
        certify = partial(leaving_certificate, model, question, (lower, upper), proof)
    return Solution(
        model,
        question,
        lower,
        upper,
        method="policy iteration" if greatest else "newton",
        reason=_PROOF if high - low <= _NARROW else f"{_PROOF}; {NEARLY_BALANCED}",
        policy=policy,
        work={"policies" if greatest else "newton steps": found.steps},
        seconds=time.perf_counter() - begin,
        _certify=certify,
    )


class _Found(NamedTuple):
    """The result of a search.

    Attributes:
        choice: Best actions, counted within their places.
        lower: A lower bound by place.
        upper: An upper bound by place.
        progress: A direction w that proves the lower bound for all actions that count, by place;
            None if there is none.
        steps: Policies or Newton steps that it took.
    """

    choice: Ints
    lower: Floats
    upper: Floats
    progress: Floats | None
    steps: int


def _interval(
    policy: Policy, rows: Rows, found: _Found, *, greatest: bool
) -> tuple[_Found, tuple[float, float]]:
    """Bounds at the start, and the proof without its direction where another one is narrower.

    Near critical models, what the policy attains may be known better by its evaluation.
    """
    low, high = mean_at_start(policy.model, found.lower[rows.start], found.upper[rows.start])
    if found.progress is not None and high - low <= _NARROW:
        return found, (low, high)
    least, most = evaluate(policy).termination
    if (np.diff(rows.action_start) > 1).any():
        least, most = (least, max(least, high)) if greatest else (min(most, low), most)
    if found.progress is not None and high - low <= most - least:
        return found, (low, high)
    return found._replace(progress=None), (least, most)


class _Control(NamedTuple):
    """The actions of 1-exit rows.

    Attributes:
        rows: The rows.
        f: Probability to end by each action.
        owner: Place of each action.
        acting: Places that have actions, ascending.
    """

    rows: Rows
    f: Polynomials
    owner: Indices
    acting: Indices

    @classmethod
    def of(cls, rows: Rows) -> _Control:
        count = np.diff(rows.action_start)
        owner = np.repeat(np.arange(rows.size), count)
        return cls(rows, action_polynomials(rows), owner, np.flatnonzero(count > 0))

    def best(self, value: Floats) -> tuple[Indices, Floats]:
        """By place the action of greatest value (first of equals), and that value."""
        most = np.full(self.rows.size, -np.inf)
        first = self.rows.action_start[self.acting]
        most[self.acting] = np.maximum.reduceat(value, first)
        hits = np.flatnonzero(value == most[self.owner])
        best = np.zeros(self.rows.size, np.int64)
        best[self.acting] = first
        best[self.owner[hits][::-1]] = hits[::-1]
        return best, most

    def least(self, value: Floats) -> Floats:
        """The least value of an action by place; 0 where there is none."""
        least: Floats = np.where(np.diff(self.rows.action_start) > 0, -self.best(-value)[1], 0.0)
        return least

    def slope(self, x: Floats, w: Floats) -> Floats:
        """The derivative of every action at x in a direction, in floats."""
        row, column, value = self.f.jacobian(x)
        return sums(row, value * w[column], len(self.f.terms))

    def linear(self, x: Floats, own: Mask, chosen: Indices, right: Floats) -> Floats:
        """The solution of d = right + f'(x) d on own places, by the chosen actions; nan if none."""
        row, column, value = self.f.jacobian(x)
        place = self.owner[row]
        kept = (row == chosen[place]) & own[place] & own[column] & (value > 0)
        number = np.cumsum(own) - 1
        entries = number[place[kept]], number[column[kept]], value[kept]
        result = np.zeros(self.rows.size)
        solved = solve_entries(*entries, right[own])
        result[own] = np.nan if solved is None else solved
        return result

    def moves(self, x: Floats) -> tuple[Indices, Indices]:
        """Actions that surely only lead to another vertex, and which; calls that end count.

        Their value is exactly that of the place, with no rounding.
        """
        f, y = self.f, np.append(x, 1.0)
        sure = (f.low == 1.0) & (f.high == 1.0) & (f.terms[f.row] == 1)
        plain = np.flatnonzero(sure & ((y[f.first] == 1.0) | (y[f.second] == 1.0)))
        return f.row[plain], np.where(y[f.second] == 1.0, f.first, f.second)[plain]

    def below(self, y: Floats) -> Floats:
        """At most the value of every action, and exactly 1 where only ones are added up."""
        f, ends = self.f, np.append(y, 1.0)
        less = sums(f.row, (ends[f.first] * ends[f.second] < 1.0).astype(np.float64), len(f.terms))
        value: Floats = np.where(less == 0, 1.0, f.below(y))
        return value

    def above(self, y: Floats) -> Floats:
        """At least the value of every action, and exactly that of mere moves."""
        action, place = self.moves(y)
        value = self.f.above(y)
        value[action] = np.append(y, 1.0)[place]
        return value

    def circles(self, x: Floats) -> tuple[Indices, Mask]:
        """Groups of places that mere moves connect, and the moves that stay in their group."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        action, place = self.moves(x)
        size = self.rows.size
        graph = csr_array(
            (np.ones(len(action)), (self.owner[action], place)), shape=(size + 1, size + 1)
        )
        group = connected_components(graph, connection="strong")[1]
        inside = np.zeros(len(self.owner), np.bool_)
        inside[action] = group[self.owner[action]] == group[place]
        return group[:size], inside

    def direction(self, x: Floats, own: Mask, chosen: Indices, relevant: Mask) -> Floats:
        """A vector w = x + f'(x) w for the worst of the relevant actions; 0 where there is none."""
        for _ in range(_LIMIT):
            check_time()
            w = self.linear(x, own, chosen, x)
            w = np.where(np.isfinite(w) & (w > 0), w, 0.0)
            best, most = self.best(np.where(relevant, self.slope(x, w), -np.inf))
            better = own & (w > 0) & (x + most > w * (1 + 1e-9))
            if not better.any():
                break
            chosen = np.where(better, best, chosen)
        return w


def _greatest(model: RMDP, control: _Control) -> _Found:
    """The policy that ends most often."""
    rows, dead = control.rows, model.reach.dead
    own = (np.diff(rows.action_start) > 0) & ~dead
    choice = rows.action_start[:-1].astype(np.int64)
    x, tried = np.zeros(rows.size), 0
    for _ in range(_LIMIT):
        check_time()
        tried += 1
        found = leave_probabilities(
            rows_of_policy(_policy(model, control, choice)), everywhere=True
        )
        x = found.value[:, 0]
        best, most = control.best(control.f.value(x))
        better = own & (most > x + 1e-12)
        if not better.any():
            break
        choice = np.where(better, best, choice)
    taken = np.arange(len(control.owner)) == choice[control.owner]
    ends = np.where(found.sure, 1.0, x)
    proved = _contraction(control, ends, own, choice, (taken, taken))
    lower, progress = proved or (found.lower[:, 0], None)
    upper = _upper_end(control, x, own, choice, dead)
    return _Found(_local(control, choice), lower, upper, progress, tried)


def _local(control: _Control, choice: Indices) -> Ints:
    """Actions counted within their places."""
    own = np.diff(control.rows.action_start) > 0
    return np.where(own, choice - control.rows.action_start[:-1], 0).astype(np.int32)


def _policy(model: RMDP, control: _Control, choice: Indices) -> Policy:
    return Policy.stackless(model, _local(control, choice))


def _upper_end(control: _Control, x: Floats, own: Mask, choice: Indices, dead: Mask) -> Floats:
    """An inductive upper bound near x: y >= f_a(y) for all actions, or y = 1.

    It is 0 at places from which no exit can be reached. Places that can be reached from each other
    without risk have the same bound, and the actions between them need no room.
    """
    x = np.where(own, x, 0.0)
    group, inside = control.circles(x)
    close = (np.abs(control.f.value(x) - x[control.owner]) <= 1e-9) & ~inside
    w = control.direction(x, own & (x > 0), choice, close)
    for delta in _DELTAS:
        y = np.where(own, np.minimum(np.where(w > 0, x + delta * w, 1.0), 1.0), 0.0)
        most = np.zeros(group.max(initial=0) + 1)
        np.maximum.at(most, group, y)
        y = most[group]
        fine = (control.above(y) <= y[control.owner]) | (y >= 1.0)[control.owner]
        if (fine | ~own[control.owner]).all():
            return y
    return np.where(dead, 0.0, 1.0)


def _least(model: RMDP, control: _Control) -> _Found:
    """The policy that ends least often."""
    stays, staying = stay_forever(control.rows)
    chosen = control.rows.action_start[:-1] + np.where(stays, staying, 0).astype(np.int64)
    own = (np.diff(control.rows.action_start) > 0) & ~stays
    x, steps = np.zeros(control.rows.size), 0
    for _ in range(_LIMIT):
        check_time()
        steps += 1
        for _ in range(_SWEEPS):
            x = np.where(own, np.maximum(x, np.minimum(control.least(control.f.value(x)), 1.0)), x)
        found, delta = _newton_step(control, x, own)
        chosen = np.where(own, found, chosen)
        x = np.where(own, np.minimum(x + delta, 1.0), x)
        if delta.max(initial=0.0) <= 1e-15:
            break
    high = leave_probabilities(
        rows_of_policy(_policy(model, control, chosen)), everywhere=True
    ).upper[:, 0]
    every = own[control.owner]
    proved = _contraction(control, x, own, chosen, (every, every))
    lower, progress = proved or (_lower_end(control, x, own, chosen, high), None)
    return _Found(_local(control, chosen), lower, high, progress, steps)


def _newton_step(control: _Control, x: Floats, own: Mask) -> tuple[Indices, Floats]:
    """Least solution above x of the equations linearised at x, and the actions that it takes."""
    value = control.f.value(x)
    chosen, _ = control.best(-value)
    delta = np.zeros(len(x))
    for _ in range(_LIMIT):
        check_time()
        right = np.where(own, np.maximum(value[chosen] - x, 0.0), 0.0)
        if right.max(initial=0.0) <= 1e-15:  # rounding errors only
            return chosen, right
        delta = control.linear(x, own, chosen, right)
        delta = np.where(np.isfinite(delta) & (delta >= 0), delta, right)
        best, least = control.best(-(value + control.slope(x, delta)))
        better = own & (-least - x < delta * (1 - 1e-9) - 1e-15)
        if not better.any():
            break
        chosen = np.where(better, best, chosen)
    return chosen, delta


def _contraction(
    control: _Control, x: Floats, own: Mask, chosen: Indices, actions: tuple[Mask, Mask]
) -> tuple[Floats, Floats] | None:
    """A lower bound near x, and a direction w > f'(x) w that proves it, with a rest for exits.

    Args:
        control: The actions.
        x: Probabilities to end, nearly; 1 only where that is sure, or an upper bound.
        own: Places to look at.
        chosen: The best action of each.
        actions: Those for which the bound has to be inductive; those at which errors have to
            contract.
    """
    inductive, relevant = actions
    w = control.direction(x, own & (x > 0), chosen, relevant)
    positive = own & (w > 0)
    w = np.where(positive, w, 0.0)
    counts = relevant & positive[control.owner]
    room = (w[control.owner] - control.f.slope_above(x, w))[counts].min(initial=2.0) / 2
    if room <= 0:
        return None
    for delta in _DELTAS:
        y = np.where(positive, np.where(x < 1.0, np.maximum(x - delta * w, 0.0), 1.0), 0.0)
        few = y[control.owner]
        if ((few <= control.below(y)) | (few == 0) | ~inductive).all():
            return y, np.where(positive, w, room)
    return None


def _lower_end(control: _Control, x: Floats, own: Mask, chosen: Indices, high: Floats) -> Floats:
    """A lower bound near x that is inductive for all actions, or what comes from 0 by sweeps."""
    plain = np.zeros(len(x))
    for _ in range(_FROM_ZERO):
        check_time()
        plain = np.where(own, np.maximum(plain, control.least(control.f.below(plain))), 0.0)
    # Only these actions may be best at the least solution.
    relevant = own[control.owner] & (control.f.below(plain) <= high[control.owner])
    found = _contraction(control, x, own, chosen, (own[control.owner], relevant))
    return plain if found is None else np.maximum(plain, found[0])
