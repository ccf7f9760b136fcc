"""The replay buffer: the last steps as rows of two tables, and the calls among them refreshed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recurl.model.tables import CALLS, STEP

Part = tuple[int, ...]
"""Shape of a part of a row."""


def width(parts: Iterable[Part]) -> int:
    """How many columns the parts of a row take.

    Example:
        >>> width([(), (2, 3), (0,)])
        7
    """
    return sum(map(math.prod, parts))


def cut(table: Any, parts: Iterable[Part]) -> list[Any]:
    """The parts of the rows of a table, a view of each: numpy's or the device's.

    Many small arrays take longer to hand to a compiled program than to use.

    Example:
        >>> import numpy as np
        >>> [part.tolist() for part in cut(np.array([[1, 2, 3], [4, 5, 6]]), [(), (2,)])]
        [[1, 4], [[2, 3], [5, 6]]]
    """
    found, first = [], 0
    for part in parts:
        last = first + math.prod(part)
        found.append(table[:, first:last].reshape(len(table), *part))
        first = last
    return found


class ReplayRecord(NamedTuple):
    """Layout of a stored step.

    Attributes:
        shown: Numbers that show a state: one for the vertex of a model, else an observation.
        ports: Numbers that show the return ports of a call; 0 where no call is refreshed.
        dtype: Type of these numbers.
        exits: Exit values.
        actions: Length of action masks; 0 where the state says which actions it has.
        per_step: Rows that a step takes: its own, and those of counterfactual steps.
        exit: 1 if the number of the exit is stored with a step that leaves, else 0.
    """

    shown: int
    ports: int
    dtype: str
    exits: int
    actions: int
    per_step: int = 1
    exit: int = 0

    @property
    def shown_parts(self) -> list[Part]:
        """Shapes of the fields of `Transition` that show something."""
        return [(self.shown,), (self.shown,), (self.ports,)]

    @property
    def number_parts(self) -> list[Part]:
        """Shapes of the other fields of `Transition`."""
        masks = (self.exits, self.actions) if self.ports else (0,)
        values: Part = (self.exits,)
        return [values, (), (), (), (), (self.exit,), values, (self.actions,), masks, ()]


class Transition(NamedTuple):
    """A step (s, v, a, r, s', v'); every field has a row per step.

    Attributes:
        here: What shows s.
        there: What shows s'.
        ports: What shows the return ports of a call.
        values: Exit values v in which the step was taken. ``[N, K]``
        action: The action a.
        reward: The reward r.
        move: STEP, CALLS or EXITS.
        other: With a call the minimum m taken off the callee's exit values, with an exit v[k].
        exit: With an exit its number k, else (and at the end of a run) -1. ``[N, 1]``, or empty.
        values_there: Exit values v' in which the run goes on. ``[N, K]``
        mask: Which actions s' has. ``[N, A]``
        ports_mask: Which actions the return ports have. ``[N, K, A]``
        next: Row of the buffer with the step after this one; -1 if it is not stored.
    """

    here: jax.Array
    there: jax.Array
    ports: jax.Array
    values: jax.Array
    action: jax.Array
    reward: jax.Array
    move: jax.Array
    other: jax.Array
    exit: jax.Array
    values_there: jax.Array
    mask: jax.Array
    ports_mask: jax.Array
    next: jax.Array


SHOWN = 3
"""How many fields of a transition show something."""


class Buffer(NamedTuple):
    """The last steps, a row for each: what was shown, in its own type, and other numbers."""

    shown: jax.Array
    numbers: jax.Array


def new_buffer(record: ReplayRecord, size: int) -> Buffer:
    """An empty buffer for a number of steps."""
    return Buffer(
        jnp.zeros((size, width(record.shown_parts)), record.dtype),
        jnp.zeros((size, width(record.number_parts)), jnp.float32),
    )


def rows_of(record: ReplayRecord, steps: Transition) -> Buffer:
    """Steps as rows of a buffer."""
    count = len(steps.action)

    def table(parts: tuple[jax.Array, ...], dtype: str) -> jax.Array:
        return jnp.concatenate([x.reshape(count, -1).astype(dtype) for x in parts], axis=1)

    return Buffer(table(steps[:SHOWN], record.dtype), table(steps[SHOWN:], "float32"))


def steps_of(record: ReplayRecord, rows: Buffer) -> Transition:
    """Rows of a buffer as steps; numbers have their own types again."""
    shown, numbers = cut(rows.shown, record.shown_parts), cut(rows.numbers, record.number_parts)
    steps = Transition(*shown, *numbers)
    return steps._replace(
        action=steps.action.astype(jnp.int32),
        move=steps.move.astype(jnp.uint8),
        exit=steps.exit.astype(jnp.int32),
        mask=steps.mask.astype(bool),
        ports_mask=steps.ports_mask.astype(bool),
        next=steps.next.astype(jnp.int32),
    )


def store(record: ReplayRecord, buffer: Buffer, where: jax.Array, steps: Transition) -> Buffer:
    """Write steps to rows of a buffer; those whose row is its length or more are left out."""
    rows = rows_of(record, steps)
    return Buffer(
        *(old.at[where].set(new, mode="drop") for old, new in zip(buffer, rows, strict=True))
    )


def link(buffer: Buffer, before: jax.Array, where: jax.Array) -> Buffer:
    """Note which rows follow which; those of `before` that are negative are left out."""
    rows = jnp.where(before < 0, len(buffer.numbers), before)
    numbers = buffer.numbers.at[rows, -1].set(where.astype(jnp.float32), mode="drop")
    return buffer._replace(numbers=numbers)


def rows_at(buffer: Buffer, rows: jax.Array) -> Buffer:
    """Some rows of a buffer."""
    return Buffer(buffer.shown[rows], buffer.numbers[rows])


def places(buffer: Buffer, stored: jax.Array, draws: jax.Array) -> jax.Array:
    """Random rows that are filled.

    Args:
        buffer: The buffer.
        stored: How many steps were ever stored.
        draws: Numbers in [0, 1), one for each row.
    """
    filled = jnp.minimum(stored, len(buffer.numbers))
    return jnp.minimum((draws * filled).astype(jnp.int32), filled - 1)


def chains(
    record: ReplayRecord, buffer: Buffer, rows: jax.Array, n_step: int, gamma: float
) -> tuple[Transition, jax.Array]:
    """Stored steps, each joined with up to ``n_step - 1`` of those that follow it.

    Steps are joined while they are ordinary ones: exit values do not change among these. A call or
    an exit is the last of a chain.

    Returns:
        Steps from the first state to the last, whose reward is the discounted sum and whose kind is
        that of the last step; and the discount of what follows.
    """
    steps = steps_of(record, rows_at(buffer, rows))
    discount = jnp.full(len(rows), gamma, jnp.float32)
    for _ in range(n_step - 1):
        on = (steps.move == STEP) & (steps.next >= 0)
        after = steps_of(record, rows_at(buffer, jnp.maximum(steps.next, 0)))
        joined = after._replace(
            here=steps.here,
            values=steps.values,
            action=steps.action,
            reward=steps.reward + discount * after.reward,
        )
        steps = jax.tree.map(partial(choose_rows, on), joined, steps)
        discount = jnp.where(on, gamma * discount, discount)
    return steps, discount


def choose_rows(which: jax.Array, yes: jax.Array, no: jax.Array) -> jax.Array:
    """Rows of one array where a mask says so, else those of another."""
    return jnp.where(which.reshape(-1, *[1] * (yes.ndim - 1)), yes, no)


SPARE = 4
"""Stored steps that are looked at for each call to be refreshed: not all are calls."""

Enter = Callable[[Transition], tuple[jax.Array, jax.Array]]
"""Exit values with which calls are entered, and the minimum that was taken off them."""


def refresh_draws(key: jax.Array, step: jax.Array, count: int) -> jax.Array:
    """Random numbers in [0, 1) with which to look for a number of calls."""
    own = jax.random.fold_in(jax.random.fold_in(key, step), 1)
    return jax.random.uniform(own, (SPARE * count,))


def refreshed(
    record: ReplayRecord,
    buffer: Buffer,
    stored: jax.Array,
    due: jax.Array,
    draws: jax.Array,
    enter: Enter,
) -> Buffer:
    """The buffer with exit values of some of its calls computed again.

    A stored call goes on in exit values v', and m was taken off them, both by the network of the
    moment it was made. Both are computed again from v and the return ports, which are stored.

    Args:
        record: What the buffer holds.
        buffer: The buffer.
        stored: How many steps were ever stored.
        due: Whether to do anything.
        draws: Numbers of `refresh_draws`.
        enter: How calls are entered now.
    """
    count, size = len(draws) // SPARE, len(buffer.numbers)

    def work() -> tuple[jax.Array, jax.Array]:
        found = places(buffer, stored, draws)
        calls = steps_of(record, rows_at(buffer, found)).move == CALLS
        order = jnp.argsort(~calls, stable=True)[:count]
        steps = steps_of(record, rows_at(buffer, found[order]))
        values, least = enter(steps)
        rows = rows_of(record, steps._replace(values_there=values, other=least)).numbers
        return jnp.where(calls[order], found[order], size), rows

    def nothing() -> tuple[jax.Array, jax.Array]:
        return jnp.full(count, size), jnp.zeros((count, buffer.numbers.shape[1]))

    # Written here whatever happens: a branch would copy the whole buffer.
    where, rows = jax.lax.cond(due, work, nothing)
    return buffer._replace(numbers=buffer.numbers.at[where].set(rows, mode="drop"))
