"""From bounds to what a person keeps: a policy, and a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from recurl.model.certificate import Certificate, Piece, Point
from recurl.model.tables import CALL, Floats, Tables
from recurl.policy import Policy
from recurl.solving.certified.upper import Links, Mix, no_hint, start_mixes
from recurl.solving.reach import reach_rows

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.certified.lower import Lower
    from recurl.solving.certified.points import Points
    from recurl.solving.certified.problem import Problem
    from recurl.solving.certified.upper import Upper
    from recurl.solving.question import Question


def policy_of(model: RMDP, question: Question, problem: Problem, lower: Lower) -> Policy:
    """The policy that attains a lower bound, with the contexts that it can come to."""
    t, pts = model.tables, lower.points
    start, _ = lower.at(t, t.start_component, problem.root)
    used = _reached(start.tolist(), lambda x: lower.callee[_calls(t, pts, x)].tolist())
    number = np.full(len(pts.component), -1, np.int32)
    number[used] = np.arange(len(used))
    slots = np.concatenate([np.arange(pts.slot[x], pts.slot[x + 1]) for x in used])
    return Policy(
        model,
        pts.component[used],
        lower.action[slots],
        callees=number[lower.callee[slots]],
        start=number[start],
        kind="by pieces" if len(used) > t.n_components else "by context",
        exit_values=question.sign * pts.vector[used],
    )


def values_of(problem: Problem, upper: Upper, lower: Lower) -> tuple[Floats, Floats]:
    """Bounds by vertex of the start component, exits worth what the question says; else nan."""
    t, c = problem.tables, problem.tables.start_component
    own = slice(int(t.component_start[c]), int(t.component_start[c + 1]))
    low, high = np.full((2, t.n_vertices), np.nan)
    pts, size, exits = lower.points, own.stop - own.start, len(problem.root)
    slots = pts.slot[pts.first[c] : pts.first[c + 1], None] + np.arange(size)
    reach = lower.reach[slots][:, :, :exits]
    missing = 1.0 - reach.sum(axis=2)
    worth = lower.rewards[slots] + reach @ problem.root + missing * problem.root.min()
    low[own] = worth.max(axis=0)
    raised = upper.settled(problem)
    mixes = start_mixes(problem, upper)
    high[own] = np.min([_mixed(problem, raised, mix) for mix in mixes], axis=0)
    return low - _margin(low), high + _margin(high)


def _mixed(problem: Problem, raised: Upper, mix: Mix) -> Floats:
    """What a mix of contexts proves of all vertices of the start component at the root."""
    pts, contexts = raised.points, [context for context, _ in mix]
    weights = np.array([weight for _, weight in mix])
    rows = np.array([raised.values[pts.slot[x] : pts.slot[x + 1]] for x in contexts])
    beyond = problem.root - weights @ pts.vector[contexts, : len(problem.root)]
    bound: Floats = weights @ rows + beyond.max()
    return bound


def certificate_of(
    model: RMDP, question: Question, problem: Problem, upper: Upper, lower: Lower
) -> Certificate:
    """The certificate of both bounds."""
    points, start_points = _points(problem, upper)
    pieces, start_pieces = _pieces(problem, lower)
    ends = lower.start(problem), _start_above(problem, upper, start_points, points)
    low, high = ends if question.sign > 0 else (-ends[1], -ends[0])
    return Certificate(
        model=model.fingerprint,
        objective=question.objective,
        rewards=question.rewards,
        exit_values=list(question.exit_values),
        lower=float(np.nextafter(low - _margin(low), -np.inf)),
        upper=float(np.nextafter(high + _margin(high), np.inf)),
        points=points,
        pieces=pieces,
        steps=problem.steps.tolist(),
        start_points=start_points,
        start_pieces=start_pieces,
        reach=None if problem.reach is None else reach_rows(model.tables, problem.reach),
    )


def _margin(end: npt.ArrayLike) -> Floats:
    """More than the rounding of the last few sums."""
    margin: Floats = 1e-14 * np.maximum(1.0, np.abs(end))
    return margin


def _points(problem: Problem, upper: Upper) -> tuple[list[Point], list[Mix]]:
    """Points that the start leads to, with the mixes that bound their calls, and the start's own.

    Mixes are found before the bound is settled: raising keeps the inequalities they have.
    """
    pts, raised = upper.points, upper.settled(problem)
    links = Links.of(problem, pts, upper.entries, upper.values, no_hint(pts))
    nodes, weights = links.nodes, links.weights
    start = start_mixes(problem, upper)

    def called(x: int) -> list[int]:
        found = nodes[pts.call[x] : pts.call[x + 1]].ravel()
        contexts: list[int] = found[found >= 0].tolist()
        return contexts

    used = _reached([x for mix in start for x, _ in mix], called)
    number = {int(x): i for i, x in enumerate(used)}
    points = []
    for x in used:
        mixes = [
            _listed(zip(nodes[call].tolist(), weights[call].tolist(), strict=True), number)
            for call in range(pts.call[x], pts.call[x + 1])
        ]
        values = raised.values[pts.slot[x] : pts.slot[x + 1]].tolist()
        points.append(Point(int(pts.component[x]), values, mixes))
    return points, [_listed(mix, number) for mix in start]


def _listed(mix: Iterable[tuple[int, float]], number: dict[int, int]) -> Mix:
    """A mix by the numbers of points, the heaviest last: its weight is what the others leave."""
    return sorted(((number[x], weight) for x, weight in mix if x >= 0), key=lambda pair: pair[1])


def _start_above(problem: Problem, upper: Upper, start: list[Mix], points: list[Point]) -> float:
    """What the points listed prove of the start."""
    t = problem.tables
    first = int(t.n_entries[t.start_component])
    total = 0.0
    for entry, mix in enumerate(start):
        rows = np.array([points[x].values for x, _ in mix])
        mixed = np.array([w for _, w in mix]) @ rows
        beyond = (problem.root - mixed[first : first + len(problem.root)]).max()
        total += t.start_prob[entry] * (mixed[entry] + beyond)
    return float(total)


def _pieces(problem: Problem, lower: Lower) -> tuple[list[Piece], list[int]]:
    """Pieces that the start leads to, and those that it begins in."""
    t, pts = problem.tables, lower.points
    start, _ = lower.at(t, t.start_component, problem.root)
    used = _reached(start.tolist(), lambda x: lower.callee[_calls(t, pts, x)].tolist())
    number = {int(x): i for i, x in enumerate(used)}
    pieces = []
    for x in used:
        own = slice(int(pts.slot[x]), int(pts.slot[x + 1]))
        exits = int(t.n_exits[pts.component[x]])
        called = lower.callee[_calls(t, pts, x)].tolist()
        pieces.append(
            Piece(
                int(pts.component[x]),
                lower.action[own].tolist(),
                [number[j] for j in called],
                lower.rewards[own].tolist(),
                None if exits == 1 else lower.reach[own, :exits].tolist(),
            )
        )
    return pieces, [number[int(x)] for x in start]


def _calls(t: Tables, pts: Points, x: int) -> np.ndarray:
    """Slots of a context's call ports."""
    c = pts.component[x]
    calls = np.flatnonzero(t.vertex_kind[t.component_start[c] : t.component_start[c + 1]] == CALL)
    slots: np.ndarray = pts.slot[x] + calls
    return slots


def _reached(start: list[int], called: Callable[[int], list[int]]) -> np.ndarray:
    """Contexts that calls lead to from some, in ascending order."""
    seen = set(start)
    queue = list(seen)
    while queue:
        for y in called(queue.pop()):
            if y not in seen:
                seen.add(y)
                queue.append(y)
    return np.array(sorted(seen), np.int64)
