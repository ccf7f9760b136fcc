"""Contexts, interned: (component, normalised exit values) -> a number and a block of Q-values.

Open addressing with linear probing. Only calls come here; ordinary steps index arrays.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return, return-value"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.learn.jit import compiled, inlined

SCANNED = 64
"""How many contexts of a component, newest first, are looked at for the nearest one."""

CONTEXTS, PAIRS, VALUES, LARGEST = 0, 1, 2, 3
"""What ``used`` holds."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


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
        used: How much of the above is in use: contexts, entries of q, entries of values; and the
            size of the largest block.
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


@inlined
def _slot(x: Contexts, component: int, vector: np.ndarray) -> int:
    """Slot that holds the context, or the empty one where it belongs."""
    count = x.n_exits[component]
    mask = len(x.slots) - 1
    word = np.uint64(component + 1) * _MULTIPLIER
    bits = vector.view(np.uint64)
    for i in range(count):
        word = (word ^ bits[i]) * _MULTIPLIER
        word ^= word >> np.uint64(29)
    slot = np.int64(word >> np.uint64(32)) & mask
    while True:
        context = x.slots[slot]
        if context < 0 or (x.component[context] == component and _equal(x, context, vector, count)):
            return slot
        slot = (slot + 1) & mask


@inlined
def _equal(x: Contexts, context: int, vector: np.ndarray, count: int) -> bool:
    begin = x.value_start[context]
    for i in range(count):  # noqa: SIM110 (compiled)
        if x.values[begin + i] != vector[i]:
            return False
    return True


@inlined
def _is_zero(vector: np.ndarray, count: int) -> bool:
    for i in range(count):  # noqa: SIM110 (compiled)
        if vector[i] != 0.0:
            return False
    return True


@inlined
def find(x: Contexts, component: int, vector: np.ndarray) -> int:
    """Number of a context, or -1."""
    if _is_zero(vector, x.n_exits[component]):
        return x.zero[component]
    return x.slots[_slot(x, component, vector)]


@compiled
def find_context(x: Contexts, component: int, vector: np.ndarray) -> int:
    """The same, to be called from Python."""
    return find(x, component, vector)


@compiled
def nearest(x: Contexts, component: int, vector: np.ndarray) -> int:
    """A recent context of the component whose exit values are closest, or -1 if there is none."""
    found, distance = -1, np.inf
    context = x.newest[component]
    for _ in range(SCANNED):
        if context < 0:
            break
        begin, apart = x.value_start[context], 0.0
        for i in range(x.n_exits[component]):
            apart = max(apart, abs(x.values[begin + i] - vector[i]))
        if apart < distance:
            found, distance = context, apart
        context = x.older[context]
    return found


@compiled
def _link(x: Contexts, context: int, component: int, vector: np.ndarray) -> None:
    x.older[context], x.newest[component] = x.newest[component], context
    if _is_zero(vector, x.n_exits[component]):
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


@compiled
def rehash(x: Contexts) -> bool:
    """Enter the contexts that are in use into an empty hash table; False if one is there twice."""
    x.zero[:] = -1
    x.newest[:] = -1
    for context in range(x.used[CONTEXTS]):
        begin, component = x.value_start[context], x.component[context]
        vector = x.values[begin : begin + x.n_exits[component]]
        slot = _slot(x, component, vector)
        if x.slots[slot] >= 0:
            return False
        x.slots[slot] = context
        _link(x, context, component, vector)
    return True
