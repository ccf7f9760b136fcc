"""A model as flat arrays, for compiled kernels.

Vertices are numbered one component after the other, and within a component: entries, exits, other
nodes, call ports (box by box, entry by entry), return ports (box by box, exit by exit). Entry j of
component c is therefore vertex ``component_start[c] + j``, its exit k is
``component_start[c] + n_entries[c] + k``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NODE, EXIT, CALL, RETURN = 0, 1, 2, 3
"""Kinds of vertices; an entry is a NODE."""

STEP, CALLS, EXITS = 0, 1, 2
"""Kinds of transitions: stay in the component, call another one, leave."""


class Layout(NamedTuple):
    """Where every vertex lives: components, boxes and ports, without actions.

    Attributes:
        component_start: First vertex of each component; one more entry at the end. ``[C + 1]``
        n_entries: Number of entries of each component. ``[C]``
        n_exits: Number of exits of each component. ``[C]``
        vertex_component: Component of each vertex. ``[V]``
        vertex_kind: NODE, EXIT, CALL or RETURN. ``[V]``
        vertex_box: Box of a port, else -1. ``[V]``
        vertex_port: Entry index of a call port; exit index of an exit or return port; else -1.
        box_owner: Component that a box lies in; ascending. ``[B]``
        box_component: Component that a box calls. ``[B]``
        box_call: First call port of a box. ``[B]``
        box_return: First return port of a box. ``[B]``
    """

    component_start: Ints
    n_entries: Ints
    n_exits: Ints
    vertex_component: Ints
    vertex_kind: Bytes
    vertex_box: Ints
    vertex_port: Ints
    box_owner: Ints
    box_component: Ints
    box_call: Ints
    box_return: Ints

    @classmethod
    def of(
        cls,
        n_entries: npt.ArrayLike,
        n_exits: npt.ArrayLike,
        n_nodes: npt.ArrayLike,
        *,
        box_owner: npt.ArrayLike = (),
        box_component: npt.ArrayLike = (),
    ) -> Layout:
        """Number the vertices of components, given their entries, exits, other nodes and boxes.

        Args:
            n_entries: Entries of each component.
            n_exits: Exits of each component.
            n_nodes: Nodes of each component that are neither.
            box_owner: Component of each box, in ascending order.
            box_component: Component called by each box.

        Example:
            >>> layout = Layout.of([1], [2], [3], box_owner=[0], box_component=[0])
            >>> layout.vertex_kind.tolist()
            [0, 1, 1, 0, 0, 0, 2, 3, 3]
        """
        entries, exits, nodes = map(_counts, (n_entries, n_exits, n_nodes))
        owner, callee = _counts(box_owner), _counts(box_component)
        _check_counts(entries, exits, nodes, owner, callee)
        calls, returns = entries[callee], exits[callee]
        own_calls = np.bincount(owner, calls, len(entries)).astype(np.int64)
        own_returns = np.bincount(owner, returns, len(entries)).astype(np.int64)
        own_nodes = entries + exits + nodes
        start = np.concatenate([[0], np.cumsum(own_nodes + own_calls + own_returns)])
        if start[-1] > np.iinfo(np.int32).max:
            raise ValueError(f"{start[-1]} vertices are more than 32-bit ids can number")
        box_call = (start[:-1] + own_nodes)[owner] + _running(calls, owner)
        box_return = (start[:-1] + own_nodes + own_calls)[owner] + _running(returns, owner)
        kind, box, port = _ports(start, entries, exits, callee, box_call, box_return)
        component = np.repeat(np.arange(len(entries)), np.diff(start))
        numbers = (start, entries, exits, component, kind, box, port)
        boxes = (owner, callee, box_call, box_return)
        arrays = (_frozen(a, np.uint8 if a is kind else np.int32) for a in (*numbers, *boxes))
        return cls(*arrays)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.n_entries)

    @property
    def n_vertices(self) -> int:
        """Number of vertices: nodes and ports."""
        return len(self.vertex_kind)

    @property
    def n_boxes(self) -> int:
        """Number of boxes."""
        return len(self.box_owner)


def _counts(given: npt.ArrayLike) -> npt.NDArray[np.int64]:
    array = np.asarray(given)
    if array.ndim != 1:
        raise ValueError("counts and component numbers must be given as lists")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"counts and component numbers must be whole numbers, not {array.dtype}")
    return array.astype(np.int64)


def _check_counts(
    entries: np.ndarray, exits: np.ndarray, nodes: np.ndarray, owner: np.ndarray, callee: np.ndarray
) -> None:
    if not len(entries) == len(exits) == len(nodes):
        raise ValueError("n_entries, n_exits and n_nodes must have one number per component")
    if len(owner) != len(callee):
        raise ValueError("box_owner and box_component must have one number per box")
    if any(len(a) and a.min() < 0 for a in (entries, exits, nodes, owner, callee)):
        raise ValueError("counts and component numbers must not be negative")
    if len(owner) and max(owner.max(), callee.max()) >= len(entries):
        raise ValueError(f"box_owner and box_component must be below {len(entries)}")
    if len(owner) and (np.diff(owner) < 0).any():
        raise ValueError("box_owner must ascend: number boxes component by component")


def _running(sizes: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Sum of the sizes of earlier boxes of the same owner."""
    before = np.concatenate([[0], np.cumsum(sizes)])
    running: np.ndarray = before[:-1] - before[np.searchsorted(owner, owner)]
    return running


def _ports(
    start: np.ndarray,
    entries: np.ndarray,
    exits: np.ndarray,
    callee: np.ndarray,
    box_call: np.ndarray,
    box_return: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kind, box and port number of every vertex."""
    size = start[-1]
    kind = np.zeros(size, np.uint8)
    box = np.full(size, -1)
    port = np.full(size, -1)
    first_exit = start[:-1] + entries
    _fill_runs(first_exit, exits, EXIT, (kind, box, port))
    _fill_runs(box_call, entries[callee], CALL, (kind, box, port))
    _fill_runs(box_return, exits[callee], RETURN, (kind, box, port))
    box[kind == EXIT] = -1
    return kind, box, port


def _fill_runs(
    first: np.ndarray, sizes: np.ndarray, kind: int, out: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    """Mark runs of vertices: their kind, which run they belong to, and their place in it."""
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    vertices = np.repeat(first, sizes) + place
    out[0][vertices] = kind
    out[1][vertices] = np.repeat(np.arange(len(first)), sizes)
    out[2][vertices] = place


def _frozen(array: np.ndarray, dtype: npt.DTypeLike) -> np.ndarray:
    """The array in the wanted type, contiguous and read-only; the caller's own stays as it is."""
    result = np.array(array, dtype=dtype, order="C")
    result.setflags(write=False)
    return result


def frozen_floats(values: npt.ArrayLike) -> Floats:
    """Floats without negative zeros: numbers that are equal must have equal bytes."""
    return _frozen(np.asarray(values, np.float64) + 0.0, np.float64)


class Tables(NamedTuple):
    """Layout, actions and transitions of a model; kernels take it whole.

    The first eleven arrays are those of `Layout`.

    Attributes:
        action_start: First action of each vertex; exits and call ports have none. ``[V + 1]``
        action_vertex: Vertex of each action. ``[A]``
        transition_start: First transition of each action. ``[A + 1]``
        target: Vertex that a transition leads to: non-entry node, exit or call port. ``[T]``
        prob: Probability of a transition. ``[T]``
        reward: Reward of a transition. ``[T]``
        move: STEP, CALLS or EXITS. ``[T]``
        landing: Where control lands: the target, the entry called, or the exit's *index*. ``[T]``
        move_box: Box entered by a transition that calls, else -1. ``[T]``
        start_component: Component in which a run starts.
        start_prob: Probability of each of its entries.
    """

    component_start: Ints
    n_entries: Ints
    n_exits: Ints
    vertex_component: Ints
    vertex_kind: Bytes
    vertex_box: Ints
    vertex_port: Ints
    box_owner: Ints
    box_component: Ints
    box_call: Ints
    box_return: Ints
    action_start: Ints
    action_vertex: Ints
    transition_start: Ints
    target: Ints
    prob: Floats
    reward: Floats
    move: Bytes
    landing: Ints
    move_box: Ints
    start_component: int
    start_prob: Floats

    @classmethod
    def of(
        cls,
        layout: Layout,
        *,
        action_start: npt.ArrayLike,
        transition_start: npt.ArrayLike,
        target: npt.ArrayLike,
        prob: npt.ArrayLike,
        reward: npt.ArrayLike,
        start_component: int,
        start_prob: npt.ArrayLike,
    ) -> Tables:
        """Complete a layout with actions and transitions, and compile the moves."""
        actions = _frozen(np.asarray(action_start), np.int32)
        targets = _frozen(np.asarray(target), np.int32)
        vertex = np.repeat(np.arange(layout.n_vertices), np.diff(actions))
        move, landing, move_box = _moves(layout, targets)
        return cls(
            *layout,
            action_start=actions,
            action_vertex=_frozen(vertex, np.int32),
            transition_start=_frozen(np.asarray(transition_start), np.int32),
            target=targets,
            prob=frozen_floats(prob),
            reward=frozen_floats(reward),
            move=_frozen(move, np.uint8),
            landing=_frozen(landing, np.int32),
            move_box=_frozen(move_box, np.int32),
            start_component=int(start_component),
            start_prob=frozen_floats(start_prob),
        )

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _read_only, (*self,)

    def __deepcopy__(self, memo: object) -> Tables:
        return self  # immutable

    @property
    def layout(self) -> Layout:
        """The first eleven arrays."""
        return Layout(*self[:11])

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.n_entries)

    @property
    def n_vertices(self) -> int:
        """Number of vertices: nodes and ports."""
        return len(self.vertex_kind)

    @property
    def n_boxes(self) -> int:
        """Number of boxes."""
        return len(self.box_owner)

    @property
    def n_actions(self) -> int:
        """Number of (vertex, action) pairs."""
        return len(self.action_vertex)

    @property
    def n_transitions(self) -> int:
        """Number of transitions."""
        return len(self.target)

    @property
    def max_exits(self) -> int:
        """Most exits of a component."""
        return int(self.n_exits.max())

    @property
    def max_actions(self) -> int:
        """Most actions of a vertex."""
        return int(np.diff(self.action_start).max())

    @property
    def states(self) -> Mask:
        """Mask of the vertices at which a run can stand: those with actions."""
        mask: Mask = (self.vertex_kind == NODE) | (self.vertex_kind == RETURN)
        return mask

    @property
    def starts(self) -> Ints:
        """The entries at which a run may start."""
        first = int(self.component_start[self.start_component])
        return np.flatnonzero(self.start_prob).astype(np.int32) + np.int32(first)

    def vertices_of(self, component: int) -> range:
        """Vertices of a component."""
        first, end = self.component_start[component : component + 2].tolist()
        return range(first, end)

    def entries_of(self, component: int) -> range:
        """Entries of a component."""
        return self.vertices_of(component)[: int(self.n_entries[component])]

    def exits_of(self, component: int) -> range:
        """Exits of a component.

        Example:
            >>> import recurl
            >>> model = recurl.zoo.cloud()
            >>> [model.local_name(v) for v in model.tables.exits_of(2)]
            ['u6', 'u7']
        """
        first, count = int(self.n_entries[component]), int(self.n_exits[component])
        return self.vertices_of(component)[first : first + count]

    def boxes_of(self, component: int) -> range:
        """Boxes in a component."""
        first, end = self.box_owner.searchsorted([component, component + 1]).tolist()
        return range(first, end)

    def actions_of(self, vertex: int) -> range:
        """Actions of a vertex, as numbers among all (vertex, action) pairs."""
        first, end = self.action_start[vertex : vertex + 2].tolist()
        return range(first, end)

    def transitions_of(self, action: int) -> range:
        """Transitions of an action."""
        first, end = self.transition_start[action : action + 2].tolist()
        return range(first, end)

    def entry_of_call(self, vertex: npt.ArrayLike) -> Ints:
        """Entry at which a call port continues."""
        vertices = np.asarray(vertex, np.int64)
        callee = self.box_component[self.vertex_box[vertices]]
        entry: Ints = self.component_start[callee] + self.vertex_port[vertices]
        return entry


def _read_only(*columns: Any) -> Tables:
    """Tables whose arrays cannot be written to, as pickles do not keep that."""
    tables = Tables(*columns)
    for column in tables:
        if isinstance(column, np.ndarray):
            column.setflags(write=False)
    return tables


def _moves(layout: Layout, target: Ints) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The kind of each transition, where it lands, and the box it enters."""
    kind = layout.vertex_kind[target]
    box = np.where(kind == CALL, layout.vertex_box[target], -1)
    port = layout.vertex_port[target]
    callee_start = np.zeros(len(target), np.int64)
    calls = box >= 0
    callee_start[calls] = layout.component_start[layout.box_component[box[calls]]]
    landing = np.where(calls, callee_start + port, np.where(kind == EXIT, port, target))
    move = np.where(calls, CALLS, np.where(kind == EXIT, EXITS, STEP))
    return move, landing, box


def runs(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The numbers first[i], first[i] + 1, ..., count[i] of them, for all i in a row.

    Example:
        >>> runs(np.array([5, 0, 7]), np.array([2, 0, 3])).tolist()
        [5, 6, 7, 8, 9]
    """
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(count.sum())
