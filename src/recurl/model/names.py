"""Names of components, vertices, boxes and actions; numbered names take no memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from recurl.errors import UnknownNameError
from recurl.model.tables import CALL, EXIT, NODE

if TYPE_CHECKING:
    from recurl.model.tables import Ints, Tables


# A port has two names, each character of which may be escaped; keys of YAML have 1024 at most.
_LONGEST = 250


def is_text(name: object) -> bool:
    """Whether something can name a model, an action or a feature: one line of printable text."""
    return (
        isinstance(name, str)
        and 0 < len(name) <= _LONGEST
        and name.isprintable()
        and name[0] != " " != name[-1]
    )


def is_name(name: object) -> bool:
    """Whether something can name a component, node or box: text without dots.

    Example:
        >>> is_name("u3"), is_name("b1.u4"), is_name(" u3"), is_name("")
        (True, False, False, False)
    """
    return is_text(name) and "." not in str(name)


def unused_name(word: str, taken: Container[str], sign: str = "") -> str:
    """A word, or it with the first number that makes it differ from all names taken.

    Example:
        >>> unused_name("lane", {"lane", "lane2"}), unused_name("x", {"x"}, "_")
        ('lane3', 'x_2')
    """
    name, number = word, 1
    while name in taken:
        number += 1
        name = f"{word}{sign}{number}"
    return name


def stored_state(thing: object) -> dict[str, object]:
    """The attributes of an object without its cached properties: what a pickle of it needs."""
    kind = type(thing)
    return {
        name: value
        for name, value in vars(thing).items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }


class LazyNames(Sequence[str]):
    """Names that are made when asked for; subclasses say how many there are and make one."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self.make(i) for i in range(len(self))[index]]
        return self.make(range(len(self))[index])

    @abstractmethod
    def make(self, index: int) -> str:
        """The name with a number from 0 on."""


class Numbered(LazyNames):
    """Names such as n0, n1, ...: a prefix and a number each.

    Example:
        >>> list(Numbered("n", np.arange(3)))
        ['n0', 'n1', 'n2']
    """

    def __init__(self, prefix: str, numbers: np.ndarray) -> None:
        self._prefix, self._numbers = prefix, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def make(self, index: int) -> str:
        """The prefix and the number in a place."""
        return f"{self._prefix}{self._numbers[index]}"


class Names:
    """All names of a model.

    Args:
        components: One name per component.
        nodes: One name per vertex; those at ports are not read, ports are named by box and node.
        boxes: One name per box.
        actions: One name per (vertex, action) pair.
        tables: The arrays that the names belong to.
    """

    def __init__(
        self,
        components: Sequence[str],
        nodes: Sequence[str],
        boxes: Sequence[str],
        actions: Sequence[str],
        *,
        tables: Tables,
    ) -> None:
        self.components, self.nodes, self.boxes, self.actions = components, nodes, boxes, actions
        self._tables = tables

    def __getstate__(self) -> dict[str, object]:
        return stored_state(self)

    @classmethod
    def numbered(cls, tables: Tables) -> Names:
        """Names for a model that comes from arrays: c0.n0, c0.b0.n1, a0, ..."""
        t = tables
        first_box = np.searchsorted(t.box_owner, t.box_owner)
        return cls(
            Numbered("c", np.arange(t.n_components)),
            Numbered("n", np.arange(t.n_vertices) - t.component_start[t.vertex_component]),
            Numbered("b", np.arange(t.n_boxes) - first_box),
            Numbered("a", np.arange(t.n_actions) - t.action_start[t.action_vertex]),
            tables=tables,
        )

    def of_tables(self, tables: Tables) -> Names:
        """The same names for other arrays of the same layout."""
        return Names(self.components, self.nodes, self.boxes, self.actions, tables=tables)

    def local(self, vertex: int) -> str:
        """Name of a vertex within its component: ``u3``, or ``b1.u4`` for a port."""
        t = self._tables
        kind = t.vertex_kind[vertex]
        if kind in (NODE, EXIT):
            return self.nodes[vertex]
        box = int(t.vertex_box[vertex])
        callee = t.box_component[box]
        first = t.component_start[callee] + (0 if kind == CALL else t.n_entries[callee])
        return f"{self.boxes[box]}.{self.nodes[int(first + t.vertex_port[vertex])]}"

    def vertex(self, vertex: int) -> str:
        """Full name of a vertex: ``S.u3``, or ``T.b1.u4`` for a port."""
        return f"{self.components[self._tables.vertex_component[vertex]]}.{self.local(vertex)}"

    @cached_property
    def _component_ids(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.components)}

    @cached_property
    def _vertex_ids(self) -> dict[int, dict[str, int]]:
        return {}

    def find_component(self, name: str) -> int:
        """Number of a component; an unknown name is answered with close ones."""
        if name not in self._component_ids:
            raise UnknownNameError("component", name, self._component_ids)
        return self._component_ids[name]

    def find(self, name: str) -> int:
        """Vertex of a full name such as ``S.u3``; an unknown name is answered with close ones."""
        component, _, local = name.partition(".")
        vertices = self._vertices_of(self.find_component(component))
        if local not in vertices:
            raise UnknownNameError(f"vertex of component {component}", local, vertices)
        return vertices[local]

    def _vertices_of(self, component: int) -> dict[str, int]:
        known = self._vertex_ids
        if component not in known:
            block = self._tables.vertices_of(component)
            known[component] = {self.local(vertex): vertex for vertex in block}
        return known[component]

    def actions_of(self, vertex: int) -> Sequence[str]:
        """Names of the actions at a vertex, in order."""
        begin: Ints = self._tables.action_start
        return list(self.actions[begin[vertex] : begin[vertex + 1]])
