"""Does every policy end? If so, after how many steps; if not, a policy that does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL, Floats, Tables
from recurl.policy import RANDOM, Policy
from recurl.solving.evaluate import evaluate
from recurl.solving.offsets import bounds_with_offsets
from recurl.solving.rows import Rows, rows_of_model
from recurl.solving.steps import Steps, greatest_steps, inductive, no_offsets

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


@dataclass(frozen=True, eq=False)
class Analysis:
    """Whether a model is proper: whether every policy ends after finitely many steps on average.

    Attributes:
        model: The model.
        verdict: ``"proper"``, ``"not proper"`` or ``"unknown"``, of runs from the start.
        reason: Why, in words.
        bound: No policy takes more steps than this on average, from the start; inf if not proper.
        exact: Whether the bound is attained, up to rounding.
        steps: The same bound from each vertex to an exit, with the inequalities of `step_bounds`;
            inf where there is none, None if unknown.
        witness: A policy that ends with probability below 1, or after infinitely many steps.
        radius: 1-exit models: models with the same transitions stay proper if the changes of their
            probabilities add up, row by row, to less than this. See `bound_within`.
    """

    model: RMDP
    verdict: str
    reason: str
    bound: float = math.nan
    exact: bool = False
    steps: Floats | None = None
    witness: Policy | None = None
    radius: float = 0.0

    @property
    def bound_everywhere(self) -> float:
        """The greatest bound of a vertex: on the steps left to leave its component."""
        return math.nan if self.steps is None else float(self.steps.max())

    def bound_within(self, epsilon: float) -> float:
        """Bound on the steps of every model whose rows differ from this one's by at most epsilon.

        Let d be the bounds and D the greatest spread, within the transitions of one action, of what
        they lead to (d of the target; for a call d(entry) + d(return)). If the probabilities of a
        row change by e with ``sum |e| <= epsilon`` (and ``sum e = 0``) then its expectation changes
        by at most ``epsilon D / 2``. So d >= 1 + P d implies d >= (1 - epsilon D / 2) + P' d, and
        ``d / (1 - epsilon D / 2)`` bounds the steps of the changed model, as long as
        ``epsilon < 2 / D``: the radius.
        """
        if self.verdict != "proper" or not 0 <= epsilon < self.radius:
            return math.inf
        return self.bound / (1 - epsilon / self.radius)

    def __str__(self) -> str:
        parts = [f"{self.model.name} is {self.verdict}: {self.reason}"]
        if self.verdict == "unknown":
            parts = [f"whether {self.model.name} is proper is not known: {self.reason}"]
        if self.radius > 0:
            parts.append(f"It stays proper if rows change by less than {self.radius:.3g}")
        return ". ".join(parts) + "."


def analyse(model: RMDP) -> Analysis:
    """Whether every policy of a model ends, and after how many steps at most on average.

    For 1-exit models the greatest expected steps are the least solution of
    ``d(q) = 1 + max_a sum p d(q')``, ``d(call) = d(en) + d(ret)``, ``d(exit) = 0``; the model is
    proper from q exactly if d(q) is finite, which policy iteration decides up to rounding. For
    multi-exit models ``d(call) >= d(en) + max_ex (d(ret_ex) - d(ex))`` is sufficient, and policies
    that look bad are tried as witnesses of the opposite.

    Example:
        >>> import recurl
        >>> print(recurl.analyse(recurl.zoo.gambler(p=0.4)))
        gambler is proper: no policy takes more than 9 steps on average. It stays proper if rows
        change by less than 0.1.
        >>> recurl.analyse(recurl.zoo.gambler(p=0.6)).verdict
        'not proper'
    """
    rows = rows_of_model(model.tables)
    found = greatest_steps(rows)
    start = float(rows.start_prob @ found.values[rows.start])
    one_exit = bool((model.tables.n_exits == 1).all())
    if math.isfinite(start):
        return _proper(model, rows, found, exact=one_exit and found.sharp)
    if one_exit and not found.decided:
        return Analysis(model, "unknown", "its expected steps are too large, or too hard to bound")
    if one_exit:
        return _not_proper(model, found)
    return _multi_exit(model, rows, found)


def step_bounds(tables: Tables) -> Floats | None:
    """Bounds that prove every policy proper, from every vertex, or None if none were found.

    The bounds satisfy, in exact arithmetic: d >= 0; d = 0 at some exit of each component;
    ``d(q) >= 1 + sum p d(q')`` for all actions; ``d(call) >= d(en) + max_ex (d(ret_ex) - d(ex))``.
    The potential d(current) + sum over pending boxes of max_ex (d(ret_ex) - d(ex)) is nonnegative
    and falls by 1 a step, so that d(start) bounds the expected steps of every policy.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.25)
        >>> d = step_bounds(model.tables)
        >>> round(model.start_value(d), 6)
        3.0
    """
    from recurl.model.structure import Reach

    rows = rows_of_model(tables)
    found = greatest_steps(rows)
    if np.isfinite(found.values).all():
        return _certain(tables, rows, found.values)
    if (tables.n_exits == 1).all() or found.stays.any():
        return None
    d = bounds_with_offsets(tables, rows, Reach.of(tables))
    return None if d is None else _with_calls(tables, d)


def _certain(tables: Tables, rows: Rows, steps: Floats) -> Floats | None:
    """Bounds without offsets that hold in exact arithmetic, call ports filled in."""
    scale = inductive(rows, steps, no_offsets(rows))
    return None if scale is None else _with_calls(tables, steps * scale)


def _with_calls(t: Tables, d: Floats) -> Floats:
    """Bounds completed at call ports, rounded up; the slack of other rows takes up the rounding."""
    d = d.copy()
    calls = np.flatnonzero(t.vertex_kind == CALL)
    box = t.vertex_box[calls]
    callee = t.box_component[box]
    first_exit = t.component_start[callee] + t.n_entries[callee]
    best = np.full(len(calls), -np.inf)
    for k in range(t.max_exits):
        own = t.n_exits[callee] > k
        at = np.where(own, k, 0)
        best = np.maximum(best, d[t.box_return[box] + at] - d[first_exit + at])
    total = d[t.entry_of_call(calls)] + best
    d[calls] = total + 4e-16 * (np.abs(total) + np.abs(best) + d[t.entry_of_call(calls)])
    return d


def _proper(model: RMDP, rows: Rows, found: Steps, *, exact: bool) -> Analysis:
    steps = _certain(model.tables, rows, found.values)
    if steps is None:
        return Analysis(model, "unknown", "its expected steps are too large for floats to prove")
    tight = float(rows.start_prob @ found.values[rows.start])
    bound = tight if exact else model.start_value(steps)
    reason = _at_most(bound)
    if not np.isfinite(steps).all():
        reason += "; from vertices that no run visits it may not end"
    radius = _radius(model.tables, steps) if (model.tables.n_exits == 1).all() else 0.0
    return Analysis(model, "proper", reason, bound, exact=exact, steps=steps, radius=radius)


def _radius(t: Tables, d: Floats) -> float:
    """2 / D, for D the greatest spread of d among the targets of one action."""
    values = np.where(np.isfinite(d), d, 0.0)[t.target]
    begin = t.transition_start[:-1]
    spread = np.maximum.reduceat(values, begin) - np.minimum.reduceat(values, begin)
    spread = spread[np.isfinite(d[t.action_vertex])]
    widest = float(spread.max(initial=0.0))
    return math.inf if widest == 0 else 2 / widest


def _not_proper(model: RMDP, found: Steps) -> Analysis:
    if found.stays[_visited(model)].any():
        reason = "a policy can go on forever"
    else:
        reason = "a policy takes infinitely many steps on average: it calls faster than it returns"
    return Analysis(
        model, "not proper", reason, math.inf, steps=found.values, witness=_witness(model, found)
    )


def _visited(model: RMDP) -> np.ndarray:
    return np.asarray(model.reach.reachable, np.bool_)


def _witness(model: RMDP, found: Steps) -> Policy:
    """The actions that keep a run going where it can be kept going, and any action elsewhere.

    Any action, so that the run gets there with positive probability.
    """
    t = model.tables
    own = found.choice - t.action_start[:-1]
    return Policy.stackless(model, np.where(found.bad & (found.choice >= 0), own, RANDOM))


def _multi_exit(model: RMDP, rows: Rows, found: Steps) -> Analysis:
    """Verdict on a multi-exit model on which the relaxation without offsets diverges."""
    if found.stays[_visited(model)].any():
        return _not_proper(model, found)
    d = bounds_with_offsets(model.tables, rows, model.reach)
    if d is not None:
        d = _with_calls(model.tables, d)
        bound = model.start_value(d)
        return Analysis(model, "proper", _at_most(bound), bound, steps=d)
    for policy in (Policy.uniform(model), _witness(model, found)):
        ending = evaluate(policy)
        if ending.termination[1] < 1 - 1e-9:
            reason = f"a policy ends with probability {ending.termination[1]:.6g} only"
            return Analysis(model, "not proper", reason, math.inf, witness=policy)
    if (np.diff(model.tables.action_start) <= 1).all() and math.isfinite(ending.steps):
        reason = f"there is nothing to decide, and a run takes {ending.steps:.10g} steps on average"
        return Analysis(model, "proper", reason, ending.steps, exact=True)
    return Analysis(model, "unknown", "no step bounds were found, and no policy that fails to end")


def _at_most(bound: float) -> str:
    return f"no policy takes more than {bound:.10g} steps on average"
