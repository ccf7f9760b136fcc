"""What a table tells apart: every vertex, or only states that look different."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import UnknownNameError

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints

OBSERVATIONS = ("index", "features")


def looks(model: RMDP, observation: str, *, flat: bool) -> Ints:
    """The first pair of each vertex in a table: its own first action, or a lookalike's.

    Seen by ``"index"``, every vertex has a row of values of its own. Seen by its ``"features"``, it
    shares the row of the first vertex with the same features and the same actions; if a learner
    knows of calls, of the same component too. So an entry, a node and a return port may be one
    state to the learner, as they are in the paper's experiments.

    Example:
        >>> import recurl
        >>> cave = recurl.zoo.spelunking()
        >>> rows = looks(cave, "features", flat=True)
        >>> entry, node = cave.find("level0.r0c2"), cave.find("level0.r0c2@r0c2")
        >>> bool(rows[entry] == rows[node]), len(set(rows.tolist())) < cave.tables.n_vertices / 5
        (True, True)
    """
    if observation not in OBSERVATIONS:
        raise UnknownNameError("observation", observation, OBSERVATIONS)
    t = model.tables
    rows = t.action_start[:-1].copy()
    if observation == "index":
        return rows
    if model.features is None:
        raise ValueError(f"the vertices of {model.name} have no features: observe 'index'")
    first: dict[tuple[object, ...], int] = {}
    for vertex in np.flatnonzero(np.diff(t.action_start)).tolist():
        room = None if flat else int(t.vertex_component[vertex])
        actions = tuple(model.action_names(vertex))
        seen = (room, actions, model.features[vertex].tobytes())
        rows[vertex] = first.setdefault(seen, int(rows[vertex]))
    return rows
