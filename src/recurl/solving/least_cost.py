"""1-exit models in which every step costs something in the long run, and some policies do not end.

A potential h (see `recurl.solving.potential`) shows that policies which take infinitely many steps
on average pay infinitely much. The least cost is that of a policy that ends, if there is one.
Policy iteration finds it, from a policy that ends as surely as possible: better policies cost less,
hence end too.

If J <= c(a) + sum p J for all actions then no policy costs less than J: that is clear for those
that pay infinitely much, and the others forget J, as in docs/explanation/certificates.md. With
H(q) = h(exit) - h(q) the mix (1 - delta) J + delta H has room for the errors of J. Likewise
K >= c + sum p K for the actions of the policy bounds its costs, and its own steps make room for
errors.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL, EXITS, Floats, Ints, Tables, runs
from recurl.policy import Policy
from recurl.solving.budget import check_time
from recurl.solving.expectations import Expectations, expectations
from recurl.solving.one_exit_bounds import one_exit_certificate
from recurl.solving.one_exit_system import sum_towards
from recurl.solving.outward import float_above, float_below
from recurl.solving.potential import Potential
from recurl.solving.rows import Rows, rows_of_model, rows_of_policy
from recurl.solving.solution import NEARLY_BALANCED, Solution
from recurl.solving.steps import inductive, no_offsets
from recurl.solving.termination import termination

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question
    from recurl.solving.rows import Mask

_ROUNDS, _GAIN, _NARROW = 200, 1e-12, 1e-6
_FAR, _CLOSE = (2.0**4, 2.0**14, 2.0**24), 1e-9
"""Multiples of the model's costs that stand for infinite ones, tried in order until the start is
close to the cost of its policy; and what is close."""
_SWEEPS, _EFFORT = 5000, 10**8
"""The most sweeps with each of them, and the most transitions in all sweeps."""


def least_cost(model: RMDP, question: Question, falls: Potential) -> Solution | None:
    """The optimum of a 1-exit model in which a potential falls with every step.

    Returns:
        The solution, or None if no policy was found that ends.

    Example:
        >>> import recurl
        >>> from recurl.solving.potential import potential
        >>> builder = recurl.Builder("wait").component("A", entries="in", exits="out")
        >>> builder = builder.at("in").action("try").to("room")
        >>> builder = builder.at("room").action("wait").to("room").action("try").to("out", 0.5)
        >>> model = builder.to("room", 0.5).build()
        >>> question = recurl.Question("min", "steps")
        >>> solution = least_cost(model, question, potential(model, question))
        >>> round(solution.value, 9), recurl.verify(model, solution.certificate).theorems
        (3.0, ('costs', 'policy'))
    """
    began = time.perf_counter()
    t, seen = model.tables, model.reach.reachable & model.tables.states
    rows = rows_of_model(t)._replace(reward=-question.transition_rewards(t))
    work = {"policies": 0.0}
    policy, found = _best(model, question, rows, work)
    if not np.isfinite(found.reward[rows.start]).all():
        return None
    exits = t.component_start[:-1] + t.n_entries
    height = np.where(seen, falls.values[exits[t.vertex_component]] - falls.values, 0.0)
    least = _least(rows, found.reward, seen, height, falls.cost)
    spent = _spent(_own_rows(policy, question), found)
    if least is None or spent is None:
        return None
    upper, lower, own_steps = (
        _by_vertex(t, *pair)
        for pair in ((-least, np.inf), (-spent[0], -np.inf), (spent[1], np.inf))
    )
    low, high = _ends(model, question, lower, upper)
    reason = "policies that do not end pay infinitely much"
    if high - low > _NARROW:
        reason += f"; {NEARLY_BALANCED}"
    return Solution(
        model,
        question,
        low,
        high,
        method="policy-iteration",
        reason=reason,
        policy=policy,
        work=work,
        seconds=time.perf_counter() - began,
        _certify=lambda: one_exit_certificate(
            model,
            question,
            (low, high),
            lower=lower,
            upper=upper,
            actions=policy.actions,
            potential=falls.values,
            own_steps=own_steps,
        ),
    )


def _least(rows: Rows, cost: Floats, seen: Mask, height: Floats, price: float) -> Floats | None:
    """Costs that no policy is below, from those of the best policy; None if they are not proved.

    Where every policy may be lost, the least cost is infinite. Something large stands for it where
    all are lost, and what follows from that at other places: large enough if the start does not
    gain.
    """
    known = seen & np.isfinite(cost)
    if known[seen].all():
        return _certain(rows, np.where(seen, cost, 0.0), seen, height, price)
    size = 1.0 + np.abs(cost[known]).max(initial=0.0) + np.abs(height).max(initial=0.0)
    best = None
    for far in _FAR:
        large = np.where(known, cost, np.where(seen, height + far * size, 0.0))
        found = _certain(rows, _lowered(rows, large, seen), seen, height, price)
        if found is None:
            continue
        if best is None or found[rows.start].sum() > best[rows.start].sum():
            best = found
        if (cost[rows.start] - found[rows.start] <= _CLOSE * size).all():
            break
    return best


def _lowered(rows: Rows, cost: Floats, seen: Mask) -> Floats:
    """Costs that are lowered until no action leads to less, by some number of sweeps at most."""
    acting = np.flatnonzero(np.diff(rows.action_start) > 0)
    acting = acting[seen[acting]]
    first, least = rows.action_start[acting], cost
    count = rows.action_start[acting + 1] - first
    for _ in range(min(_SWEEPS, 1 + _EFFORT // len(rows.prob))):
        check_time()
        value, cost = _values(rows, least)[runs(first, count)], least
        least = cost.copy()
        after = np.minimum.reduceat(value, np.cumsum(count) - count)
        least[acting] = np.minimum(cost[acting], after)
        if (cost - least).max() <= 1e-15 * np.abs(cost).max():
            break
    return least


def _by_vertex(t: Tables, x: Floats, direction: float) -> Floats:
    """Values of all vertices from values of states, calls being rounded towards a direction."""
    values = np.where(t.states & np.isfinite(x), x, 0.0)
    calls = np.flatnonzero(t.vertex_kind == CALL)
    back = t.box_return[t.vertex_box[calls]]
    values[calls] = sum_towards(values[t.entry_of_call(calls)], values[back], direction)
    return values


def _ends(model: RMDP, question: Question, lower: Floats, upper: Floats) -> tuple[float, float]:
    """The interval that the vectors prove for the start, in exact numbers rounded outwards."""
    worth = Fraction(float(question.root_values(model.tables)[0]))
    starts = model.start_exact().items()
    below, above = (
        worth + sum(p * Fraction(float(x[v])) for v, p in starts if p) for x in (lower, upper)
    )
    ends = (below, above) if question.sign > 0 else (-above, -below)
    return float_below(Fraction(ends[0])), float_above(Fraction(ends[1]))


def _own_rows(policy: Policy, question: Question) -> Rows:
    """Rows of a policy, rewards being costs."""
    own = rows_of_policy(policy)
    steps = question.rewards == "steps"
    return own._replace(reward=np.ones_like(own.reward) if steps else -question.sign * own.reward)


def _best(
    model: RMDP, question: Question, rows: Rows, work: dict[str, float]
) -> tuple[Policy, Expectations]:
    """A policy that none improves on, and what to expect of it."""
    policy = termination(model).policy
    assert policy is not None
    for _ in range(_ROUNDS):
        check_time()
        work["policies"] += 1
        found = expectations(_own_rows(policy, question), everywhere=True)
        best, value = _cheapest(rows, found.reward)
        with np.errstate(invalid="ignore"):
            better = value < found.reward - _GAIN * (1 + np.abs(found.reward))
        better |= np.isinf(found.reward) & np.isfinite(value)
        if not better.any():
            break
        policy = Policy.stackless(model, np.where(better, best, policy.actions))
    return policy, found


def _values(rows: Rows, cost: Floats) -> Floats:
    """The cost of every action, if ``cost`` comes after it."""
    leaves = rows.move == EXITS
    later = np.where(leaves, 0.0, cost[np.where(leaves, 0, rows.landing)])
    later = later + np.where(rows.push >= 0, cost[rows.push], 0.0)
    total: Floats = np.add.reduceat(rows.prob * (rows.reward + later), rows.transition_start[:-1])
    return total


def _cheapest(rows: Rows, cost: Floats) -> tuple[Ints, Floats]:
    """The cheapest action of every place, counted within it, and its value; inf where none is."""
    value = _values(rows, cost)
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    order = np.lexsort((value, owner))
    acting = np.diff(rows.action_start) > 0
    best, least = np.zeros(rows.size, np.int32), np.full(rows.size, np.inf)
    chosen = order[rows.action_start[:-1][acting]]
    best[acting], least[acting] = chosen - rows.action_start[:-1][acting], value[chosen]
    return best, least


def _excess(rows: Rows, cost: Floats, seen: Mask) -> tuple[float, float]:
    """By how much costs exceed what some action of a place leads to, and the rounding of that."""
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    terms = 8 + int(np.diff(rows.transition_start).max())
    most = float(np.abs(cost).max() + np.abs(rows.reward).max())
    with np.errstate(over="ignore"):
        most = float(np.abs(cost).max() + np.abs(rows.reward).max())
        gap = (cost[owner] - _values(rows, cost))[seen[owner]]
    return float(np.max(gap, initial=-np.inf)), terms * (4.6e-16 * most + 1e-323)


def _certain(rows: Rows, cost: Floats, seen: Mask, height: Floats, price: float) -> Floats | None:
    """Costs, mixed with what makes every inequality hold in spite of errors; None if it does not.

    Args:
        rows: The model, rewards being costs.
        cost: Costs that hold up to errors.
        seen: Places that runs visit.
        height: H with ``H + price <= c(a) + sum p H`` for all actions.
        price: That price.
    """
    gap, doubt = _excess(rows, cost, seen)
    share = min(1.0, 2 * (max(gap, 0.0) + doubt + _excess(rows, height, seen)[1]) / price)
    mixed = (1 - share) * cost + share * height
    gap, doubt = _excess(rows, mixed, seen)
    return mixed if gap <= -doubt else None


def _spent(own: Rows, found: Expectations) -> tuple[Floats, Floats] | None:
    """K >= c + sum p K for a policy, and d >= 1 + sum p d, rounding counted; None if not found.

    Args:
        own: The rows of the policy, rewards being costs.
        found: Its costs and steps; only places where they are finite matter.
    """
    ends = np.isfinite(found.steps_upper) & np.isfinite(found.reward)
    scale = inductive(own, np.where(ends, found.steps_upper, np.inf), no_offsets(own))
    if scale is None or not ends[own.start].all():
        return None
    steps = np.where(ends, found.steps_upper * scale, 0.0)
    cost = np.where(ends, found.reward, 0.0)
    minus = own._replace(reward=-own.reward)
    gap, doubt = _excess(minus, -cost, ends)
    for more in (2.0, 16.0, 256.0):
        raised = cost + more * (max(gap, 0.0) + doubt) * steps
        left, doubtful = _excess(minus, -raised, ends)
        if left <= -doubtful:
            return raised, steps
    return None
