"""Stored calls that are entered anew, so that steps long past lead on by what is known now.

A stored call goes on in exit values v', and m was taken off them, both by the network of the moment
it was made. Wherever the run is, what its return ports are worth can be asked again: v and the
ports are stored.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from recurl.learn.deep.replay import Kind, Transition, places, rows_of, steps_of
from recurl.model.tables import CALLS

SPARE = 4
"""Stored steps that are looked at for each call that is wanted: not all are calls."""

Enter = Callable[[Transition], tuple[jax.Array, jax.Array]]
"""Exit values that calls are entered with, relative to their minimum, and the minimum."""


def refresh_draws(key: jax.Array, step: jax.Array, count: int) -> jax.Array:
    """Random numbers in [0, 1) with which to look for so many calls."""
    own = jax.random.fold_in(jax.random.fold_in(key, step), 1)
    return jax.random.uniform(own, (SPARE * count,))


def refreshed(
    kind: Kind, buffer: jax.Array, stored: jax.Array, due: jax.Array, draws: jax.Array, enter: Enter
) -> jax.Array:
    """The buffer with some of its calls entered anew.

    Args:
        kind: What the buffer holds.
        buffer: The buffer.
        stored: How many steps were ever stored.
        due: Whether to do anything.
        draws: Numbers of `refresh_draws`.
        enter: How calls are entered now.
    """
    count = len(draws) // SPARE

    def work() -> tuple[jax.Array, jax.Array]:
        found = places(buffer, stored, draws)
        calls = steps_of(kind, buffer[found]).move == CALLS
        order = jnp.argsort(~calls, stable=True)[:count]
        steps = steps_of(kind, buffer[found[order]])
        values, least = enter(steps)
        rows = rows_of(steps._replace(values_there=values, other=least))
        return jnp.where(calls[order], found[order], len(buffer)), rows

    def nothing() -> tuple[jax.Array, jax.Array]:
        return jnp.full(count, len(buffer)), jnp.zeros((count, buffer.shape[1]))

    # Written here whatever happens: a branch would copy the whole buffer.
    where, rows = jax.lax.cond(due, work, nothing)
    return buffer.at[where].set(rows, mode="drop")
