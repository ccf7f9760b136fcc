"""What the lanes see of a step, as one array: handing over many takes longer than the step."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recurl.learn.deep.columns import cut, width
from recurl.learn.deep.network import Shape


class Seen(NamedTuple):
    """What the lanes saw of a step, a row per lane.

    Attributes:
        here: Features before the step. ``[N, F]``
        values: Exit values before it. ``[N, K]``
        action: The actions.
        reward: The rewards.
        move: STEP, CALLS or EXITS; the end of a run is an EXITS.
        exit: With a return the exit taken; 0 else.
        there: Features after the step. ``[N, F]``
        mask: Actions that exist there. ``[N, A]``
        popped: With a return the exit values of the caller. ``[N, K]``
        ports: With a call the features after each exit. ``[N, K, F]``
        ports_mask: Actions that exist after each exit; none where there is no such exit.
        real: Whether there was a step at all.
        next: Features from which the lane goes on: another episode's, where one began.
        next_mask: Actions that exist there.
        begins: Whether the lane begins an episode.
    """

    here: Any
    values: Any
    action: Any
    reward: Any
    move: Any
    exit: Any
    there: Any
    mask: Any
    popped: Any
    ports: Any
    ports_mask: Any
    real: Any
    next: Any
    next_mask: Any
    begins: Any


_TYPES = {
    "action": jnp.int32, "move": jnp.uint8, "exit": jnp.int32, "mask": jnp.bool_,
    "ports_mask": jnp.bool_, "real": jnp.bool_, "next_mask": jnp.bool_, "begins": jnp.bool_,
}  # fmt: skip


def _shapes(shape: Shape) -> Seen:
    features, exits, actions = shape
    return Seen(
        here=(features,), values=(exits,), action=(), reward=(), move=(), exit=(),
        there=(features,), mask=(actions,), popped=(exits,), ports=(exits, features),
        ports_mask=(exits, actions), real=(), next=(features,), next_mask=(actions,), begins=(),
    )  # fmt: skip


def blank(shape: Shape, lanes: int) -> tuple[np.ndarray, Seen]:
    """An empty sheet, and views of its parts to write to.

    Example:
        >>> sheet, seen = blank(Shape(2, 1, 3), lanes=1)
        >>> seen.there[0] = 5, 7
        >>> np.flatnonzero(sheet[0]).tolist(), seen.ports_mask.shape
        ([7, 8], (1, 1, 3))
    """
    parts = _shapes(shape)
    sheet = np.zeros((lanes, width(parts)), np.float32)
    return sheet, Seen(*cut(sheet, parts))


def read(shape: Shape, sheet: jax.Array) -> Seen:
    """The parts of a sheet on the device, in their own types."""
    seen = Seen(*cut(sheet, _shapes(shape)))
    return seen._replace(**{name: getattr(seen, name).astype(t) for name, t in _TYPES.items()})
