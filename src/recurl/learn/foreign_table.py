"""What is known of an environment: observations and boxes by number, and their Q-values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from recurl.env.protocol import finite_observation
from recurl.errors import LimitError, ProtocolError
from recurl.learn import notes_kernel as k
from recurl.learn.checkpoint import expect
from recurl.learn.foreign_rows_kernel import rebuild
from recurl.learn.notes_kernel import FLOATS, Notes
from recurl.learn.settings import Settings
from recurl.learn.table import SHARE, free_memory

LOGGED = 1 << 17
"""How many steps are kept for replay."""


def key_function(space: spaces.Space[Any]) -> Callable[[Any], Hashable]:
    """What tells the observations of a space apart: numbers by value, arrays by their bytes."""
    if isinstance(space, spaces.Discrete):
        return int
    if isinstance(space, spaces.Box | spaces.MultiBinary | spaces.MultiDiscrete):
        return np.ndarray.tobytes
    if isinstance(space, spaces.Tuple):
        parts = [key_function(part) for part in space.spaces]
        return lambda value: tuple(key(x) for key, x in zip(parts, value, strict=True))
    if isinstance(space, spaces.Dict):
        named = {name: key_function(part) for name, part in space.spaces.items()}
        return lambda value: tuple(key(value[name]) for name, key in named.items())
    if isinstance(space, spaces.Text):
        return str
    raise ProtocolError(f"a table cannot be indexed by observations of {space}")


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


class ForeignTable:
    """Numbers for what an environment shows, and the table of Q-values.

    Args:
        observations: The observation space.
        actions: The action space.
        settings: What the learner was told.
        flat: Take calls and returns for ordinary steps.
        random: State of the random generator.
    """

    def __init__(
        self,
        observations: spaces.Space[Any],
        actions: spaces.Discrete,
        settings: Settings,
        *,
        flat: bool,
        random: np.ndarray,
    ) -> None:
        self.settings, self.spaces = settings, f"{observations}, {actions}"
        self.memory = int(SHARE * free_memory()) if settings.memory is None else settings.memory
        self.first_number, self.width = int(actions.start), int(actions.n)
        self._key = key_function(observations)
        self.vertices: dict[Hashable, int] = {}
        self.boxes: dict[Hashable, int] = {}
        self.box_vertices: list[list[int]] = []
        self.actions: list[list[int]] = []
        self._masks: list[bytes | str | None] = []
        self.notes = _new_notes(settings, flat, self.width, random)
        self._refresh()

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.notes.place[k.STEPS])

    @property
    def n_contexts(self) -> int:
        """Contexts met so far."""
        return int(self.notes.used[k.CONTEXTS])

    def _refresh(self) -> None:
        pairs = [(a.ctypes.data, a.size) for a in self.notes]
        self.header = np.array(pairs, np.int64).ravel()

    def grow(self) -> None:
        """Double the table.

        Raises:
            LimitError: There is not enough memory; the table is as it was.
        """
        n, used = self.notes, self.notes.used
        sizes = {name: 2 * len(getattr(n, name)) for name in _GROWING}
        if 2 * sum(a.nbytes for a in n) > self.memory:
            raise LimitError(
                f"the table of {used[k.CONTEXTS]} contexts and {used[k.PAIRS]} Q-values would pass "
                f"the limit of {self.memory / 1e6:.3g} MB: a quantum of "
                f"{_coarser(n, self.settings.quantum):.1g} would fit, or raise memory="
            )
        self._replace({name: _longer(getattr(n, name), size) for name, size in sizes.items()})

    def _replace(self, arrays: dict[str, np.ndarray]) -> None:
        rows, contexts = len(arrays["row_vertex"]), len(arrays["exits"])
        arrays["row_slots"] = np.full(_power_of_two(4 * rows), -1)
        arrays["context_slots"] = np.full(_power_of_two(4 * contexts), -1)
        self.notes = self.notes._replace(**arrays)
        self._refresh()
        rebuild(self.header)

    def vertex(self, observation: Any) -> int:
        """Number of an observation, new if it was never met."""
        key = self._key(observation)
        number = self.vertices.get(key)
        if number is None:
            finite_observation(observation)
            number = self.vertices[key] = len(self.actions)
            self.actions.append([])
            self._masks.append("unknown")
            if number >= len(self.notes.count):
                self._lengthen("count")
        return number

    def find(self, observation: Any) -> int | None:
        """Number of an observation; None if it was never met."""
        return self.vertices.get(self._key(observation))

    def visit(self, observation: Any, mask: np.ndarray | None) -> int:
        """Number of an observation that the run stands at, its actions noted."""
        number = self.vertices.get(self._key(observation))
        text = None if mask is None else mask.tobytes()
        if number is not None and self._masks[number] == text:
            return number
        number = self.vertex(observation)
        if self.actions[number]:
            raise ProtocolError(f"the action mask of observation {observation!r} has changed")
        self._note_actions(number, mask)
        self._masks[number] = text
        return number

    def _note_actions(self, number: int, mask: np.ndarray | None) -> None:
        allowed = range(self.width) if mask is None else np.flatnonzero(mask).tolist()
        if not len(allowed):
            raise ProtocolError("info['action_mask'] leaves no action")
        self.actions[number] = [self.first_number + a for a in allowed]
        self.notes.count[number] = len(allowed)
        self.notes.used[k.WIDEST] = max(int(self.notes.used[k.WIDEST]), len(allowed))
        self.notes.used[k.MOST_ROWS] += self.settings.inherit > 0

    def box(self, exits: Sequence[Any]) -> int:
        """Number of a box, told by the observations after its exits."""
        key = tuple(map(self._key, exits))
        number = self.boxes.get(key)
        if number is None:
            number = self._new_box(key, exits)
        return number

    def _new_box(self, key: Hashable, exits: Sequence[Any]) -> int:
        return self._add_box(key, [self.vertex(observation) for observation in exits])

    def _add_box(self, key: Hashable, vertices: list[int]) -> int:
        number = self.boxes[key] = len(self.boxes)
        while number + 2 > len(self.notes.box_start):
            self._lengthen("box_start")
        begin = int(self.notes.box_start[number])
        while begin + len(vertices) > len(self.notes.box_exits):
            self._lengthen("box_exits")
        while len(vertices) > len(self.notes.vector):
            self._lengthen("vector")
        n = self.notes
        n.box_exits[begin : begin + len(vertices)] = vertices
        n.box_start[number + 1] = begin + len(vertices)
        self.box_vertices.append(vertices)
        return number

    def _lengthen(self, name: str) -> None:
        array = getattr(self.notes, name)
        self.notes = self.notes._replace(**{name: _longer(array, 2 * len(array))})
        self._refresh()

    def header_fields(self) -> dict[str, Any]:
        """What a checkpoint says in words."""
        return {
            "subject": f"an environment with {self.spaces}",
            "vertices": [encode_key(key) for key in self.vertices],
            "actions": self.actions,
            "boxes": self.box_vertices,
            "steps": self.steps,
            "masked": None not in self._masks,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep; steps that were logged for replay are not."""
        n, used = self.notes, self.notes.used
        return {
            "row_vertex": n.row_vertex[: used[k.ROWS]],
            "row_context": n.row_context[: used[k.ROWS]],
            "q": n.q[: used[k.PAIRS]],
            "visits": n.visits[: used[k.PAIRS]],
            "exits": n.exits[: used[k.CONTEXTS]],
            "values": n.values[: used[k.VALUES]],
            "random": n.random,
        }

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take over what a checkpoint kept; the next step begins an episode.

        Raises:
            ValueError: The numbers do not fit together.
        """
        self._restore_names(header)
        vertex = expect(arrays, "row_vertex", np.int64, 0, len(self.actions) - 1)
        exits = expect(arrays, "exits", np.int64, 0, len(self.notes.vector))
        context = expect(arrays, "row_context", np.int64, 0, len(exits) - 1)
        values = expect(arrays, "values", np.float64, 0.0, np.inf)
        q = expect(arrays, "q", np.float64, -np.inf, np.inf)
        visits = expect(arrays, "visits", np.int64, 0, np.iinfo(np.int64).max)
        random = expect(arrays, "random", np.uint64, 0, np.iinfo(np.uint64).max)
        widths = self.notes.count[vertex]
        if len(context) != len(vertex) or not len(q) == len(visits) == widths.sum():
            raise ValueError("rows and Q-values do not fit together")
        if not len(exits) or exits[0] != 0 or len(values) != exits.sum() or not widths.all():
            raise ValueError("contexts and exit values do not fit together")
        self._make_long(max(len(vertex), len(q), len(exits), len(values)))
        n = self.notes
        n.row_vertex[: len(vertex)], n.row_context[: len(vertex)] = vertex, context
        n.row_begin[: len(vertex)] = np.cumsum(widths) - widths
        n.q[: len(q)], n.visits[: len(q)], n.random[:] = q, visits, random
        n.exits[: len(exits)], n.values[: len(values)] = exits, values
        n.value_start[: len(exits)] = np.cumsum(exits) - exits
        n.used[: k.MOST_ROWS] = len(vertex), len(q), len(exits), len(values)
        self._link_rows()

    def _make_long(self, length: int) -> None:
        longer = {name: getattr(self.notes, name) for name in _GROWING}
        self._replace({name: _longer(a, len(a) + length) for name, a in longer.items()})

    def _link_rows(self) -> None:
        n = self.notes
        n.last_row[:] = -1
        for row, owner in enumerate(n.row_context[: n.used[k.ROWS]].tolist()):
            n.row_next[row], n.last_row[owner] = n.last_row[owner], row
        rebuild(self.header)

    def _restore_names(self, header: dict[str, Any]) -> None:
        self.notes.place[k.STEPS] = int(header["steps"])
        for text, actions in zip(header["vertices"], header["actions"], strict=True):
            number = self.vertices[decode_key(text)] = len(self.actions)
            self.actions.append([])
            self._masks.append("unknown")
            if number >= len(self.notes.count):
                self._lengthen("count")
            if actions:
                mask = np.zeros(self.width, np.int8)
                mask[np.array(actions) - self.first_number] = 1
                self._note_actions(number, mask)
                self._masks[number] = mask.tobytes() if header["masked"] else None
        keys = list(self.vertices)
        for exits in header["boxes"]:
            if min(exits) < 0:
                raise ValueError("a box leads nowhere")
            self._add_box(tuple(keys[v] for v in exits), list(exits))


_GROWING = (
    "q", "visits", "row_vertex", "row_context", "row_begin", "row_next", "exits", "value_start",
    "values", "last_row", "stack", "offsets",
)  # fmt: skip


def _new_notes(settings: Settings, flat: bool, width: int, random: np.ndarray) -> Notes:
    numbers = np.array(
        [
            *settings.learning_rate,
            *settings.exploration,
            settings.quantum,
            settings.grain,
            settings.initial_value,
            settings.replay,
            settings.inherit,
            flat,
        ],
        np.float64,
    )
    logged = LOGGED if settings.replay else 1
    sizes = dict.fromkeys(Notes._fields, 64) | {
        "q": 64 * width,
        "visits": 64 * width,
        "place": k.PLACES,
        "used": k.USES,
        "log": 5 * logged,
        "log_rewards": logged,
    }
    arrays = {
        n: np.zeros(size, np.float64 if n in FLOATS else np.int64) for n, size in sizes.items()
    }
    arrays["row_slots"], arrays["context_slots"] = np.full(256, -1), np.full(256, -1)
    arrays["last_row"][0] = -1
    arrays["used"][k.CONTEXTS] = 1
    return Notes(**{**arrays, "random": random, "numbers": numbers})


def _coarser(n: Notes, quantum: float) -> float:
    """A quantum that would halve the contexts, if their number goes with its inverse."""
    dimension = max(1, int(n.exits[: n.used[k.CONTEXTS]].max()) - 1)
    return float(max(quantum, 1e-6) * 2.0 ** (1.0 / dimension))


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
