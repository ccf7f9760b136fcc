"""Points: the vectors of exit values at which a component is solved.

A *context* is one such vector of one component. How the points of a component lie decides how
values in between are bounded from above (all are valid for any points: x(., q) is convex, monotone,
1-Lipschitz in the maximum norm, and moves along with constants):

- LINE, two exits: sorted differences v[0] - v[1]; between neighbours by interpolation.
- MESH, three to five exits: differences to the last exit, cut into simplices (Delaunay); inside a
  simplex by interpolation.
- CLOUD, more exits: any vectors; x(v) <= min_i u_i + max(v - v_i).

Beyond the last points of a line or mesh, the rule of the cloud applies to one of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recurl.model.tables import CALL, RETURN, Floats, Ints, Tables

SINGLE, LINE, MESH, CLOUD = 0, 1, 2, 3
LINE_EXITS, MESH_EXITS = 2, 5
"""Most exits for which points are connected to a line, and to a mesh."""
CORNERS = MESH_EXITS
"""Most contexts that a value in between is made of. Kernels read it off `Points.corner` instead:
once compiled, they are kept as long as their own file stays the same."""


class Points(NamedTuple):
    """All contexts, component by component; kernels take it whole.

    Attributes:
        first: First context of each component. ``[C + 1]``
        anchor: The context of each component whose bound stands by itself; see `Problem.crude`.
        component: Component of each context. ``[X]``
        mode: SINGLE, LINE, MESH or CLOUD. ``[C]``
        vector: Exit values of each context, padded with 0. ``[X, K]``
        slot: First slot of each context; it has one per vertex of its component. ``[X + 1]``
        entry: First entry number of each context; it has one per entry. ``[X + 1]``
        call: First call number of each context; it has one per call port. ``[X + 1]``
        visit: First visit number of each context; one per entry and call port. ``[X + 1]``
        call_vertex: First call port of each component. ``[C]``
        cells: First simplex of each component. ``[C + 1]``
        corner: Contexts at the corners of each simplex. ``[S, D + 1]``
        neighbour: Simplex across from each corner, or -1. ``[S, D + 1]``
        barycentric: Maps differences to the first D weights; see `scipy.spatial.Delaunay`.
    """

    first: Ints
    anchor: Ints
    component: Ints
    mode: Ints
    vector: Floats
    slot: np.ndarray
    entry: np.ndarray
    call: np.ndarray
    visit: np.ndarray
    call_vertex: Ints
    cells: Ints
    corner: Ints
    neighbour: Ints
    barycentric: Floats


def make_points(
    tables: Tables, vectors: list[Floats], anchors: list[Floats] | None = None
) -> Points:
    """Points from the vectors of each component; all of them clouds if there are no anchors."""
    t = tables
    first = _starts([len(v) for v in vectors])
    calls, ports = (_count(t, kind) for kind in (CALL, RETURN))
    component = np.repeat(np.arange(t.n_components), np.diff(first))
    padded = np.zeros((len(component), t.max_exits))
    for c, rows in enumerate(vectors):
        padded[first[c] : first[c + 1], : rows.shape[1]] = rows
    modes = zip(t.n_exits.tolist(), map(len, vectors), strict=True)
    mode = [_mode(exits, count) if anchors else CLOUD for exits, count in modes]
    places = [_closest(*pair) for pair in zip(vectors, anchors or vectors, strict=True)]
    meshes = [
        _mesh(rows, int(first[c])) if mode[c] == MESH else _no_mesh()
        for c, rows in enumerate(vectors)
    ]
    return Points(
        first.astype(np.int32),
        (first[:-1] + places).astype(np.int32),
        component.astype(np.int32),
        np.array(mode, np.int32),
        padded,
        _starts(np.diff(t.component_start)[component]),
        _starts(t.n_entries[component]),
        _starts(calls[component]),
        _starts((t.n_entries * calls)[component]),
        (t.component_start[:-1] + (np.diff(t.component_start) - ports - calls)).astype(np.int32),
        *_joined(meshes),
    )


def _starts(sizes: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Where each of some blocks begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _count(t: Tables, kind: int) -> Ints:
    """Vertices of a kind in each component."""
    owner = t.vertex_component[t.vertex_kind == kind]
    return np.bincount(owner, minlength=t.n_components).astype(np.int32)


def _closest(vectors: Floats, anchor: Floats) -> int:
    """Which of some vectors an anchor is, constants apart; the first if there is none."""
    if anchor.ndim != 1:
        return 0
    apart = np.ptp(vectors - anchor, axis=1)
    return int(apart.argmin())


def _mode(exits: int, count: int) -> int:
    if exits > 2:
        return MESH if exits <= MESH_EXITS and count > exits else CLOUD
    return SINGLE if exits == 1 else LINE


def _no_mesh() -> tuple[Ints, Ints, Floats]:
    wide = MESH_EXITS
    none = np.zeros((0, wide), np.int32)
    return none, none, np.zeros((0, wide, wide - 1))


def _mesh(rows: Floats, first: int) -> tuple[Ints, Ints, Floats]:
    """Corners, neighbours and barycentric maps of the simplices between vectors, padded."""
    axes = rows.shape[1] - 1
    mesh = _triangulated(rows[:, :axes] - rows[:, axes:])
    count = len(mesh.simplices)
    corner = np.full((count, MESH_EXITS), -1, np.int32)
    neighbour = np.full((count, MESH_EXITS), -1, np.int32)
    barycentric = np.zeros((count, MESH_EXITS, MESH_EXITS - 1))
    corner[:, : axes + 1] = mesh.simplices + first
    neighbour[:, : axes + 1] = mesh.neighbors
    barycentric[:, : axes + 1, :axes] = _barycentric(mesh.points[mesh.simplices])
    return corner, neighbour, barycentric


def _triangulated(places: Floats) -> Any:
    """Simplices between places; if some are too close to tell them apart, as if slightly moved."""
    from scipy.spatial import Delaunay, QhullError

    try:
        return Delaunay(places)
    except QhullError:
        return Delaunay(places, qhull_options="Qbb Qc QJ")


def _barycentric(corners: Floats) -> Floats:
    """The inverse of (corner_i - last corner) for each simplex, then the last corner itself.

    Flat simplices have none: their rows are nan, and no point lies in them.
    """
    edges = np.swapaxes(corners[:, :-1] - corners[:, -1:], 1, 2)
    size = np.abs(edges).max(axis=(1, 2), initial=0.0)
    solid = np.abs(np.linalg.det(edges)) > 1e-13 * size ** edges.shape[1]
    inverse = np.full_like(edges, np.nan)
    inverse[solid] = np.linalg.inv(edges[solid])
    return np.concatenate([inverse, corners[:, -1:]], axis=1)


def _joined(meshes: list[tuple[Ints, Ints, Floats]]) -> tuple[Ints, Ints, Ints, Floats]:
    """The meshes of all components in a row, neighbours numbered across."""
    cells = np.concatenate([[0], np.cumsum([len(m[0]) for m in meshes])]).astype(np.int32)
    neighbours = [np.where(m[1] >= 0, m[1] + cells[c], -1) for c, m in enumerate(meshes)]
    return (
        cells,
        np.concatenate([m[0] for m in meshes]),
        np.concatenate(neighbours).astype(np.int32),
        np.concatenate([m[2] for m in meshes]),
    )


def arranged(vectors: Floats, *, connected: bool) -> Floats:
    """Vectors in the order and form that their number of exits asks for, no two alike."""
    exits = vectors.shape[1]
    if exits == 1:
        return np.zeros((1, 1))
    if exits > MESH_EXITS or not connected:
        return _distinct(vectors - vectors.min(axis=1, keepdims=True))
    differences = vectors - vectors[:, -1:]
    if exits == 2:
        differences = differences[np.argsort(differences[:, 0])]
    return _distinct(differences)


def _distinct(vectors: Floats) -> Floats:
    scale = 1e-12 * (1.0 + float(np.abs(vectors).max()))
    _, index = np.unique(np.round(vectors / scale), axis=0, return_index=True)
    chosen: Floats = vectors[np.sort(index)]
    return chosen


def slot_vertices(tables: Tables, points: Points) -> Ints:
    """Vertex of each slot."""
    first = tables.component_start[points.component]
    sizes = np.diff(points.slot)
    inside = np.arange(int(points.slot[-1])) - np.repeat(points.slot[:-1], sizes)
    vertices: Ints = (np.repeat(first, sizes) + inside).astype(np.int32)
    return vertices


def entry_slots(points: Points) -> np.ndarray:
    """Slot of each entry of each context."""
    count = np.diff(points.entry)
    inside = np.arange(points.entry[-1]) - np.repeat(points.entry[:-1], count)
    slots: np.ndarray = np.repeat(points.slot[:-1], count) + inside
    return slots


def entry_values(points: Points, values: Floats) -> Floats:
    """The entries' share of values by slot."""
    picked: Floats = values[entry_slots(points)]
    return picked


def call_slots(tables: Tables, points: Points) -> np.ndarray:
    """Slot of each call number."""
    slots: np.ndarray = np.flatnonzero(tables.vertex_kind[slot_vertices(tables, points)] == CALL)
    return slots
