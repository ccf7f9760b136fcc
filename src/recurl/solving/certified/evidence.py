"""From bounds to what a person keeps: a policy, and a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from recurl.model.certificate import Certificate, Piece, Point
from recurl.model.tables import Floats
from recurl.policy import Policy
from recurl.solving.certified.lower import steps_of
from recurl.solving.reach import reach_rows

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.certified.lower import Lower
    from recurl.solving.certified.upper import Mix, Upper
    from recurl.solving.question import Question

Context = tuple[int, int]
"""A component, and a context counted within it."""


def policy_of(model: RMDP, lower: Lower) -> Policy:
    """The policy that attains a lower bound, with the contexts that it can come to."""
    start, used, number = _used_pieces(lower)
    parts = lower.contexts.parts
    actions, callees = [], []
    for c, x in used:
        actions.append(_actions(lower, c, x))
        own = np.full(parts[c].size, -1, np.int32)
        own[parts[c].calls] = [number[y] for y in _called_pieces(lower, c, x)]
        callees.append(own)
    return Policy(
        model,
        np.array([c for c, _ in used], np.int32),
        np.concatenate(actions),
        callees=np.concatenate(callees),
        start=np.array([number[x] for x in start], np.int32),
        kind="by pieces" if len(used) > len(parts) else "by context",
    )


def _actions(lower: Lower, c: int, x: int) -> np.ndarray:
    """Action of every vertex in a context, counted within the vertex; the first for giving up."""
    part = lower.contexts.parts[c]
    actions = np.zeros(part.size, np.int32)
    actions[part.states] = lower.action[c][:, x] - part.begin
    return np.where(lower.contexts.view(lower.giving_up, c)[:, x], 0, actions)


def _called_pieces(lower: Lower, c: int, x: int) -> list[Context]:
    """Contexts that the calls of a context enter."""
    ctx = lower.contexts
    callees = ctx.view_calls(lower.callee, c)[:, x].tolist()
    return list(zip(ctx.parts[c].callee.tolist(), callees, strict=True))


def _used_pieces(lower: Lower) -> tuple[list[Context], list[Context], dict[Context, int]]:
    """Contexts that the start begins in, all that it leads to, and their numbers."""
    problem = lower.contexts.problem
    best, _ = lower.best(problem.start, problem.root)
    start = [(problem.start, int(x)) for x in best]
    used = _reached(start, lambda x: _called_pieces(lower, *x))
    return start, used, {x: i for i, x in enumerate(used)}


def _reached(start: Iterable[Context], called: Callable[[Context], list[Context]]) -> list[Context]:
    """Contexts that calls lead to from some, in ascending order."""
    seen = set(start)
    queue = list(seen)
    while queue:
        for y in called(queue.pop()):
            if y not in seen:
                seen.add(y)
                queue.append(y)
    return sorted(seen)


def points_of(upper: Upper) -> tuple[Floats, ...]:
    """Values of all vertices at the points that the start leads to, by component.

    A component that it does not lead to keeps its first point.
    """
    pairs = enumerate(own if len(own) else np.zeros(1, np.int64) for own in upper.used)
    return tuple(upper.contexts.view(upper.values, c)[:, own] for c, own in pairs)


def values_of(upper: Upper, lower: Lower) -> tuple[Floats, Floats]:
    """Bounds by vertex of the start component, exits worth what the question says; else nan."""
    problem = upper.contexts.problem
    c, t = problem.start, problem.tables
    own = slice(int(t.component_start[c]), int(t.component_start[c + 1]))
    low, high = np.full((2, t.n_vertices), np.nan)
    worth = lower.at(c, problem.root[None], slice(None))[0]
    low[own] = np.where(lower.contexts.view(lower.giving_up, c), -np.inf, worth).max(axis=1)
    high[own] = np.min([_mixed(upper, mix) for _, mix in upper.start_mixes()], axis=0)
    return low - _margin(low), high + _margin(high)


def _mixed(upper: Upper, mix: Mix) -> Floats:
    """Bounds that a mix of contexts proves on all vertices of the start component at the root."""
    problem = upper.contexts.problem
    c = problem.start
    weights = np.array([weight for _, weight in mix])
    rows = upper.raised(c, np.array([x for x, _ in mix]))
    mixed = rows @ weights
    beyond = problem.root - mixed[problem.components[c].exits]
    bound: Floats = mixed + beyond.max()
    return bound


def interval_of(question: Question, upper: Upper, lower: Lower) -> tuple[float, float]:
    """The interval that both bounds prove, in the sense of the question, rounded outwards."""
    below, (above, size) = lower_end(lower), _start_above(upper)
    above = float(np.nextafter(above + _margin(size), np.inf))
    return (below, above) if question.sign > 0 else (-above, -below)


def lower_end(lower: Lower) -> float:
    """The lower bound that is proved on the start, rounded down."""
    end = lower.start()
    return float(np.nextafter(end - _margin(end), -np.inf))


def _start_above(upper: Upper) -> tuple[float, float]:
    """The bound that the points prove on the start, and the size of the numbers in its sum."""
    problem = upper.contexts.problem
    exits = problem.components[problem.start].exits
    total = size = 0.0
    for entry, (c, mix) in enumerate(upper.start_mixes()):
        rows = upper.raised(c, np.array([x for x, _ in mix]))
        mixed = rows @ np.array([weight for _, weight in mix])
        beyond = (problem.root - mixed[exits]).max()
        total += problem.tables.start_prob[entry] * (mixed[entry] + beyond)
        size = max(size, float(np.abs(rows).max()), abs(total))
    return total, size


def certificate_of(model: RMDP, question: Question, upper: Upper, lower: Lower) -> Certificate:
    """The certificate of both bounds."""
    problem = upper.contexts.problem
    points, start_points = _points(upper)
    falls = problem.potential
    pieces, start_pieces = pieces_of(lower, None if falls is None else steps_of(lower))
    low, high = interval_of(question, upper, lower)
    return question.certificate(
        model,
        (low, high),
        points=points,
        pieces=pieces,
        steps=problem.steps.tolist() if falls is None else [],
        potential=None if falls is None else falls.values.tolist(),
        start_points=start_points,
        start_pieces=start_pieces,
        reach=None if problem.reach is None else reach_rows(model.tables, problem.reach),
    )


def _margin(end: npt.ArrayLike) -> Floats:
    """More than the rounding of the last few sums."""
    margin: Floats = 1e-14 * np.maximum(1.0, np.abs(end))
    return margin


def _points(upper: Upper) -> tuple[list[Point], list[Mix]]:
    """Points that the start leads to, with the mixes that bound their calls, and the start's own.

    Mixes are those of the bound as found: raising it keeps the inequalities they have.
    """
    ctx, links = upper.contexts, upper.links
    used = [(c, x) for c, own in enumerate(upper.used) for x in own.tolist()]
    number = {x: i for i, x in enumerate(used)}
    points = []
    for c, own in enumerate(upper.used):
        values = upper.raised(c, own).T.tolist()
        nodes, weights = (ctx.view_calls(a, c)[:, own] for a in (links.nodes, links.weights))
        callee = ctx.parts[c].callee.tolist()
        for i in range(len(own)):
            mixes = [
                _listed(d, zip(*pair, strict=True), number)
                for d, *pair in zip(
                    callee, nodes[:, i].tolist(), weights[:, i].tolist(), strict=True
                )
            ]
            points.append(Point(c, values[i], mixes))
    return points, [_listed(c, mix, number) for c, mix in upper.start_mixes()]


def _listed(c: int, mix: Iterable[tuple[int, float]], number: dict[Context, int]) -> Mix:
    """A mix by the numbers of points, the heaviest last: its weight is what the others leave."""
    used = ((number[c, x], weight) for x, weight in mix if x >= 0)
    return sorted(used, key=lambda pair: pair[1])


def pieces_of(lower: Lower, steps: Floats | None) -> tuple[list[Piece], list[int]]:
    """Pieces that the start leads to, with steps by slot if given, and those that it begins in."""
    ctx = lower.contexts
    start, used, number = _used_pieces(lower)
    pieces = []
    for c, x in used:
        exits = ctx.points[c].vectors.shape[1]
        weights = ctx.view(lower.reach, c)[:, x, :exits]
        pieces.append(
            Piece(
                c,
                _actions(lower, c, x).tolist(),
                [number[y] for y in _called_pieces(lower, c, x)],
                ctx.view(lower.rewards, c)[:, x].tolist(),
                None if exits == 1 else weights.tolist(),
                None if steps is None else ctx.view(steps, c)[:, x].tolist(),
            )
        )
    return pieces, [number[x] for x in start]
