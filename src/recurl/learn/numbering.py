"""Numbers for what an environment shows: its observations are vertices, its calls are boxes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import index
from typing import Any

import numpy as np
from gymnasium import spaces

from recurl.env.protocol import (
    NOT_OBSERVATIONS,
    allowed_actions,
    changed_mask,
    check_form,
    not_in_space,
)
from recurl.errors import ProtocolError
from recurl.interrupts import whole
from recurl.learn import store_kernel as k
from recurl.learn.store import ContextStore


def key_function(space: spaces.Space[Any]) -> Callable[[Any], Hashable]:
    """The key of an observation: numbers by value, arrays by the bytes of their values."""
    if isinstance(space, spaces.Discrete):
        return index
    if isinstance(space, spaces.Box | spaces.MultiBinary | spaces.MultiDiscrete):
        return _array_key(np.dtype(space.dtype))
    if isinstance(space, spaces.Tuple):
        parts = [key_function(part) for part in space.spaces]
        return lambda value: tuple(key(x) for key, x in zip(parts, value, strict=True))
    if isinstance(space, spaces.Dict):
        named = {name: key_function(part) for name, part in space.spaces.items()}
        return lambda value: tuple(key(value[name]) for name, key in named.items())
    if isinstance(space, spaces.Text):
        return str
    raise ProtocolError(f"a table cannot be indexed by observations of {space}")


def _array_key(dtype: np.dtype[Any]) -> Callable[[Any], bytes]:
    """The bytes of an array of any type that holds numbers; -0.0 is 0.0."""

    def key(value: Any) -> bytes:
        array = value if value.dtype == dtype else value.astype(dtype)
        found: bytes = array.tobytes()
        return (array + 0).tobytes() if b"\x80" in found else found

    return key


def encode_key(key: Hashable) -> Any:
    """A key as JSON: numbers and text as they are, bytes as hexadecimal digits in a list."""
    if isinstance(key, bytes):
        return ["bytes", key.hex()]
    if isinstance(key, tuple):
        return ["tuple", *map(encode_key, key)]
    return key


def decode_key(value: Any) -> Hashable:
    """The key that `encode_key` wrote."""
    if not isinstance(value, list):
        return value if isinstance(value, str) else int(value)
    if value[0] == "bytes":
        return bytes.fromhex(value[1])
    return tuple(map(decode_key, value[1:]))


_UNKNOWN = "unknown"
"""Stands for a mask that was not seen yet, or that has no bytes."""


class Numbering:
    """Numbers for the observations and calls of an environment, in the order in which they are met.

    Args:
        observations: The observation space.
        actions: The action space.
        store: The store that holds them.
        inherit: Whether new contexts inherit all rows of another one.
    """

    def __init__(
        self,
        observations: spaces.Space[Any],
        actions: spaces.Discrete,
        store: ContextStore,
        *,
        inherit: bool,
    ) -> None:
        self.spaces, self._observations = f"{observations}, {actions}", observations
        self.first_number, self.width = int(actions.start), int(actions.n)
        self.key = key_function(observations)
        self.vertices: dict[Hashable, int] = {}
        self.boxes: dict[Hashable, int] = {}
        self.box_vertices: list[list[int]] = []
        self.actions: list[list[int]] = []
        self.masks: list[bytes | str | None] = []
        self._store, self._inherit = store, inherit
        self._most_actions = 1

    def vertex(self, observation: Any) -> int:
        """Number of an observation, new if it was never met."""
        number = self.find(observation)
        if number is None:
            check_form(observation, self._observations)
            number = self._add_vertex(self.key(observation))
        return number

    @whole()
    def _add_vertex(self, key: Hashable) -> int:
        number = self.vertices[key] = len(self.actions)
        self.actions.append([])
        self.masks.append(_UNKNOWN)
        if number >= len(self._store.arrays["vertices"]):
            self._store.lengthen("vertices", 2 * number)
        return number

    def find(self, observation: Any) -> int | None:
        """Number of an observation; None if it was never met."""
        try:
            return self.vertices.get(self.key(observation))
        except NOT_OBSERVATIONS:
            raise not_in_space(observation, self._observations) from None

    def visit(self, observation: Any, mask: np.ndarray | None) -> int:
        """Number of an observation that the run stands at, its actions noted."""
        text: bytes | str | None
        try:
            text = None if mask is None else mask.tobytes()
            number = self.vertices.get(self.key(observation))
        except NOT_OBSERVATIONS:
            text, number = _UNKNOWN, None
        if number is not None and self.masks[number] == text:
            return number
        allowed = [self.first_number + action for action in allowed_actions(mask, self.width)]
        number = self.vertex(observation)
        with whole():
            if not self.actions[number]:
                self._note_actions(number, allowed)
            elif self.actions[number] != allowed:
                raise changed_mask(observation, allowed, self.actions[number])
            self.masks[number] = text
        return number

    def _note_actions(self, number: int, allowed: list[int]) -> None:
        self.actions[number] = allowed
        arrays = self._store.arrays
        arrays["vertices"]["count"][number] = len(allowed)
        self._most_actions = max(self._most_actions, len(allowed))
        arrays["used"][k.MORE_ROWS] += self._inherit
        arrays["used"][k.MORE_PAIRS] = arrays["used"][k.MORE_ROWS] * self._most_actions

    def box(self, exits: Sequence[Any]) -> int:
        """Number of a box, identified by the observations after its exits."""
        try:
            key = tuple(map(self.key, exits))
        except NOT_OBSERVATIONS:
            key = ()
        number = self.boxes.get(key)
        if number is None:
            number = self._add_box(key, [self.vertex(observation) for observation in exits])
        return number

    @whole()
    def _add_box(self, key: Hashable, vertices: list[int]) -> int:
        store, number = self._store, len(self.boxes)
        begin = sum(map(len, self.box_vertices[-1:]))
        if number:
            begin += int(store.arrays["boxes"]["port"][number - 1])
        if number >= len(store.arrays["boxes"]):
            store.lengthen("boxes", 2 * number)
        if begin + len(vertices) > len(store.arrays["ports"]):
            store.lengthen("ports", 2 * (begin + len(vertices)))
        store.widen(len(vertices))
        store.arrays["ports"][begin : begin + len(vertices)] = vertices
        store.arrays["boxes"][number] = begin, len(vertices)
        self.boxes[key] = number
        self.box_vertices.append(vertices)
        return number

    def header_fields(self) -> dict[str, Any]:
        """The numbers as a checkpoint keeps them."""
        return {
            "subject": f"an environment with {self.spaces}",
            "vertices": [encode_key(key) for key in self.vertices],
            "actions": self.actions,
            "boxes": self.box_vertices,
        }

    def restore(self, header: dict[str, Any]) -> None:
        """Take over the numbers that a checkpoint kept.

        Raises:
            ValueError: They do not fit together.
        """
        for text, actions in zip(header["vertices"], header["actions"], strict=True):
            number = self._add_vertex(decode_key(text))
            if actions:
                self._note_actions(number, self._existing(actions))
        keys = list(self.vertices)
        for exits in header["boxes"]:
            if not exits or min(exits) < 0:
                raise ValueError("a box leads nowhere")
            self._add_box(tuple(keys[v] for v in exits), list(exits))

    def _existing(self, actions: list[int]) -> list[int]:
        every = range(self.first_number, self.first_number + self.width)
        if [action for action in every if action in actions] != actions:
            raise ValueError("a state has actions that do not exist")
        return actions
