"""Points: the vectors of exit values at which a component is solved.

A *context* is one such vector of one component. How the points of a component lie decides how
values in between are bounded from above (all are valid for any points: x(., q) is convex, monotone,
1-Lipschitz in the maximum norm, and moves along with constants):

- `Line`, two exits: sorted differences v[0] - v[1]; between neighbours by interpolation.
- `Mesh`, three to five exits: differences to the last exit, cut into simplices (Delaunay); inside a
  simplex by interpolation.
- `Hull`, six to sixteen exits: any vectors, mixed as a linear program finds best.
- `Cloud`, more exits: any vectors; x(v) <= min_i u_i + max(v - v_i).

Beyond the last points of a line or mesh, the rule of the cloud applies to the nearest of them, and
everywhere to the *anchor*, whose bound stands by itself (`Problem.crude`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from recurl.model.tables import Floats

LINE_EXITS, MESH_EXITS, HULL_EXITS = 2, 5, 16
"""Most exits for which points are connected to a line, to a mesh, and mixed by linear programs."""
_TOUCHING = 1e-12
"""How far beyond a face counts as on it."""
_CHUNK = 4_000_000
"""Numbers that a table of differences may have."""
_MANY, _AT_ONCE = 5, 20_000
"""Exits from which on a table of all differences is quicker than one exit after the other, and its
most numbers."""


class Bound(NamedTuple):
    """Upper bounds at some vectors of exit values, for every entry, and what they are made of.

    Attributes:
        value: The bounds. ``[n, E]``
        nodes: Contexts whose values are mixed; -1 in unused places. ``[n, E, J]``
        weights: Their convex weights. ``[n, E, J]``
        share: How the bounds move with the exit values: distributions. ``[n, E, K]``
    """

    value: Floats
    nodes: np.ndarray
    weights: Floats
    share: Floats


@dataclass(eq=False)
class Cloud:
    """Points that are not connected.

    Attributes:
        vectors: Exit values of each context. ``[X, K]``
        anchor: The context whose bound stands by itself.
    """

    vectors: Floats
    anchor: int = 0

    corners = 1

    def __len__(self) -> int:
        return len(self.vectors)

    def bound(self, u: Floats, v: Floats, hint: np.ndarray | None = None) -> Bound:
        """Upper bounds at vectors v, if the entries have values u in the contexts.

        Args:
            u: Values of the entries in each context. ``[X, E]``
            v: Vectors. ``[n, K]``
            hint: Where earlier vectors were found (see `no_hint`); updated.
        """
        nodes, value = self.nearest(u, v)
        share = self._farthest(nodes, v)
        return Bound(value, nodes[:, :, None], np.ones((*nodes.shape, 1)), share)

    def no_hint(self, n: int, entries: int) -> np.ndarray:
        """Nothing known yet of where a number of vectors are found: -1 for each."""
        return np.full(n, -1)

    def cells(self, v: Floats) -> np.ndarray:
        """A number for each of some vectors, equal for those between the same points."""
        return np.arange(len(v))

    def nearest(self, u: Floats, v: Floats) -> tuple[np.ndarray, Floats]:
        """For each vector and entry, the context with the least u_i + max(v - v_i)."""
        n, entries = len(v), u.shape[1]
        nodes, value = np.empty((n, entries), np.int64), np.empty((n, entries))
        rows = max(1, _CHUNK // (len(self) * max(entries, v.shape[1])))
        for i in range(0, n, rows):
            part = slice(i, min(n, i + rows))
            rise = self.rises(v[part])
            for entry in range(entries):
                total = rise + u[:, entry]
                nodes[part, entry] = best = total.argmin(axis=1)
                value[part, entry] = total[np.arange(len(best)), best]
        return nodes, value

    def least(self, u: Floats, v: Floats) -> Floats:
        """The least u_i + max(v - v_i) for each vector and entry: ``[n, E]``."""
        rows = max(1, _CHUNK // (len(self) * u.shape[1]))
        parts = [
            (self.rises(v[i : i + rows])[:, :, None] + u).min(axis=1)
            for i in range(0, max(len(v), 1), rows)
        ]
        return np.concatenate(parts)

    def rises(self, v: Floats) -> Floats:
        """max(v - v_i) for each vector and context."""
        if self._at_once(v):
            most: Floats = self._differences(v).max(axis=0)
            return most
        rise = v[:, 0, None] - self.vectors[:, 0]
        for k in range(1, v.shape[1]):
            np.maximum(rise, v[:, k, None] - self.vectors[:, k], out=rise)
        return rise

    def spans(self, v: Floats) -> Floats:
        """max(v - v_i) - min(v - v_i) for each vector and context."""
        if self._at_once(v):
            apart = self._differences(v)
            wide: Floats = apart.max(axis=0) - apart.min(axis=0)
            return wide
        return self.rises(v) + Cloud(-self.vectors).rises(-v)

    def _at_once(self, v: Floats) -> bool:
        """Whether a table of all differences is quicker than one exit after the other."""
        return v.shape[1] > _MANY and v.size * len(self) <= _AT_ONCE

    def _differences(self, v: Floats) -> Floats:
        """Differences v - v_i by exit, vector and context."""
        apart: Floats = v.T[:, :, None] - self.vectors.T[:, None, :]
        return apart

    def _farthest(self, nodes: np.ndarray, v: Floats) -> Floats:
        """One at the exit with the greatest v - v_i, else 0."""
        exits = (v[:, None, :] - self.vectors[nodes]).argmax(axis=2)
        return np.asarray(exits[:, :, None] == np.arange(v.shape[1]), np.float64)


class Hull(Cloud):
    """Points that are mixed as bounds a vector best, by a linear program for each vector and entry.

    ``min_l sum_i l_i u_i + max(v - sum_i l_i v_i)`` over convex weights l.
    """

    def __init__(self, vectors: Floats, anchor: int = 0) -> None:
        super().__init__(vectors, anchor)
        self.corners = vectors.shape[1] + 1

    def no_hint(self, n: int, entries: int) -> np.ndarray:
        """See `Cloud.no_hint`; the bases of the linear programs, for every entry."""
        return np.full((n, entries, self.corners), -1)

    def bound(self, u: Floats, v: Floats, hint: np.ndarray | None = None) -> Bound:
        """See `Cloud.bound`."""
        nearest, _ = self.nearest(u, v)
        bases = self.no_hint(*nearest.shape) if hint is None else hint
        nodes = np.empty((*nearest.shape, self.corners), np.int64)
        weights, share = np.empty(nodes.shape), np.empty((*nearest.shape, v.shape[1]))
        rows = max(1, _CHUNK // max(self.corners**2, len(self)))
        for entry in range(u.shape[1]):
            for i in range(0, len(v), rows):
                own = slice(i, i + rows)
                known = nearest[own, entry], bases[own, entry]
                found = best_mixes(self.vectors, u[:, entry], v[own], *known)
                nodes[own, entry], weights[own, entry], share[own, entry] = found
        used = np.maximum(nodes, 0)
        inside = np.einsum("nej,nejk->nek", weights, self.vectors[used])
        value = (v[:, None, :] - inside).max(axis=2)
        value += (weights * u[used, np.arange(u.shape[1])[:, None]]).sum(axis=2)
        return Bound(value, nodes, weights, share)


def best_mixes(
    vectors: Floats, u: Floats, v: Floats, first: np.ndarray, bases: np.ndarray
) -> tuple[np.ndarray, Floats, Floats]:
    """The mixes of points (v_i, u_i) that bound some vectors best, and how the bounds move.

    Args:
        vectors: Exit values of the points. ``[X, K]``
        u: Their values.
        v: Vectors to be bounded. ``[n, K]``
        first: A point for each of them.
        bases: Bases of similar programs to begin with, -1 where there are none; those of the
            mixes found afterwards. ``[n, K + 1]``

    Returns:
        Points, -1 in unused places, and weights: ``[n, K + 1]`` each. Distributions over the exits
        that say how the bounds move with the vectors. ``[n, K]``
    """
    with np.errstate(over="ignore", invalid="ignore"):
        programs = _Programs(vectors, u, v, first, bases)
        mixes = _mixes(programs)
    bases[:] = programs.basis
    return mixes


def _mixes(programs: _Programs) -> tuple[np.ndarray, Floats, Floats]:
    """Solve linear programs (see `best_mixes`)."""
    exits = programs.basis.shape[1] - 1
    going = np.arange(len(programs.basis))
    for _ in range(4 * exits + 8):
        going = programs.improve(going)
        if len(going) == 0:
            break
    return programs.mixes()


class _Programs:
    """Linear programs for the best mixes, solved side by side by the simplex method.

    Variables are the weights l of the points, slacks s >= 0, and the greatest rise t, in this
    order: ``sum_i l_i v_i + t - s = v, sum_i l_i = 1``. Wherever it stops, the weights are a mix.

    Attributes:
        columns: Coefficients of each variable, by exit and in the sum of weights.
        cost: Cost of each variable.
        basis: Variables in the basis of each program. ``[n, K + 1]``
        values: What they are.
        inverse: Inverse of their columns. ``[n, K + 1, K + 1]``
    """

    def __init__(
        self, vectors: Floats, u: Floats, v: Floats, first: np.ndarray, bases: np.ndarray
    ) -> None:
        (n, exits), self.points = v.shape, len(vectors)
        self.rise = self.points + exits
        self.columns = np.zeros((self.rise + 1, exits + 1))
        self.columns[: self.points, :exits], self.columns[: self.points, exits] = vectors, 1.0
        self.columns[self.points : -1, :exits], self.columns[-1, :exits] = -np.eye(exits), 1.0
        self.cost = np.concatenate([u, np.zeros(exits), [1.0]])
        self.least = -1e-11 * (1.0 + float(np.abs(u).max()))
        self.basis = np.tile(np.append(self.points + np.arange(exits), 0), (n, 1))
        self.first, self.exit = first, (v - vectors[first]).argmax(axis=1)
        self.basis[np.arange(n), self.exit], self.basis[:, exits] = self.rise, first
        self.right = np.append(v, np.ones((n, 1)), axis=1)
        self.inverse, self.values = self._solved(np.arange(n), self.basis)
        self._resume(np.flatnonzero(bases[:, 0] >= 0), bases)

    def _solved(self, which: np.ndarray, basis: np.ndarray) -> tuple[Floats, Floats]:
        """Inverse and values of bases of some programs."""
        inverse: Floats = np.linalg.inv(self.columns[basis].swapaxes(1, 2))
        return inverse, (inverse @ self.right[which, :, None])[:, :, 0]

    def _resume(self, which: np.ndarray, bases: np.ndarray) -> None:
        """Begin some programs with bases that are known, wherever these still are mixes."""
        try:
            inverse, values = self._solved(which, bases[which])
        except np.linalg.LinAlgError:
            return
        size = np.abs(values).max(axis=1, keepdims=True, initial=1.0)
        mixed = ((values >= -1e-12 * size) | (bases[which] == self.rise)).all(axis=1)
        own = which[mixed]
        self.basis[own], self.inverse[own] = bases[own], inverse[mixed]
        self.values[own] = values[mixed]

    def prices(self, which: np.ndarray) -> Floats:
        """The dual variables of some programs."""
        found: Floats = (self.cost[self.basis[which]][:, None, :] @ self.inverse[which])[:, 0]
        return found

    def improve(self, going: np.ndarray) -> np.ndarray:
        """One step of some programs; those that were not at their optimum."""
        reduced = self.cost - self.prices(going) @ self.columns.T
        enter = reduced.argmin(axis=1)
        better = reduced[np.arange(len(going)), enter] < self.least
        going, enter = going[better], enter[better]
        along = (self.inverse[going] @ self.columns[enter][:, :, None])[:, :, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.maximum(self.values[going], 0.0) / along
        # The rise may have either sign and stays.
        ratio[(along <= 1e-11) | (self.basis[going] == self.rise)] = np.inf
        leave = ratio.argmin(axis=1)
        bounded = np.isfinite(ratio.min(axis=1, initial=np.inf))
        moved: np.ndarray = going[bounded]
        self._pivot(moved, enter[bounded], leave[bounded], along[bounded])
        return moved

    def _pivot(
        self, which: np.ndarray, enter: np.ndarray, leave: np.ndarray, along: Floats
    ) -> None:
        """Exchange a variable of the basis of some programs."""
        pivot = along[np.arange(len(which)), leave]
        row = self.inverse[which, leave] / pivot[:, None]
        step = np.maximum(self.values[which, leave], 0.0) / pivot
        self.inverse[which] -= along[:, :, None] * row[:, None, :]
        self.values[which] -= step[:, None] * along
        self.inverse[which, leave], self.values[which, leave] = row, step
        self.basis[which, leave] = enter

    def mixes(self) -> tuple[np.ndarray, Floats, Floats]:
        """Points, weights, and how the bounds move (see `best_mixes`).

        Where numbers have grown too large for that, the first point alone.
        """
        share = np.maximum(self.prices(np.arange(len(self.basis)))[:, :-1], 0.0)
        weights = np.where(self.basis < self.points, np.maximum(self.values, 0.0), 0.0)
        total, moved = weights.sum(axis=1), share.sum(axis=1)
        lost = np.flatnonzero(~(np.isfinite(total) & np.isfinite(moved) & (total * moved > 0.0)))
        self.basis[lost, -1], weights[lost], share[lost] = self.first[lost], 0.0, 0.0
        weights[lost, -1] = share[lost, self.exit[lost]] = 1.0
        weights /= weights.sum(axis=1, keepdims=True)
        nodes = np.where(weights > 0.0, self.basis, -1)
        return nodes, weights, share / share.sum(axis=1, keepdims=True)


class _Connected(Cloud):
    """Points between which values are interpolated."""

    def bound(self, u: Floats, v: Floats, hint: np.ndarray | None = None) -> Bound:
        """See `Cloud.bound`."""
        nodes, weights, cells = self.locate(v, hint)
        entries, exits = u.shape[1], v.shape[1]
        beyond = v - (weights[:, :, None] * self.vectors[nodes]).sum(axis=1)
        offset = beyond.max(axis=1)
        value = offset[:, None] + (weights[:, :, None] * u[nodes]).sum(axis=1)
        share = self._slopes(u, nodes, cells)
        alone = np.flatnonzero(cells < 0)
        share[alone] = self._farthest(nodes[alone, :1], v[alone])
        wide = np.broadcast_to(nodes[:, None, :], (len(v), entries, self.corners)).copy()
        mixed = np.broadcast_to(weights[:, None, :], wide.shape).copy()
        anchored = (v - self.vectors[self.anchor]).max(axis=1)[:, None] + u[self.anchor]
        near = np.nonzero(anchored < value)
        if len(near[0]):
            value[near] = anchored[near]
            wide[near], mixed[near] = self.anchor, np.eye(self.corners)[0]
            exit = (v[near[0]] - self.vectors[self.anchor]).argmax(axis=1)
            share[near] = np.eye(exits)[exit]
        wide[mixed <= 0.0] = -1
        return Bound(value, wide, mixed, share)

    def locate(
        self, v: Floats, hint: np.ndarray | None = None
    ) -> tuple[np.ndarray, Floats, np.ndarray]:
        """Contexts around vectors, their convex weights, and the cell, -1 beyond the points."""
        raise NotImplementedError

    def _slopes(self, u: Floats, nodes: np.ndarray, cells: np.ndarray) -> Floats:
        """Slopes of the interpolation, made distributions over the exits: ``[n, E, K]``."""
        raise NotImplementedError

    def cells(self, v: Floats) -> np.ndarray:
        """See `Cloud.cells`."""
        nodes, _, cells = self.locate(v)
        return np.where(cells < 0, -1 - nodes[:, 0], cells)


class Single(_Connected):
    """The only point of a component with one exit: nothing is left to interpolate."""

    def locate(
        self, v: Floats, hint: np.ndarray | None = None
    ) -> tuple[np.ndarray, Floats, np.ndarray]:
        """See `_Connected.locate`."""
        zero = np.zeros(len(v), np.int64)
        return zero[:, None], np.ones((len(v), 1)), zero

    def _slopes(self, u: Floats, nodes: np.ndarray, cells: np.ndarray) -> Floats:
        return np.ones((len(cells), u.shape[1], 1))


class Line(_Connected):
    """Two exits: contexts in the order of their differences."""

    corners = 2

    def locate(
        self, v: Floats, hint: np.ndarray | None = None
    ) -> tuple[np.ndarray, Floats, np.ndarray]:
        """See `_Connected.locate`."""
        y, x = v[:, 0] - v[:, 1], self.vectors[:, 0]
        low = np.clip(np.searchsorted(x, y, side="right") - 1, 0, max(len(x) - 2, 0))
        high = np.minimum(low + 1, len(x) - 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip(np.nan_to_num((y - x[low]) / (x[high] - x[low])), 0.0, 1.0)
        nodes, weights = np.stack([low, high], axis=1), np.stack([1.0 - share, share], axis=1)
        outside = (y <= x[0]) | (y >= x[-1])
        nodes[outside] = np.where(y[outside] <= x[0], 0, len(x) - 1)[:, None]
        weights[outside] = 1.0, 0.0
        return nodes, weights, np.where(outside, -1, low)

    def _slopes(self, u: Floats, nodes: np.ndarray, cells: np.ndarray) -> Floats:
        run = self.vectors[nodes[:, 1], 0] - self.vectors[nodes[:, 0], 0]
        rise = u[nodes[:, 1]] - u[nodes[:, 0]]
        first = np.clip(rise / np.where(run > 0.0, run, np.inf)[:, None], 0.0, 1.0)
        return np.stack([first, 1.0 - first], axis=2)


class Mesh(_Connected):
    """Three to five exits: contexts at the corners of simplices."""

    def __init__(self, vectors: Floats, anchor: int = 0) -> None:
        super().__init__(vectors, anchor)
        axes = vectors.shape[1] - 1
        self.corners = axes + 1
        self.mesh = _triangulated(vectors[:, :axes] - vectors[:, axes:])
        self.inverse, self.origin = _barycentric(self.mesh.points[self.mesh.simplices])

    def locate(
        self, v: Floats, hint: np.ndarray | None = None
    ) -> tuple[np.ndarray, Floats, np.ndarray]:
        """See `_Connected.locate`."""
        places = v[:, :-1] - v[:, -1:]
        cells = np.zeros(len(v), np.int64) if hint is None else np.maximum(hint, 0)
        weights = self._weigh(places, cells)
        lost = np.flatnonzero(~(weights.min(axis=1) >= -_TOUCHING))
        if len(lost):
            cells[lost] = self.mesh.find_simplex(places[lost], tol=1e-9)
            weights[lost] = self._weigh(places[lost], cells[lost])
        weights = np.maximum(weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        nodes = self.mesh.simplices[cells].astype(np.int64)
        outside = np.flatnonzero((cells < 0) | ~np.isfinite(weights).all(axis=1))
        if len(outside):
            cells[outside] = -1
            nodes[outside] = self._closest(v[outside])[:, None]
            weights[outside] = np.eye(self.corners)[0]
        if hint is not None:
            hint[:] = cells
        return nodes, weights, cells

    def _weigh(self, places: Floats, cells: np.ndarray) -> Floats:
        """Weights with which the corners of simplices mix to places; nan if one is flat."""
        apart = places - self.origin[cells]
        first = np.einsum("nij,nj->ni", self.inverse[cells], apart)
        return np.concatenate([first, 1.0 - first.sum(axis=1, keepdims=True)], axis=1)

    def _closest(self, v: Floats) -> np.ndarray:
        """The context with the least max(v - v_i) - min(v - v_i)."""
        closest: np.ndarray = self.spans(v).argmin(axis=1)
        return closest

    def _slopes(self, u: Floats, nodes: np.ndarray, cells: np.ndarray) -> Floats:
        rise = u[nodes[:, :-1]] - u[nodes[:, -1:]]
        slopes = np.einsum("nij,nie->nej", self.inverse[cells], rise)
        slopes = np.clip(np.nan_to_num(slopes), 0.0, 1.0)
        rest = np.maximum(1.0 - slopes.sum(axis=2, keepdims=True), 0.0)
        share = np.concatenate([slopes, rest], axis=2)
        return np.asarray(share / share.sum(axis=2, keepdims=True))


def _triangulated(places: Floats) -> Any:
    """Simplices between places; if some are too close to tell them apart, as if slightly moved."""
    from scipy.spatial import Delaunay, QhullError

    try:
        return Delaunay(places)
    except QhullError:
        return Delaunay(places, qhull_options="Qbb Qc QJ")


def _barycentric(corners: Floats) -> tuple[Floats, Floats]:
    """The inverse of (corner_i - last corner) for each simplex, and the last corner itself.

    Flat simplices have none: their inverses are nan, and no point lies in them.
    """
    edges = np.swapaxes(corners[:, :-1] - corners[:, -1:], 1, 2)
    size = np.abs(edges).max(axis=(1, 2), initial=0.0)
    solid = np.abs(np.linalg.det(edges)) > 1e-13 * size ** edges.shape[1]
    inverse = np.full_like(edges, np.nan)
    inverse[solid] = np.linalg.inv(edges[solid])
    return inverse, corners[:, -1]


def make_points(vectors: Floats, anchor: Floats | None = None) -> Cloud:
    """Points of a component at given vectors; not connected if there is no anchor."""
    exits = vectors.shape[1]
    if anchor is None:
        return Hull(vectors) if MESH_EXITS < exits <= HULL_EXITS else Cloud(vectors)
    place = int(np.ptp(vectors - anchor, axis=1).argmin())
    if exits == 1:
        return Single(vectors, place)
    if exits <= LINE_EXITS:
        return Line(vectors, place)
    connected = exits <= MESH_EXITS and len(vectors) > exits
    return Mesh(vectors, place) if connected else Cloud(vectors, place)


def arranged(vectors: Floats, *, connected: bool) -> Floats:
    """Vectors in the order and form that their number of exits asks for, no two alike.

    Example:
        >>> arranged(np.array([[1.0, 0.0], [3.0, 2.0], [0.0, 4.0]]), connected=True).tolist()
        [[-4.0, 0.0], [1.0, 0.0]]
    """
    exits = vectors.shape[1]
    if exits == 1:
        return np.zeros((1, 1))
    if exits > MESH_EXITS or not connected:
        return _distinct(vectors - vectors.min(axis=1, keepdims=True))
    differences = vectors - vectors[:, -1:]
    if exits <= LINE_EXITS:
        differences = differences[np.argsort(differences[:, 0])]
    return _distinct(differences)


def _distinct(vectors: Floats) -> Floats:
    scale = 1e-12 * (1.0 + float(np.abs(vectors).max()))
    _, index = np.unique(np.round(vectors / scale), axis=0, return_index=True)
    chosen: Floats = vectors[np.sort(index)]
    return chosen
