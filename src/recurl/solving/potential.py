"""Potentials: numbers that fall with every step by more than the step pays.

A *potential* has a number h for every vertex, k >= 0 for every box, and c > 0 with
``r(q, a) + sum p h(q') <= h(q) - c`` for all actions, ``h(call port) >= h(entry) + k`` and
``h(exit) + k >= h(return port)`` for the box. Then h of the current vertex and k of all pending
boxes add up to at least min h at any time, and fall by c with every step, rewards included: so a
policy that takes infinitely many steps on average pays infinitely much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import CALL, EXIT, Floats, Ints, Tables, runs
from recurl.solving.budget import seconds_left
from recurl.solving.offsets import LARGEST_PROGRAM, Part

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question
    from recurl.solving.rows import Mask


class Potential(NamedTuple):
    """A number by vertex that falls with every step.

    Attributes:
        values: h by vertex; 0 where no run comes. At least h(exit) at return ports.
        cost: By how much it falls at least: c.
    """

    values: Floats
    cost: float


def potential(model: RMDP, question: Question) -> Potential | None:
    """A potential that shows that every step costs something in the end; None if none was found.

    It is found by a linear program, unless every step costs something by itself, and checked with
    rounding counted.

    Example:
        >>> import recurl
        >>> found = potential(recurl.zoo.cloud(), recurl.Question("min", "steps"))
        >>> found.values.any(), round(found.cost, 9)
        (np.False_, 1.0)
    """
    t, seen = model.tables, model.reach.reachable
    return falling(t, question.transition_rewards(t), seen[t.action_vertex])


def falling(t: Tables, rewards: Floats, taken: Mask, *, level: bool = False) -> Potential | None:
    """A potential for given rewards of transitions, and only some of the actions.

    With ``level``, it is 0 at all exits.
    """
    gain = np.add.reduceat(t.prob * rewards, t.transition_start[:-1])
    size = np.maximum.reduceat(np.abs(rewards), t.transition_start[:-1])
    h = np.zeros(t.n_vertices)
    if gain[taken].max() >= 0:
        found = _program(t, gain, taken, level=level) if t.n_vertices <= LARGEST_PROGRAM else None
        if found is None:
            return None
        h = found
    _fill_ports(t, h)
    owner = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    most = np.maximum.reduceat(np.abs(h[t.target]), t.transition_start[:-1])
    drop = h[t.action_vertex] - gain - np.bincount(owner, t.prob * h[t.target], t.n_actions)
    count = np.diff(t.transition_start) + 8
    drop -= count * 1e-15 * (size + most + np.abs(h[t.action_vertex]))
    cost = float(drop[taken].min())
    return Potential(h, cost) if cost > 0 else None


def _pairs(t: Tables) -> tuple[Ints, Ints, Ints]:
    """Box, exit and return port of every way to come back."""
    count = t.n_exits[t.box_component]
    box = np.repeat(np.arange(t.n_boxes, dtype=np.int32), count)
    first = t.component_start[t.box_component] + t.n_entries[t.box_component]
    return box, runs(first, count), runs(t.box_return, count)


def _fill_ports(t: Tables, h: Floats) -> None:
    """The least values of ports that the inequalities of ports allow, call ports rounded up."""
    box, exits, returns = _pairs(t)
    h[returns] = np.maximum(h[returns], h[exits])
    rise = np.zeros(t.n_boxes)
    np.maximum.at(rise, box, h[returns] - h[exits])
    kept = np.where(rise > 0, np.nextafter(rise, np.inf), 0.0)
    calls = np.flatnonzero(t.vertex_kind == CALL)
    more, entry = kept[t.vertex_box[calls]], h[t.entry_of_call(calls)]
    h[calls] = np.where(more > 0, np.nextafter(entry + more, np.inf), entry)


def _program(t: Tables, gain: Floats, taken: Mask, *, level: bool) -> Floats | None:
    """The potential with the greatest c, at most 1."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    actions = np.flatnonzero(taken)
    calls = np.flatnonzero(t.vertex_kind == CALL)
    box, exits, returns = _pairs(t)
    high = np.concatenate([calls, exits])
    low = np.concatenate([t.entry_of_call(calls), returns])
    ties = len(actions) + np.arange(len(high))
    kept = np.concatenate([t.vertex_box[calls], box]) + t.n_vertices + 1
    share = np.append(np.ones(len(calls)), np.full(len(box), -1.0))
    parts: list[Part] = [
        *_falls(t, actions),
        (ties, low, np.ones(len(ties))),
        (ties, high, np.full(len(ties), -1.0)),
        (ties, kept, share),
    ]
    row, column, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    fixed = (t.vertex_kind == EXIT) & level
    free = [(0.0, 0.0) if zero else (None, None) for zero in fixed.tolist()]
    shape = (len(actions) + len(ties), t.n_vertices + 1 + t.n_boxes)
    found = linprog(
        np.concatenate([np.zeros(t.n_vertices), [-1.0], np.zeros(t.n_boxes)]),
        A_ub=coo_array((value, (row, column)), shape=shape).tocsr(),
        b_ub=np.append(-gain[actions], np.zeros(len(ties))),
        bounds=[*free, (0.0, 1.0), *[(0.0, None)] * t.n_boxes],
        method="highs",
        options={"time_limit": seconds_left()},
    )
    if found.x is None or not found.x[t.n_vertices] > 0:
        return None
    values: Floats = found.x[: t.n_vertices]
    return values


def _falls(t: Tables, actions: np.ndarray) -> list[Part]:
    """Sum p h(q') - h(q) + c, a row for each of some actions."""
    line = np.full(t.n_actions, -1)
    line[actions] = np.arange(len(actions))
    each = np.repeat(line, np.diff(t.transition_start))
    used = np.flatnonzero(each >= 0)
    ones = np.ones(len(actions))
    return [
        (each[used], t.target[used], t.prob[used]),
        (line[actions], t.action_vertex[actions], -ones),
        (line[actions], np.full(len(actions), t.n_vertices), ones),
    ]
