"""Warnings about a model: unusual but allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import Problem
from recurl.model.report import place_of, shown
from recurl.model.tables import NODE

if TYPE_CHECKING:
    from recurl.model.names import Names
    from recurl.model.structure import Reach
    from recurl.model.tables import Tables

TOLERANCE = 1e-9
"""How far from 1 a distribution may sum."""

SINGLE = 5
"""How many places are named one by one; more come from a generator rather than a person."""


def structure_warnings(tables: Tables, names: Names, reach: Reach) -> Sequence[Problem]:
    """Vertices and boxes that no run reaches, and vertices from which a run can never leave.

    A return port has actions whether or not the call ever leaves by its exit, so one without
    visitors is not reported if its box is called.
    """
    t = tables
    unreachable = np.flatnonzero((t.vertex_kind == NODE) & ~reach.reachable)
    dead = np.flatnonzero(t.states & reach.reachable & reach.dead)
    vertices = partial(_odd_vertices, t, names)
    return [
        *vertices(unreachable, "no run can visit it", "remove it, or lead to it"),
        *_uncalled(t, names, reach),
        *vertices(dead, "no run can leave from it", "lead to an exit, if it should end"),
    ]


def _uncalled(t: Tables, names: Names, reach: Reach) -> Iterator[Problem]:
    source = np.repeat(t.action_vertex, np.diff(t.transition_start))
    taken = reach.reachable[source] & (t.prob > 0) & (t.move_box >= 0)
    called = np.zeros(t.n_boxes, bool)
    called[t.move_box[taken]] = True
    paths = [
        ("components", names.components[t.box_owner[box]], "boxes", names.boxes[box])
        for box in np.flatnonzero(~called).tolist()
    ]
    return _odd(paths, "boxes", "no run can call it", "remove it, or call it")


def _odd_vertices(
    t: Tables, names: Names, vertices: np.ndarray, message: str, fix: str
) -> Iterator[Problem]:
    paths = [
        ("components", names.components[t.vertex_component[v]], "vertices", names.local(v))
        for v in vertices.tolist()
    ]
    return _odd(paths, "vertices", message, fix)


def _odd(paths: Sequence[tuple[str, ...]], what: str, message: str, fix: str) -> Iterator[Problem]:
    """A problem for each place, or one for all of them if they are many."""
    if len(paths) <= SINGLE:
        for path in paths:
            yield Problem(place_of(path), message, fix, path)
        return
    some = ", ".join(shown(f"{path[1]}.{path[3]}") for path in paths[:3])
    message, fix = (re.sub(r"\bit\b", "them", text) for text in (message, fix))
    yield Problem(f"{len(paths)} {what}, such as {some}", message, fix)
