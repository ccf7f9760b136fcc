"""Contexts, interned: (component, normalised exit values) -> a number and a block of Q-values.

Open addressing with linear probing. Only calls come here; ordinary steps index arrays.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return, return-value"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.simulation.jit import compiled

SCANNED = 64
"""How many contexts of a component, newest first, are looked at for the nearest one."""

CONTEXTS, PAIRS, VALUES, LARGEST, WIDEST = range(5)
"""Places of ``used``."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Contexts(NamedTuple):
    """The table of a learner.

    Attributes:
        q: Q-values, a block per context, an entry per action of its component.
        visits: How often each of them was updated.
        block: Where action number 0 of the model would lie in q: add the action's number. ``[X]``
        component: Component of each context. ``[X]``
        value_start: First exit value of each context. ``[X]``
        values: Normalised, rounded exit values, context by context.
        slots: The hash table: numbers of contexts, or -1.
        zero: Context of each component in which all exits are worth 0, or -1. ``[C]``
        newest: The context of each component that was made last, or -1. ``[C]``
        older: The one made before, of the same component, or -1. ``[X]``
        used: How much of the above is in use: contexts, entries of q, entries of values; the
            size of the largest block, and the most exits of a component.
        first_action: First action of each component; one more entry at the end. ``[C + 1]``
        n_exits: Exits of each component. ``[C]``
    """

    q: np.ndarray
    visits: np.ndarray
    block: np.ndarray
    component: np.ndarray
    value_start: np.ndarray
    values: np.ndarray
    slots: np.ndarray
    zero: np.ndarray
    newest: np.ndarray
    older: np.ndarray
    used: np.ndarray
    first_action: np.ndarray
    n_exits: np.ndarray


@compiled
def _slot(x: Contexts, component: int, vector: np.ndarray) -> int:
    """Slot that holds the context, or the empty one where it belongs."""
    count, mask = x.n_exits[component], len(x.slots) - 1
    word = np.uint64(component + 1) * MULTIPLIER
    bits = vector.view(np.uint64)
    for i in range(count):
        word = (word ^ bits[i]) * MULTIPLIER
        word ^= word >> np.uint64(29)
    slot = np.int64(word >> np.uint64(32)) & mask
    while True:
        context = x.slots[slot]
        if context < 0:
            return slot
        same = x.component[context] == component
        begin = x.value_start[context]
        for i in range(count):
            same &= x.values[begin + i] == vector[i]
        if same:
            return slot
        slot = (slot + 1) & mask


@compiled
def find(x: Contexts, component: int, vector: np.ndarray) -> int:
    """Number of a context, or -1."""
    for i in range(x.n_exits[component]):
        if vector[i] != 0.0:
            return np.int64(x.slots[_slot(x, component, vector)])
    return np.int64(x.zero[component])


@compiled
def nearest(x: Contexts, component: int, vector: np.ndarray) -> int:
    """A recent context of the component whose exit values are closest, or -1 if there is none."""
    found, distance = np.int64(-1), np.inf
    context = np.int64(x.newest[component])
    for _ in range(SCANNED):
        if context < 0:
            break
        begin, apart = x.value_start[context], 0.0
        for i in range(x.n_exits[component]):
            apart = max(apart, abs(x.values[begin + i] - vector[i]))
        if apart < distance:
            found, distance = context, apart
        context = np.int64(x.older[context])
    return found


@compiled
def _link(x: Contexts, context: int, component: int, vector: np.ndarray) -> None:
    x.older[context], x.newest[component] = x.newest[component], context
    for i in range(x.n_exits[component]):
        if vector[i] != 0.0:
            return
    x.zero[component] = context


@compiled
def create(x: Contexts, component: int, vector: np.ndarray, initial: float, inherit: int) -> int:
    """Make a context that is not there yet; there must be room for one.

    It starts with the initial value throughout, or, if it may inherit, with the Q-values of
    the nearest one and with its visits up to ``inherit``.
    """
    context = x.used[CONTEXTS]
    begin, count = x.used[VALUES], x.n_exits[component]
    first, last = x.first_action[component], x.first_action[component + 1]
    pairs = x.used[PAIRS]
    relative = nearest(x, component, vector) if inherit else -1
    for i in range(last - first):
        if relative >= 0:
            old = x.block[relative] + first + i
            x.q[pairs + i], x.visits[pairs + i] = x.q[old], min(x.visits[old], inherit)
        else:
            x.q[pairs + i], x.visits[pairs + i] = initial, 0
    x.slots[_slot(x, component, vector)] = context
    x.block[context], x.component[context] = pairs - first, component
    x.value_start[context] = begin
    for i in range(count):
        x.values[begin + i] = vector[i]
    _link(x, context, component, vector)
    x.used[CONTEXTS], x.used[PAIRS], x.used[VALUES] = (
        context + 1,
        pairs + last - first,
        begin + count,
    )
    return context
