"""Some contexts of each component as one system, so that one call of a function serves them all.

Contexts come component by component, and the vertices of each in a row: the values of all are one
flat array, with one more number at its end, which stands for places that are not used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.linear.systems import chosen_lines
from recurl.model.tables import Floats

if TYPE_CHECKING:
    from recurl.solving.certified.problem import Component, SearchProblem

Index = np.ndarray
Own = dict[int, Index]
"""Numbers of some contexts of some components."""
_SWEEPS = 40
_CALL, _SETUP = 500, 4000
"""Slots that take about as long as calling the functions of a sweep, and all others once."""


class BoxGroup(NamedTuple):
    """All boxes that call one component.

    Attributes:
        callee: The component.
        boxes: Where they are among all boxes.
        calls: Slots of their call ports. ``[n, E]``
        returns: Slots of their return ports. ``[n, K]``
    """

    callee: int
    boxes: slice
    calls: Index
    returns: Index


class Batch:
    """A number of contexts of each component.

    Attributes:
        parts: Components of which there are contexts, with their numbers.
        size: Number of slots, without the one for unused places.
        first: First slot of each context.
        sizes: Number of slots of each context.
        matrix: Probabilities from the actions of all contexts to slots.
        gain: Expected reward of each action.
        begin: First action of each state.
        choices: Number of actions of each state.
        states: Slots of states.
        entries: Slots of entries.
        exits: Slots of exits.
        callee: Component that each box calls, in ascending order.
        owner: Context of each box.
        groups: The boxes, by component called.
        calls: Slots of the call ports of all boxes. ``[boxes, E]``
        returns: Slots of their return ports. ``[boxes, K]``
    """

    def __init__(self, problem: SearchProblem, counts: tuple[int, ...]) -> None:
        self.parts = [(c, problem.components[c], n) for c, n in enumerate(counts) if n]
        self._slots, self._actions, self.size, actions = [], [], 0, 0
        for _, part, n in self.parts:
            self._slots.append(self.size + part.size * np.arange(n)[:, None])
            self._actions.append(actions + len(part.gain) * np.arange(n)[:, None])
            self.size, actions = self.size + n * part.size, actions + n * len(part.gain)
        self.first = np.concatenate(self._slots)[:, 0]
        self.sizes = np.diff(np.append(self.first, self.size))
        self.gain = self._repeated(lambda part: part.gain)
        self.choices = self._repeated(lambda part: part.choices)
        self.begin = _starts(self.choices)[:-1]
        self.states = self._all(lambda part: part.states)
        self.entries = self._all(lambda part: np.arange(part.entries))
        self.exits = self._all(lambda part: np.arange(part.size)[part.exits])
        self.matrix = self._matrix(actions)
        self._number_boxes(problem)

    def _repeated(self, of: Callable[[Component], np.ndarray]) -> np.ndarray:
        """Numbers of a component, once for each context."""
        return np.concatenate([np.tile(of(part), n) for _, part, n in self.parts])

    def _all(self, vertices: Callable[[Component], np.ndarray]) -> Index:
        """Slots of some vertices of all contexts."""
        pairs = zip(self.parts, self._slots, strict=True)
        return np.concatenate([(slot + vertices(part)).ravel() for (_, part, _), slot in pairs])

    def _matrix(self, actions: int) -> Any:
        from scipy.sparse import csr_array

        parts = (
            self._repeated(lambda part: part.matrix.data),
            self._all(lambda part: part.matrix.indices).astype(np.int32),
            _starts(self._repeated(lambda part: np.diff(part.matrix.indptr))).astype(np.int32),
        )
        return csr_array(parts, shape=(actions, self.size + 1))

    def _number_boxes(self, problem: SearchProblem) -> None:
        """Number the boxes, those that call the same component in a row."""
        calls: list[Index] = []
        returns: list[Index] = []
        callees, owners, context = [], [], 0
        for (_, part, n), slot in zip(self.parts, self._slots, strict=True):
            boxes = problem.boxes[part.number]
            for rows, ports in ((calls, boxes.calls), (returns, boxes.returns)):
                placed = np.where(ports < 0, self.size, slot[:, :, None] + ports)
                rows.append(placed.reshape(-1, ports.shape[1]))
            callees.append(np.tile(boxes.callee, n))
            owners.append(np.repeat(np.arange(context, context + n), len(boxes.callee)))
            context += n
        callee = np.concatenate(callees)
        order = np.argsort(callee, kind="stable")
        self.callee, self.owner = callee[order], np.concatenate(owners)[order]
        self.calls, self.returns = np.concatenate(calls)[order], np.concatenate(returns)[order]
        starts = np.flatnonzero(np.diff(self.callee, prepend=-1)).tolist()
        self.groups = []
        for first, last in pairwise([*starts, len(order)]):
            number = int(self.callee[first])
            called, own = problem.components[number], slice(first, last)
            exits = called.exits.stop - called.exits.start
            slots = self.calls[own, : called.entries], self.returns[own, :exits]
            self.groups.append(BoxGroup(number, own, *slots))

    @cached_property
    def acting(self) -> Index:
        """The slot in which each action is taken."""
        return np.repeat(self.states, self.choices)

    @cached_property
    def _through(self) -> tuple[Index, Index]:
        """The slots of calls, and those of their returns, for each entry and exit of each box."""
        ports = np.broadcast_arrays(self.calls[:, :, None], self.returns[:, None, :])
        call, back = (own.ravel().astype(np.int32) for own in ports)
        return call, back

    def moves(self, taken: Floats, share: Floats) -> Any:
        """The matrix by which visits of slots move on, to slots from slots.

        Args:
            taken: How often each action is taken.
            share: How often calls end at each return port, 0 in unused places. ``[boxes, E, K]``
        """
        from scipy.sparse import csr_array

        action = np.flatnonzero(taken).astype(np.int32)
        lines, (call, back) = chosen_lines(self.matrix, action), self._through
        times = np.diff(lines.indptr)
        start = np.concatenate([self.acting[action].repeat(times).astype(np.int32), call])
        end = np.concatenate([lines.indices, back])
        weight = np.concatenate([lines.data * taken[action].repeat(times), share.ravel()])
        return csr_array((weight, (end, start)), shape=(self.size + 1, self.size + 1))

    @cached_property
    def sweeps(self) -> int:
        """Sweeps after which the values of states are settled; less if they change little."""
        depth = max(part.depth for _, part, _ in self.parts)
        return min(int(min(depth, _SWEEPS)), _SWEEPS)

    @cached_property
    def inside(self) -> np.ndarray:
        """Which places of the returns are used."""
        return self.returns < self.size

    def joined(self, rows: list[Floats]) -> Floats:
        """A flat array of the values of contexts, component by component: ``[n, vertices]``."""
        return np.concatenate([*(own.ravel() for own in rows), _UNUSED])

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """The values of the contexts of each component: ``[n, vertices]``, or with more axes."""
        found, start = [], 0
        for _, part, n in self.parts:
            own = flat[start : start + n * part.size]
            found.append(own.reshape(n, part.size, *flat.shape[1:]))
            start += n * part.size
        return found

    def counted_within(self, action: Index) -> list[Index]:
        """Actions of all states, counted within their component: ``[states, n]``."""
        found, start = [], 0
        for (_, part, n), first in zip(self.parts, self._actions, strict=True):
            own = action[start : start + n * len(part.states)].reshape(n, -1)
            found.append((own - first).T)
            start += own.size
        return found

    def earned(self, values: Floats) -> tuple[Floats, Floats]:
        """The value of each action, and of the best one of each state."""
        earned = self.matrix @ values
        earned += self.gain
        return earned, np.maximum.reduceat(earned, self.begin)

    def first_best(self, earned: Floats, best: Floats) -> Index:
        """The first of the best actions of each state."""
        among = np.flatnonzero(earned >= best.repeat(self.choices))
        chosen: Index = among[np.searchsorted(among, self.begin)]
        return chosen

    def settle(self, values: Floats, better: np.ufunc, fine: float) -> int:
        """Sweeps over the states, calls staying as they are, until they change little; the effort.

        Effort is the number of slots computed, and what a sweep takes besides.
        """
        sweep = -1
        for sweep in range(self.sweeps):
            old = values[self.states]
            new = better(self.earned(values)[1], old)
            values[self.states] = new
            if sweep + 1 < self.sweeps and float(np.abs(new - old).max(initial=0.0)) <= fine:
                break
        return (sweep + 1) * (self.size + _CALL) + _SETUP


_UNUSED = np.zeros(1)


def _starts(sizes: np.ndarray) -> Index:
    """Where each of some blocks begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)])
