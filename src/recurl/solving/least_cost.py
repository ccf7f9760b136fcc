"""1-exit models in which dawdling costs, and some policies do not end.

A *potential* has a number h for every vertex, k >= 0 for every box, and c > 0 with
``r(q, a) + sum p h(q') <= h(q) - c`` for all actions, ``h(call port) >= h(entry) + k`` and
``h(exit) + k >= h(return port)`` for the box. Then h of the current vertex and k of all pending
boxes add up to at least min h at any time, and fall by c with every step, rewards included: so a
policy that takes infinitely many steps on average pays infinitely much. The least cost is that of a
policy that ends, if there is one. Policy iteration finds it, from a policy that ends as surely as
possible: better policies cost less, hence end too.

If J <= c(a) + sum p J for all actions then no policy costs less than J: that is clear for those
that pay infinitely much, and the others forget J, as in docs/solving.md. With H(q) = h(exit) - h(q)
the mix (1 - delta) J + delta H has room for the errors of J.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import CALL, EXITS, Floats, Ints, Tables
from recurl.policy import Policy
from recurl.solving.expectations import Expectations, expectations
from recurl.solving.offsets import LARGEST_PROGRAM
from recurl.solving.rows import Rows, rows_of_model, rows_of_policy
from recurl.solving.solution import Solution
from recurl.solving.termination import termination

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question
    from recurl.solving.rows import Mask

_ROUNDS, _GAIN = 200, 1e-12


class Potential(NamedTuple):
    """A number by vertex that falls with every step.

    Attributes:
        values: h by vertex; 0 where no run comes.
        cost: By how much it falls at least: c.
    """

    values: Floats
    cost: float


def potential(model: RMDP, question: Question) -> Potential | None:
    """A potential that shows that every step costs something in the end; None if none was found.

    It is found by a linear program, unless every step costs something by itself, and checked with
    rounding counted.
    """
    t, seen = model.tables, model.reach.reachable
    gain = np.add.reduceat(t.prob * question.transition_rewards(t), t.transition_start[:-1])
    size = np.maximum.reduceat(np.abs(question.transition_rewards(t)), t.transition_start[:-1])
    taken = seen[t.action_vertex]
    h = np.zeros(t.n_vertices)
    if gain[taken].max() >= 0:
        found = _program(t, gain, taken) if t.n_vertices <= LARGEST_PROGRAM else None
        if found is None:
            return None
        h = np.where(seen, found, 0.0)
    _fill_ports(t, h, seen)
    owner = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    most = np.maximum.reduceat(np.abs(h[t.target]), t.transition_start[:-1])
    drop = h[t.action_vertex] - gain - np.bincount(owner, t.prob * h[t.target], t.n_actions)
    count = np.diff(t.transition_start) + 8
    drop -= count * 1e-15 * (size + most + np.abs(h[t.action_vertex]))
    cost = float(drop[taken].min())
    return Potential(h, cost) if cost > 0 else None


def _fill_ports(t: Tables, h: Floats, seen: Mask) -> None:
    """The least values of call ports that the inequalities of ports allow, rounded up."""
    rise = h[t.box_return] - h[t.component_start[t.box_component] + t.n_entries[t.box_component]]
    kept = np.where(seen[t.box_return] & (rise > 0), np.nextafter(rise, np.inf), 0.0)
    calls = np.flatnonzero((t.vertex_kind == CALL) & seen)
    more, entry = kept[t.vertex_box[calls]], h[t.entry_of_call(calls)]
    h[calls] = np.where(more > 0, np.nextafter(entry + more, np.inf), entry)


def _program(t: Tables, gain: Floats, taken: Mask) -> Floats | None:
    """The potential with the greatest c, at most 1."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    actions = np.flatnonzero(taken)
    line = np.full(t.n_actions, -1)
    line[actions] = np.arange(len(actions))
    each = np.repeat(line, np.diff(t.transition_start))
    used = np.flatnonzero(each >= 0)
    calls = np.flatnonzero(t.vertex_kind == CALL)
    exits = t.component_start[t.box_component] + t.n_entries[t.box_component]
    high, low = np.append(calls, exits), np.append(t.entry_of_call(calls), t.box_return)
    ties = len(actions) + np.arange(len(high))
    box = np.append(t.vertex_box[calls], np.arange(t.n_boxes)) + t.n_vertices + 1
    share = np.append(np.ones(len(calls)), np.full(t.n_boxes, -1.0))
    parts = [
        (each[used], t.target[used], t.prob[used]),
        (line[actions], t.action_vertex[actions], np.full(len(actions), -1.0)),
        (line[actions], np.full(len(actions), t.n_vertices), np.ones(len(actions))),
        (ties, low, np.ones(len(ties))),
        (ties, high, np.full(len(ties), -1.0)),
        (ties, box, share),
    ]
    row, column, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    shape = (len(actions) + len(ties), t.n_vertices + 1 + t.n_boxes)
    found = linprog(
        np.concatenate([np.zeros(t.n_vertices), [-1.0], np.zeros(t.n_boxes)]),
        A_ub=coo_array((value, (row, column)), shape=shape).tocsr(),
        b_ub=np.append(-gain[actions], np.zeros(len(ties))),
        bounds=[(None, None)] * t.n_vertices + [(0.0, 1.0)] + [(0.0, None)] * t.n_boxes,
        method="highs",
    )
    if found.x is None or not found.x[t.n_vertices] > 0:
        return None
    values: Floats = found.x[: t.n_vertices]
    return values


def least_cost(model: RMDP, question: Question, falls: Potential) -> Solution | None:
    """The optimum of a 1-exit model in which a potential falls with every step.

    Returns:
        The solution, or None if no policy was found that ends from everywhere.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("wait").component("A", entries="in", exits="out")
        >>> builder = builder.at("in").action("try").to("room")
        >>> builder = builder.at("room").action("wait").to("room").action("try").to("out", 0.5)
        >>> model = builder.to("room", 0.5).build()
        >>> question = recurl.Question("min", "steps")
        >>> round(least_cost(model, question, potential(model, question)).value, 9)
        3.0
    """
    began = time.perf_counter()
    t, seen = model.tables, model.reach.reachable & model.tables.states
    rows = rows_of_model(t)._replace(reward=-question.transition_rewards(t))
    work = {"policies": 0.0}
    policy, found = _best(model, question, rows, work)
    if not np.isfinite(found.reward[seen]).all():
        return None
    exits = t.component_start[:-1] + t.n_entries
    height = falls.values[exits[t.vertex_component]] - falls.values
    least = _certain(rows, np.where(seen, found.reward, 0.0), seen, height, falls.cost)
    if least is None:
        return None
    low = float(rows.start_prob @ least[rows.start])
    high = float(rows.start_prob @ (found.reward + found.error)[rows.start])
    worth = float(question.root_values(t)[0])
    ends = sorted((question.sign * (worth - low), question.sign * (worth - max(low, high))))
    return Solution(
        model,
        question,
        ends[0],
        ends[1],
        method="policy-iteration",
        reason="policies that do not end pay infinitely much",
        policy=policy,
        work=work,
        seconds=time.perf_counter() - began,
    )


def _best(
    model: RMDP, question: Question, rows: Rows, work: dict[str, float]
) -> tuple[Policy, Expectations]:
    """A policy that none improves on, and what to expect of it."""
    policy = termination(model).policy
    assert policy is not None
    for _ in range(_ROUNDS):
        work["policies"] += 1
        own = rows_of_policy(policy)
        steps = question.rewards == "steps"
        paid = np.ones_like(own.reward) if steps else -question.sign * own.reward
        found = expectations(own._replace(reward=paid), everywhere=True)
        best, value = _cheapest(rows, found.reward)
        with np.errstate(invalid="ignore"):
            better = value < found.reward - _GAIN * (1 + np.abs(found.reward))
        better |= np.isinf(found.reward) & np.isfinite(value)
        if not better.any():
            break
        policy = Policy.stackless(model, np.where(better, best, policy.actions))
    return policy, found


def _values(rows: Rows, cost: Floats) -> Floats:
    """What every action costs, if ``cost`` is what comes after it."""
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


def _certain(rows: Rows, cost: Floats, seen: Mask, height: Floats, price: float) -> Floats | None:
    """Costs, mixed with what makes every inequality hold in spite of errors; None if it does not.

    Args:
        rows: The model, rewards being costs.
        cost: Costs that hold up to errors.
        seen: Places that runs visit.
        height: H with ``H + price <= c(a) + sum p H`` for all actions.
        price: That price.
    """
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    taken = seen[owner]
    terms = 8 + int(np.diff(rows.transition_start).max())
    height = np.where(seen, height, 0.0)
    most = float(np.abs(cost).max() + np.abs(height).max() + np.abs(rows.reward).max())
    doubt = terms * 4.6e-16 * most

    def short(x: Floats) -> float:
        return float(np.max((x[owner] - _values(rows, x))[taken], initial=0.0)) + doubt

    share = min(1.0, 2 * short(cost) / price)
    mixed = (1 - share) * cost + share * height
    gap = np.max((mixed[owner] - _values(rows, mixed))[taken], initial=-np.inf)
    return mixed if gap <= -doubt else None
