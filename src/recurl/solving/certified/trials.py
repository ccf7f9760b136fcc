"""The search by trials: right where few of many possible exit values matter."""

from __future__ import annotations

import numpy as np

from recurl.model.tables import CALL, Floats, Tables
from recurl.solving.certified import store_kernel, trial_kernel
from recurl.solving.certified.lower import Lower
from recurl.solving.certified.points import Points, entry_slots, make_points
from recurl.solving.certified.problem import Problem
from recurl.solving.certified.prune import prune
from recurl.solving.certified.store_kernel import Store
from recurl.solving.certified.upper import Upper

_SLACK = 1e-13
_DEPTH = 64


class Trials:
    """Trials from the start of a model; bounds only get better.

    Args:
        problem: The problem.
        upper: First points, all clouds.
        lower: First pieces; those of every component.
        tolerance: Gap, weighted by visits, below which a trial turns back.
    """

    def __init__(self, problem: Problem, upper: Upper, lower: Lower, *, tolerance: float) -> None:
        self.problem, self.tolerance, self.count = problem, tolerance, 0
        # Trials may come to any point, not only to those that the start leads to now.
        excess = upper.excess_from(problem, range(len(upper.points.component)))
        self.store = _filled(problem.tables, upper.settled(problem, excess), lower)
        prune(problem.tables, self.store)
        fine = 1e-3 * max(problem.size, tolerance)
        trial_kernel.settle(problem.tables, self.store, problem.gain, problem.order, fine, 100)

    def run(self, count: int) -> None:
        """So many trials."""
        p = self.problem
        for _ in range(count):
            self.count += 1
            has_room = trial_kernel.trial(
                p.tables, self.store, p.gain, p.order, p.root, self.tolerance, _SLACK, _DEPTH
            )
            if not has_room:
                self._enlarge()

    def _enlarge(self) -> None:
        """Make room: take out what has become needless, and double what is still nearly full."""
        t, old = self.problem.tables, self.store
        prune(t, old)
        if 4 * max(old.points.max(), old.pieces.max()) > 3 * old.room[0]:
            self.store = _moved(t, old, _empty(t, 2 * int(old.room[0])))

    def bounds(self) -> tuple[float, float]:
        """Both bounds at the start."""
        low, high = store_kernel.start_bounds(self.problem.tables, self.store, self.problem.root)
        return float(low), float(high)

    def vectors(self) -> list[Floats]:
        """Exit values of the points, by component."""
        t, s = self.problem.tables, self.store
        return [
            s.vector[s.first[c] : s.first[c] + s.points[c], : t.n_exits[c]]
            for c in range(t.n_components)
        ]

    def upper(self) -> Upper:
        """The points as an upper bound."""
        s, t = self.store, self.problem.tables
        points = make_points(t, self.vectors())
        values = np.concatenate([_used(t, s, c, s.points[c], s.above) for c in range(len(s.room))])
        return Upper.of(self.problem, points, values)

    def lower(self) -> Lower:
        """The pieces as a policy over them."""
        s, t = self.store, self.problem.tables
        none = [np.zeros((int(n), int(k))) for n, k in zip(s.pieces, t.n_exits, strict=True)]
        points = make_points(t, none)
        columns = [
            np.concatenate([_used(t, s, c, s.pieces[c], column) for c in range(len(s.room))])
            for column in (s.action, s.callee, s.reach, s.rewards)
        ]
        action, callee, reach, rewards = columns
        callee = callee + _shifts(t, points, points.first[:-1] - s.first)
        entry = entry_slots(points)
        return Lower(points, action, callee, reach, rewards, reach[entry], rewards[entry], True)


def _used(t: Tables, s: Store, c: int, count: int, column: np.ndarray) -> np.ndarray:
    """What is in use of a column, of one component."""
    size = int(t.component_start[c + 1] - t.component_start[c])
    return column[s.slot[c] : s.slot[c] + count * size]


def _shifts(t: Tables, points: Points, moved: np.ndarray) -> np.ndarray:
    """By how much the numbers of pieces called move, by slot: with the component called."""
    by_vertex = np.zeros(t.n_vertices, np.int64)
    calls = np.flatnonzero(t.vertex_kind == CALL)
    by_vertex[calls] = moved[t.box_component[t.vertex_box[calls]]]
    blocks = [by_vertex[t.component_start[c] : t.component_start[c + 1]] for c in points.component]
    return np.concatenate(blocks)


def _empty(tables: Tables, room: int) -> Store:
    """A store with room for so many points and pieces of every component."""
    t = tables
    size = np.diff(t.component_start).astype(np.int64)
    rooms = np.full(t.n_components, room, np.int64)
    first = np.concatenate([[0], np.cumsum(rooms)])
    slot = np.concatenate([[0], np.cumsum(rooms * size)])
    slots = int(slot[-1])
    return Store(
        rooms,
        first[:-1],
        slot[:-1],
        np.zeros(t.n_components, np.int64),
        np.zeros(t.n_components, np.int64),
        np.zeros((int(first[-1]), t.max_exits)),
        np.zeros(slots),
        np.zeros(slots, np.int32),
        np.zeros(slots, np.int64),
        np.zeros(slots),
        np.zeros((slots, t.max_exits)),
    )


def _moved(t: Tables, old: Store, new: Store) -> Store:
    """The points and pieces of a store in a larger one."""
    new.points[:], new.pieces[:] = old.points, old.pieces
    size = np.diff(t.component_start)
    calls = t.vertex_kind == CALL
    callee = np.where(calls, t.box_component[t.vertex_box], 0)
    shift = np.where(calls, (new.first - old.first)[callee], 0)
    for c in range(t.n_components):
        a, b, n = new.first[c], old.first[c], old.room[c]
        new.vector[a : a + n] = old.vector[b : b + n]
        i, j, m = new.slot[c], old.slot[c], n * size[c]
        for column in ("above", "action", "callee", "rewards", "reach"):
            getattr(new, column)[i : i + m] = getattr(old, column)[j : j + m]
        used = old.pieces[c] * size[c]
        own = shift[t.component_start[c] : t.component_start[c + 1]]
        new.callee[i : i + used] += np.tile(own, int(old.pieces[c]))
    return new


def _filled(t: Tables, upper: Upper, lower: Lower) -> Store:
    """A store with the points and pieces of given bounds."""
    most = max(int(np.diff(upper.points.first).max()), int(np.diff(lower.points.first).max()))
    store = _empty(t, 2 * most + 32)
    store.points[:], store.pieces[:] = np.diff(upper.points.first), np.diff(lower.points.first)
    callee = lower.callee + _shifts(t, lower.points, store.first - lower.points.first[:-1])
    for c in range(t.n_components):
        rows, slots = _place(store, upper.points, c)
        store.vector[slice(*rows)] = upper.points.vector[slice(*upper.points.first[c : c + 2])]
        store.above[slice(*slots)] = upper.values[slice(*_span(upper.points, c))]
        _, slots = _place(store, lower.points, c)
        span = slice(*_span(lower.points, c))
        store.action[slice(*slots)], store.callee[slice(*slots)] = lower.action[span], callee[span]
        store.rewards[slice(*slots)], store.reach[slice(*slots)] = (
            lower.rewards[span],
            lower.reach[span],
        )
    return store


def _span(points: Points, c: int) -> tuple[int, int]:
    """First and last slot of a component's contexts."""
    return int(points.slot[points.first[c]]), int(points.slot[points.first[c + 1]])


def _place(store: Store, points: Points, c: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where in a store the contexts of a component go: numbers and slots."""
    first, last = _span(points, c)
    count = int(points.first[c + 1] - points.first[c])
    row, slot = int(store.first[c]), int(store.slot[c])
    return (row, row + count), (slot, slot + last - first)
