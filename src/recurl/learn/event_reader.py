"""Calls and returns of a model read off what is observed, where no ``info`` reports them."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from recurl.env.model_env import ModelEnv
from recurl.env.observation import exits_view, single_env
from recurl.errors import ProtocolError
from recurl.learn.numbering import key_function
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALLS, RETURN

UNSEEN = (
    "calls and returns are not seen in the observation: give predict the environment's info= at "
    "every step, or test with learner.test(), which steps an environment itself"
)
"""The error where neither ``info`` nor a model reports calls."""


class EventReader:
    """Tells what a step of a model did from the vertices before and after it.

    A run comes to an entry only by a call, and to a return port only by a return. Which box was
    called follows from the action, unless it may call the same entry through several boxes.

    Args:
        source: A model, whose vertices are the observations, or an environment made from one.

    Raises:
        ProtocolError: The environment is not made from a model.

    Example:
        >>> import recurl
        >>> reader = EventReader(recurl.zoo.cloud())
        >>> reader.info(8, before=(0, 1))["event"], reader.info(8, before=(0, 1))["exits"]
        ('call', (5,))
    """

    def __init__(self, source: Any) -> None:
        self._env = None if isinstance(source, RMDP) else source
        self._inner: ModelEnv | None = None
        if self._env is not None:
            inner = single_env(source).unwrapped
            if not isinstance(inner, ModelEnv):
                raise ProtocolError(UNSEEN)
            self._inner = inner
        self._model: RMDP = source if self._inner is None else self._inner.model

    def vertex(self, observation: Any) -> int:
        """The vertex of an observation."""
        if self._inner is None:
            return int(observation)
        found = self._vertices.get(self._key(observation), [])
        if len(found) != 1:
            look = "several vertices look" if found else "no vertex looks"
            raise ProtocolError(f"{look} like {observation!r}: give predict the info= as well")
        return found[0]

    def info(self, vertex: int, before: tuple[int, int] | None) -> dict[str, Any]:
        """The ``info`` of a step that led to a vertex.

        Args:
            vertex: Where the run stands.
            before: The vertex before and the action taken there; None at the start of an episode.
        """
        t = self._model.tables
        info: dict[str, Any] = {"event": None}
        component = t.vertex_component[vertex]
        if self._inner is not None:
            count = int(t.action_start[vertex + 1] - t.action_start[vertex])
            info["action_mask"] = (np.arange(t.max_actions) < count).astype(np.int8)
        if before is None:
            return info
        if t.vertex_kind[vertex] == RETURN:
            return {**info, "event": "return", "exit": int(t.vertex_port[vertex])}
        if vertex < t.component_start[component] + t.n_entries[component]:
            first, count = self._ports(self._box(vertex, before))
            exits = tuple(self._observed(port) for port in range(first, first + count))
            return {**info, "event": "call", "exits": exits}
        return info

    def _box(self, entry: int, before: tuple[int, int]) -> int:
        """The box through which an action called an entry."""
        t = self._model.tables
        action = int(t.action_start[before[0]]) + before[1]
        rows = slice(int(t.transition_start[action]), int(t.transition_start[action + 1]))
        calls = (t.move[rows] == CALLS) & (t.landing[rows] == entry)
        boxes = np.unique(t.move_box[rows][calls])
        if len(boxes) != 1:
            place = f"{self._model.vertex_name(before[0])}, {self._model.action_name(action)}"
            through = ", ".join(self._model.names.boxes[box] for box in boxes.tolist()) or "no box"
            raise ProtocolError(
                f"{place} calls {self._model.vertex_name(entry)} through {through}: which one is "
                "not seen in the observation, give predict the environment's info="
            )
        return int(boxes[0])

    def _ports(self, box: int) -> tuple[int, int]:
        t = self._model.tables
        return int(t.box_return[box]), int(t.n_exits[t.box_component[box]])

    def _observed(self, vertex: int) -> Any:
        return vertex if self._inner is None else self._inner.observe(vertex)

    @cached_property
    def _key(self) -> Any:
        return key_function(single_env(self._env).observation_space)

    @cached_property
    def _vertices(self) -> dict[Hashable, list[int]]:
        """Vertices with actions by how they look outside all wrappers."""
        states = np.flatnonzero(self._model.tables.states).tolist()
        looks = [self._observed(vertex) for vertex in states]
        view = exits_view(self._env)
        shown = looks if view is None else view(looks)
        found: dict[Hashable, list[int]] = {}
        for vertex, look in zip(states, shown, strict=True):
            found.setdefault(self._key(look), []).append(vertex)
        return found
