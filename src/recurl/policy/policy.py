"""`Policy`: an action for every vertex in every context, and the contexts that calls enter."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from recurl.errors import CheckpointError, LimitError, UnknownNameError
from recurl.model.files import write_atomic
from recurl.model.limits import cut, read_note
from recurl.model.names import stored_state
from recurl.model.tables import CALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.policy.reached import Reached
    from recurl.policy.rules import PolicyRule, Rules
    from recurl.policy.table import PolicyTable
    from recurl.policy.visits import Visits

RANDOM = -1
"""In place of an action: any action of the vertex, all equally likely."""


class Policy:
    """A policy for a model.

    Context x of component c owns the slots ``context_start[x] + i``, one per vertex i of c.

    Args:
        model: The model that it is for.
        context_component: Component of each context. ``[X]``
        actions: Action of each slot, counted within its vertex, or `RANDOM`. ``[slots]``
        callees: At the slots of call ports the context entered, else ignored. ``[slots]``
        start: Context in which a run starts, for each entry of the start component.
        kind: ``"stackless"``, ``"by context"`` or ``"by pieces"``.
        labels: What each context stands for, in words.
        exit_values: What the exits are worth in each context, up to a constant; nan where that is
            not known. ``[X, most exits]``

    Example:
        >>> import recurl
        >>> policy = Policy.stackless(recurl.zoo.cloud(), {"T.u1": "divide", "S.u3": "fast"})
        >>> policy.action_name("S.u3")
        'fast'
    """

    def __init__(
        self,
        model: RMDP,
        context_component: npt.ArrayLike,
        actions: npt.ArrayLike,
        *,
        callees: npt.ArrayLike,
        start: npt.ArrayLike,
        kind: str = "by context",
        labels: Sequence[str] = (),
        exit_values: npt.ArrayLike | None = None,
    ) -> None:
        self.model, self.kind, self.labels = model, kind, tuple(labels)
        self.exit_values = None if exit_values is None else _numbers(exit_values)
        self.context_component = _ids(context_component)
        self.actions, self.callees, self.start = _ids(actions), _ids(callees), _ids(start)
        sizes = np.diff(model.tables.component_start)[self.context_component]
        self.context_start = _ids(np.concatenate([[0], np.cumsum(sizes)]))
        self._check()

    @classmethod
    def stackless(cls, model: RMDP, choice: npt.ArrayLike | Mapping[str, str]) -> Self:
        """The policy that looks only at the vertex.

        Args:
            model: The model.
            choice: The action of each vertex, counted within the vertex, as an array; or names of
                actions by full name of vertex, where vertices left out take their first action.
        """
        t = model.tables
        actions = _choice_by_name(model, choice) if isinstance(choice, Mapping) else _ids(choice)
        callees = np.zeros(t.n_vertices, np.int32)
        if t.n_boxes:
            calls = np.flatnonzero(t.vertex_kind == CALL)
            callees[calls] = t.box_component[t.vertex_box[calls]]
        start = np.full(len(t.start_prob), t.start_component)
        components = np.arange(t.n_components)
        return cls(model, components, actions, callees=callees, start=start, kind="stackless")

    @classmethod
    def uniform(cls, model: RMDP) -> Self:
        """The policy that takes every action of a vertex with the same probability."""
        return cls.stackless(model, np.full(model.tables.n_vertices, RANDOM))

    def changed(
        self,
        model: RMDP | None = None,
        *,
        actions: npt.ArrayLike | None = None,
        callees: npt.ArrayLike | None = None,
    ) -> Self:
        """The policy with other actions or callees, or for another model with these contexts."""
        values = self.exit_values
        if model is not None and values is not None and model.tables.max_exits != values.shape[1]:
            values = None
        return type(self)(
            self.model if model is None else model,
            self.context_component,
            self.actions if actions is None else actions,
            callees=self.callees if callees is None else callees,
            start=self.start,
            kind=self.kind,
            labels=self.labels,
            exit_values=values,
        )

    def _check(self) -> None:
        t = self.model.tables
        if len(self.actions) != self.context_start[-1] or len(self.callees) != len(self.actions):
            raise ValueError(f"a policy needs {self.context_start[-1]} actions and callees")
        shape = (self.n_contexts, t.max_exits)
        if self.exit_values is not None and self.exit_values.shape != shape:
            raise ValueError(f"exit values must have the shape {shape}")
        vertex = self.slot_vertex
        count = (t.action_start[1:] - t.action_start[:-1])[vertex]
        wrong = (self.actions < RANDOM) | (self.actions >= count)
        wrong &= count > 0
        if wrong.any():
            slot = int(np.flatnonzero(wrong)[0])
            name = self.model.vertex_name(int(vertex[slot]))
            raise ValueError(f"{name} has {count[slot]} actions, not number {self.actions[slot]}")
        self._check_callees(vertex)

    def _check_callees(self, vertex: Ints) -> None:
        t = self.model.tables
        if (self.context_component[self.start] != t.start_component).any():
            raise ValueError("a run must start in a context of the start component")
        if t.n_boxes == 0:
            return
        calls = np.flatnonzero(t.vertex_kind[vertex] == CALL)
        called = t.box_component[t.vertex_box[vertex[calls]]]
        callees = self.callees[calls]
        known = (callees >= 0) & (callees < self.n_contexts)
        if not known.all() or (self.context_component[callees] != called).any():
            raise ValueError("a call must enter a context of the component called")

    @property
    def n_contexts(self) -> int:
        """Number of contexts."""
        return len(self.context_component)

    @cached_property
    def slot_vertex(self) -> Ints:
        """Vertex of each slot."""
        if self.n_contexts == self.model.tables.n_components == 1:
            return _ids(np.arange(self.context_start[-1]))
        first = self.model.tables.component_start[self.context_component]
        sizes = np.diff(self.context_start)
        inside = np.arange(self.context_start[-1]) - np.repeat(self.context_start[:-1], sizes)
        return _ids(np.repeat(first, sizes) + inside)

    @cached_property
    def slot_context(self) -> Ints:
        """Context of each slot."""
        return _ids(np.repeat(np.arange(self.n_contexts), np.diff(self.context_start)))

    @cached_property
    def reached(self) -> Reached:
        """Where runs can get to."""
        from recurl.policy.reached import Reached

        return Reached(self)

    @cached_property
    def uses_stack(self) -> bool:
        """Whether runs take different actions at one vertex, by the calls that are pending.

        Where there are too many places to look at: whether there are several contexts.
        """
        if self.kind == "stackless":
            return False
        try:
            slots = np.array(self.reached.slots)
        except LimitError:
            return True
        taken = np.unique(np.stack([self.slot_vertex[slots], self.actions[slots]]), axis=1)[0]
        return len(np.unique(taken)) < len(taken)

    @cached_property
    def context_names(self) -> tuple[str, ...]:
        """A name for each context: the calls around it, as ``H within 3 calls of H``."""
        from recurl.policy.context_names import context_names

        return context_names(self, self.reached)

    @cached_property
    def visits(self) -> Visits:
        """How often a run gets to each place."""
        from recurl.policy.visits import Visits

        return Visits(self.reached)

    @cached_property
    def rules(self) -> Rules:
        """The choice at each vertex, as rules on the stack."""
        from recurl.policy.rules import Rules

        return Rules(self)

    def explain(self, vertex: str | int) -> PolicyRule:
        """The choice at a vertex that runs reach, as a rule on the stack.

        Example:
            >>> import recurl
            >>> print(recurl.solve(recurl.zoo.cloud()).policy.explain("H.u5"))
            H.u5: no with 0..7 pending calls of H at b6, yes from 8 on (in runs there are at most 8)
        """
        return self.rules.at(vertex)

    def table(self, *vertices: str | int, merged: bool = True) -> PolicyTable:
        """The actions where runs have a choice, and how often they get there.

        Args:
            vertices: Vertices to list, by name or number; if none are given, all with a choice.
            merged: Whether contexts with the same action are one row; else each has its own.

        Raises:
            LimitError: Runs get to too many places.

        Example:
            >>> import recurl
            >>> print(recurl.solve(recurl.zoo.cloud()).policy.table())
            at     context                                     do         visits per run
            ...
        """
        from recurl.policy.table import PolicyTable

        return PolicyTable(self, vertices, merged=merged)

    def plot(self, most: int = 6, maps: str | Mapping[str, str] | None = None) -> list[Axes]:
        """Plot what the policy of a gridworld does: arrows in the cells that runs get to.

        A grid is drawn for each component and each value of the features other than row and column,
        and where the policy depends on the context, for each context that acts differently: those
        that runs get to most.

        Args:
            most: How many grids are drawn.
            maps: Text maps, to be shown in the cells: one for all components, or by name of
                component; rows separated by slashes or line breaks.

        Raises:
            ValueError: The features of the model name no row and column.

        Example:
            >>> import recurl
            >>> policy = recurl.solve(recurl.zoo.battery()).policy
            >>> axes = policy.plot(maps="S..#/.#.T/C...")
            >>> axes[1].get_title().splitlines()
            ['reserve', 'reserve 2', 'visits per run: 1']
        """
        from recurl.policy.grid_plot import plot_grids

        return plot_grids(self, most, maps)

    def _repr_html_(self) -> str:
        from recurl.model import html

        return html.paragraph(repr(self).strip("<>")) + self.table_html()

    def table_html(self) -> str:
        """The table for notebooks; nothing where it would be too large to make."""
        try:
            return self.table()._repr_html_()
        except LimitError:
            return ""

    def slot(self, context: int, vertex: int) -> int:
        """Slot of a vertex in a context."""
        first = self.model.tables.component_start[self.context_component[context]]
        return int(self.context_start[context] + vertex - first)

    def action(self, vertex: int, context: int | None = None) -> int:
        """Action at a vertex in a context; a stackless policy needs no context."""
        if context is None:
            context = self._only_context(vertex)
        return int(self.actions[self.slot(context, vertex)])

    def action_name(self, vertex: str, context: int | None = None) -> str:
        """Name of the action at a vertex given by name; ``"any"`` if it is random."""
        number = self.model.find(vertex)
        action = self.action(number, context)
        return "any" if action == RANDOM else self.model.action_names(number)[action]

    def _only_context(self, vertex: int) -> int:
        if self.kind != "stackless":
            raise ValueError("this policy depends on the context: say in which one")
        return int(self.model.tables.vertex_component[vertex])

    def __repr__(self) -> str:
        plural = "s" if self.n_contexts != 1 else ""
        return f"<Policy for {self.model.name}: {self.kind}, {self.n_contexts} context{plural}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return self.model == other.model and self._document() == other._document()

    def __hash__(self) -> int:
        return hash((self.model, self.kind, self.actions.tobytes(), self.callees.tobytes()))

    def __getstate__(self) -> dict[str, object]:
        return stored_state(self)

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # immutable

    def _document(self) -> dict[str, Any]:
        return {
            "recurl_policy": 1,
            "model": self.model.fingerprint,
            "kind": self.kind,
            "context_component": self.context_component.tolist(),
            "start": self.start.tolist(),
            "actions": self.actions.tolist(),
            "callees": self.callees.tolist(),
            "labels": list(self.labels),
            "exit_values": self._listed_values(),
        }

    def _listed_values(self) -> list[list[float | None]] | None:
        if self.exit_values is None:
            return None
        return [[None if np.isnan(x) else float(x) for x in row] for row in self.exit_values]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy as JSON; the model is named by its fingerprint."""
        write_atomic(path, self.to_json())

    def to_json(self) -> bytes:
        """The content of the file that `save` writes."""
        import msgspec

        return msgspec.json.encode(self._document())

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: RMDP) -> Self:
        """Read a policy for a model.

        Raises:
            CheckpointError: The file is damaged, or the policy is for another model.
        """
        try:
            document = read_note(path, dict[str, Any])
            if document["model"] != model.fingerprint:
                raise CheckpointError(f"{path}: the policy is for another model than {model.name}")
            return cls(
                model,
                document["context_component"],
                document["actions"],
                callees=document["callees"],
                start=document["start"],
                kind=str(document["kind"]),
                labels=document["labels"],
                exit_values=document.get("exit_values"),
            )
        except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
            words = cut(f"{type(error).__name__}: {error}")
            raise CheckpointError(f"{path} is not a policy for {model.name}: {words}") from error


def _choice_by_name(model: RMDP, choice: Mapping[str, str]) -> Ints:
    actions = np.zeros(model.tables.n_vertices, np.int32)
    for name, action in choice.items():
        vertex = model.find(name)
        names = list(model.action_names(vertex))
        if action not in names:
            raise UnknownNameError(f"action of {name}", action, names)
        actions[vertex] = names.index(action)
    return actions


def _numbers(values: npt.ArrayLike) -> Floats:
    array = np.array(values, np.float64)
    array.setflags(write=False)
    return array


def _ids(values: npt.ArrayLike) -> Ints:
    array = np.array(values, np.int32)
    array.setflags(write=False)
    return array
