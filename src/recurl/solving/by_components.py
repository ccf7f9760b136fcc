"""1-exit models that do not fit into memory: solved along the call graph, part by part.

A component refers to others by calls only, and a call is worth what its entry is worth plus what
the return port is worth. So components are solved after those that they call, as many at once as a
limit on memory allows; of those before them, only bounds at entries are kept. A group of components
that call each other is solved together.

With bounds l <= x <= u at the entries that are called, the optimum of a part lies between the
optimum with l and the optimum with u in their place, since it does not fall if one of them rises.
Both are enclosed as in `recurl.solving.one_exit_bounds`, rounding counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from recurl.errors import LimitError, NotProperError
from recurl.model.tables import CALL, NODE, RETURN, runs
from recurl.solving.blocks import Iterate, policy_iteration
from recurl.solving.digraphs import Blocks
from recurl.solving.equations import BYTES, UNIT, Equations
from recurl.solving.one_exit_bounds import enclose, enclose_tightly, step_bounds

if TYPE_CHECKING:
    from recurl.model.tables import Floats, Ints, Tables
    from recurl.solving.one_exit_system import System

DEFAULT_MEMORY = 2 * 10**9


class LargeSolution(NamedTuple):
    """The greatest expected total reward of a large model.

    Attributes:
        lower: It is at least this, at the start.
        upper: It is at most this.
        entry_lower: Lower bound at the entry of each component.
        entry_upper: Upper bound there.
        parts: Number of parts that were solved one after the other.
        largest: Transitions of the largest part.
        seconds: How long it took.
    """

    lower: float
    upper: float
    entry_lower: Floats
    entry_upper: Floats
    parts: int
    largest: int
    seconds: float


@dataclass(eq=False)
class _Part:
    """The equations of some components; has what `one_exit_bounds` reads of a `System`."""

    equations: Equations
    gain: Floats
    size: Floats

    @property
    def n_rows(self) -> int:
        return self.equations.size


def solve_large(
    tables: Tables, *, epsilon: float = 1e-6, memory: int = DEFAULT_MEMORY
) -> LargeSolution:
    """Bound the optimum of a 1-exit model with one entry for each component, part by part.

    Args:
        tables: The model, from `recurl.model.table_folder.open_tables` or `RMDP.tables`.
        epsilon: Width of the bounds of each part.
        memory: Most bytes for the equations of a part, about; pages of mapped files, which the
            system takes back when it needs them, are not counted.

    Raises:
        ValueError: A component has several entries or exits.
        LimitError: Components that call each other take more memory than allowed.
        NotProperError: Some policy may not end.

    Example:
        >>> import recurl
        >>> found = solve_large(recurl.zoo.cloud(exits=1).tables)
        >>> found.lower <= -5.3425 <= found.upper, found.parts
        (True, 1)
    """
    began = time.perf_counter()
    if (tables.n_exits != 1).any() or (tables.n_entries != 1).any():
        raise ValueError("solve_large takes models whose components have one entry and one exit")
    lower = np.full(tables.n_components, np.nan)
    upper = np.full(tables.n_components, np.nan)
    parts = largest = 0
    for components in _parts(tables, memory):
        largest = max(largest, _solve_part(tables, components, (lower, upper), epsilon))
        parts += 1
    start = tables.start_component
    seconds = time.perf_counter() - began
    ends = float(lower[start]), float(upper[start])
    return LargeSolution(*ends, lower, upper, parts, largest, seconds)


def _sizes(t: Tables) -> tuple[Ints, Ints]:
    """First transition of each component, and the number of its transitions."""
    actions = t.action_start[t.component_start]
    first = t.transition_start[actions]
    return first[:-1], np.diff(first)


def _parts(t: Tables, memory: int) -> Iterator[Ints]:
    """Components that are solved together, those that are called before those that call."""
    called = np.argsort(t.box_owner, kind="stable")
    start = np.searchsorted(t.box_owner[called], np.arange(t.n_components + 1)).astype(np.int32)
    groups = Blocks.of(start, t.box_component[called])
    size = BYTES * _sizes(t)[1].astype(np.int64)[groups.order]
    total = np.concatenate([[0], np.cumsum(size)])
    ends, first = groups.start.astype(np.int64), 0
    while first < len(ends) - 1:
        room = total[ends[first]] + memory
        last = int(np.searchsorted(total[ends], room, side="right")) - 1
        if last <= first:
            group = groups.order[ends[first] : ends[first + 1]]
            raise LimitError(
                f"{len(group)} components that call each other, from component {group.min()} on, "
                f"take about {total[ends[first + 1]] - total[ends[first]]:,} bytes, more than "
                f"{memory:,}: allow more memory"
            )
        yield np.sort(groups.order[ends[first] : ends[last]])
        first = last


def _solve_part(t: Tables, components: Ints, entries: tuple[Floats, Floats], epsilon: float) -> int:
    """Solve some components, and write the bounds at their entries; number of transitions."""
    lower, upper, rows, transitions = _Excerpt.of(t, components).parts(entries)
    steps = step_bounds(cast("System", lower))
    if steps is None:
        raise NotProperError(f"runs need not end within components {components[:5].tolist()}, ...")
    it = Iterate.first(lower.equations, (lower.gain + upper.gain) / 2, steps)
    policy_iteration(it, epsilon / (3 * float(steps.max())))
    below = enclose(cast("System", lower), it, steps).lower
    above = enclose(cast("System", upper), it, steps).upper
    if float((above - below).max()) > epsilon:
        below = np.maximum(below, enclose_tightly(cast("System", lower), it, steps).lower)
        above = np.minimum(above, enclose_tightly(cast("System", upper), it, steps).upper)
    entries[0][components], entries[1][components] = below[rows], above[rows]
    return transitions


@dataclass(eq=False)
class _Excerpt:
    """Some components of a model, numbered by themselves.

    Attributes:
        t: The model.
        components: Which ones, ascending.
        first: Number of the first vertex of each, counted here.
        row: Row of each vertex, -1 at exits and call ports.
        action_start: First action of each row.
        action: Action of each transition.
        offset: What is added to vertices of the model, by transition.
        at: Transitions of the model.
    """

    t: Tables
    components: Ints
    first: Ints
    row: Ints
    action_start: Ints
    action: Ints
    offset: Ints
    at: Ints

    @classmethod
    def of(cls, t: Tables, components: Ints) -> _Excerpt:
        begin, end = t.component_start[components], t.component_start[components + 1]
        vertices = runs(begin, end - begin)
        kind = t.vertex_kind[vertices]
        states = (kind == NODE) | (kind == RETURN)
        row = np.where(states, np.cumsum(states) - 1, -1).astype(np.int32)
        first = (np.cumsum(end - begin) - (end - begin)).astype(np.int32)
        own = vertices[states]
        counts = t.action_start[own + 1] - t.action_start[own]
        action_first, action_last = t.action_start[begin], t.action_start[end]
        actions = runs(action_first, action_last - action_first)
        sizes = t.transition_start[actions + 1] - t.transition_start[actions]
        at_first, at_last = t.transition_start[action_first], t.transition_start[action_last]
        return cls(
            t,
            components,
            first,
            row,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            np.repeat(np.arange(len(actions), dtype=np.int32), sizes),
            np.repeat((first - begin).astype(np.int32), at_last - at_first),
            runs(at_first, at_last - at_first),
        )

    def parts(self, entries: tuple[Floats, Floats]) -> tuple[_Part, _Part, Ints, int]:
        """The equations with lower and with upper bounds at entries of components solved before.

        Also the row of each entry, and the number of transitions.
        """
        t, target = self.t, self.t.target[self.at]
        begin = np.flatnonzero(np.diff(self.action, prepend=-1)).astype(np.int64)
        prob, reward = self._closed(begin), self.t.reward[self.at]
        calls = np.flatnonzero(t.vertex_kind[target] == CALL)
        box = t.vertex_box[target[calls]]
        callee = t.box_component[box]
        place = np.full(t.n_components, -1, np.int32)
        place[self.components] = np.arange(len(self.components), dtype=np.int32)
        inner = place[callee] >= 0
        steps = np.flatnonzero(t.vertex_kind[target] == NODE)
        inside = calls[inner]
        column = self.row[
            np.concatenate(
                [
                    target[steps] + self.offset[steps],
                    t.box_return[box] + self.offset[calls],
                    self.first[place[callee[inner]]],
                ]
            )
        ]
        used = np.concatenate([steps, calls, inside])
        equations, order, rank = self._ordered(self.action[used], column, prob[used], begin)
        outer, outside = calls[~inner], callee[~inner]
        made = []
        for values in entries:
            known = np.zeros(len(prob))
            known[outer] = values[outside]
            gain = np.add.reduceat(prob * (reward + known), begin)
            size = np.maximum.reduceat(np.abs(reward) + np.abs(known), begin)
            made.append(_Part(equations, gain[order], size[order]))
        return made[0], made[1], rank[self.row[self.first]], len(prob)

    def _closed(self, begin: npt.NDArray[np.int64]) -> Floats:
        """Probabilities in which the last one of each action is what the others leave."""
        prob = np.array(self.t.prob[self.at])
        last = np.append(begin[1:], len(prob)) - 1
        prob[last] = 0.0
        prob[last] = np.maximum(1.0 - np.add.reduceat(prob, begin), 0.0)
        return prob

    def _ordered(
        self, line: Ints, column: Ints, weight: Floats, begin: npt.NDArray[np.int64]
    ) -> tuple[Equations, Ints, Ints]:
        """Equations whose blocks are in order, their actions as counted here, and new rows."""
        from scipy.sparse import csr_array

        n, count = len(self.action_start) - 1, np.diff(self.action_start)
        matrix = csr_array((weight, (line, column)), shape=(len(begin), n))
        blocks = Blocks.of(matrix.indptr[self.action_start], matrix.indices)
        rank = np.empty(n, np.int32)
        rank[blocks.order] = np.arange(n, dtype=np.int32)
        order = runs(self.action_start[blocks.order], count[blocks.order]).astype(np.int32)
        matrix = matrix[order]
        matrix.indices = rank[matrix.indices]
        matrix.has_sorted_indices = False
        sizes = np.diff(np.append(begin, len(self.at)))[order]
        equations = Equations(
            np.concatenate([[0], np.cumsum(count[blocks.order])]).astype(np.int32),
            matrix,
            order,
            (4 * sizes + 12) * UNIT,
            blocks.start.astype(np.int32),
            blocks.order,
            rank,
        )
        return equations, order, rank
