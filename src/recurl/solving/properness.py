"""Does every policy end? If so, after how many steps; if not, a policy that does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.linear.systems import one_blas_thread
from recurl.model.rmdp import require_model
from recurl.model.tables import CALL, CALLS, EXITS, Floats, Ints, Mask, Tables
from recurl.policy import RANDOM, Policy
from recurl.solving.ending_policies import endless_policy
from recurl.solving.evaluate import evaluate
from recurl.solving.expectations import expectations
from recurl.solving.offsets import bounds_with_offsets, bounds_with_reach
from recurl.solving.reach import call_worth, certain_reach
from recurl.solving.rows import Rows, part_of, rows_of_model
from recurl.solving.steps import Steps, greatest_steps, inductive, no_offsets

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.structure import Reach

_EXACT = 60
"""Vertices up to which fractions decide whether a critical policy ends."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """Whether a model is proper: whether every policy ends after finitely many steps on average.

    Attributes:
        model: The model.
        verdict: ``"proper"``, ``"not proper"`` or ``"unknown"``, of runs from the start.
        reason: Why, in words.
        bound: No policy takes more steps than this on average, from the start; inf if not proper.
        exact: Whether the bound is attained, up to rounding.
        steps: The same bound from each vertex to an exit, with the inequalities of `StepBounds`;
            inf where there is none, None if unknown.
        reach: Probabilities to leave by each exit that these inequalities need; None if none.
        witness: A policy that ends with probability below 1, or after infinitely many steps.
        radius: Models with the same transitions stay proper if the changes of their probabilities
            add up, row by row, to less than this. See `bound_within`. None where it is not known:
            the model is not shown to be proper, or only by probabilities to leave by each exit
            (`reach`), which change as well.
    """

    model: RMDP
    verdict: str
    reason: str
    bound: float = math.nan
    exact: bool = False
    steps: Floats | None = None
    reach: Floats | None = None
    witness: Policy | None = None
    radius: float | None = None

    @property
    def bound_everywhere(self) -> float:
        """The greatest bound of a vertex: on the steps left to leave its component."""
        return math.nan if self.steps is None else float(self.steps.max())

    def bound_within(self, epsilon: float) -> float:
        """Bound on the steps of every model whose rows differ from this one's by at most epsilon.

        Let d be the bounds and D the greatest spread, within the transitions of one action, of what
        they lead to (d of the target). If the probabilities of a
        row change by e with ``sum |e| <= epsilon`` (and ``sum e = 0``) then its expectation changes
        by at most ``epsilon D / 2``. So d >= 1 + P d implies d >= (1 - epsilon D / 2) + P' d, and
        ``d / (1 - epsilon D / 2)`` bounds the steps of the changed model, as long as
        ``epsilon < 2 / D``: the radius. What is asked of calls, with any number of exits, holds for
        multiples of d as it does for d.
        """
        if self.radius is None or not 0 <= epsilon < self.radius:
            return math.inf
        return self.bound / (1 - epsilon / self.radius)

    def __str__(self) -> str:
        parts = [f"{self.model.name} is {self.verdict}: {self.reason}"]
        if self.verdict == "unknown":
            parts = [f"whether {self.model.name} is proper is not known: {self.reason}"]
        if self.radius is not None:
            parts.append(f"It stays proper if rows change by less than {self.radius:.3g}")
        return ". ".join(parts) + "."


@one_blas_thread()
def analyse(model: RMDP) -> Analysis:
    """Whether every policy of a model ends, and after how many steps at most on average.

    For 1-exit models the greatest expected steps are the least solution of
    ``d(q) = 1 + max_a sum p d(q')``, ``d(call) = d(en) + d(ret)``, ``d(exit) = 0``; the model is
    proper from q exactly if d(q) is finite, which policy iteration decides up to rounding. For
    multi-exit models the inequalities of `StepBounds` are sufficient, and policies that look bad
    are tried as witnesses of the opposite.

    Example:
        >>> import recurl
        >>> print(recurl.analyse(recurl.zoo.gambler(p=0.4)))
        gambler is proper: no policy takes more than 9 steps on average. It stays proper if rows
        change by less than 0.1.
        >>> recurl.analyse(recurl.zoo.gambler(p=0.6)).verdict
        'not proper'
    """
    require_model(model, "analyse")
    rows = rows_of_model(model.tables)
    found = greatest_steps(model.tables)
    one_exit = bool((model.tables.n_exits == 1).all())
    if np.isfinite(found.values[rows.start]).all():
        return _proper(model, rows, found, exact=one_exit and found.sharp)
    if not one_exit:
        return _multi_exit(model, rows, found)
    endless = (found.stays | found.grows | _critical(model, found)) & _visited(model)
    if endless.any():
        return _not_proper(model, found, endless)
    return Analysis(model, "unknown", "its expected steps are too large, or too hard to bound")


class StepBounds(NamedTuple):
    """Numbers that prove every policy proper, from every vertex, in exact arithmetic.

    d >= 0; d = 0 at some exit of each component; ``d(q) >= 1 + sum p d(q')`` for all actions; and
    ``d(call) >= d(en) + rise(t)`` with ``t = d(ret) - d(ex)`` by exit. Here ``rise(t) = max t`` or,
    given probabilities p with which every policy leaves by each exit (`certain_reach`),
    ``rise(t) = p(en).t + (1 - sum p(en)) max t``; then also ``d(q) >= p(q).d(exits)``.

    Why: let U(v, q) = d(q) + p(q).u + (1 - sum p(q)) max u with u = v - d(exits) bound the steps
    plus what the exit then reached is worth by v. The inequalities say U >= F(U), so that U of the
    current vertex, the vectors of the pending boxes being composed from the empty stack (v = 0) on,
    falls by 1 a step in the mean. It is never negative: U(0, q) = d(q) - p(q).d(exits) >= 0, hence
    U(v, q) >= 0 for all v >= 0, hence the next v, which consists of such values, is >= 0 too. So
    d(start) bounds the expected steps of every policy.

    Attributes:
        steps: d by vertex.
        reach: p by vertex and exit; None for 0.
    """

    steps: Floats
    reach: Floats | None = None


def step_evidence(tables: Tables) -> StepBounds | None:
    """Step bounds of all vertices, or None if none were found.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.and_or()
        >>> round(model.start_value(step_evidence(model.tables).steps), 6)
        10.549704
    """
    from recurl.model.structure import Reach

    rows = rows_of_model(tables)
    found = greatest_steps(tables)
    if np.isfinite(found.values).all():
        d = _certain(tables, rows, found.values)
        return None if d is None else StepBounds(d)
    if (tables.n_exits == 1).all() or found.stays.any():
        return None
    return _multi_exit_bounds(tables, rows, Reach.of(tables))


def step_bounds(tables: Tables) -> Floats | None:
    """Step bounds that need no probabilities, ``d(call) >= d(en) + max_ex (d(ret_ex) - d(ex))``.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.25)
        >>> d = step_bounds(model.tables)
        >>> round(model.start_value(d), 6)
        3.0
    """
    found = step_evidence(tables)
    return None if found is None or found.reach is not None else found.steps


def _multi_exit_bounds(tables: Tables, rows: Rows, reach: Reach) -> StepBounds | None:
    """Step bounds where those without offsets diverge: with offsets, or probabilities, or both."""
    d = bounds_with_offsets(tables, rows, reach)
    if d is not None:
        return StepBounds(_with_calls(tables, d))
    certain = certain_reach(tables)
    d = _without_choice(tables, rows, certain)
    if d is None:
        d = bounds_with_reach(tables, rows, reach, certain)
    return None if d is None else StepBounds(_with_calls(tables, d, certain), certain)


def _without_choice(tables: Tables, rows: Rows, certain: Floats) -> Floats | None:
    """The expected steps themselves, where there is nothing to decide."""
    if (np.diff(tables.action_start) > 1).any():
        return None
    steps = np.where(tables.states, expectations(rows, everywhere=True).steps, 0.0)
    if not np.isfinite(steps).all():
        return None
    scale = inductive(rows, steps, no_offsets(rows), certain)
    return None if scale is None else steps * scale


def chain_bounds(tables: Tables) -> StepBounds | None:
    """Step bounds of a model with nothing to decide: its expected steps, up to rounding."""
    certain = certain_reach(tables)
    d = _without_choice(tables, rows_of_model(tables), certain)
    return None if d is None else StepBounds(_with_calls(tables, d, certain), certain)


def _certain(tables: Tables, rows: Rows, steps: Floats) -> Floats | None:
    """Bounds without offsets that hold in exact arithmetic, call ports filled in."""
    scale = inductive(rows, steps, no_offsets(rows))
    return None if scale is None else _with_calls(tables, steps * scale)


def _with_calls(t: Tables, d: Floats, certain: Floats | None = None) -> Floats:
    """Bounds completed at call ports, rounded up; the slack of other rows takes up the rounding."""
    d = d.copy()
    worth, error = call_worth(t, d, certain)
    d[t.vertex_kind == CALL] = worth + error
    return d


def _proper(model: RMDP, rows: Rows, found: Steps, *, exact: bool) -> Analysis:
    steps = _certain(model.tables, rows, found.values)
    if steps is None:
        return Analysis(model, "unknown", "its expected steps are too large for floats to prove")
    bound, reason = _at_most(model, steps)
    radius = _radius(model.tables, steps)
    return Analysis(model, "proper", reason, bound, exact=exact, steps=steps, radius=radius)


def _radius(t: Tables, d: Floats) -> float:
    """2 / D, for D the greatest spread of d among the targets of one action."""
    values = np.where(np.isfinite(d), d, 0.0)[t.target]
    begin = t.transition_start[:-1]
    spread = np.maximum.reduceat(values, begin) - np.minimum.reduceat(values, begin)
    spread = spread[np.isfinite(d[t.action_vertex])]
    widest = float(spread.max(initial=0.0))
    return math.inf if widest == 0 else 2 / widest


def _not_proper(model: RMDP, found: Steps, endless: Mask) -> Analysis:
    """The verdict on a model with places that a run can visit, and at which it can be kept."""
    if (found.stays & endless).any():
        reason = "a policy can go on forever"
    else:
        reason = "a policy takes infinitely many steps on average: it calls faster than it returns"
    witness = _witness(model, found, endless)
    return Analysis(model, "not proper", reason, math.inf, steps=found.values, witness=witness)


def _visited(model: RMDP) -> Mask:
    return np.asarray(model.reach.reachable, np.bool_)


def _witness(model: RMDP, found: Steps, endless: Mask) -> Policy:
    """The actions that keep a run going where that is possible, and any action at other vertices.

    Any action, so that the run gets there with positive probability.
    """
    t = model.tables
    own = found.choice - t.action_start[:-1]
    chosen = np.where(endless & (found.choice >= 0), own, RANDOM)
    return Policy.stackless(model, chosen)


def _critical(model: RMDP, found: Steps) -> Mask:
    """Doubtful vertices of 1-exit models whose chosen actions are proved to take infinitely long.

    Floats cannot tell a spectral radius of 1 from one that is a little less; fractions can.
    """
    t = model.tables
    critical = np.zeros(t.n_vertices, np.bool_)
    places = np.flatnonzero(found.doubtful & t.states)
    if 0 < len(places) <= _EXACT:
        critical[places] = not _radius_below_one(model, places.tolist(), found.choice)
    return critical


def _radius_below_one(model: RMDP, places: list[int], choice: Ints) -> bool:
    """Whether the matrix of the chosen actions has a spectral radius below 1: exact elimination.

    It is below 1 exactly if elimination without pivoting meets positive pivots only.
    """
    t, n = model.tables, len(places)
    number = {place: k for k, place in enumerate(places)}
    matrix = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    for i, place in enumerate(places):
        action = int(choice[place])
        for k in range(int(t.transition_start[action]), int(t.transition_start[action + 1])):
            ends = [int(t.landing[k])] if t.move[k] != EXITS else []
            if t.move[k] == CALLS:
                ends.append(int(t.box_return[t.move_box[k]]))
            for end in ends:
                if end in number:
                    matrix[i][number[end]] -= model.exact.prob(k)
    for i in range(n):
        if matrix[i][i] <= 0:
            return False
        for row in matrix[i + 1 :]:
            factor = row[i] / matrix[i][i]
            if factor:
                pairs = zip(row[i:], matrix[i][i:], strict=True)
                row[i:] = [a - factor * b for a, b in pairs]
    return True


def _multi_exit(model: RMDP, rows: Rows, found: Steps) -> Analysis:
    """Verdict on a multi-exit model on which the relaxation without offsets diverges."""
    if (endless := found.stays & _visited(model)).any():
        return _not_proper(model, found, endless)
    proved, seen = _multi_exit_bounds(model.tables, rows, model.reach), _visited(model)
    if proved is None and not seen[model.tables.states].all():
        proved = step_evidence(part_of(model.tables, seen).tables)
        proved = proved and proved._replace(steps=np.where(seen, proved.steps, np.inf))
    if proved is not None:
        bound, reason = _at_most(model, proved.steps)
        d, reach = proved
        radius = _radius(model.tables, d) if reach is None else None
        return Analysis(model, "proper", reason, bound, steps=d, reach=reach, radius=radius)
    if model.kind.hierarchical and (stacks := _by_stacks(model)) is not None:
        return stacks
    if (without_end := endless_policy(model)) is not None:
        policy, reason = without_end
        return Analysis(model, "not proper", reason, math.inf, witness=policy)
    if (np.diff(model.tables.action_start) <= 1).all():
        steps = evaluate(Policy.uniform(model)).steps
        if math.isfinite(steps):
            reason = f"there is nothing to decide, and a run takes {steps:.10g} steps on average"
            return Analysis(model, "proper", reason, steps, exact=True)
    return Analysis(model, "unknown", "no step bounds were found, and no policy that fails to end")


def _by_stacks(model: RMDP) -> Analysis | None:
    from recurl.solving.hierarchical import analyse_stacks

    return analyse_stacks(model)


def _at_most(model: RMDP, steps: Floats) -> tuple[float, str]:
    """The bound from the start, and what it says."""
    bound = model.start_value(steps)
    reason = f"no policy takes more than {bound:.10g} steps on average"
    if not np.isfinite(steps).all():
        reason += "; from vertices that no run visits it may not end"
    return bound, reason
