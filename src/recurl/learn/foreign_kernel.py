"""Compiled learning, one step at a time, in an environment that somebody else steps.

The same rule as in a model, but vertices, boxes and contexts are numbered as they are met, and
rows of Q-values are made when a vertex is first visited in a context. Nothing says which component
a vertex belongs to, so a context is its exit values alone; those that are all 0 are context 0.

A call of a compiled function costs time for every array that is handed over. Here one array is,
which holds the addresses and lengths of the others.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return, no-untyped-call, return-value, untyped-decorator"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from recurl.learn.jit import compiled, inlined
from recurl.learn.rule_kernel import best, choose, greedy, improve, normalise, scheduled, target
from recurl.learn.schedules import CONSTANT, Schedule
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.simulation.random import next_below

BEGIN, CUT = 3, 8
"""In place of a move: an episode begins; added to a move: the episode is cut after it."""

FULL, DIVERGED, LOST = -1, -2, -3
"""In place of an action: room must be made before this step; values are not finite; there is no
such exit, or nothing to return to."""

SCANNED = 64
"""How many contexts, newest first, are looked at for the nearest one."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

(VERTEX, CONTEXT, HEIGHT, PAIR, STEPS, LOGGED, PLACES) = range(7)
"""What ``place`` holds."""

ROWS, PAIRS, CONTEXTS, VALUES, MOST_ROWS, WIDEST, USES = range(7)
"""What ``used`` holds; most rows that a context can inherit, and the most actions of a vertex."""


class Notes(NamedTuple):
    """All that is known of an environment, as arrays.

    Attributes:
        q: Q-values, row by row.
        visits: How often each was updated.
        row_vertex: Vertex of each row.
        row_context: Context of each row.
        row_begin: First Q-value of each row.
        row_next: The row of the same context that was made before, or -1.
        row_slots: Hash table of rows.
        exits: Number of exits of each context.
        value_start: First exit value of each context.
        values: Exit values.
        last_row: Newest row of each context, or -1.
        context_slots: Hash table of contexts.
        count: Actions of each vertex; 0 until it is visited.
        box_start: First exit of each box.
        box_exits: Vertices at which the exits of a box continue.
        stack: Contexts of pending calls.
        offsets: What was taken off exit values, added up, for each pending call and this one.
        random: State of the generator.
        place: Where the run stands.
        used: How much of the arrays is in use.
        vector: Scratch for exit values.
        log: For replay: entry of q, context, move, box or exit, vertex.
        log_rewards: Rewards of these steps, or worth of the end.
        numbers: The settings as numbers.
    """

    q: Any
    visits: Any
    row_vertex: Any
    row_context: Any
    row_begin: Any
    row_next: Any
    row_slots: Any
    exits: Any
    value_start: Any
    values: Any
    last_row: Any
    context_slots: Any
    count: Any
    box_start: Any
    box_exits: Any
    stack: Any
    offsets: Any
    random: Any
    place: Any
    used: Any
    vector: Any
    log: Any
    log_rewards: Any
    numbers: Any


FLOATS = {"q", "values", "offsets", "vector", "log_rewards", "numbers"}
"""Arrays of floats; the generator's state is uint64, all others are int64."""


def _array_at(item: Any) -> Any:
    """The compiled function (header, i) -> the i-th array that a header points to."""

    @intrinsic
    def array(_: Any, header: Any, i: Any) -> Any:
        kind = types.Array(item, 1, "C")
        signature = kind(header, i)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            outer = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.mul(arguments[1], arguments[1].type(2))
            address = builder.load(builder.gep(outer.data, [place]))
            after = builder.add(place, place.type(1))
            length = builder.load(builder.gep(outer.data, [after]))
            made = context.make_array(kind)(context, builder)
            size = context.get_constant(types.intp, 8)
            data = builder.inttoptr(address, made.data.type)
            populate_array(made, data, [length], [size], size, None)
            return made._getvalue()

        return signature, generate

    return array


_floats, _ints, _words = map(_array_at, (types.float64, types.int64, types.uint64))


@inlined
def _open(h: np.ndarray) -> Notes:
    """The arrays that a header points to, in the order of `Notes`."""
    return Notes(
        _floats(h, 0), _ints(h, 1), _ints(h, 2), _ints(h, 3), _ints(h, 4), _ints(h, 5),
        _ints(h, 6), _ints(h, 7), _ints(h, 8), _floats(h, 9), _ints(h, 10), _ints(h, 11),
        _ints(h, 12), _ints(h, 13), _ints(h, 14), _ints(h, 15), _floats(h, 16), _words(h, 17),
        _ints(h, 18), _ints(h, 19), _floats(h, 20), _ints(h, 21), _floats(h, 22), _floats(h, 23),
    )  # fmt: skip


@compiled
def _schedule(numbers: np.ndarray, at: int) -> Schedule:
    n = numbers
    return Schedule(int(n[at]), n[at + 1], n[at + 2], n[at + 3], n[at + 4])


QUANTUM, INITIAL, REPLAY, INHERIT, FLAT, NUMBERS = range(10, 16)
"""What ``numbers`` holds, after two schedules."""


@compiled
def _row_slot(n: Notes, context: int, vertex: int) -> int:
    word = (np.uint64(context) * np.uint64(0x100000001B3) ^ np.uint64(vertex)) * _MULTIPLIER
    mask = len(n.row_slots) - 1
    slot = np.int64(word >> np.uint64(32)) & mask
    while True:
        row = n.row_slots[slot]
        if row < 0 or (n.row_vertex[row] == vertex and n.row_context[row] == context):
            return slot
        slot = (slot + 1) & mask


@compiled
def _make_row(n: Notes, context: int, vertex: int, initial: float) -> int:
    """Row of a visited vertex in a context, made if it is new; returns where it begins in q."""
    slot = _row_slot(n, context, vertex)
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
def _ahead(n: Notes, context: int, vertex: int) -> float:
    """Greatest Q-value of a vertex in a context; the initial value if it was never there."""
    row = n.row_slots[_row_slot(n, context, vertex)]
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
def _find(n: Notes, exits: int) -> int:
    """Context of the vector, or -1."""
    for i in range(exits):
        if n.vector[i] != 0.0:
            return n.context_slots[_context_slot(n, exits)]
    return 0


@compiled
def _nearest(n: Notes, exits: int, entry: int) -> int:
    """A recent context that was entered at this vertex and is closest to the vector, or -1."""
    found, distance, seen = -1, np.inf, 0
    for context in range(n.used[CONTEXTS] - 1, -1, -1):
        if context > 0 and n.exits[context] != exits:
            continue
        if n.row_slots[_row_slot(n, context, entry)] < 0:
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
def _intern(n: Notes, exits: int, entry: int) -> int:
    """Context of the vector, made if it is new; it may inherit the rows of the nearest one."""
    context = _find(n, exits)
    if context >= 0:
        return context
    inherit = int(n.numbers[INHERIT])
    relative = _nearest(n, exits, entry) if inherit > 0 else -1
    context, begin = n.used[CONTEXTS], n.used[VALUES]
    n.context_slots[_context_slot(n, exits)] = context
    n.exits[context], n.value_start[context], n.last_row[context] = exits, begin, -1
    for i in range(exits):
        n.values[begin + i] = n.vector[i]
    n.used[CONTEXTS], n.used[VALUES] = context + 1, begin + exits
    row = n.last_row[relative] if relative >= 0 else -1
    while row >= 0:
        vertex, old = n.row_vertex[row], n.row_begin[row]
        new = _make_row(n, context, vertex, 0.0)
        for i in range(n.count[vertex]):
            n.q[new + i], n.visits[new + i] = n.q[old + i], min(n.visits[old + i], inherit)
        row = n.row_next[row]
    return context


@compiled
def _hopes(n: Notes, context: int, box: int) -> int:
    """What each exit of a box is worth to the caller, in the vector; returns their number."""
    begin, end = n.box_start[box], n.box_start[box + 1]
    for k in range(end - begin):
        n.vector[k] = _ahead(n, context, n.box_exits[begin + k])
    return end - begin


@compiled
def _is_full(n: Notes) -> bool:
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
def _repeat(n: Notes, entry: int, step: int) -> None:
    """Repeat the update of a logged step with the Q-values of today."""
    at = 5 * entry
    context, move, which, vertex = n.log[at + 1], n.log[at + 2], n.log[at + 3], n.log[at + 4]
    ahead = other = 0.0
    if move == STEP:
        ahead = _ahead(n, context, vertex)
    elif move == CALLS:
        exits = _hopes(n, context, which)
        other = normalise(n.vector, exits, n.numbers[QUANTUM])
        callee = _find(n, exits)
        if callee < 0 or n.row_slots[_row_slot(n, callee, vertex)] < 0:
            return
        ahead = _ahead(n, callee, vertex)
    goal = target(move, n.log_rewards[entry], ahead, other)
    improve(n.q, n.visits, n.log[at], goal, _schedule(n.numbers, 0), step)


@compiled
def foreign_step(header: np.ndarray, vertex: int, move: int, which: int, reward: float) -> int:
    """Learn from a step and choose the next action.

    Args:
        header: See `Notes`.
        vertex: Vertex that the step led to.
        move: STEP, CALLS, EXITS or BEGIN; plus CUT if nothing is to be chosen.
        which: The box of a call; the index of an exit, or -1 if the whole run ended: then
            nothing is chosen.
        reward: Reward of the step.

    Returns:
        The action, counted among those that the vertex has; or why there is none.
    """
    n = _open(header)
    if _is_full(n):
        return FULL
    place, numbers = n.place, n.numbers
    context, height, pair = place[CONTEXT], place[HEIGHT], place[PAIR]
    step = place[STEPS]
    ended = which < 0
    chooses = not ended and move < CUT
    move %= CUT
    if move == BEGIN:
        context = height = 0
        n.offsets[0] = 0.0
    else:
        ahead = other = 0.0
        home = context
        if ended:
            # The end is worth 0 in all; this context counts from what was taken off before.
            other = -n.offsets[height]
        elif numbers[FLAT] == 1.0:
            move = STEP
        if move == CALLS:
            exits = _hopes(n, context, which)
            other = normalise(n.vector, exits, numbers[QUANTUM])
            if not np.isfinite(other):
                return DIVERGED
            n.stack[height] = context
            height += 1
            n.offsets[height] = n.offsets[height - 1] + other
            context = _intern(n, exits, vertex)
            # Replay learns from calls into contexts that have the row where the call lands.
            _make_row(n, context, vertex, numbers[INITIAL])
            ahead = _ahead(n, context, vertex)
        elif move == STEP:
            ahead = _ahead(n, context, vertex)
        elif not ended:
            if height == 0 or (context > 0 and which >= n.exits[context]):
                return LOST
            other = n.values[n.value_start[context] + which] if context > 0 else 0.0
            height -= 1
            context = n.stack[height]
        goal = target(move, reward, ahead, other)
        improve(n.q, n.visits, pair, goal, _schedule(numbers, 0), step)
        replays = int(numbers[REPLAY])
        if replays > 0:
            entry = place[LOGGED] % len(n.log_rewards)
            at = 5 * entry
            n.log[at], n.log[at + 1], n.log[at + 2] = pair, home, move
            n.log[at + 3], n.log[at + 4] = which, vertex
            n.log_rewards[entry] = goal if move == EXITS else reward
            place[LOGGED] += 1
            for _ in range(replays):
                _repeat(n, next_below(n.random, min(place[LOGGED], len(n.log_rewards))), step)
        step += 1
    action = 0
    if chooses:
        row = _make_row(n, context, vertex, numbers[INITIAL])
        count = n.count[vertex]
        explore = numbers[6]
        if count > 1 and numbers[5] != CONSTANT:
            seen = 0
            for i in range(row, row + count):
                seen += n.visits[i]
            explore = scheduled(_schedule(numbers, 5), step, seen + 1)
        action = choose(n.q, row, count, explore, n.random)
        pair = row + action
    place[VERTEX], place[CONTEXT], place[HEIGHT] = vertex, context, height
    place[PAIR], place[STEPS] = pair, step
    return action


@compiled
def greedy_action(header: np.ndarray, context: int, vertex: int) -> int:
    """First action of greatest value, counted among those of the vertex; nothing is changed."""
    n = _open(header)
    row = n.row_slots[_row_slot(n, context, vertex)] if context >= 0 else -1
    return greedy(n.q, n.row_begin[row], n.count[vertex]) if row >= 0 else 0


@compiled
def greedy_call(header: np.ndarray, context: int, box: int, vertex: int) -> int:
    """Context that a greedy run enters by a box; -1 if it was never met. Nothing is changed."""
    n = _open(header)
    exits = n.box_start[box + 1] - n.box_start[box]
    n.vector[:] = 0.0
    if context >= 0:
        _hopes(n, context, box)
        normalise(n.vector, exits, n.numbers[QUANTUM])
    found = _find(n, exits)
    if found < 0 and n.numbers[INHERIT] > 0:
        found = _nearest(n, exits, vertex)
    return found


@compiled
def rebuild(header: np.ndarray) -> None:
    """Enter rows and contexts into empty hash tables."""
    n = _open(header)
    for row in range(n.used[ROWS]):
        n.row_slots[_row_slot(n, n.row_context[row], n.row_vertex[row])] = row
    for context in range(1, n.used[CONTEXTS]):
        begin, exits = n.value_start[context], n.exits[context]
        for i in range(exits):
            n.vector[i] = n.values[begin + i]
        n.context_slots[_context_slot(n, exits)] = context
