"""Graph searches over the arrays of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.model.tables import CALL, EXIT, Floats, Ints, Mask, Tables, runs

if TYPE_CHECKING:
    from collections.abc import Iterable

_SWEEPS = 50
"""Sweeps over all vertices that cost less than searching a large model by distance."""
_FEW, _MANY = 60, 1000
"""Vertices of small graphs, which are searched without scipy: importing it takes far longer."""


def strong_components(start: np.ndarray, target: np.ndarray) -> tuple[Ints, int]:
    """Strongly connected components of a graph in compressed rows.

    Returns the component of each vertex, numbered so that edges lead to equal or smaller numbers,
    and how many there are.

    Example:
        >>> label, count = strong_components(np.array([0, 1, 3, 3]), np.array([1, 0, 2]))
        >>> label.tolist(), count
        ([1, 1, 0], 2)
    """
    n = len(start) - 1
    if n <= _FEW:
        return _few_components(start, target)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(target), np.int8), target, start), shape=(n, n))
    count, label = connected_components(graph, directed=True, connection="strong")
    return label.astype(np.int32), int(count)


def _few_components(start: np.ndarray, target: np.ndarray) -> tuple[Ints, int]:
    """The same by all pairs of vertices, one of which leads to the other."""
    n = len(start) - 1
    leads = np.eye(n, dtype=np.float32)
    leads[np.repeat(np.arange(n), np.diff(start)), target] = 1.0
    for _ in range(n.bit_length()):
        leads = np.minimum(leads @ leads, 1.0)
    # What leads to a component leads to more vertices than the component does.
    first = np.argmax(leads * leads.T, axis=1) if n else np.zeros(0, np.int64)
    key = leads.sum(axis=1).astype(np.int64) * n + first
    found, label = np.unique(key, return_inverse=True)
    return label.astype(np.int32), len(found)


def exit_distances(tables: Tables, groups: Iterable[tuple[int, ...]]) -> Floats:
    """Fewest steps in which each vertex can reach each exit of its component; inf if it cannot.

    d(ex, ex) = 0; d((b, en), ex) = min_k d(en, k) + d((b, k), ex); else the minimum over
    transitions of 1 + d(target).

    Args:
        tables: The model.
        groups: Components that call each other, callees before callers.
    """
    t = tables
    distance, done = _swept_distances(t)
    if done:
        return distance
    calls = np.flatnonzero(t.vertex_kind == CALL)
    step_from = np.repeat(t.action_vertex, np.diff(t.transition_start))
    for members in _by_height(t, groups):
        mine = np.isin(t.vertex_component, members)
        own = np.flatnonzero(mine)
        local = np.full(t.n_vertices, -1)
        local[own] = np.arange(len(own))
        inside = mine[step_from]
        steps = _back(len(own), local[step_from[inside]], local[t.target[inside]])
        steps.data[:] = 1.0
        own_calls = calls[mine[calls]]
        entry = t.entry_of_call(own_calls)
        while True:
            before = distance[entry]
            leave, arrive, length = _through_boxes(t, own_calls, before)
            boxes = _back(len(own), local[leave], local[arrive], length)
            distance[own] = _to_exits(t, own, steps + boxes)
            if np.array_equal(before, distance[entry]):
                break
    return distance


def _swept_distances(t: Tables) -> tuple[Floats, bool]:
    """Distances by sweeps over all vertices, and whether that was enough: if none are long."""
    distance = np.full((t.n_vertices, t.max_exits), np.inf)
    exits, calls = (np.flatnonzero(t.vertex_kind == kind) for kind in (EXIT, CALL))
    distance[exits, t.vertex_port[exits]] = 0.0
    states = np.flatnonzero(np.diff(t.action_start))
    first = t.transition_start[t.action_start[states]]
    entry = t.entry_of_call(calls)
    places = np.arange(t.max_exits)
    inside = places < t.n_exits[t.vertex_component[entry]][:, None]
    returns = np.where(inside, t.box_return[t.vertex_box[calls]][:, None] + places, 0)
    for _ in range(_SWEEPS):
        steps = 1.0 + np.minimum.reduceat(distance[t.target], first, axis=0)
        through = np.where(inside, distance[entry], np.inf)[:, :, None] + distance[returns]
        boxes = through.min(axis=1, initial=np.inf)
        if np.array_equal(steps, distance[states]) and np.array_equal(boxes, distance[calls]):
            return distance, True
        distance[states], distance[calls] = steps, boxes
    return distance, False


def _back(size: int, leave: np.ndarray, arrive: np.ndarray, length: Any = None) -> Any:
    """Edges against their direction; those between the same vertices are added."""
    from scipy.sparse import coo_array

    length = np.ones(len(leave)) if length is None else length
    return coo_array((length, (arrive, leave)), shape=(size, size)).tocsr()


def _by_height(t: Tables, groups: Iterable[tuple[int, ...]]) -> list[list[int]]:
    """Components by the height of their groups in the call graph, the lowest first."""
    height = np.zeros(t.n_components, np.int64)
    called: list[set[int]] = [set() for _ in range(t.n_components)]
    for owner, callee in zip(t.box_owner.tolist(), t.box_component.tolist(), strict=True):
        called[owner].add(callee)
    levels: list[list[int]] = []
    for group in groups:
        others = [d for c in group for d in called[c] if d not in group]
        own = 1 + max((int(height[d]) for d in others), default=-1)
        height[list(group)] = own
        levels += [[] for _ in range(own + 1 - len(levels))]
        levels[own] += group
    return levels


def _through_boxes(t: Tables, calls: np.ndarray, steps: Floats) -> tuple[Any, Any, Floats]:
    """Ways from call ports to return ports, and how long they are, where there is one."""
    i, k = np.nonzero(np.isfinite(steps))
    return calls[i], t.box_return[t.vertex_box[calls[i]]] + k, steps[i, k]


def _to_exits(t: Tables, own: np.ndarray, back: Any) -> Floats:
    """Lengths of the shortest ways from vertices to the exits of their components."""
    from scipy.sparse.csgraph import dijkstra

    found = np.full((len(own), t.max_exits), np.inf)
    exits = t.vertex_kind[own] == EXIT
    for k in range(t.max_exits):
        sources = np.flatnonzero(exits & (t.vertex_port[own] == k))
        if len(sources):
            found[:, k] = dijkstra(back, directed=True, indices=sources, min_only=True)
    return found


def vertex_graph(tables: Tables, leave: np.ndarray, arrive: np.ndarray) -> tuple[Ints, Ints]:
    """Compressed rows of the vertices that follow each vertex.

    Args:
        tables: The model.
        leave: Call ports, ascending; each may be listed several times, or not at all.
        arrive: Return ports that follow them.

    Returns:
        First edge of each vertex, and where the edges lead: from states to their targets, from call
        ports to the entry called, and as listed.
    """
    t = tables
    begin = t.transition_start[t.action_start]
    calls = np.flatnonzero(t.vertex_kind == CALL)
    if len(calls) == 0:
        return begin, t.target
    back = np.bincount(leave, minlength=t.n_vertices)[calls]
    size = np.diff(begin)
    size[calls] = 1 + back
    start = np.concatenate([[0], np.cumsum(size)]).astype(np.int32)
    moves = np.ones(start[-1], np.bool_)
    moves[runs(start[calls], size[calls])] = False
    target = np.empty(start[-1], np.int32)
    target[moves] = t.target
    target[start[calls]] = t.entry_of_call(calls)
    target[runs(start[calls] + 1, back)] = arrive
    return start, target


def reachable_vertices(tables: Tables, starts: np.ndarray, distance: Floats) -> Mask:
    """Mask of the vertices that some run from the starts can visit."""
    t, n = tables, tables.n_vertices
    calls = np.flatnonzero(t.vertex_kind == CALL)
    leave, arrive, _ = _through_boxes(t, calls, distance[t.entry_of_call(calls)])
    start, target = vertex_graph(t, leave, arrive)
    if n <= _MANY:
        return _swept(start, target, starts)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    target = np.append(target, starts)
    edges = (np.ones(len(target)), target, np.append(start, len(target)))
    seen = np.zeros(n + 1, bool)
    graph = csr_array(edges, shape=(n + 1, n + 1))
    seen[breadth_first_order(graph, n, return_predecessors=False)] = True
    return seen[:-1]


def _swept(start: np.ndarray, target: np.ndarray, starts: np.ndarray) -> Mask:
    """Vertices that starts lead to, by sweeps over what follows those found last."""
    seen = np.zeros(len(start) - 1, np.bool_)
    new = starts
    while len(new):
        seen[new] = True
        next_ = target[runs(start[new], start[new + 1] - start[new])]
        new = np.unique(next_[~seen[next_]])
    return seen
