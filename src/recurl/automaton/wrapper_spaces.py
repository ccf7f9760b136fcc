"""Observations and actions of an environment together with those of a machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import InvalidAction

from recurl.automaton.moves import Moves
from recurl.errors import ModelError, Problem

Encoder = Callable[[Any, int, int], Any]
"""From an observation of the environment, a machine state and a string to an observation."""


def encoder(space: spaces.Space[Any], moves: Moves) -> tuple[spaces.Space[Any], Encoder, Any]:
    """The space of observations of both, the function that puts them together, and what is over.

    Discrete observations stay so: ``(observation * states + state) * symbols + top``, and one more
    for a run that is over. Others are flattened, and the machine's state and top follow, one-hot,
    and a 1 at the end if the run is over.
    """
    machine = moves.machine
    states, symbols = len(machine.states) - len(machine.final), machine.symbols
    tops = [symbols.index(string[0]) for string in moves.strings]
    if isinstance(space, spaces.Discrete):
        first = int(space.start)

        def number(raw: Any, control: int, string: int) -> int:
            return ((int(raw) - first) * states + control) * len(symbols) + tops[string]

        count = int(space.n) * states * len(symbols)
        return spaces.Discrete(count + 1), number, count
    return _vectors(space, states, len(symbols), tops=tops)


def _vectors(
    space: spaces.Space[Any], states: int, symbols: int, *, tops: list[int]
) -> tuple[spaces.Space[Any], Encoder, Any]:
    flat = spaces.flatten_space(space)
    if not isinstance(flat, spaces.Box):
        fix = "wrap it so that its observations are vectors"
        raise ModelError([Problem("MachineEnv", f"cannot flatten {space}", fix)])
    extra = np.zeros(states + symbols + 1)
    low = np.concatenate([flat.low, extra]).astype(np.float32)
    high = np.concatenate([flat.high, extra + 1]).astype(np.float32)

    def vector(raw: Any, control: int, string: int) -> npt.NDArray[np.float32]:
        rest = extra.copy()
        rest[control] = rest[states + tops[string]] = 1
        return np.concatenate([spaces.flatten(space, raw), rest]).astype(np.float32)

    over = np.clip(np.zeros(len(low), np.float32), low, high)
    over[-1] = 1
    return spaces.Box(low, high, dtype=np.float32), vector, over


class Actions:
    """Actions of the environment under each choice of the machine, then its epsilon moves.

    Args:
        space: Actions of the environment.
        moves: The machine.
    """

    def __init__(self, space: spaces.Space[Any], moves: Moves) -> None:
        self._moves, states = moves, len(moves.machine.states) - len(moves.machine.final)
        places = [(q, w) for q in range(states) for w in range(len(moves.strings))]
        named = [name for place in places for name in moves.choices(*place)]
        silent = [name for place in places for name, _ in moves.silent(*place)]
        self._choices = list(dict.fromkeys(named)) or [""]
        self._silent = list(dict.fromkeys(silent))
        self._plain = self._choices == [""] and not self._silent
        if not self._plain and not isinstance(space, spaces.Discrete):
            fix = "use a machine without choices and epsilon moves, or Discrete actions"
            message = f"the machine's choices cannot be added to {space}"
            raise ModelError([Problem("MachineEnv", message, fix)])
        self._own = int(space.n) if isinstance(space, spaces.Discrete) else 0
        self._first = int(space.start) if isinstance(space, spaces.Discrete) else 0
        self._total = self._own * len(self._choices) + len(self._silent)
        self.space = space if self._plain else spaces.Discrete(self._total)

    def decode(self, action: Any, control: int, string: int) -> tuple[Any, str]:
        """The environment's action and the choice; None and a name for an epsilon move."""
        if action not in self.space:
            raise InvalidAction(f"action {action!r} is not in {self.space}")
        if self._plain:
            return action, ""
        mask = self._exists(control, string)
        number = int(action)
        if not mask[number]:
            known = np.flatnonzero(mask)
            number = int(known[number % len(known)])
        reading = self._own * len(self._choices)
        if number >= reading:
            return None, self._silent[number - reading]
        choice, own = divmod(number, self._own)
        return own + self._first, self._choices[choice]

    def mask(self, given: Any, control: int, string: int) -> npt.NDArray[np.int8] | None:
        """Which actions exist; None if all do, always. Control -1 leaves nothing to choose."""
        if self._plain:
            return None if given is None else np.asarray(given, np.int8)
        if control < 0:
            return np.eye(1, self._total, dtype=np.int8).reshape(-1)
        mask = self._exists(control, string)
        if given is not None:
            reading = self._own * len(self._choices)
            mask[:reading] *= np.tile(np.asarray(given, np.int8), len(self._choices))
        return mask

    def _exists(self, control: int, string: int) -> npt.NDArray[np.int8]:
        choices = self._moves.choices(control, string)
        silent = [name for name, _ in self._moves.silent(control, string)]
        reading = np.repeat([name in choices for name in self._choices], self._own)
        return np.concatenate([reading, [name in silent for name in self._silent]]).astype(np.int8)
