"""The table of a learner: it grows in blocks, and not beyond what memory allows."""

from __future__ import annotations

import os

import numpy as np

from recurl.errors import LimitError
from recurl.learn.contexts_kernel import (
    CONTEXTS,
    LARGEST,
    MULTIPLIER,
    PAIRS,
    VALUES,
    Contexts,
    create,
    find,
)
from recurl.learn.rule_kernel import normalise
from recurl.model.tables import Floats, Ints, Tables

SHARE = 0.5
"""Share of the free memory that a table may take if nothing else is said."""


def free_memory() -> int:
    """Bytes of memory that are free, as far as the system tells; else 4 GiB."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


class Table:
    """Contexts and their Q-values, for a model.

    Args:
        tables: The model.
        flat: One row per vertex and no contexts, as flat Q-learning has it.
        memory: Most bytes that it may take; a share of the free memory if None.
        initial: Q-value of pairs that were never tried.
    """

    def __init__(
        self,
        tables: Tables,
        flat: bool = False,
        memory: int | None = None,
        *,
        initial: float = 0.0,
    ) -> None:
        self.initial = float(initial)
        self.memory = int(SHARE * free_memory()) if memory is None else memory
        first, exits = tables.action_start[tables.component_start], tables.n_exits
        if flat:
            first = np.array([0, tables.n_actions])
            exits = exits[[tables.start_component]]
        self.root = 0 if flat else tables.start_component
        self.first_action, self.n_exits = first.astype(np.int64), exits.astype(np.int64)
        self.clear()

    def clear(self) -> None:
        """Forget everything but the context in which runs start."""
        largest = int(np.diff(self.first_action).max())
        used = np.array([0, 0, 0, largest, self.n_exits.max()], np.int64)
        rows = len(self.n_exits)
        none = np.empty(0, np.int64)
        self.contexts = Contexts(
            q=np.empty(0),
            visits=none,
            block=none,
            component=np.empty(0, np.int32),
            value_start=none,
            values=np.empty(0),
            slots=np.empty(0, np.int32),
            zero=np.full(rows, -1, np.int32),
            newest=np.full(rows, -1, np.int32),
            older=np.empty(0, np.int32),
            used=used,
            first_action=self.first_action,
            n_exits=self.n_exits,
        )
        self.reserve(rows + 8, int(self.first_action[-1]) + 8 * min(largest, 512))

    def reserve(self, contexts: int, pairs: int) -> None:
        """Make room for more: so many contexts, so many entries of q, on top of what is used."""
        x = self.contexts
        largest, exits = int(x.used[LARGEST]), int(self.n_exits.max())
        capacity = int(x.used[CONTEXTS]) + contexts + 1
        entries = int(x.used[PAIRS]) + pairs + largest
        values = int(x.used[VALUES]) + (contexts + 1) * exits
        self._check_memory(capacity, entries, values)
        self.contexts = x._replace(
            q=_longer(x.q, entries),
            visits=_longer(x.visits, entries),
            block=_longer(x.block, capacity),
            component=_longer(x.component, capacity),
            value_start=_longer(x.value_start, capacity),
            values=_longer(x.values, values),
            older=_longer(x.older, capacity),
            slots=np.empty(_power_of_two(2 * capacity + 2), np.int32),
        )
        self._rehash()
        if not x.used[CONTEXTS]:
            self.intern(self.root, np.zeros(exits))

    def intern(self, component: int, vector: Floats) -> int:
        """Number of a context, made if it is new."""
        found = int(find(self.contexts, component, vector))
        if found >= 0:
            return found
        return int(create(self.contexts, component, vector, self.initial, 0))

    def find(self, component: int, vector: Floats, quantum: float, grain: int = 0) -> int:
        """Number of the context of exit values, normalised and rounded; -1 if it was never met."""
        rounded = vector.copy()
        normalise(rounded, int(self.n_exits[component]), float(quantum), grain)
        return int(find(self.contexts, component, rounded))

    def make_room(self) -> None:
        """Grow if there is no room for one more context."""
        x, exits = self.contexts, int(self.n_exits.max())
        if (
            self.n_contexts + 1 > len(x.block)
            or self.n_pairs + int(x.used[LARGEST]) > len(x.q)
            or int(x.used[VALUES]) + exits > len(x.values)
            or 2 * self.n_contexts + 2 > len(x.slots)
        ):
            self.grow()

    def grow(self) -> None:
        """Double the table, or add as much as memory allows.

        Raises:
            LimitError: Nothing can be added; the table is as it was.
        """
        contexts, pairs = self.n_contexts, self.n_pairs
        for share in (1.0, 0.5, 0.25, 0.1):
            try:
                return self.reserve(int(share * contexts), int(share * pairs))
            except LimitError:
                continue
        raise LimitError(self._complaint())

    @property
    def n_contexts(self) -> int:
        """Contexts met so far."""
        return int(self.contexts.used[CONTEXTS])

    @property
    def n_pairs(self) -> int:
        """Q-values in use."""
        return int(self.contexts.used[PAIRS])

    @property
    def q(self) -> Floats:
        """Q-values in use."""
        return self.contexts.q[: self.n_pairs]

    @property
    def visits(self) -> np.ndarray:
        """How often each was updated."""
        return self.contexts.visits[: self.n_pairs]

    @property
    def component(self) -> Ints:
        """Component of each context."""
        return self.contexts.component[: self.n_contexts]

    @property
    def values(self) -> Floats:
        """Exit values, context by context."""
        return self.contexts.values[: self.contexts.used[VALUES]]

    @property
    def nbytes(self) -> int:
        """Bytes that the table takes."""
        return sum(array.nbytes for array in self.contexts)

    def exit_values(self, context: int) -> Floats:
        """Exit values of a context."""
        begin = self.contexts.value_start[context]
        return self.contexts.values[begin : begin + self.n_exits[self.component[context]]]

    def fill(self, component: Ints, values: Floats, q: Floats, visits: np.ndarray) -> None:
        """Take over the contexts of another table, in their order.

        Raises:
            ValueError: The numbers do not make a table of this model.
        """
        sizes = np.diff(self.first_action)
        if not len(component) or component.min() < 0 or component.max() >= len(sizes):
            raise ValueError("no contexts, or contexts of components that do not exist")
        if component[0] != self.root or (values[: self.n_exits[self.root]] != 0).any():
            raise ValueError("the first context must be the one in which runs start")
        lengths = (len(values), len(q), len(visits))
        pairs = int(sizes[component].sum())
        if lengths != (int(self.n_exits[component].sum()), pairs, pairs):
            raise ValueError(f"{lengths} numbers are not those of {len(component)} contexts")
        self.clear()
        self.reserve(len(component), len(q))
        x = self.contexts
        exits, blocks = self.n_exits[component], sizes[component]
        x.component[: len(component)], x.values[: len(values)] = component, values
        x.value_start[: len(component)] = np.cumsum(exits) - exits
        x.block[: len(component)] = np.cumsum(blocks) - blocks - self.first_action[component]
        x.q[: len(q)], x.visits[: len(q)] = q, visits
        x.used[:LARGEST] = len(component), len(q), len(values)
        self._rehash()
        if self._has_doubles():
            raise ValueError("a context is there twice")

    def _rehash(self) -> None:
        """Enter all contexts into an empty hash table, probing as the kernels do."""
        x, waiting = self.contexts, np.arange(self.n_contexts)
        for array in (x.slots, x.zero, x.newest):
            array.fill(-1)
        if not len(waiting):
            return
        place = self._hashes() & (len(x.slots) - 1)
        while len(waiting):
            at = place[waiting]
            free = np.flatnonzero(x.slots[at] < 0)[::-1]  # the first of several is written last
            x.slots[at[free]] = waiting[free]
            waiting = waiting[x.slots[at] != waiting]
            place[waiting] = (place[waiting] + 1) & (len(x.slots) - 1)
        self._link()

    def _hashes(self) -> np.ndarray:
        """Hash of the component and exit values of each context, as in the kernels."""
        component, start = self.component, self.contexts.value_start[: self.n_contexts]
        word = (component + 1).astype(np.uint64) * MULTIPLIER
        for k in range(int(self.n_exits.max())):
            own = np.flatnonzero(self.n_exits[component] > k)
            bits = self.contexts.values[start[own] + k].view(np.uint64)
            mixed = (word[own] ^ bits) * MULTIPLIER
            word[own] = mixed ^ (mixed >> np.uint64(29))
        return (word >> np.uint64(32)).astype(np.int64)

    def _link(self) -> None:
        """Chain the contexts of each component, and note those whose exits are all worth 0."""
        x, component = self.contexts, self.component
        order = np.argsort(component, kind="stable")
        same = component[order[1:]] == component[order[:-1]]
        x.older[order[0]] = -1
        x.older[order[1:]] = np.where(same, order[:-1], -1)
        x.newest[component[order]] = order
        zero = np.maximum.reduceat(self.values, x.value_start[: self.n_contexts]) == 0
        x.zero[component[zero]] = np.flatnonzero(zero)

    def _has_doubles(self) -> bool:
        """Whether two contexts of a component have the same exit values."""
        component, start = self.component, self.contexts.value_start[: self.n_contexts]
        exits = self.n_exits[component]
        for count in np.unique(exits):
            own = np.flatnonzero(exits == count)
            values = self.values[start[own, None] + np.arange(count)]
            rows = np.column_stack([component[own], values])
            if len(np.unique(rows, axis=0)) < len(own):
                return True
        return False

    def _check_memory(self, capacity: int, entries: int, values: int) -> None:
        per_context = 8 + 4 + 8 + 4 + 4 * 4
        needed = capacity * per_context + 16 * entries + 8 * values
        # While it is copied, the largest array is there twice.
        if needed + 8 * self.n_pairs > self.memory:
            raise LimitError(self._complaint())

    def _complaint(self) -> str:
        quantum = self._fitting_quantum()
        hint = (
            f"A quantum of {quantum:.1g} would make at most half as many of the same values"
            if quantum
            else "Quantising would not help: the model alone is too large"
        )
        return (
            f"the table of {self.n_contexts} contexts and {self.n_pairs} Q-values takes "
            f"{self.nbytes / 1e6:.3g} MB, and growing it would pass the limit of "
            f"{self.memory / 1e6:.3g} MB. {hint}; or raise memory="
        )

    def _fitting_quantum(self) -> float | None:
        """A quantum with which the contexts met so far would be at most half as many."""
        positive = self.values[self.values > 0]
        if not len(positive) or self.n_contexts < 2:
            return None
        quantum = float(positive.min())
        while quantum < 4 * positive.max():
            quantum *= 2
            if self._count_with(quantum) <= self.n_contexts // 2:
                return quantum
        return None

    def _count_with(self, quantum: float) -> int:
        """How many contexts a quantum leaves; told apart by random projections."""
        weights = np.random.default_rng(0).normal(size=int(self.n_exits.max()))
        exits = self.n_exits[self.component]
        begin = np.cumsum(exits) - exits
        place = np.arange(len(self.values)) - np.repeat(begin, exits)
        keys = np.rint(self.values / quantum) * weights[place]
        return len(np.unique(np.add.reduceat(keys, begin) + np.e * self.component))


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    longer = np.zeros(length, array.dtype)
    kept = min(length, len(array))
    longer[:kept] = array[:kept]
    return longer


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
