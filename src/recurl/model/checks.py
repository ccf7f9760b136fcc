"""What is odd about a model, though allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import Problem
from recurl.model.report import place_of

if TYPE_CHECKING:
    from recurl.model.names import Names
    from recurl.model.structure import Reach
    from recurl.model.tables import Tables

TOLERANCE = 1e-9
"""How far from 1 a distribution may sum."""


def structure_warnings(tables: Tables, names: Names, reach: Reach) -> Sequence[Problem]:
    """Unreachable vertices, and vertices from which a run can never leave."""
    unreachable = np.flatnonzero(tables.states & ~reach.reachable)
    dead = np.flatnonzero(tables.states & reach.reachable & reach.dead)
    return [
        *_odd(tables, names, unreachable, "no run can visit it", "remove it, or lead to it"),
        *_odd(tables, names, dead, "no run can leave from it", "lead to an exit, if it should end"),
    ]


def _odd(
    tables: Tables, names: Names, vertices: np.ndarray, message: str, fix: str
) -> Iterator[Problem]:
    for vertex in vertices.tolist():
        component = names.components[tables.vertex_component[vertex]]
        path = ("components", component, "vertices", names.local(vertex))
        yield Problem(place_of(path), message, fix, path)
