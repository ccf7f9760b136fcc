"""Step bounds for multi-exit models in which exits differ.

Wanted: d >= 0 with d = 0 at one exit of each component, d(q) >= 1 + sum p d(q') for all actions,
and d(call) >= d(en) + max_ex (d(ret_ex) - d(ex)). Once it is said which exit has d = 0, this is a
linear program; the exit nearest to all vertices is tried first (in a discounted model that is the
exit lane), then all combinations if they are few, or the first, second, ... of every component.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL, Floats, Ints, Tables
from recurl.solving.properness_kernel import relax, smallest_slack
from recurl.solving.rows import Rows
from recurl.solving.steps import inductive

if TYPE_CHECKING:
    from recurl.model.structure import Reach

LARGEST_PROGRAM = 20_000
"""Vertices up to which the linear program is tried; beyond, offsets are guessed."""
_TRIES, _COMBINATIONS = 6, 64


def bounds_with_offsets(tables: Tables, rows: Rows, reach: Reach) -> Floats | None:
    """Step bounds by vertex, with offsets at exits, or None if none were found."""
    find = _by_program if tables.n_vertices <= LARGEST_PROGRAM else _by_guess
    for zero in _zero_exits(tables, reach):
        d = find(tables, rows, zero)
        if d is not None and (scale := inductive(rows, d, d)) is not None:
            return d * scale
    return None


def _zero_exits(t: Tables, reach: Reach) -> Iterator[Ints]:
    """Candidates for the exit vertices, one per component, with bound 0."""
    first = (t.component_start[:-1] + t.n_entries).astype(np.int32)
    far = np.where(np.isinf(reach.distance), 1e6, reach.distance)
    totals = np.add.reduceat(far, t.component_start[:-1], axis=0)
    totals[np.arange(t.max_exits) >= t.n_exits[:, None]] = np.inf
    yield first + totals.argmin(axis=1).astype(np.int32)
    if np.prod(t.n_exits.astype(float)) <= _COMBINATIONS:
        for exits in product(*map(range, t.n_exits.tolist())):
            yield first + np.array(exits, np.int32)
    else:
        for k in range(min(t.max_exits, _TRIES)):
            yield first + np.minimum(k, t.n_exits - 1)


def _by_program(t: Tables, rows: Rows, zero: Ints) -> Floats | None:
    """The linear program: least sum of d."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    action = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    calls, returns, exits = _call_rows(t)
    n, m = t.n_actions, len(calls)
    extra = n + np.arange(m)
    row = np.concatenate([np.arange(n), action, extra, extra, extra, extra])
    column = np.concatenate(
        [t.action_vertex, t.target, calls, t.entry_of_call(calls), returns, exits]
    )
    sign = np.concatenate(
        [np.full(n, -1.0), t.prob, *np.repeat([[-1.0], [1], [1], [-1]], m, axis=1)]
    )
    upper = np.full(t.n_vertices, np.inf)
    upper[zero] = 0.0
    result = linprog(
        np.ones(t.n_vertices),
        A_ub=coo_array((sign, (row, column)), shape=(n + m, t.n_vertices)).tocsr(),
        b_ub=np.concatenate([np.full(n, -1.0), np.zeros(m)]),
        bounds=np.stack([np.zeros(t.n_vertices), upper], axis=1),
        method="highs",
    )
    return None if result.x is None else np.maximum(result.x, 0.0)


def _call_rows(t: Tables) -> tuple[Ints, Ints, Ints]:
    """Call port, return port and exit of the callee, for every call port and exit."""
    ports = np.flatnonzero(t.vertex_kind == CALL)
    box = t.vertex_box[ports]
    callee = t.box_component[box]
    count = t.n_exits[callee]
    k = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    returns = np.repeat(t.box_return[box], count) + k
    exits = np.repeat(t.component_start[callee] + t.n_entries[callee], count) + k
    return np.repeat(ports, count).astype(np.int32), returns, exits


def _by_guess(t: Tables, rows: Rows, zero: Ints) -> Floats | None:
    """Sweeps with all other exits at the same offset, which is raised until it does."""
    places = np.flatnonzero(t.states)[::-1].astype(np.int32)
    for offset in 4.0 ** np.arange(1, 9):
        d = np.zeros(t.n_vertices)
        exits = np.flatnonzero(t.vertex_kind == 1)
        d[exits] = offset
        d[zero] = 0.0
        for _ in range(8):
            relax(rows, d, d, places, 8)
            if smallest_slack(rows, d, d) > -0.5:
                return d
            if d.max() > 1e6 * offset:
                break
    return None
