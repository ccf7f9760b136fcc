"""1-exit models in which every step costs something, and some policies do not end.

A policy that takes infinitely many steps on average pays infinitely much, so that the least cost is
that of a policy that ends, if there is one. Policy iteration finds it, from a policy that ends as
surely as possible: better policies cost less, hence end too.

If J <= c(a) + sum p J for all actions then no policy costs less than J: that is clear for those
that pay infinitely much, and the others forget J, as in docs/solving.md. As all costs are positive,
(1 - delta) J has room for the errors of J.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import EXITS, Floats, Ints
from recurl.policy import Policy
from recurl.solving.expectations import Expectations, expectations
from recurl.solving.rows import Rows, rows_of_model, rows_of_policy
from recurl.solving.solution import Solution
from recurl.solving.termination import termination

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question
    from recurl.solving.rows import Mask

_ROUNDS, _GAIN = 200, 1e-12


def least_cost(model: RMDP, question: Question) -> Solution | None:
    """The optimum of a 1-exit model in which every step that a run can take costs something.

    Returns:
        The solution, or None if no policy was found that ends from everywhere.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("wait").component("A", entries="in", exits="out")
        >>> builder = builder.at("in").action("try").to("room")
        >>> builder = builder.at("room").action("wait").to("room").action("try").to("out", 0.5)
        >>> model = builder.to("room", 0.5).build()
        >>> round(least_cost(model, recurl.Question("min", "steps")).value, 9)
        3.0
    """
    began = time.perf_counter()
    t, seen = model.tables, model.reach.reachable & model.tables.states
    rows = rows_of_model(t)._replace(reward=-question.transition_rewards(t))
    work = {"policies": 0.0}
    policy, found = _best(model, question, rows, work)
    if not np.isfinite(found.reward[seen]).all():
        return None
    least = _certain(rows, np.where(seen, found.reward, 0.0), seen)
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
        better = value < found.reward * (1 - _GAIN) - _GAIN
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


def _certain(rows: Rows, cost: Floats, seen: Mask) -> Floats:
    """Costs, less what makes every inequality hold in spite of errors."""
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    taken = seen[owner]
    short = np.max((cost[owner] - _values(rows, cost))[taken], initial=0.0)
    terms = 8 + int(np.diff(rows.transition_start).max())
    short += terms * 4.6e-16 * float(cost.max() + np.abs(rows.reward).max())
    price = rows.reward[np.repeat(taken, np.diff(rows.transition_start))].min()
    least: Floats = cost * max(0.0, 1 - 2 * short / float(price))
    return least
