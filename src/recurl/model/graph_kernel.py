"""Compiled graph searches over the arrays of a model."""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALL, EXIT, Tables


@numba.njit(cache=True, nogil=True)
def strong_components(start: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, int]:
    """Strongly connected components of a CSR graph, by Tarjan's algorithm without recursion.

    Returns the component of each vertex, numbered so that edges lead to equal or smaller numbers,
    and how many there are.
    """
    n = len(start) - 1
    label = np.full(n, -1, np.int32)
    # One number per vertex tells all that an edge asks of its target: 0 if it is new, the least
    # time of discovery that it leads back to, or `done` if its component is complete.
    low, done = np.zeros(n, np.int32), np.int32(n + 1)
    found = np.empty(n, np.int32)
    edge = start[:-1].copy()
    path = np.empty(n, np.int32)
    pending = np.empty(n, np.int32)
    path_size = pending_size = clock = labels = 0
    for root in range(n):
        if low[root] > 0:
            continue
        path[0] = root
        path_size = 1
        while path_size > 0:
            v = path[path_size - 1]
            if low[v] == 0:
                clock += 1
                found[v] = low[v] = clock
                pending[pending_size] = v
                pending_size += 1
            least, at, new = low[v], edge[v], np.int32(-1)
            while at < start[v + 1]:
                w = target[at]
                if low[w] == 0:
                    new = w
                    break
                least = min(least, low[w])
                at += 1
            low[v], edge[v] = least, at
            if new >= 0:
                path[path_size] = new
                path_size += 1
                continue
            path_size -= 1
            if least == found[v]:
                while True:
                    pending_size -= 1
                    w = pending[pending_size]
                    label[w], low[w] = labels, done
                    if w == v:
                        break
                labels += 1
    return label, labels


@numba.njit(cache=True, nogil=True)
def exit_distances(tables: Tables, order: np.ndarray) -> np.ndarray:
    """Fewest steps in which each vertex can reach each exit of its component; inf if it cannot.

    d(ex, ex) = 0; d((b, en), ex) = min_k d(en, k) + d((b, k), ex); else the minimum over
    transitions of 1 + d(target). Sweeps in the given order of vertices until nothing changes.
    """
    t = tables
    distance = np.full((len(t.vertex_kind), t.n_exits.max()), np.inf)
    changed = True
    while changed:
        changed = False
        for v in order:
            component = t.vertex_component[v]
            for k in range(t.n_exits[component]):
                if t.vertex_kind[v] == EXIT:
                    best = 0.0 if t.vertex_port[v] == k else np.inf
                elif t.vertex_kind[v] == CALL:
                    best = _through_box(t, distance, v, k)
                else:
                    best = np.inf
                    first = t.transition_start[t.action_start[v]]
                    for i in range(first, t.transition_start[t.action_start[v + 1]]):
                        best = min(best, 1.0 + distance[t.target[i], k])
                if best < distance[v, k]:
                    distance[v, k] = best
                    changed = True
    return distance


@numba.njit(cache=True, nogil=True)
def _through_box(t: Tables, distance: np.ndarray, call: int, k: int) -> float:
    box = t.vertex_box[call]
    callee = t.box_component[box]
    entry = t.component_start[callee] + t.vertex_port[call]
    best = np.inf
    for j in range(t.n_exits[callee]):
        best = min(best, distance[entry, j] + distance[t.box_return[box] + j, k])
    return best


@numba.njit(cache=True, nogil=True)
def reachable_vertices(tables: Tables, starts: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Mask of the vertices that some run from the starts can visit."""
    t = tables
    seen = np.zeros(len(t.vertex_kind), np.bool_)
    queue = np.empty(len(t.vertex_kind), np.int32)
    size = 0
    for v in starts:
        seen[v] = True
        queue[size] = v
        size += 1
    done = 0
    while done < size:
        v = queue[done]
        done += 1
        if t.vertex_kind[v] == CALL:
            box = t.vertex_box[v]
            entry = t.component_start[t.box_component[box]] + t.vertex_port[v]
            size = _visit(seen, queue, size, entry)
            for k in range(t.n_exits[t.box_component[box]]):
                if distance[entry, k] < np.inf:
                    size = _visit(seen, queue, size, t.box_return[box] + k)
        elif t.vertex_kind[v] != EXIT:
            first = t.transition_start[t.action_start[v]]
            for i in range(first, t.transition_start[t.action_start[v + 1]]):
                size = _visit(seen, queue, size, t.target[i])
    return seen


@numba.njit(cache=True, nogil=True)
def _visit(seen: np.ndarray, queue: np.ndarray, size: int, vertex: int) -> int:
    if seen[vertex]:
        return size
    seen[vertex] = True
    queue[size] = vertex
    return size + 1
