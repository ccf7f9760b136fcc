"""The best reward of the runs that end, where policies may not end: an interval.

E[reward | end] is a quotient of two expectations. The best policy for it may have to remember what
was earned so far: to loop for a reward at the risk of never ending, one more time than before, is
the better the more often it went well. So equations of values do not describe it. A stackless
policy, improved action by action, attains one end of the interval; and no policy, whatever it
remembers, has more than the best single run that ends.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import NotProperError
from recurl.model.tables import CALL
from recurl.policy import Policy
from recurl.solving.budget import check_time
from recurl.solving.evaluate import evaluate
from recurl.solving.outward import float_above
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints
    from recurl.solving.question import Question

_EVALUATIONS, _UNKNOWNS = 300, 300
"""How many policies are evaluated, and up to which size single runs are looked at."""


def best_given_end(model: RMDP, question: Question) -> Solution:
    """The greatest or least expected reward of the runs that end, for a model with choices.

    Raises:
        NotProperError: No run ends, or nothing is known on either side.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("dare").component("A", entries="in", exits="out")
        >>> builder = builder.at("in").action("leave", reward=1).to("out")
        >>> builder = builder.action("dare", reward=3).to("out", 0.5).to("pit", 0.5)
        >>> model = builder.at("pit").action("stay").to("pit").build()
        >>> found = best_given_end(model, recurl.Question("max", "given end"))
        >>> round(found.lower, 9), found.upper
        (3.0, 3.0)
    """
    began = time.perf_counter()
    sign = int(question.sign)
    attained, actions = _search(model, sign)
    most = best_run(model, sign)
    if most == -math.inf:
        raise NotProperError(f"{model.name}: no run ends")
    if math.isinf(attained) and most == math.inf:
        raise NotProperError(f"{model.name}: the reward of the runs that end is not known")
    ends = (attained, most if isinstance(most, float) else float_above(most))
    policy = Policy.stackless(model, actions)
    return Solution(
        model,
        question,
        *(ends if sign > 0 else (0.0 - ends[1], 0.0 - ends[0])),
        method="policies and single runs",
        reason=(
            "some policy may not end, so that this is a quotient: a stackless policy attains one "
            "end, and no run that ends has more than the other; evaluate(policy).given_end has it "
            "for each policy"
        ),
        policy=None if math.isinf(attained) else policy,
        seconds=time.perf_counter() - began,
    )


def _search(model: RMDP, sign: int) -> tuple[float, Ints]:
    """The best stackless policy among those that differ from the last in one action."""
    t = model.tables
    count = np.diff(t.action_start)
    actions, left = np.zeros(t.n_vertices, np.int32), _EVALUATIONS
    places = np.flatnonzero((count > 1) & model.reach.reachable).tolist()
    best, better = _attained(model, actions, sign), True
    while better and left > 0:
        check_time()
        better = False
        for v in places:
            for action in range(int(count[v])):
                other = actions.copy()
                other[v] = action
                left -= 1
                if left > 0 and action != actions[v]:
                    value = _attained(model, other, sign)
                    if value > best + 1e-12 * abs(value):
                        best, actions, better = value, other, True
    return best, actions


def _attained(model: RMDP, actions: Ints, sign: int) -> float:
    """At least what a policy has, as quotients are made great."""
    low, high = evaluate(Policy.stackless(model, actions)).given_end
    return low if sign > 0 else 0.0 - high


def best_run(model: RMDP, sign: int) -> Fraction | float:
    """The greatest reward of a run that ends, times a sign; ``inf`` if it is unbounded.

    The best run from q to exit k is the least solution of s(q, k) = max (r + s(q', k)), where calls
    are worth max_j s(entry, j) + s(return j, k). A run with more nested ways than there are
    unknowns has one of them within itself; if that makes it better than all smaller runs, then
    repeating it does so again, without limit.
    """
    t = model.tables
    size = int(t.n_exits[t.vertex_component].sum())
    if size > _UNKNOWNS:
        return math.inf
    best: dict[tuple[int, int], Fraction | float] = {}
    ways = [(v, way) for v in range(t.n_vertices) for way in _ways(model, v, sign)]
    for c in range(t.n_components):
        first = int(t.component_start[c] + t.n_entries[c])
        best.update({(first + k, k): Fraction(0) for k in range(int(t.n_exits[c]))})
    for round_ in range(2 * size + 2):
        check_time()
        found = dict(best)
        for v, (reward, inside, port, after) in ways:
            entered = Fraction(0) if inside < 0 else best.get((inside, port))
            for k in range(int(t.n_exits[t.vertex_component[v]])):
                if entered is not None and (after, k) in best:
                    value = reward + entered + best[after, k]
                    found[v, k] = max(found.get((v, k), value), value)
        if found == best:
            break
        if round_ > size:  # what still grows has no limit
            found = {q: x if best.get(q) == x else math.inf for q, x in found.items()}
        best = found
    else:
        return math.inf
    starts = set(t.starts.tolist())
    return max((x for (v, _), x in best.items() if v in starts), default=-math.inf)


def _ways(model: RMDP, v: int, sign: int) -> list[tuple[Fraction, int, int, int]]:
    """Reward, entry or -1, exit, and vertex after it, of every way to go on from a vertex."""
    t = model.tables
    if t.vertex_kind[v] == CALL:
        entry, box = int(t.entry_of_call(np.array([v]))[0]), int(t.vertex_box[v])
        exits = range(int(t.n_exits[t.box_component[box]]))
        return [(Fraction(0), entry, k, int(t.box_return[box]) + k) for k in exits]
    actions = t.transition_start[t.action_start[v : v + 2]].tolist()
    return [(sign * model.exact.reward(i), -1, -1, int(t.target[i])) for i in range(*actions)]
