"""Directed graphs in compressed rows: what refers to what, what leads where, strong components.

The functions of scipy do the work. What they spend on converting their arguments takes longer than
the search of a graph with a thousand edges, so they get matrices of the right type, in which every
edge stands once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import Ints, Mask
from recurl.solving.outward import Indices

if TYPE_CHECKING:
    from scipy.sparse import coo_array, csr_array

_FEW = 48


def transposed(start: Ints, target: Ints, size: int) -> tuple[Ints, Ints]:
    """The rows that refer to each of some targets, ascending: first place of each, and rows.

    Example:
        >>> start, row = transposed(np.array([0, 2, 3], np.int32), np.array([1, 2, 1], np.int32), 3)
        >>> start.tolist(), row.tolist()
        ([0, 0, 2, 3], [0, 1, 0])
    """
    from scipy.sparse import csr_array

    parts = np.ones(len(target), np.int8), target, start
    turned = csr_array(parts, shape=(len(start) - 1, size)).tocsc()
    return turned.indptr, turned.indices


def grouped(label: Ints, count: int) -> tuple[Ints, Ints]:
    """First place of each label, and one more at the end; and what has the labels, in order."""
    first = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(label, minlength=count), out=first[1:])
    return first, np.argsort(label, kind="stable").astype(np.int32)


def each_once(start: Ints, target: Ints) -> tuple[Ints, Ints]:
    """A graph without the edges that stand twice, given that the targets of each row ascend."""
    new = np.empty(len(target) + 1, np.bool_)
    new[-1] = True
    np.not_equal(target[1:], target[:-1], out=new[1:-1])
    new[start[:-1]] = True
    new = new[:-1]
    if new.all():
        return start, target
    count = np.zeros(len(target) + 1, np.int32)
    np.cumsum(new, out=count[1:])
    return count[start], target[new]


def graph_of(start: Ints, target: Ints) -> csr_array:
    """A graph in the form in which scipy searches it as it is; lengths of edges mean nothing."""
    from scipy.sparse import csr_array

    n = len(start) - 1
    return csr_array((np.ones(len(target)), target, start), shape=(n, n))


class Blocks(NamedTuple):
    """Strongly connected components of equations, in an order that solves them.

    Attributes:
        label: Block of each unknown.
        order: Unknowns, block by block.
        start: First position of each block in ``order``; one more at the end.
    """

    label: Ints
    order: Ints
    start: Ints

    @classmethod
    def of(cls, start: Ints, target: Ints) -> Blocks:
        """The blocks of a CSR graph: what a block refers to comes with it or before it."""
        count, label = blocks_of_reversed(*transposed(start, target, len(start) - 1))
        first, order = grouped(label, count)
        return cls(label, order, first)


def blocks_of_reversed(start: Ints, source: Ints) -> tuple[int, Ints]:
    """Number of blocks, and the block of each vertex, of a graph given by what leads where.

    Labels ascend: what a block refers to has the same label, or a lower one.
    """
    from scipy.sparse.csgraph import connected_components

    # The search of scipy does not end on edges that stand twice.
    graph = graph_of(*each_once(start, source))
    # Labels count components in the order in which the search completes them, sinks first.
    count, label = connected_components(graph, connection="strong")
    return count, np.int32(count - 1) - label


def led_by(start: Ints, source: Ints, goal: Indices) -> tuple[Ints, Ints]:
    """Vertices that lead to goals, the nearest first, by what leads where; and the next of each.

    The next vertex on a shortest way is the number of vertices at goals, and negative where no way
    leads to a goal.
    """
    from scipy.sparse.csgraph import breadth_first_order

    n = len(start) - 1
    index = np.concatenate([source, goal.astype(np.int32, copy=False)])
    graph = graph_of(np.append(start, np.int32(len(index))), index)
    order, after = breadth_first_order(graph, n)
    return order[1:], after[:-1]


def can_reach(matrix: coo_array | csr_array, goal: Mask) -> Mask:
    """Rows from which entries of a square matrix lead to rows of a set."""
    if goal.all() or not goal.any():
        return goal.copy()
    back = matrix.tocsc()
    start, source = (each.astype(np.int32, copy=False) for each in (back.indptr, back.indices))
    return led_by(start, source, np.flatnonzero(goal))[1] >= 0


def reaching(start: Indices, target: Indices, goal: Mask) -> Mask:
    """Vertices of a graph, given by its edges, from which a goal can be reached; goals included."""
    n = len(goal)
    if n <= _FEW:
        return _few_reaching(start, target, goal)
    from scipy.sparse import coo_array

    edges = coo_array((np.ones(len(start), np.int8), (start, target)), shape=(n, n))
    return can_reach(edges, goal)


def _few_reaching(start: Indices, target: Indices, goal: Mask) -> Mask:
    """The same for few vertices, where sparse matrices take longer to build than to search."""
    leads = np.zeros((len(goal), len(goal)), np.bool_)
    leads[start, target] = True
    found, count = goal.copy(), -1
    while count < (count := int(np.count_nonzero(found))):
        found |= leads[:, found].any(axis=1)
    return found
