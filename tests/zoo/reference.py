"""Small independent solvers, in plain numpy, that the zoo's values are tested with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from tests.definition import landing

import recurl
from recurl.model.tables import CALL, EXIT

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""North, east, south and west, as what they add to row and column."""


def open_cells(layout: str) -> dict[tuple[int, int], str]:
    """The letters of a map by row and column, walls left out."""
    return {
        (r, c): letter
        for r, row in enumerate(layout.split("/"))
        for c, letter in enumerate(row)
        if letter != "#"
    }


@cache
def solved(name: str) -> recurl.Solution:
    """The solution of a model with its default parameters: tests share it."""
    return recurl.solve(recurl.zoo.make(name))


def best_exit_values(model: RMDP, reward: np.ndarray | None = None) -> np.ndarray:
    """Value iteration on x(exit) = 0, x(call) = x(en) + max over exits of x(ret), else Bellman.

    For 1-exit models this is the value; for others the callee's best exit is always taken.
    """
    t = model.tables
    paid = t.prob * (t.reward if reward is None else reward)
    expected = np.add.reduceat(paid, t.transition_start[:-1])
    states = np.flatnonzero(np.diff(t.action_start))
    calls = np.flatnonzero(t.vertex_kind == CALL)
    entry = t.entry_of_call(calls)
    box = t.vertex_box[calls]
    ports = [
        np.arange(t.box_return[b], t.box_return[b] + t.n_exits[t.box_component[b]]) for b in box
    ]
    width = max(map(len, ports), default=0)
    returns = np.array([np.resize(p, width) for p in ports], int).reshape(len(calls), width)
    x = np.zeros(t.n_vertices)
    for _ in range(100_000):
        old = x.copy()
        q = expected + np.add.reduceat(t.prob * x[t.target], t.transition_start[:-1])
        x[states] = np.maximum.reduceat(q, t.action_start[states])
        x[calls] = x[entry] + (x[returns].max(axis=1) if width else 0)
        if np.abs(x - old).max() < 1e-13 * max(1, np.abs(x).max()):
            return x
        if np.abs(x).max() > 1e12:
            break
    raise AssertionError(f"{model} does not settle: not proper by this test")


def start_value(model: RMDP) -> float:
    """Optimal value of a 1-exit model."""
    assert model.kind.one_exit
    return model.start_value(best_exit_values(model))


def step_bound(model: RMDP) -> np.ndarray:
    """Bounds d on the expected steps, exits 0: they exist only if the model is proper."""
    return best_exit_values(model, np.ones(model.tables.n_transitions))


def never(values: Sequence[float]) -> float:
    """What a call too deep is worth if it is forbidden."""
    return -np.inf


def value_to_depth(
    model: RMDP,
    depth: int,
    beyond: Callable[[Sequence[float]], float] = never,
    only: Mapping[int, int] | None = None,
) -> float:
    """Optimal value if a call deeper than `depth` is worth `beyond` of its exits' values.

    By the equations of exit values, x(v, q), for models whose components have no cycles inside.
    `never` gives the best of the strategies that do not call so deep, `min` and `max` bounds where
    a call itself gains nothing negative, or nothing positive. `only` fixes the action of a vertex,
    by its number there.
    """
    t = model.tables
    fixed = only or {}

    @cache
    def x(left: int, v: tuple[float, ...], q: int) -> float:
        if t.vertex_kind[q] == EXIT:
            return v[int(t.vertex_port[q])]
        if t.vertex_kind[q] == CALL:
            box = t.vertex_box[q]
            first, count = int(t.box_return[box]), int(t.n_exits[t.box_component[box]])
            inner = [x(left, v, ret) for ret in range(first, first + count)]
            if left == 0:
                return beyond(inner)
            least = min(inner) if np.isfinite(min(inner)) else 0
            shifted = tuple(value - least for value in inner)
            return x(left - 1, shifted, int(t.entry_of_call(q))) + least
        actions = range(t.action_start[q], t.action_start[q + 1])
        return max(action(left, v, a) for a in (actions if q not in fixed else [actions[fixed[q]]]))

    def action(left: int, v: tuple[float, ...], a: int) -> float:
        edges = np.arange(t.transition_start[a], t.transition_start[a + 1])
        worth = (t.reward[e] + x(left, v, int(t.target[e])) for e in edges)
        return float(t.prob[edges] @ np.fromiter(worth, float))

    zero = (0.0,) * int(t.n_exits[t.start_component])
    first = int(t.component_start[t.start_component])
    values = [x(depth, zero, first + j) for j in range(len(t.start_prob))]
    return float(t.start_prob @ values)


def exit_probabilities(model: RMDP) -> np.ndarray:
    """Probability that each vertex leads to each exit of its component, without choices.

    Least solution of P(q, ex) = sum p P(q', ex), P(call, ex) = sum P(en, ex') P(ret', ex), from 0.
    """
    t = model.tables
    assert t.n_actions == t.states.sum()
    states = np.flatnonzero(t.states)
    exits = np.flatnonzero(t.vertex_kind == EXIT)
    P = np.zeros((t.n_vertices, t.max_exits))
    P[exits, t.vertex_port[exits]] = 1
    for _ in range(100_000):
        old = P.copy()
        P[states] = np.add.reduceat(t.prob[:, None] * P[t.target], t.transition_start[:-1])
        for call in np.flatnonzero(t.vertex_kind == CALL):
            box = t.vertex_box[call]
            first, count = t.box_return[box], t.n_exits[t.box_component[box]]
            P[call] = P[t.entry_of_call(call)][:count] @ P[first : first + count]
        if np.abs(P - old).max() < 1e-15:
            return P
    raise AssertionError(f"{model} does not settle")


Configuration = tuple[tuple[int, ...], int]
"""Pending boxes, and the vertex."""


def unrolled_value(model: RMDP, height: int) -> float:
    """Optimal value if at most `height` calls may be pending, by the semantics with its stack.

    Value iteration from below over all configurations, for rewards that are not negative.
    """
    t = model.tables
    first = int(t.component_start[t.start_component])
    starts = [((), first + j) for j in range(len(t.start_prob))]
    known: dict[Configuration, list[list[tuple[float, float, Configuration | None]]]] = {}
    todo: list[Configuration] = list(starts)
    while todo:
        here = todo.pop()
        if here not in known:
            known[here] = list(_actions(model, here, height))
            todo += [there for edges in known[here] for _, _, there in edges if there]
    x: dict[Configuration | None, float] = dict.fromkeys(known, 0.0)
    x[None] = 0.0
    while True:
        change = 0.0
        for here, actions in known.items():
            best = max(sum(p * (r + x[there]) for p, r, there in edges) for edges in actions)
            change, x[here] = max(change, abs(best - x[here])), best
        if change < 1e-14:
            return float(t.start_prob @ [x[start] for start in starts])


def _actions(
    model: RMDP, here: Configuration, height: int
) -> Iterator[list[tuple[float, float, Configuration | None]]]:
    """The actions of a configuration, each a list of (probability, reward, what follows)."""
    t = model.tables
    stack, vertex = here
    for a in range(t.action_start[vertex], t.action_start[vertex + 1]):
        edges = np.arange(t.transition_start[a], t.transition_start[a + 1])
        if len(stack) < height or not (t.vertex_kind[t.target[edges]] == CALL).any():
            yield [(t.prob[e], t.reward[e], landing(model, stack, int(t.target[e]))) for e in edges]
