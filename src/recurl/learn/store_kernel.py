"""The context store of a learner, for compiled code: contexts, and rows of Q-values in them.

A context is what the exits are worth to the pending calls. It is interned by its kind and its exit
values: for a model the kind is the component, for an environment, whose components are not known,
the number of exits. Rows of Q-values are found in one of two ways:

- in a model every context has a *block* with a row for each vertex of its component;
- in an environment a row is made when a vertex is first visited in a context, and hashed.

Calling a compiled function costs time for every array that is handed over. Here one array is, the
*header*, which holds the addresses and lengths of the others; functions open those they need. The
header of a model has one dimension, that of an environment two: numba compiles only the branches
that a number of dimensions leaves.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="arg-type, no-any-return, no-untyped-call, return-value"
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from recurl.model.outcomes import PACKED
from recurl.simulation.jit import inner

VERTEX_RECORD = np.dtype([("row", "i4"), ("action", "i4"), ("count", "i4")])
"""A vertex: its first entry in a block, its first row of outcomes, and its number of actions."""

BOX_RECORD = np.dtype([("port", "i4"), ("kind", "i4")])
"""A box: where its return ports begin in ``ports``, and the kind of the contexts it enters."""

FRAME = np.dtype([("offset", "f8"), ("context", "i4"), ("push", "i4")])
"""A pending call: what was taken off exit values so far, the caller's context, its first return
port."""

LOGGED_STEP = np.dtype(
    [("reward", "f8"), ("pair", "i4"), ("context", "i4"), ("landing", "i4"), ("box", "i4")]
)
"""A step that is kept for replay; see `recurl.learn.rule_kernel.learn_from`."""

FIELDS: dict[str, Any] = {
    "q": "f8", "visits": "i8",
    "kind": "i4", "value_start": "i8", "values": "f8", "slots": "i4", "older": "i4",
    "n_exits": "i8", "zero": "i4", "newest": "i4",
    "block": "i8", "first_pair": "i8",
    "row_vertex": "i4", "row_context": "i4", "row_begin": "i8", "row_next": "i4", "last_row": "i4",
    "row_slots": "i4",
    "vertices": VERTEX_RECORD, "boxes": BOX_RECORD, "ports": "i4",
    "row_start": "i4", "outcomes": PACKED, "start": "i4", "start_below": "f8",
    "random": "u8", "place": "i8", "sums": "f8", "frames": FRAME, "log": LOGGED_STEP,
    "drawn": LOGGED_STEP, "vector": "f8", "numbers": "f8", "used": "i8",
}  # fmt: skip
"""The arrays of a store, and what they hold.

- q, visits: Q-values, and how often each was updated
- kind, value_start, values: of each context its kind and its exit values
- slots, older: hash table of contexts; the context of the same kind that was made before, or -1
- n_exits, zero, newest: of each kind its exits, the context in which all are worth 0, the latest
- block, first_pair: where pair 0 of the model would lie in the block of a context; the first pair
  of each component. Both are empty for an environment
- row_vertex, row_context, row_begin, row_next, last_row, row_slots: hashed rows: their vertex,
  context, first entry of q, and the row of the same context made before; the latest row of each
  context; the hash table. All are empty for a model
- vertices, boxes, ports: what is learned in; ports lists the vertices behind the exits of boxes
- row_start, outcomes, start, start_below: how a model goes on; see `recurl.model.outcomes`
- random, place, sums, frames, log: where the run stands, its pending calls, steps for replay
- drawn: scratch for the steps that are replayed
- vector: scratch for exit values
- numbers: the settings
- used: how much of the arrays is in use
"""

(
    Q, VISITS, KIND, VALUE_START, VALUES, SLOTS, OLDER, N_EXITS, ZERO, NEWEST, BLOCK, FIRST_PAIR,
    ROW_VERTEX, ROW_CONTEXT, ROW_BEGIN, ROW_NEXT, LAST_ROW, ROW_SLOTS, VERTICES, BOXES, PORTS,
    ROW_START, OUTCOMES, START, START_BELOW, RANDOM, PLACE, SUMS, FRAMES, LOG, DRAWN, VECTOR,
    NUMBERS, USED,
) = range(len(FIELDS))  # fmt: skip
"""Places of the arrays in a header."""

VERTEX, CONTEXT, HEIGHT, LENGTH, STEPS, EPISODES, CUTS, RUNNING, LOGGED, REPORTED, PAIR, PLACES = (
    range(12)
)
"""The fields of ``place``: where the run stands, and what it has done so far."""

TOTAL, RETURNS, OFFSET, SUMS_HELD = range(4)
"""The fields of ``sums``: the reward of the episode so far, the returns of those ended since the
last report, and what the latest call took off its exit values."""

CONTEXTS, PAIRS, EXIT_VALUES, ROWS, MORE_PAIRS, MORE_VALUES, MORE_ROWS, USES = range(8)
"""The fields of ``used``: how much is in use, and the most that one step may add."""

STEP_SIZE, EXPLORATION = 0, 5
(
    QUANTUM, GRAIN, INITIAL, REPLAY, INHERIT, FLAT, GAMMA, EPISODE_LIMIT, BOX_GAMMA, NUMBERS_HELD,
) = range(10, 20)  # fmt: skip
"""The fields of ``numbers``: two schedules of five numbers each, then these."""

SCANNED = 64
"""How many contexts of a kind, newest first, are looked at for the nearest one."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
ROW_MULTIPLIER = np.uint64(0x100000001B3)


def _header_entry(builder: Any, context: Any, header: Any, of: Any, number: Any) -> Any:
    """A number of a header, which stays the same while a kernel runs: it is loaded only once."""
    data = context.data_model_manager[of].get_field_position("data")
    entry = builder.load(builder.gep(builder.extract_value(header, data), [number]))
    entry.set_metadata("invariant.load", builder.module.add_metadata([]))
    return entry


def _array_at(item: Any) -> Any:
    """The compiled function (header, i) -> the i-th array that a header points to.

    It has an address and nothing else, so that little has to be compiled. For its own `len` it is
    empty: no index counts from its end, and looking whether one does costs time at every step.
    `size_of` has the true one.
    """

    @intrinsic
    def array(_: Any, header: Any, i: Any) -> Any:
        kind = types.Array(item, 1, "C")
        signature = kind(header, i)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.mul(arguments[1], arguments[1].type(2))
            address = _header_entry(builder, context, arguments[0], signature.args[0], place)
            model = context.data_model_manager[kind]
            made, data = model.get_value_type(), model.get_field_position("data")
            pointer = builder.inttoptr(address, made.elements[data])
            return builder.insert_value(made(None), pointer, data)

        return signature, generate

    return array


def _size_of(_: Any, header: Any, i: Any) -> Any:
    """The length of the i-th array that a header points to."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.add(builder.mul(arguments[1], arguments[1].type(2)), arguments[1].type(1))
        return _header_entry(builder, context, arguments[0], signature.args[0], place)

    return types.int64(header, i), generate


size_of: Any = intrinsic(_size_of)

floats, longs, ints, words = map(_array_at, (types.float64, types.int64, types.int32, types.uint64))
vertex_records, box_records, frames, logged_steps, outcome_records = (
    _array_at(numba.from_dtype(kind))
    for kind in (VERTEX_RECORD, BOX_RECORD, FRAME, LOGGED_STEP, PACKED)
)
"""The arrays that a header points to, by what they hold."""


@inner
def has_room(h: np.ndarray) -> bool:
    """Whether there is room for all that a step may add: a context with its rows, and a call."""
    used = longs(h, USED)
    return (
        used[CONTEXTS] < size_of(h, KIND)
        and used[PAIRS] + used[MORE_PAIRS] <= size_of(h, Q)
        and used[EXIT_VALUES] + used[MORE_VALUES] <= size_of(h, VALUES)
        and used[ROWS] + used[MORE_ROWS] <= size_of(h, ROW_VERTEX)
    )


@inner
def context_slot(h: np.ndarray, kind: int) -> int:
    """Slot that holds the context of the vector, or the empty one where it belongs."""
    count, slots, vector = longs(h, N_EXITS)[kind], ints(h, SLOTS), floats(h, VECTOR)
    kinds, values = ints(h, KIND), floats(h, VALUES)
    mask = size_of(h, SLOTS) - 1
    word = np.uint64(kind + 1) * MULTIPLIER
    bits = words(h, VECTOR)
    for i in range(count):
        word = (word ^ bits[i]) * MULTIPLIER
        word ^= word >> np.uint64(29)
    slot = np.int64(word >> np.uint64(32)) & mask
    while True:
        context = slots[slot]
        if context < 0:
            return slot
        same = kinds[context] == kind
        begin = longs(h, VALUE_START)[context]
        for i in range(count):
            same &= values[begin + i] == vector[i]
        if same:
            return slot
        slot = (slot + 1) & mask


@inner
def find(h: np.ndarray, kind: int) -> int:
    """Context of the vector, or -1."""
    vector = floats(h, VECTOR)
    for i in range(longs(h, N_EXITS)[kind]):
        if vector[i] != 0.0:
            return np.int64(ints(h, SLOTS)[context_slot(h, kind)])
    return np.int64(ints(h, ZERO)[kind])


@inner
def row_slot(h: np.ndarray, context: int, vertex: int) -> int:
    """Slot that holds the hashed row of a vertex in a context, or the empty one for it."""
    slots, row_vertex, row_context = ints(h, ROW_SLOTS), ints(h, ROW_VERTEX), ints(h, ROW_CONTEXT)
    word = (np.uint64(context) * ROW_MULTIPLIER ^ np.uint64(vertex)) * MULTIPLIER
    mask = size_of(h, ROW_SLOTS) - 1
    slot = np.int64(word >> np.uint64(32)) & mask
    while True:
        row = slots[slot]
        if row < 0 or (row_vertex[row] == vertex and row_context[row] == context):
            return slot
        slot = (slot + 1) & mask


@inner
def row_of(h: np.ndarray, context: int, vertex: int) -> int:
    """First entry of q of a vertex in a context; -1 if there is no row."""
    if h.ndim == 1:
        return longs(h, BLOCK)[context] + vertex_records(h, VERTICES)[vertex].row
    else:
        row = ints(h, ROW_SLOTS)[row_slot(h, context, vertex)]
        return longs(h, ROW_BEGIN)[row] if row >= 0 else np.int64(-1)


@inner
def make_row(h: np.ndarray, context: int, vertex: int) -> int:
    """First entry of q of a vertex in a context, a row being made if there is none."""
    begin = row_of(h, context, vertex)
    if h.ndim == 2 and begin < 0:
        used, q, visits, last = longs(h, USED), floats(h, Q), longs(h, VISITS), ints(h, LAST_ROW)
        row, begin = used[ROWS], used[PAIRS]
        ints(h, ROW_SLOTS)[row_slot(h, context, vertex)] = row
        ints(h, ROW_VERTEX)[row], ints(h, ROW_CONTEXT)[row] = vertex, context
        longs(h, ROW_BEGIN)[row] = begin
        ints(h, ROW_NEXT)[row], last[context] = last[context], row
        end = begin + vertex_records(h, VERTICES)[vertex].count
        for i in range(begin, end):
            q[i], visits[i] = floats(h, NUMBERS)[INITIAL], 0
        used[ROWS], used[PAIRS] = row + 1, end
    return begin


@inner
def nearest(h: np.ndarray, kind: int, entry: int) -> int:
    """A recent context, entered at this vertex, whose exit values are closest, or -1."""
    vector, values, starts = floats(h, VECTOR), floats(h, VALUES), longs(h, VALUE_START)
    found, distance, seen = np.int64(-1), np.inf, 0
    context = np.int64(ints(h, NEWEST)[kind])
    while context >= 0 and seen < SCANNED:
        if h.ndim == 1 or row_of(h, context, entry) >= 0:
            begin, apart = starts[context], 0.0
            for i in range(longs(h, N_EXITS)[kind]):
                difference = abs(values[begin + i] - vector[i])
                apart = difference if difference > apart else apart
            if apart < distance:
                found, distance = context, apart
            seen += 1
        context = np.int64(ints(h, OLDER)[context])
    return found


@inner
def create(h: np.ndarray, kind: int, entry: int) -> int:
    """Make the context of the vector, which is not there yet; there must be room.

    Its rows hold the initial value, or, if contexts inherit, the Q-values of the nearest one, and
    its visits up to a number.
    """
    used, vector, values = longs(h, USED), floats(h, VECTOR), floats(h, VALUES)
    inherit = np.int64(floats(h, NUMBERS)[INHERIT])
    relative = nearest(h, kind, entry) if inherit > 0 else np.int64(-1)
    context, begin = used[CONTEXTS], used[EXIT_VALUES]
    ints(h, SLOTS)[context_slot(h, kind)] = context
    ints(h, KIND)[context], longs(h, VALUE_START)[context] = kind, begin
    nothing = True
    for i in range(longs(h, N_EXITS)[kind]):
        values[begin + i] = vector[i]
        nothing &= vector[i] == 0.0
    if nothing:
        ints(h, ZERO)[kind] = context
    newest = ints(h, NEWEST)
    ints(h, OLDER)[context], newest[kind] = newest[kind], context
    used[CONTEXTS], used[EXIT_VALUES] = context + 1, begin + longs(h, N_EXITS)[kind]
    if h.ndim == 1:
        _fill_block(h, context, kind, relative, inherit)
    else:
        _copy_rows(h, context, relative, inherit)
    return context


@inner
def _fill_block(h: np.ndarray, context: int, kind: int, relative: int, inherit: int) -> None:
    used, q, visits, block = longs(h, USED), floats(h, Q), longs(h, VISITS), longs(h, BLOCK)
    first, last = longs(h, FIRST_PAIR)[kind], longs(h, FIRST_PAIR)[kind + 1]
    begin = used[PAIRS]
    block[context], used[PAIRS] = begin - first, begin + last - first
    for i in range(last - first):
        if relative >= 0:
            old = block[relative] + first + i
            q[begin + i] = q[old]
            visits[begin + i] = visits[old] if visits[old] < inherit else inherit
        else:
            q[begin + i], visits[begin + i] = floats(h, NUMBERS)[INITIAL], 0


@inner
def _copy_rows(h: np.ndarray, context: int, relative: int, inherit: int) -> None:
    q, visits, last = floats(h, Q), longs(h, VISITS), ints(h, LAST_ROW)
    last[context] = -1
    row = last[relative] if relative >= 0 else np.int32(-1)
    while row >= 0:
        vertex, old = ints(h, ROW_VERTEX)[row], longs(h, ROW_BEGIN)[row]
        new = make_row(h, context, np.int64(vertex))
        for i in range(vertex_records(h, VERTICES)[vertex].count):
            q[new + i] = q[old + i]
            visits[new + i] = visits[old + i] if visits[old + i] < inherit else inherit
        row = ints(h, ROW_NEXT)[row]


@inner
def best_at(h: np.ndarray, context: int, vertex: int) -> float:
    """Greatest Q-value of a vertex in a context; the initial value if there is no row."""
    row, q = row_of(h, context, vertex), floats(h, Q)
    if row < 0:
        return floats(h, NUMBERS)[INITIAL]
    value = q[row]
    for i in range(row + 1, row + vertex_records(h, VERTICES)[vertex].count):
        if q[i] > value:
            value = q[i]
    return value
