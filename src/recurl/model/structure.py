"""The structure of a model: its kind, its call graph, reachable vertices, ways out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import Problem
from recurl.model.report import place_of, shown
from recurl.model.tables import NODE

if TYPE_CHECKING:
    from recurl.model.names import Names
    from recurl.model.tables import Floats, Mask, Tables


@dataclass(frozen=True, slots=True)
class Kind:
    """The classes of models that matter for what can be computed.

    Attributes:
        one_exit: Every component has one exit.
        deterministic: Every action has one transition.
        hierarchical: No component can reach a call of itself.
    """

    one_exit: bool
    deterministic: bool
    hierarchical: bool

    @classmethod
    def of(cls, tables: Tables) -> Kind:
        """Read the kind off the arrays."""
        graph = CallGraph.of(tables)
        return cls(
            one_exit=bool((tables.n_exits == 1).all()),
            deterministic=bool((np.diff(tables.transition_start) == 1).all()),
            hierarchical=not graph.recursive,
        )

    def __str__(self) -> str:
        words = [
            "1-exit" if self.one_exit else "multi-exit",
            "deterministic" if self.deterministic else "",
            "hierarchical" if self.hierarchical else "recursive",
        ]
        return ", ".join(word for word in words if word)


@dataclass(frozen=True, slots=True)
class CallGraph:
    """Which component calls which.

    Attributes:
        edges: Pairs (caller, callee), each once, sorted.
        groups: Strongly connected components, callees before callers.
        recursive: Whether some component can reach a call of itself.
    """

    edges: tuple[tuple[int, int], ...]
    groups: tuple[tuple[int, ...], ...]
    recursive: bool

    @classmethod
    def of(cls, tables: Tables) -> CallGraph:
        """The call graph of a model's boxes."""
        from recurl.model.graphs import strong_components

        # One number for a pair: sorting rows of a matrix is far slower.
        both = tables.box_owner.astype(np.int64) * tables.n_components + tables.box_component
        pairs = np.stack(np.divmod(np.unique(both), tables.n_components)).astype(np.int32)
        start = np.searchsorted(pairs[0], np.arange(tables.n_components + 1)).astype(np.int32)
        label, count = strong_components(start, np.ascontiguousarray(pairs[1]))
        members: list[list[int]] = [[] for _ in range(count)]
        for component, group in enumerate(label.tolist()):
            members[group].append(component)
        return cls(
            edges=tuple(zip(*pairs.tolist(), strict=True)),
            groups=tuple(map(tuple, members)),
            recursive=bool((label[pairs[0]] == label[pairs[1]]).any()),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Which vertices a run can visit, and how far each is from the exits of its component.

    Attributes:
        distance: Fewest steps from each vertex to each exit of its component, or inf. ``[V, K]``
        reachable: Mask of the vertices that some run from the start can visit. ``[V]``
    """

    distance: Floats
    reachable: Mask

    @classmethod
    def of(cls, tables: Tables) -> Reach:
        """Search the arrays of a model."""
        from recurl.model.graphs import exit_distances, reachable_vertices

        distance = exit_distances(tables, CallGraph.of(tables).groups)
        return cls(distance, reachable_vertices(tables, tables.starts, distance))

    @property
    def dead(self) -> Mask:
        """Mask of the vertices from which a run can never leave its component."""
        dead: Mask = np.isinf(self.distance.min(axis=1))
        return dead

    @property
    def longest_way_out(self) -> float:
        """Most steps that a reachable vertex is away from the nearest exit of its component.

        The steps inside boxes count. Vertices that cannot leave at all are not counted (a model
        that has some says so in its warnings).
        """
        nearest = self.distance.min(axis=1)[self.reachable]
        return float(np.max(nearest[np.isfinite(nearest)], initial=0.0))


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
