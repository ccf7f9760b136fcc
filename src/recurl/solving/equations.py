"""Optimality equations ``x = max(g + P x)`` of a model, as one sparse matrix.

Rows are the states of a model; every action of a row is a line of the matrix P. A call of a
component with one exit is replaced by the sum ``x(entry) + x(return port)`` that it stands for. A
call port of a component with several exits has a row of its own, with one action for each exit:
``x(entry) + x(return port k)``, the most that a call can be worth. Exits are worth 0. Rows refer to
rows of their own block or of earlier blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recurl.linear.systems import LARGE
from recurl.model.graphs import vertex_graph
from recurl.model.tables import CALL, CALLS, EXITS, Floats, Ints, Mask, Tables, runs
from recurl.solving.budget import require_memory
from recurl.solving.digraphs import Blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BYTES = 160
"""Memory that a transition takes while its equations are solved, measured; vertices included."""
UNIT = 2.0**-53
"""Relative error of one rounded operation."""
_SOON = 0.04
"""Probability to leave with which sweeps are quick."""


class Equations(NamedTuple):
    """``x(row) = max over its actions of gain(action) + sum weight x(column)``.

    Attributes:
        action_start: First action of each row. ``[n + 1]``
        matrix: Weights by action and row, all positive. ``[A, n]``
        source: Action of the model behind each action; -1 for an exit of a call. ``[A]``
        error: Relative error of evaluating an action in floats. ``[A]``
        block_start: First row of each strongly connected block; one more at the end.
        vertex: Vertex of each row. ``[n]``
        row: Row of each vertex, -1 if it has none. ``[V]``
    """

    action_start: Ints
    matrix: csr_array
    source: Ints
    error: Floats
    block_start: Ints
    vertex: Ints
    row: Ints

    @classmethod
    def of(cls, t: Tables, prob: Floats, within: Mask | None = None) -> Equations:
        """Order the states by blocks that depend on each other, and write down their rows.

        Args:
            t: The arrays of a model.
            prob: Probability of each transition.
            within: Vertices to leave out are False; the others must not lead there.
        """
        require_memory(BYTES * t.n_transitions, f"{t.n_transitions:,} transitions as equations")
        states, exits = t.states, _exits_called(t)
        blocks = _one_block(t, prob) or Blocks.of(*_vertex_graph(t, exits))
        count = np.where(states, np.diff(t.action_start), exits)
        kept = states | (count > 1)
        if within is not None:
            kept = kept & within
        order = blocks.order[kept[blocks.order]]
        row = np.full(t.n_vertices, -1, np.int32)
        row[order] = np.arange(len(order), dtype=np.int32)
        label = blocks.label[order]
        begins = np.flatnonzero(label[1:] != label[:-1]) + 1
        action_start = np.zeros(len(order) + 1, np.int32)
        np.cumsum(count[order], out=action_start[1:])
        first, ports = t.action_start[:-1], np.flatnonzero(exits > 1)
        if len(ports):  # their actions are numbered after those of the model
            first = first.copy()
            first[ports] = t.n_actions + np.cumsum(exits[ports]) - exits[ports]
        source = runs(first[order], count[order]).astype(np.int32, copy=False)
        matrix = _matrix(t, row, exits, source, prob)
        if t.n_boxes and len(order) < LARGE:
            matrix.sum_duplicates()  # for eliminations
        source[source >= t.n_actions] = -1
        return cls(
            action_start,
            matrix,
            source,
            # With k transitions: k roundings in the last probability, up to 2 k + 2 in the sum.
            (4 * np.append(np.diff(t.transition_start), 2)[source] + 8) * UNIT,
            np.concatenate([np.zeros(int(len(order) > 0)), begins, [len(order)]]).astype(np.int32),
            order,
            row,
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.vertex)

    def graph(self) -> csr_array:
        """Which rows each row refers to, by any action."""
        start = self.matrix.indptr[self.action_start]
        parts = (self.matrix.data, self.matrix.indices, start)
        return type(self.matrix)(parts, shape=(self.size, self.size))

    def only(self, keep: Mask) -> Equations:
        """The equations of whole blocks that do not refer to others."""
        actions = self.owners(keep)
        sizes = np.add.reduceat(keep.astype(np.int32), self.block_start[:-1])
        row = np.full(len(self.row), -1, np.int32)
        row[self.vertex[keep]] = np.arange(np.count_nonzero(keep), dtype=np.int32)
        count = np.diff(self.action_start)[keep]
        return Equations(
            np.concatenate([[0], np.cumsum(count)]).astype(np.int32),
            self.matrix[actions][:, keep],
            self.source[actions],
            self.error[actions],
            np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int32),
            self.vertex[keep],
            row,
        )

    def without_loops(self) -> tuple[Equations, Floats]:
        """The same solutions with rows that do not refer to themselves, and a factor for gains.

        Loops that are surely taken again stay, as nothing leads out of them.
        """
        matrix = self.matrix
        count = np.diff(matrix.indptr)
        row = np.repeat(self.owners(np.arange(self.size, dtype=np.int32)), count)
        loops = np.flatnonzero(matrix.indices == row)
        if len(loops) == 0:
            return self, np.ones(len(self.error))
        action = np.searchsorted(matrix.indptr, loops, side="right") - 1
        again: Floats = np.bincount(action, matrix.data[loops], len(self.error)).astype(np.float64)
        again[again >= 1.0] = 0.0
        scale: Floats = 1.0 / (1.0 - again)
        kept = np.ones(len(row), np.bool_)
        kept[loops[again[action] > 0.0]] = False
        before = np.zeros(len(row) + 1, np.int32)
        np.cumsum(kept, out=before[1:])
        weight = (matrix.data * np.repeat(scale, count))[kept]
        parts = weight, matrix.indices[kept], before[matrix.indptr]
        free = type(matrix)(parts, shape=matrix.shape)
        return self._replace(matrix=free), scale

    def lines(self, first: int, last: int) -> csr_array:
        """The matrix of the actions from ``first`` to ``last``, sharing its memory."""
        matrix = self.matrix
        if last - first == matrix.shape[0]:
            return matrix
        begin, end = matrix.indptr[first], matrix.indptr[last]
        start = matrix.indptr[first : last + 1] - begin
        part = (matrix.data[begin:end], matrix.indices[begin:end], start)
        return type(matrix)(part, shape=(last - first, self.size))

    def by_action(self, value: Floats, missing: float = 0.0) -> Floats:
        """Values of the model's actions in the order of these equations."""
        return np.append(value, missing)[self.source]

    def owners(self, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of rows, repeated for each of their actions."""
        return np.repeat(value, np.diff(self.action_start))

    def most(self, value: Floats) -> Floats:
        """Greatest value of an action of each row."""
        most: Floats = np.maximum.reduceat(value, self.action_start[:-1])
        return most

    def reach(self, size: Floats) -> Floats:
        """Upper bounds, by action, on the sizes that it refers to: those up to the block's end."""
        ends = np.maximum.accumulate(size)[self.block_start[1:] - 1]
        rows = np.repeat(ends, np.diff(self.block_start))
        return self.owners(rows)

    def greatest_sum(self) -> float:
        """The greatest sum of weights of an action."""
        return float(np.max((self.matrix @ np.ones(self.size)), initial=0.0))


def closed_probabilities(t: Tables) -> Floats:
    """Probabilities in which the last one of each action is what the others leave."""
    prob, last = t.prob.copy(), t.transition_start[1:] - 1
    prob[last] = 0.0
    prob[last] = np.maximum(1.0 - by_actions(t, prob), 0.0)
    return prob


def by_actions(t: Tables, value: Floats) -> Floats:
    """Sums of numbers of transitions, by action."""
    sums: Floats = np.add.reduceat(value, t.transition_start[:-1])
    return sums


def expected_rewards(t: Tables, prob: Floats, reward: Floats) -> tuple[Floats, Floats]:
    """Expected reward of each action of the model, and its greatest size."""
    begin = t.transition_start[:-1]
    return by_actions(t, prob * reward), np.maximum.reduceat(np.abs(reward), begin)


def _exits_called(t: Tables) -> Ints:
    """Number of exits of the component that each call port calls, 0 at other vertices."""
    if t.n_boxes == 0:
        return np.zeros(t.n_vertices, np.int32)
    callee = np.append(t.box_component, 0)[t.vertex_box]
    return np.where(t.vertex_kind == CALL, t.n_exits[callee], 0)


def _one_block(t: Tables, prob: Floats) -> Blocks | None:
    """All vertices as one block, if there are many, and each action leaves soon; else None.

    Sweeps over all of them are quick then, whatever the blocks are.
    """
    if t.n_vertices < LARGE or t.n_boxes:
        return None
    leaves = t.move == EXITS
    if np.count_nonzero(leaves) < t.n_actions or by_actions(t, leaves * prob).min() < _SOON:
        return None
    every = np.arange(t.n_vertices, dtype=np.int32)
    return Blocks(np.zeros_like(every), every, np.array([0, t.n_vertices], np.int32))


def _vertex_graph(t: Tables, exits: Ints) -> tuple[Ints, Ints]:
    """CSR graph: states refer to their targets, call ports to the entry and to all returns."""
    calls = np.flatnonzero(exits)
    back = runs(t.box_return[t.vertex_box[calls]], exits[calls])
    return vertex_graph(t, np.repeat(calls, exits[calls]), back)


def _matrix(t: Tables, row: Ints, exits: Ints, source: Ints, prob: Floats) -> csr_array:
    """Lines of actions in an order; exits of call ports are numbered after the model's actions."""
    columns, start = row[t.target], t.transition_start
    back: Ints = np.full(len(columns) if t.n_boxes else 0, -1, np.int32)
    if t.n_boxes:
        calls = np.flatnonzero((columns < 0) & (t.move == CALLS))
        columns[calls] = row[t.landing[calls]]
        back[calls] = row[t.box_return[t.vertex_box[t.target[calls]]]]
    ports = np.flatnonzero(exits > 1)
    if len(ports):
        entry = np.repeat(row[t.entry_of_call(ports)], exits[ports])
        columns = np.append(columns, entry)
        back = np.append(back, row[runs(t.box_return[t.vertex_box[ports]], exits[ports])])
        start = np.append(start, start[-1] + np.arange(1, len(entry) + 1, dtype=np.int32))
        prob = np.append(prob, np.ones(len(entry)))
    never = np.flatnonzero(prob <= 0)
    if len(never):
        columns[never] = -1
        back[never if len(back) else []] = -1
    size = int(row.max(initial=-1)) + 1
    return lines_of(start, source, columns, prob, size, back if len(back) else None)


def lines_of(
    start: Ints, source: Ints, column: Ints, weight: Floats, size: int, back: Ints | None = None
) -> csr_array:
    """A matrix of actions in an order.

    Args:
        start: First transition of each action, and one more at the end.
        source: The actions, in the order of the lines.
        column: Column that each transition refers to, -1 for none. ``[T]``
        weight: Weight of each transition. ``[T]``
        size: Number of columns.
        back: Another column, where transitions call; else -1.
    """
    from scipy.sparse import csr_array

    begin = start[source]
    count = start[source + 1] - begin
    ends = np.zeros(len(source) + 1, np.int32)
    np.cumsum(count, out=ends[1:])
    place = np.repeat(begin - ends[:-1], count)
    place += np.arange(len(place), dtype=np.int32)
    column, weight = column[place], weight[place]
    used = column >= 0
    before = np.zeros(len(column) + 1, np.int32)
    if back is not None:
        back = back[place]
        calls = np.flatnonzero(back >= 0)
        entries = used.view(np.int8)
        entries[calls] += np.int8(1)
        np.cumsum(entries, out=before[1:])
        column, weight = np.repeat(column, entries), np.repeat(weight, entries)
        ends = before[ends]
        column[before[calls + 1] - 1] = back[calls]
    elif not used.all():
        np.cumsum(used, out=before[1:])
        column, weight, ends = column[used], weight[used], before[ends]
    matrix: csr_array = csr_array((weight, column, ends), shape=(len(source), size))
    return matrix
