"""Points and pieces that others make needless, taken out of a store.

A point (v_i, u_i) says no more than the others if u_j + max(v_i - v_j) <= u_i at every entry for
some of them; a piece (R_i, p_i) if another has R_j >= R_i and p_j >= p_i there. What called such a
piece then calls the better one, which leaves all inequalities as they were, or wider.
"""

from __future__ import annotations

import numpy as np

from recurl.model.tables import Floats, Tables
from recurl.solving.certified.store_kernel import Store


def prune(t: Tables, s: Store) -> None:
    """Take out what is dominated, and close the gaps."""
    into = np.arange(int(s.first[-1] + s.room[-1]))
    for c in range(t.n_components):
        size = int(t.component_start[c + 1] - t.component_start[c])
        entries, exits = int(t.n_entries[c]), int(t.n_exits[c])
        above = _rows(s.above, s.slot[c], s.points[c], size)[:, :entries]
        first = int(s.first[c])
        vectors = s.vector[first : first + s.points[c], :exits]
        _keep_points(s, c, size, needed_points(vectors, above))
        rewards = _rows(s.rewards, s.slot[c], s.pieces[c], size)[:, :entries]
        reach = _rows(s.reach, s.slot[c], s.pieces[c], size)[:, :entries, :exits]
        better = better_pieces(rewards, reach)
        kept = np.flatnonzero(better == np.arange(len(better)))
        into[first : first + len(better)] = first + np.searchsorted(kept, better)
        for column in (s.action, s.callee, s.rewards, s.reach):
            _close(column, s.slot[c], size, kept)
        s.pieces[c] = len(kept)
    for c in range(t.n_components):
        size = int(t.component_start[c + 1] - t.component_start[c])
        callees = _rows(s.callee, s.slot[c], s.pieces[c], size)
        callees[:] = into[callees]


def needed_points(vectors: Floats, above: Floats) -> np.ndarray:
    """Which points are needed: `vectors` by point and exit, `above` by point and entry.

    Example:
        >>> vectors, above = np.array([[0.0, 1], [0, 1], [0, 0]]), np.array([[2.0], [1], [3]])
        >>> needed_points(vectors, above).tolist()
        [1]
    """
    alive = np.ones(len(vectors), bool)
    for i in range(len(vectors)):
        alive[i] = False
        rise = (vectors[i] - vectors[alive]).max(axis=1, initial=-np.inf)
        bound = (above[alive] + rise[:, None]).min(axis=0, initial=np.inf)
        alive[i] = bool((bound > above[i]).any())
    return np.flatnonzero(alive)


def better_pieces(rewards: Floats, reach: Floats) -> np.ndarray:
    """For each piece one that is needed and at least as good, itself if it is needed.

    Example:
        >>> better_pieces(np.array([[0.0], [1.0], [0.5]]), np.full((3, 1, 2), 0.5)).tolist()
        [1, 1, 1]
    """
    better = np.arange(len(rewards))
    for i in range(len(rewards)):
        others = np.flatnonzero(
            (rewards >= rewards[i]).all(axis=1) & (better == np.arange(len(better)))
        )
        others = others[others != i]
        good = others[(reach[others] >= reach[i]).all(axis=(1, 2))]
        if len(good):
            better[better == i] = good[0]
    return better


def _rows(column: np.ndarray, slot: int, count: int, size: int) -> np.ndarray:
    """A view of a column, by point or piece and by vertex."""
    return column[slot : slot + count * size].reshape(int(count), size, *column.shape[1:])


def _close(column: np.ndarray, slot: int, size: int, kept: np.ndarray) -> None:
    """Move the rows that are kept to the front."""
    rows = _rows(column, slot, int(kept.max(initial=-1)) + 1, size)
    rows[: len(kept)] = rows[kept]


def _keep_points(s: Store, c: int, size: int, kept: np.ndarray) -> None:
    first = int(s.first[c])
    s.vector[first : first + len(kept)] = s.vector[first + kept]
    _close(s.above, s.slot[c], size, kept)
    s.points[c] = len(kept)
