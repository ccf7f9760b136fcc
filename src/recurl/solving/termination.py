"""Greatest and least probability to end, for 1-exit models.

The probability is the least solution of ``x(q) = opt_a sum p x(q')``, where a call is worth
``x(en) x(ret)`` and an exit 1.

- Greatest: policy iteration, each policy evaluated by Newton's method. When no action improves, the
  policy attains a solution of the equations, and nothing is above the least one.
- Least: policy iteration could stop too early (where an action that may never end looks as good as
  one that ends). Instead Newton's method under control, from 0: as the functions are convex, the
  least solution of the linearised equations never overshoots.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import ModelError, Problem
from recurl.model.rmdp import require_model
from recurl.model.tables import Floats, Ints
from recurl.policy import Policy
from recurl.solving.chains import leave_probabilities
from recurl.solving.linear import Blocks, System, least_solutions
from recurl.solving.question import Question
from recurl.solving.rows import Mask, Rows, place_graph, rows_of_model, rows_of_policy
from recurl.solving.solution import Solution
from recurl.solving.steps import greatest_steps, stay_forever
from recurl.solving.termination_kernel import action_values, slope_system, sweep

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_LIMIT, _SWEEPS = 80, 16
_ROUNDING = 1e-14
_DELTAS = 10.0 ** np.arange(-13, -5)


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
    begin = time.perf_counter()
    question = Question(objective, "none", (1.0,))
    if (model.tables.n_exits != 1).any():
        problem = Problem("", "has several exits", 'use solve(model, of="exit:NAME") instead')
        raise ModelError([problem], headline=f"{model.name}: ")
    rows = rows_of_model(model.tables)
    greatest = objective == "max"
    choice, other, steps = (_greatest if greatest else _least)(model, rows)
    policy = Policy.stackless(model, choice)
    found = leave_probabilities(rows_of_policy(policy))
    low, high = (float(rows.start_prob @ p[rows.start, 0]) for p in (found.lower, found.upper))
    end = float(rows.start_prob @ other[rows.start])
    return Solution(
        model,
        question,
        lower=low if greatest else min(high, end),
        upper=max(low, end) if greatest else high,
        method="policy iteration" if greatest else "newton",
        reason="the policy attains one end, an inductive vector proves the other",
        policy=policy,
        work={"policies" if greatest else "newton steps": steps},
        seconds=time.perf_counter() - begin,
    )


def _greatest(model: RMDP, rows: Rows) -> tuple[Ints, Floats, int]:
    """Best actions, an upper bound by place, and the number of policies tried."""
    dead = model.reach.dead
    acting = np.flatnonzero((np.diff(rows.action_start) > 0) & ~dead).astype(np.int32)
    choice = np.zeros(rows.size, np.int32)
    x, tried = np.zeros(rows.size), 0
    for _ in range(_LIMIT):
        tried += 1
        policy = Policy.stackless(model, choice)
        x = leave_probabilities(rows_of_policy(policy), everywhere=True).value[:, 0]
        value, _ = action_values(rows, x, x)
        best, most = _best(rows, acting, value)
        better = most > x[acting] + 1e-12
        if not better.any():
            break
        choice[acting[better]] = (best - rows.action_start[acting])[better]
    return choice, _upper_end(rows, x, acting, choice, dead), tried


def _least(model: RMDP, rows: Rows) -> tuple[Ints, Floats, int]:
    """Actions that end least often, a lower bound by place, and the number of Newton steps."""
    order = Blocks.of(*place_graph(rows)).order
    stays, staying = stay_forever(rows)
    acting = order[(np.diff(rows.action_start)[order] > 0) & ~stays[order]]
    x = np.zeros(rows.size)
    chosen, steps = rows.action_start[acting], 0
    for _ in range(_LIMIT):
        steps += 1
        sweep(rows, x, acting, -1.0, _SWEEPS)
        chosen, delta = _newton_step(rows, x, acting)
        x[acting] = np.minimum(x[acting] + delta, 1.0)
        if delta.max(initial=0.0) <= 1e-15:
            break
    choice = np.where(stays, staying, 0)
    choice[acting] = chosen - rows.action_start[acting]
    sure = np.isfinite(greatest_steps(model.tables).values)
    return choice.astype(np.int32), np.where(sure, 1.0, _lower_end(rows, x, acting, chosen)), steps


def _newton_step(rows: Rows, x: Floats, acting: Ints) -> tuple[Ints, Floats]:
    """Least solution above x of the equations linearised at x, and the actions that it takes."""
    value, _ = action_values(rows, x, x)
    chosen, _ = _best(rows, acting, -value)
    for _ in range(_LIMIT):
        right = np.maximum(value[chosen] - x[acting], 0.0)
        if right.max(initial=0.0) <= 1e-15:  # rounding errors only
            return chosen, right
        delta = _linear(rows, x, acting, chosen, right)
        delta = np.where(np.isfinite(delta), delta, right)
        full = np.zeros(rows.size)
        full[acting] = delta
        _, slope = action_values(rows, x, full)
        best, least = _best(rows, acting, -(value + slope))
        better = -least - x[acting] < delta * (1 - 1e-9) - 1e-15
        if not better.any():
            break
        chosen = np.where(better, best, chosen)
    return chosen, delta


def _linear(rows: Rows, x: Floats, acting: Ints, chosen: Ints, right: Floats) -> Floats:
    """The solution of delta = right + F'(x) delta for the chosen actions; inf if there is none."""
    b = np.zeros((rows.size, 1))
    b[acting, 0] = right
    by_place = np.full(rows.size, -1, np.int32)
    by_place[acting] = chosen
    system = System(*slope_system(rows, x, by_place))
    delta: Floats = least_solutions(system, b)[acting, 0]
    return delta


def _best(rows: Rows, acting: Ints, value: Floats) -> tuple[Ints, Floats]:
    """The action of greatest value at each place (first of equals), and that value."""
    most = np.maximum.reduceat(value, rows.action_start[:-1][np.diff(rows.action_start) > 0])
    by_place = np.zeros(rows.size)
    by_place[np.diff(rows.action_start) > 0] = most
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    hits = np.flatnonzero(value == by_place[owner])
    best = np.zeros(rows.size, np.int32)
    best[owner[hits][::-1]] = hits[::-1]
    return best[acting], by_place[acting]


def _direction(rows: Rows, x: Floats, acting: Ints, chosen: Ints) -> Floats:
    """A vector w >= 1 + F'(x) w for all actions that are about as good as the chosen ones."""
    value, _ = action_values(rows, x, x)
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    worse = np.abs(value - x[owner]) > 1e-9
    w = np.zeros(rows.size)
    for _ in range(_LIMIT):
        w[acting] = _linear(rows, x, acting, chosen, np.ones(len(acting)))
        _, slope = action_values(rows, x, np.where(np.isfinite(w), w, 0.0))
        best, most = _best(rows, acting, np.where(worse, -np.inf, slope))
        better = 1 + most > w[acting] * (1 + 1e-9)
        if not better.any():
            break
        chosen = np.where(better, best, chosen)
    return w


def _upper_end(rows: Rows, x: Floats, acting: Ints, choice: Ints, dead: Mask) -> Floats:
    """An inductive upper bound near x: y >= F(y) for all actions, up to rounding errors; else 1.

    It is 0 at places from which no exit can be reached.
    """
    w = _direction(rows, x, acting, rows.action_start[acting] + choice[acting])
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    for delta in _DELTAS:
        y = np.minimum(np.where(np.isfinite(w), x + delta * w, 1.0), 1.0)
        y[dead] = 0.0
        value, _ = action_values(rows, y, y)
        if ((value + _ROUNDING <= y[owner]) | (y[owner] == 1) | dead[owner]).all():
            return y
    return np.where(dead, 0.0, 1.0)


def _lower_end(rows: Rows, x: Floats, acting: Ints, chosen: Ints) -> Floats:
    """x, less what makes it inductive for all actions in spite of rounding errors."""
    w = _direction(rows, x, acting, chosen)
    owner = np.repeat(np.arange(rows.size), np.diff(rows.action_start))
    for delta in _DELTAS:
        y = np.maximum(np.where(np.isfinite(w), x - delta * w, 0.0), 0.0)
        value, _ = action_values(rows, y, y)
        if ((value - _ROUNDING >= y[owner]) | (y[owner] == 0)).all():
            return y
    return np.maximum(x - 1e-7, 0.0)
