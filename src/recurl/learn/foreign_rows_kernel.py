"""Rows of Q-values and contexts of an environment, numbered as they are met.

A row is made when a vertex is first visited in a context. Nothing says which component a vertex
belongs to, so a context is its exit values alone; those that are all 0 are context 0.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return, return-value"

from __future__ import annotations

import numpy as np

from recurl.learn.notes_kernel import (
    CONTEXTS,
    HEIGHT,
    INHERIT,
    INITIAL,
    MOST_ROWS,
    PAIRS,
    ROWS,
    VALUES,
    WIDEST,
    Notes,
    open_notes,
)
from recurl.learn.rule_kernel import best
from recurl.simulation.jit import compiled

SCANNED = 64
"""How many contexts, newest first, are looked at for the nearest one."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@compiled
def row_slot(n: Notes, context: int, vertex: int) -> int:
    """Slot that holds the row of a vertex in a context, or the empty one where it belongs."""
    word = (np.uint64(context) * np.uint64(0x100000001B3) ^ np.uint64(vertex)) * _MULTIPLIER
    mask = len(n.row_slots) - 1
    slot = np.int64(word >> np.uint64(32)) & mask
    while True:
        row = n.row_slots[slot]
        if row < 0 or (n.row_vertex[row] == vertex and n.row_context[row] == context):
            return slot
        slot = (slot + 1) & mask


@compiled
def make_row(n: Notes, context: int, vertex: int, initial: float) -> int:
    """Row of a visited vertex in a context, made if it is new; returns where it begins in q."""
    slot = row_slot(n, context, vertex)
    row = n.row_slots[slot]
    if row >= 0:
        return n.row_begin[row]
    row, begin = n.used[ROWS], n.used[PAIRS]
    n.row_slots[slot] = row
    n.row_vertex[row], n.row_context[row], n.row_begin[row] = vertex, context, begin
    n.row_next[row], n.last_row[context] = n.last_row[context], row
    for i in range(begin, begin + n.count[vertex]):
        n.q[i], n.visits[i] = initial, 0
    n.used[ROWS], n.used[PAIRS] = row + 1, begin + n.count[vertex]
    return begin


@compiled
def ahead_of(n: Notes, context: int, vertex: int) -> float:
    """Greatest Q-value of a vertex in a context; the initial value if it was never there."""
    row = n.row_slots[row_slot(n, context, vertex)]
    if row < 0:
        return n.numbers[INITIAL]
    return best(n.q, n.row_begin[row], n.count[vertex])


@compiled
def _context_slot(n: Notes, exits: int) -> int:
    word = np.uint64(exits) * _MULTIPLIER
    bits = n.vector.view(np.uint64)
    for i in range(exits):
        word = (word ^ bits[i]) * _MULTIPLIER
        word ^= word >> np.uint64(29)
    mask = len(n.context_slots) - 1
    slot = np.int64(word >> np.uint64(32)) & mask
    while True:
        context = n.context_slots[slot]
        if context < 0 or (n.exits[context] == exits and _apart(n, context, exits) == 0.0):
            return slot
        slot = (slot + 1) & mask


@compiled
def _apart(n: Notes, context: int, exits: int) -> float:
    """Greatest difference between the exit values of a context and the vector."""
    begin, apart = n.value_start[context], 0.0
    for i in range(exits):
        apart = max(apart, abs(n.values[begin + i] - n.vector[i]))
    return apart


@compiled
def find(n: Notes, exits: int) -> int:
    """Context of the vector, or -1."""
    for i in range(exits):
        if n.vector[i] != 0.0:
            return n.context_slots[_context_slot(n, exits)]
    return 0


@compiled
def nearest(n: Notes, exits: int, entry: int) -> int:
    """A recent context that was entered at this vertex and is closest to the vector, or -1."""
    found, distance, seen = -1, np.inf, 0
    for context in range(n.used[CONTEXTS] - 1, -1, -1):
        if context > 0 and n.exits[context] != exits:
            continue
        if n.row_slots[row_slot(n, context, entry)] < 0:
            continue
        apart = 0.0
        if context > 0:
            apart = _apart(n, context, exits)
        else:
            for i in range(exits):
                apart = max(apart, n.vector[i])
        if apart < distance:
            found, distance = context, apart
        seen += 1
        if seen == SCANNED:
            break
    return found


@compiled
def intern(n: Notes, exits: int, entry: int) -> int:
    """Context of the vector, made if it is new; it may inherit the rows of the nearest one."""
    context = find(n, exits)
    if context >= 0:
        return context
    inherit = int(n.numbers[INHERIT])
    relative = nearest(n, exits, entry) if inherit > 0 else -1
    context, begin = n.used[CONTEXTS], n.used[VALUES]
    n.context_slots[_context_slot(n, exits)] = context
    n.exits[context], n.value_start[context], n.last_row[context] = exits, begin, -1
    for i in range(exits):
        n.values[begin + i] = n.vector[i]
    n.used[CONTEXTS], n.used[VALUES] = context + 1, begin + exits
    row = n.last_row[relative] if relative >= 0 else -1
    while row >= 0:
        vertex, old = n.row_vertex[row], n.row_begin[row]
        new = make_row(n, context, vertex, 0.0)
        for i in range(n.count[vertex]):
            n.q[new + i], n.visits[new + i] = n.q[old + i], min(n.visits[old + i], inherit)
        row = n.row_next[row]
    return context


@compiled
def hopes(n: Notes, context: int, box: int) -> int:
    """What each exit of a box is worth to the caller, in the vector; returns their number."""
    begin, end = n.box_start[box], n.box_start[box + 1]
    for k in range(end - begin):
        n.vector[k] = ahead_of(n, context, n.box_exits[begin + k])
    return end - begin


@compiled
def is_full(n: Notes) -> bool:
    """Whether a step might not fit: a new context with all that it inherits, and a call."""
    used = n.used
    rows = used[MOST_ROWS] + 2
    return (
        used[ROWS] + rows > len(n.row_vertex)
        or used[PAIRS] + rows * used[WIDEST] > len(n.q)
        or 2 * (used[ROWS] + rows) > len(n.row_slots)
        or used[CONTEXTS] + 1 > len(n.exits)
        or 2 * (used[CONTEXTS] + 1) > len(n.context_slots)
        or used[VALUES] + len(n.vector) > len(n.values)
        or n.place[HEIGHT] + 1 >= len(n.stack)
    )


@compiled
def rebuild(header: np.ndarray) -> None:
    """Enter rows and contexts into empty hash tables."""
    n = open_notes(header)
    for row in range(n.used[ROWS]):
        n.row_slots[row_slot(n, n.row_context[row], n.row_vertex[row])] = row
    for context in range(1, n.used[CONTEXTS]):
        begin, exits = n.value_start[context], n.exits[context]
        for i in range(exits):
            n.vector[i] = n.values[begin + i]
        n.context_slots[_context_slot(n, exits)] = context
