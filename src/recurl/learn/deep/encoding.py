"""How the network sees states: rows of numbers, from a model's vertices or an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from recurl.env.observation import single_env
from recurl.errors import ProtocolError

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

Singles = npt.NDArray[np.float32]
"""Arrays of single precision, as networks take them."""


def vertex_rows(model: RMDP, observation: str) -> np.ndarray:
    """A row of numbers for every vertex; for one-hot rows, only the place of the one.

    A matrix of one-hot rows would have as many columns as rows: they are made from their places
    when a network needs them.

    Args:
        model: The model.
        observation: ``"features"`` (the model's own), ``"categories"`` (each distinct value of a
            feature is a column of its own) or ``"onehot"`` (a column per vertex). Where a model
            has no features, all three are ``"onehot"``.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.palindrome()
        >>> vertex_rows(model, "features").shape, vertex_rows(model, "categories").shape
        ((621, 7), (621, 15))
        >>> vertex_rows(model, "onehot").shape
        (621,)
    """
    if observation == "onehot" or model.features is None:
        return np.arange(model.tables.n_vertices, dtype=np.int32)
    if observation == "features":
        return model.features.astype(np.float32)
    columns = [_categories(column, model.tables.states) for column in model.features.T]
    return np.concatenate(columns, axis=1)


def exit_rows(model: RMDP, observation: str) -> tuple[tuple[float, ...], ...]:
    """A row of numbers for each exit: the mean of what is seen after it, over all boxes.

    Columns in which exits do not differ are left out. There are no rows where vertices are one-hot.

    Example:
        >>> import recurl
        >>> rows = np.array(exit_rows(recurl.zoo.palindrome(), "categories"))  # row, column, wrong
        >>> rows.shape, rows[3].tolist()
        ((18, 8), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    """
    t = model.tables
    if observation == "onehot" or model.features is None or not t.n_boxes:
        return ()
    rows = vertex_rows(model, observation)
    sums, counts = np.zeros((t.max_exits, rows.shape[1])), np.zeros((t.max_exits, 1))
    for first, exits in zip(t.box_return, t.n_exits[t.box_component], strict=True):
        sums[:exits] += rows[first : first + exits]
        counts[:exits] += 1
    means = sums / np.maximum(counts, 1)
    differs = np.ptp(means, axis=0) > 0
    return tuple(map(tuple, means[:, differs].tolist()))


def _categories(column: np.ndarray, states: np.ndarray) -> Singles:
    """A column per value that some state has; a value that all of them have says nothing."""
    values = np.unique(column[states])
    if len(values) == 1:
        return np.zeros((len(column), 0), np.float32)
    return (column[:, None] == values).astype(np.float32)


Encoder = Callable[[Any], np.ndarray]


def observation_encoder(space: spaces.Space[Any]) -> tuple[tuple[int, ...], str, Encoder]:
    """Shape and type of what the network sees of observations, and the function that flattens one.

    A Box keeps its shape, and its type if that is uint8, as of images; Discrete and MultiDiscrete
    become one-hot; Dict and Tuple are laid end to end.

    Raises:
        ProtocolError: Observations of the space have no fixed length.

    Example:
        >>> shape, dtype, encode = observation_encoder(spaces.MultiDiscrete([2, 3]))
        >>> shape, dtype, encode(np.array([1, 0])).tolist()
        ((5,), 'float32', [0.0, 1.0, 1.0, 0.0, 0.0])
        >>> observation_encoder(spaces.Box(0, 255, (8, 8, 3), np.uint8))[:2]
        ((8, 8, 3), 'uint8')
    """
    if not space.is_np_flattenable:
        raise ProtocolError(f"a network needs observations of a fixed length, not {space}")
    if not isinstance(space, spaces.Box):
        size = spaces.flatdim(space)
        return (size,), "float32", lambda seen: np.asarray(spaces.flatten(space, seen), np.float32)
    dtype = "uint8" if space.dtype == np.uint8 else "float32"
    shape = space.shape if len(space.shape) > 1 else (int(np.prod(space.shape)),)
    return shape, dtype, lambda seen: np.asarray(seen, dtype).ravel()


def marked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with room for a mark: one more number, or one more channel of an image.

    Example:
        >>> marked_shape((5,)), marked_shape((8, 8)), marked_shape((8, 8, 3))
        ((6,), (8, 8, 2), (8, 8, 4))
    """
    if len(shape) == 1:
        return (shape[0] + 1,)
    return (*shape[:2], 2) if len(shape) == 2 else (*shape[:-1], shape[-1] + 1)


def with_mark(row: np.ndarray, shape: tuple[int, ...], on: bool) -> np.ndarray:
    """A flat observation with a mark that is on or off, given the shape of both.

    Example:
        >>> with_mark(np.array([0.5, 0.0], np.float32), (3,), True).tolist()
        [0.5, 0.0, 1.0]
    """
    mark = np.full((*shape[:-1], 1), on * (255 if row.dtype == np.uint8 else 1), row.dtype)
    return np.concatenate([row.reshape(*shape[:-1], shape[-1] - 1), mark], axis=-1).ravel()


def known_exits(env: Any) -> int | None:
    """Most exits of anything called in an environment that is made from a model; else None."""
    model = getattr(single_env(env).unwrapped, "model", None)
    return None if model is None else int(model.tables.max_exits)
