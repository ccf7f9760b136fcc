"""All contexts of a search, numbered: values of every vertex in every context are one flat array.

The values of a component are a matrix, a row per vertex and a column per context (`view`). Entries
and calls of all contexts are numbered in the same order.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.model.tables import Floats, Ints
from recurl.solving.budget import require_memory

if TYPE_CHECKING:
    from recurl.solving.certified.points import Cloud
    from recurl.solving.certified.problem import Component, SearchProblem

Index = np.ndarray
_VECTORS = 6
"""Arrays of probabilities by exit that are held at the same time."""
_QUICK = 1_000_000
"""Multiplications that take about as long as calling the functions of a step of Newton's method."""


class Group(NamedTuple):
    """All calls of one component, from anywhere.

    Attributes:
        calls: Numbers of the calls; those of one box in a row. ``[n, E]``
        returns: Slots of the return ports. ``[n, K]``
    """

    calls: Index
    returns: Index


class Contexts:
    """The points of all components, and the numbers of their slots, entries and calls.

    Attributes:
        problem: The problem.
        points: Points of each component.
        count: Contexts of each component.
        base: First slot of each component.
        entry_base: First entry number of each component.
        call_base: First call number of each component.
        applied: How often a map was applied to values by slot so far.
    """

    def __init__(self, problem: SearchProblem, points: list[Cloud]) -> None:
        self.problem, self.points, self.applied = problem, points, 0
        parts = problem.components
        self.count = np.array([len(p) for p in points])
        self.base = _starts(self.count * [c.size for c in parts])
        self.entry_base = _starts(self.count * [c.entries for c in parts])
        self.call_base = _starts(self.count * [len(c.calls) for c in parts])
        slots, calls, exits = int(self.base[-1]), int(self.call_base[-1]), problem.tables.max_exits
        require_memory(
            8.0 * exits * (_VECTORS * slots + (exits + _VECTORS) * calls),
            f"{slots:,} vertices at {self.count.sum():,} vectors of values of {exits} exits",
        )

    @property
    def parts(self) -> list[Component]:
        """The components."""
        return self.problem.components

    @cached_property
    def quick(self) -> bool:
        """Whether the equations of all contexts are inverted sooner than one step takes."""
        states = np.array([len(c.states) for c in self.parts])
        return int((self.count * states**3).sum()) <= _QUICK

    def view(self, values: np.ndarray, c: int) -> np.ndarray:
        """Values of a component: a row per vertex, a column per context."""
        shape = (self.parts[c].size, self.count[c], *values.shape[1:])
        return values[self.base[c] : self.base[c + 1]].reshape(shape)

    def view_calls(self, values: np.ndarray, c: int) -> np.ndarray:
        """Bounds on the calls of a component: a row per call, a column per context."""
        shape = (len(self.parts[c].calls), self.count[c], *values.shape[1:])
        return values[self.call_base[c] : self.call_base[c + 1]].reshape(shape)

    def view_entries(self, values: np.ndarray, c: int) -> np.ndarray:
        """Bounds on the entries of a component: a row per entry, a column per context."""
        shape = (self.parts[c].entries, self.count[c], *values.shape[1:])
        return values[self.entry_base[c] : self.entry_base[c + 1]].reshape(shape)

    @cached_property
    def entry_slots(self) -> Index:
        """Slot of each entry number."""
        return np.concatenate(
            [
                np.arange(self.base[c], self.base[c] + part.entries * self.count[c])
                for c, part in enumerate(self.parts)
            ]
        )

    @cached_property
    def call_slots(self) -> Index:
        """Slot of each call number."""
        return self._rows([part.calls for part in self.parts])

    @cached_property
    def state_slots(self) -> Index:
        """Slots of vertices with actions."""
        return self._rows([part.states for part in self.parts])

    def _rows(self, rows: list[Ints]) -> Index:
        """Slots of some vertices of each component in all contexts."""
        return np.concatenate(
            [
                (self.base[c] + own[:, None] * self.count[c] + np.arange(self.count[c])).ravel()
                for c, own in enumerate(rows)
            ]
        )

    @cached_property
    def call_returns(self) -> Index:
        """Slots of the return ports of each call, 0 in unused places: ``[calls, K]``."""
        slots = [
            self.base[c] + part.returns[:, None, :] * n + np.arange(n)[:, None]
            for c, (part, n) in enumerate(zip(self.parts, self.count, strict=True))
        ]
        flat = np.concatenate([s.reshape(-1, s.shape[2]) for s in slots])
        return np.where(self.call_inside, flat, 0)

    @cached_property
    def call_inside(self) -> Index:
        """Which places of `call_returns` are used."""
        pairs = zip(self.parts, self.count, strict=True)
        return np.concatenate([part.inside.repeat(n, axis=0) for part, n in pairs])

    @cached_property
    def call_callee(self) -> Index:
        """Component called by each call."""
        pairs = zip(self.parts, self.count, strict=True)
        return np.concatenate([part.callee.repeat(n) for part, n in pairs])

    @cached_property
    def call_entry(self) -> Index:
        """Number of the entry called, in the first context of the callee."""
        pairs = zip(self.parts, self.count, strict=True)
        port = np.concatenate([part.port.repeat(n) for part, n in pairs])
        numbers: Index = self.entry_base[self.call_callee] + port * self.count[self.call_callee]
        return numbers

    @cached_property
    def calls_by_entry(self) -> tuple[Index, Index]:
        """Numbers of the calls in the context of each entry, and where those of each begin."""
        calls, sizes = [], []
        for c, (part, n) in enumerate(zip(self.parts, self.count, strict=True)):
            own = self.call_base[c] + np.arange(len(part.calls)) * n + np.arange(n)[:, None]
            calls.append(np.tile(own.ravel(), part.entries))
            sizes.append(np.full(part.entries * n, len(part.calls)))
        return np.concatenate(calls), _starts(np.concatenate(sizes))

    @cached_property
    def groups(self) -> list[Group]:
        """The calls of each component, from anywhere."""
        found: list[list[Group]] = [[] for _ in self.parts]
        for c, (part, n) in enumerate(zip(self.parts, self.count, strict=True)):
            for site in part.sites:
                calls = self.call_base[c] + site.calls[:, None, :] * n + np.arange(n)[:, None]
                returns = self.base[c] + site.returns[:, None, :] * n + np.arange(n)[:, None]
                flat = (a.reshape(-1, a.shape[2]) for a in (calls, returns))
                found[site.callee].append(Group(*flat))
        empty = [
            Group(np.zeros((0, p.entries), int), np.zeros((0, p.exits.stop - p.exits.start), int))
            for p in self.parts
        ]
        return [
            Group(*(np.concatenate(columns) for columns in zip(*([none, *own]), strict=True)))
            for none, own in zip(empty, found, strict=True)
        ]

    @cached_property
    def several(self) -> Index:
        """Whether the component of each slot has more than one exit."""
        several = [part.exits.stop - part.exits.start > 1 for part in self.parts]
        return np.repeat(several, np.diff(self.base))

    @cached_property
    def known_reach(self) -> Index:
        """Slots of exits, and of all vertices of components with one exit."""
        own = np.concatenate([self.call_slots, self.state_slots])
        open_slots = np.zeros(int(self.base[-1]), bool)
        open_slots[own] = True
        known: Index = ~(open_slots & self.several)
        return known

    @cached_property
    def fixed_reach(self) -> Floats:
        """1 where an exit reaches itself, and in components with one exit."""
        reach = self.only_exits()
        reach[~self.several, 0] = 1.0
        return reach

    def exit_values(self, values: Floats) -> Floats:
        """Values of the return ports of each call, padded with 0: ``[calls, K]``."""
        vectors: Floats = np.where(self.call_inside, values[self.call_returns], 0.0)
        return vectors

    def called_vectors(self, nodes: np.ndarray) -> Floats:
        """Vectors of contexts of the callees, one for each call, padded with 0: ``[calls, K]``."""
        padded = np.zeros((int(self.count.sum()), self.call_inside.shape[1]))
        first = _starts(self.count)
        for c, points in enumerate(self.points):
            own = points.vectors
            padded[first[c] : first[c + 1], : own.shape[1]] = own
        vectors: Floats = padded[first[self.call_callee] + nodes]
        return vectors

    def only_exits(self) -> Floats:
        """1 where an exit is itself, else 0: ``[slots, K]``."""
        out = np.zeros((int(self.base[-1]), self.problem.tables.max_exits))
        for c, part in enumerate(self.parts):
            exits = np.arange(part.exits.stop - part.exits.start)
            self.view(out, c)[part.exits.start + exits, :, exits] = 1.0
        return out

    def with_exits(self, values: Floats) -> Floats:
        """Set the values of exits to the vectors of the contexts."""
        for c, part in enumerate(self.parts):
            self.view(values, c)[part.exits] = self.points[c].vectors.T
        return values

    def called(self, nodes: np.ndarray) -> np.ndarray:
        """Entry numbers at which calls continue in contexts of their callees."""
        shape = (-1,) + (1,) * (nodes.ndim - 1)
        numbers: np.ndarray = self.call_entry.reshape(shape) + nodes
        return numbers

    def matrix(self, nodes: np.ndarray, weights: Floats) -> Any:
        """A matrix from entries to calls: the weight of each context that a call leads to."""
        from scipy.sparse import csr_array

        entries = self.called(np.maximum(nodes, 0))
        begin = np.arange(len(nodes) + 1) * nodes.shape[1]
        shape = (len(nodes), int(self.entry_base[-1]))
        return csr_array((np.maximum(weights, 0.0).ravel(), entries.ravel(), begin), shape=shape)


def _starts(sizes: np.ndarray) -> np.ndarray:
    """Where each of some blocks begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
