"""How an observation shows a vertex: as its number, one-hot, or by the model's own features."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from recurl.errors import ModelError, Problem, UnknownNameError

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

Encoder = Callable[[int], Any]
"""From a vertex to its observation, a new object each time."""


def encoding(model: RMDP, name: str) -> tuple[spaces.Space[Any], Encoder]:
    """The observation space of an encoding, and the function that encodes a vertex.

    Args:
        model: The model.
        name: ``"index"`` (the vertex number), ``"onehot"`` or ``"features"``.

    Example:
        >>> import recurl
        >>> space, encode = encoding(recurl.zoo.gambler(), "onehot")
        >>> encode(2).argmax(), encode(2) in space
        (np.int64(2), True)
    """
    if name not in _ENCODINGS:
        raise UnknownNameError("observation", name, _ENCODINGS)
    return _ENCODINGS[name](model)


def _index(model: RMDP) -> tuple[spaces.Space[Any], Encoder]:
    return spaces.Discrete(model.tables.n_vertices), int


def _onehot(model: RMDP) -> tuple[spaces.Space[Any], Encoder]:
    size = model.tables.n_vertices

    def encode(vertex: int) -> np.ndarray:
        row = np.zeros(size, np.float32)
        row[vertex] = 1
        return row

    return spaces.Box(0, 1, (size,), np.float32), encode


def _features(model: RMDP) -> tuple[spaces.Space[Any], Encoder]:
    if model.features is None:
        fix = "observe 'index' or 'onehot', or give the vertices features"
        raise ModelError([Problem(model.name, "its vertices have no features", fix)])
    rows = model.features.astype(np.float32)
    low, high = rows.min(axis=0), rows.max(axis=0)
    # Gymnasium warns of a box without width.
    high = np.where(high > low, high, low + 1)
    return spaces.Box(low, high, dtype=np.float32), lambda vertex: rows[vertex].copy()


_ENCODINGS = {"features": _features, "index": _index, "onehot": _onehot}
