"""What is known of an environment, as arrays that one array leads to.

A call of a compiled function costs time for every array that is handed over. Here one array is,
the header, which holds the addresses and lengths of the others.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return, no-untyped-call, return-value, untyped-decorator"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from recurl.learn.schedules import Schedule
from recurl.simulation.jit import compiled, inlined

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
def open_notes(h: np.ndarray) -> Notes:
    """The arrays that a header points to, in the order of `Notes`."""
    return Notes(
        _floats(h, 0), _ints(h, 1), _ints(h, 2), _ints(h, 3), _ints(h, 4), _ints(h, 5),
        _ints(h, 6), _ints(h, 7), _ints(h, 8), _floats(h, 9), _ints(h, 10), _ints(h, 11),
        _ints(h, 12), _ints(h, 13), _ints(h, 14), _ints(h, 15), _floats(h, 16), _words(h, 17),
        _ints(h, 18), _ints(h, 19), _floats(h, 20), _ints(h, 21), _floats(h, 22), _floats(h, 23),
    )  # fmt: skip


@compiled
def schedule_at(numbers: np.ndarray, at: int) -> Schedule:
    """The schedule that begins at a place of the numbers."""
    n = numbers
    return Schedule(int(n[at]), n[at + 1], n[at + 2], n[at + 3], n[at + 4])


STEP_SIZE, EXPLORATION = 0, 5
QUANTUM, GRAIN, INITIAL, REPLAY, INHERIT, FLAT = range(10, 16)
"""What ``numbers`` holds: two schedules of five numbers each, then these."""
