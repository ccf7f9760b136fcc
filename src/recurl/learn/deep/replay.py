"""The replay buffer: the last steps, each with its kind and its auxiliary number."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Transition(NamedTuple):
    """A step (s, v, a, r, s', v'); in a buffer every field has a row per step.

    Attributes:
        here: What shows s: a vertex, or the features observed.
        values: Exit values v in which the step was taken. ``[K]``
        action: The action a.
        reward: The reward r.
        move: STEP, CALLS or EXITS.
        other: With a call the minimum m taken off the callee's exit values, with an exit v[k].
        there: What shows s'.
        values_there: Exit values v' in which the run goes on. ``[K]``
        mask: Which actions s' has; empty where ``there`` says it already.
    """

    here: jax.Array
    values: jax.Array
    action: jax.Array
    reward: jax.Array
    move: jax.Array
    other: jax.Array
    there: jax.Array
    values_there: jax.Array
    mask: jax.Array


def new_buffer(like: Transition, size: int) -> Transition:
    """An empty buffer for so many steps like the one given."""
    return jax.tree.map(lambda x: jnp.zeros((size, *jnp.shape(x)), jnp.asarray(x).dtype), like)


def store(buffer: Transition, step: jax.Array, transition: Transition) -> Transition:
    """Write a step over the oldest one."""
    place = step % len(buffer.action)
    return jax.tree.map(lambda rows, row: rows.at[place].set(row), buffer, transition)


def store_rows(
    buffer: Transition, steps: jax.Array, rows: Transition, real: jax.Array
) -> Transition:
    """Write several steps over the oldest ones; those that are not real are left out."""
    size = len(buffer.action)
    places = jnp.where(real, steps % size, size)
    return jax.tree.map(lambda old, new: old.at[places].set(new, mode="drop"), buffer, rows)


def sample(buffer: Transition, stored: jax.Array, draws: jax.Array) -> Transition:
    """Stored steps at random.

    Args:
        buffer: The buffer.
        stored: How many steps were ever stored.
        draws: Numbers in [0, 1), one for each step to sample.
    """
    filled = jnp.minimum(stored, len(buffer.action))
    rows = jnp.minimum((draws * filled).astype(jnp.int32), filled - 1)
    return jax.tree.map(lambda x: x[rows], buffer)
