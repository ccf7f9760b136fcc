"""Learning in a model: the context store and the compiled loop that fills it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.compilation import compiled_aside
from recurl.errors import LimitError, ProtocolError
from recurl.learn import loop_kernel
from recurl.learn import store_kernel as k
from recurl.learn.rule_kernel import LEFT, STEPPED, greedy_call
from recurl.learn.settings import Settings
from recurl.learn.store import ContextStore, StoreEngine
from recurl.model.tables import RETURN
from recurl.simulation.random import new_stream

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints


def first_pairs(model: RMDP, observation: str, *, flat: bool) -> Ints:
    """The first pair of each vertex in a block: its own first action, or a lookalike's.

    Seen by ``"index"``, every vertex has a row of values of its own. Seen by its ``"features"``, it
    shares the row of the first vertex with the same features and the same actions; if a learner
    knows about calls, of the same component too. So an entry, a node and a return port may be one
    state to the learner, as they are in the paper's experiments.

    Example:
        >>> import recurl
        >>> cave = recurl.zoo.spelunking()
        >>> rows = first_pairs(cave, "features", flat=True)
        >>> entry, node = cave.find("level0.r0c2"), cave.find("level0.r0c2@r0c2")
        >>> bool(rows[entry] == rows[node]), len(set(rows.tolist())) < cave.tables.n_vertices / 5
        (True, True)
    """
    t = model.tables
    rows = t.action_start[:-1].copy()
    if observation == "index":
        return rows
    if model.features is None:
        raise ValueError(f"the vertices of {model.name} have no features: observe 'index'")
    first: dict[tuple[object, ...], int] = {}
    for vertex in np.flatnonzero(np.diff(t.action_start)).tolist():
        component = None if flat else int(t.vertex_component[vertex])
        actions = tuple(model.action_names(vertex))
        seen = (component, actions, model.features[vertex].tobytes())
        rows[vertex] = first.setdefault(seen, int(rows[vertex]))
    return rows


def model_store(model: RMDP, settings: Settings, flat: bool) -> ContextStore:
    """An empty store for a model; a flat one has a single context for all vertices."""
    t, outcomes = model.tables, model.outcomes
    vertices = np.empty(t.n_vertices, k.VERTEX_RECORD)
    vertices["row"] = first_pairs(model, settings.observation, flat=flat)
    vertices["action"], vertices["count"] = t.action_start[:-1], np.diff(t.action_start)
    boxes = np.empty(t.n_boxes, k.BOX_RECORD)
    boxes["port"], boxes["kind"] = t.box_return, 0 if flat else t.box_component
    start = t.start_component
    subject = {
        "vertices": vertices,
        "boxes": boxes,
        "ports": np.arange(t.n_vertices),
        "row_start": outcomes.row_start,
        "outcomes": outcomes.packed(),
        "start": outcomes.start,
        "start_below": outcomes.start_below,
        "first_pair": [0, t.n_actions] if flat else t.action_start[t.component_start],
        "n_exits": t.n_exits[[start]] if flat else t.n_exits,
    }
    return ContextStore(settings, flat, subject, root=0 if flat else start)


class ModelEngine(StoreEngine):
    """A learner's work on a model."""

    _compiled = False

    def __init__(self, model: RMDP, settings: Settings, flat: bool) -> None:
        self.model, self.settings, self.flat = model, settings, flat
        self.store = model_store(model, settings, flat)

    @property
    def place(self) -> np.ndarray:
        """Where the run stands, and what it has done; see `store_kernel.PLACES`."""
        return self.store.arrays["place"]

    def advance(self, steps: int) -> None:
        """Take steps, learning.

        Raises:
            LimitError: Memory is full, or values are not finite; everything learned is kept.
        """
        end = self.steps + steps
        if not self._compiled:
            compiled_aside(lambda: loop_kernel.learn_steps(self.store.header, 0))
            self._compiled = True
        while self.steps < end:
            reason = loop_kernel.learn_steps(self.store.header, end - self.steps)
            if reason == loop_kernel.NOT_FINITE:
                raise LimitError(
                    f"the Q-values of {self.model.name} are no longer finite after {self.steps} "
                    "steps: is the model proper? Discount it, or use smaller steps"
                )
            if reason == loop_kernel.ROOM:
                self.store.grow()

    def header_fields(self) -> dict[str, Any]:
        """The text part of a checkpoint."""
        return {"subject": self.model.fingerprint, "name": self.model.name}

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go back to where a checkpoint was made.

        Raises:
            ValueError: The numbers do not make a run of this model.
        """
        self.store.restore(arrays)
        self._check_place()
        self._check_log()

    def _check_place(self) -> None:
        t, store, place = self.model.tables, self.store, self.place
        frames = store.arrays["frames"][: place[k.HEIGHT]]
        path = np.append(frames["context"], place[k.CONTEXT])
        if (path < 0).any() or (path >= store.n_contexts).any():
            raise ValueError("the stack holds contexts that do not exist")
        ports, vertex = frames["push"], int(place[k.VERTEX])
        if vertex >= t.n_vertices or not ((ports >= 0) & (ports < t.n_vertices)).all():
            raise ValueError("the run stands where there is nothing")
        box = t.vertex_box[ports]
        if (t.vertex_kind[ports] != RETURN).any() or (t.box_return[box] != ports).any():
            raise ValueError("the stack does not hold calls")
        if not place[k.RUNNING]:
            return
        if t.action_start[vertex] == t.action_start[vertex + 1]:
            raise ValueError("the run does not stand at a state")
        if self.flat:
            return
        lies = store.kind[path]
        if (t.box_owner[box] != lies[:-1]).any() or (t.box_component[box] != lies[1:]).any():
            raise ValueError("the calls on the stack do not follow each other")
        if lies[-1] != t.vertex_component[vertex]:
            raise ValueError("the run does not stand at a state of its context")

    def _check_log(self) -> None:
        t, store = self.model.tables, self.store
        log = store.arrays["log"][: int(self.place[k.LOGGED])]
        kind, box = store.kind[log["context"]], log["box"]
        step, call = box == STEPPED, np.maximum(box, 0)
        lands = np.flatnonzero(box != LEFT)
        if (np.diff(t.action_start)[log["landing"][lands]] == 0).any():
            raise ValueError("the log leads to where nothing can be done")
        pairs = np.diff(store.arrays["first_pair"])[kind]
        first = store.arrays["block"][log["context"]] + store.arrays["first_pair"][kind]
        if ((log["pair"] < first) | (log["pair"] >= first + pairs)).any():
            raise ValueError("the log contradicts itself")
        component = t.vertex_component[log["landing"]]
        if self.flat or not t.n_boxes:
            return
        wrong = np.where(step, component != kind, False)
        wrong |= (box >= 0) & ((t.box_owner[call] != kind) | (component != t.box_component[call]))
        if wrong.any():
            raise ValueError("the log mixes components")

    def enter(self, context: int, exits: Sequence[Any], observation: Any) -> int:
        """Context that a greedy run enters by a call; -1 for one that was never met."""
        box = int(self.model.tables.vertex_box[int(exits[0])])
        return int(greedy_call(self.store.header, context, box, int(observation)))

    def greedy(self, context: int, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value at a vertex.

        Raises:
            ProtocolError: It does not belong to the component that runs in the context.
        """
        vertex, model = int(observation), self.model
        component = int(model.tables.vertex_component[vertex])
        if not self.flat and context >= 0 and self.store.kind[context] != component:
            running = model.names.components[self.store.kind[context]]
            raise ProtocolError(
                f"{model.vertex_name(vertex)} is not in {running}, which runs: hand on the state "
                "that the last prediction returned"
            )
        return int(self.q_values(vertex, context).argmax())

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that a vertex has."""
        return list(range(len(self.model.names.actions_of(int(observation)))))

    def q_values(self, vertex: int, context: int) -> Floats:
        """Q-values of a vertex in a context; the initial value in one that was never met."""
        if context < 0:
            return np.full(len(self.model.names.actions_of(vertex)), self.settings.initial_value)
        return self.store.arrays["q"][self._pairs(vertex, context)]

    def visits(self, vertex: int, context: int) -> int:
        """How often the pairs of a vertex were learned from in a context."""
        return int(self.store.arrays["visits"][self._pairs(vertex, context)].sum())

    def _pairs(self, vertex: int, context: int) -> slice:
        """Where the store has the values of a vertex in a context."""
        start = self.model.tables.action_start
        arrays = self.store.arrays
        begin = int(arrays["block"][context] + arrays["vertices"]["row"][vertex])
        return slice(begin, begin + int(start[vertex + 1] - start[vertex]))

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes; the run and its random numbers stay."""
        found = np.empty((episodes, 3))
        stack = np.empty((2, limit + 1), np.int32)
        random, gamma = new_stream(self.settings.seed, stream), self.settings.gamma
        levels = np.empty(limit + 1)
        loop_kernel.test_episodes(self.store.header, random, stack, limit, gamma, levels, found)
        return found[:, 0], found[:, 1], found[:, 2]
