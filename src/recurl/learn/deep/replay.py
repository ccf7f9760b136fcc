"""The replay buffer: the last steps, each with its kind and its auxiliary number."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from recurl.learn.deep.columns import Part, cut, width


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
        ports: What shows the return ports of a call: a box, or the features observed.
            Both this and the next are empty where no call is entered anew.
        ports_mask: Which actions they have; empty where ``ports`` says it already. ``[K, A]``
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
    ports: jax.Array
    ports_mask: jax.Array


class Kind(NamedTuple):
    """What a buffer holds.

    Attributes:
        seen: Numbers that show a state; 0 for a vertex, which is a whole number.
        exits: Exit values.
        actions: Length of the mask.
        ports: Whether return ports are kept.
    """

    seen: int
    exits: int
    actions: int
    ports: bool


def _parts(kind: Kind) -> list[Part]:
    """Shapes of the fields of a step."""
    shown, values, number = ((kind.seen,) if kind.seen else ()), (kind.exits,), ()
    ports: Part = (kind.exits, *shown) if kind.seen else ()
    masks: Part = (kind.exits, kind.actions)
    return [
        shown, values, number, number, number, number, shown, values, (kind.actions,),
        ports if kind.ports else (0,), masks if kind.ports else (0,),
    ]  # fmt: skip


def new_buffer(kind: Kind, size: int) -> jax.Array:
    """An empty buffer for so many steps: a row of numbers for each."""
    return jnp.zeros((size, width(_parts(kind))), jnp.float32)


def rows_of(steps: Transition) -> jax.Array:
    """Steps as rows; every field has a row per step."""
    count = len(steps.action)
    return jnp.concatenate([x.reshape(count, -1).astype(jnp.float32) for x in steps], axis=1)


def store(buffer: jax.Array, step: jax.Array, transition: Transition) -> jax.Array:
    """Write a step over the oldest one."""
    row = rows_of(jax.tree.map(lambda x: jnp.asarray(x)[None], transition))[0]
    return buffer.at[step % len(buffer)].set(row)


def store_rows(
    buffer: jax.Array, numbers: jax.Array, steps: Transition, real: jax.Array
) -> jax.Array:
    """Write several steps over the oldest ones; those that are not real are left out."""
    where = jnp.where(real, numbers % len(buffer), len(buffer))
    return buffer.at[where].set(rows_of(steps), mode="drop")


def sample(kind: Kind, buffer: jax.Array, stored: jax.Array, draws: jax.Array) -> Transition:
    """Stored steps at random.

    Args:
        kind: What the buffer holds.
        buffer: The buffer.
        stored: How many steps were ever stored.
        draws: Numbers in [0, 1), one for each step to sample.
    """
    return steps_of(kind, buffer[places(buffer, stored, draws)])


def places(buffer: jax.Array, stored: jax.Array, draws: jax.Array) -> jax.Array:
    """Numbers of stored rows at random, for numbers in [0, 1)."""
    filled = jnp.minimum(stored, len(buffer))
    return jnp.minimum((draws * filled).astype(jnp.int32), filled - 1)


def steps_of(kind: Kind, rows: jax.Array) -> Transition:
    """Rows of a buffer as steps; numbers have their own types again."""
    steps = Transition(*cut(rows, _parts(kind)))
    shown = steps.here.dtype if kind.seen else jnp.int32
    return steps._replace(
        here=steps.here.astype(shown),
        there=steps.there.astype(shown),
        action=steps.action.astype(jnp.int32),
        move=steps.move.astype(jnp.uint8),
        mask=steps.mask.astype(bool),
        ports=steps.ports.astype(shown),
        ports_mask=steps.ports_mask.astype(bool),
    )
