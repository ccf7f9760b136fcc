"""Step bounds for multi-exit models in which exits differ.

Wanted: d >= 0 with d = 0 at one exit of each component, d(q) >= 1 + sum p d(q') for all actions,
and d(call) >= d(en) + max_ex (d(ret_ex) - d(ex)). Once it is said which exit has d = 0, this is a
linear program; the exit nearest to all vertices is tried first (in a discounted model that is the
exit lane), then all combinations if they are few, or the first, second, ... of every component.
Where that fails, the probabilities p with which every policy leaves by each exit take part:
d(call) >= d(en) + p.t + (1 - sum p) max t with t = d(ret) - d(ex), and d(q) >= p(q).d(exits).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from recurl.model.tables import CALL, EXIT, Floats, Ints, Tables
from recurl.solving.budget import seconds_left
from recurl.solving.reach import call_worth
from recurl.solving.rows import Rows
from recurl.solving.steps import inductive, no_reach, smallest_slack

if TYPE_CHECKING:
    from recurl.model.structure import Reach

LARGEST_PROGRAM = 20_000
"""Vertices up to which the linear program is tried; beyond, offsets are guessed."""
_TRIES, _COMBINATIONS = 6, 64

Part = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer], Floats]
"""Rows, columns and values of some entries of a matrix."""


def bounds_with_offsets(tables: Tables, rows: Rows, reach: Reach) -> Floats | None:
    """Step bounds by vertex, with offsets at exits, or None if none were found."""
    program = tables.n_vertices <= LARGEST_PROGRAM
    for zero in _zero_exits(tables, reach):
        d = by_program(tables, zero) if program else _by_guess(tables, rows, zero)
        if d is not None and (scale := inductive(rows, d, d)) is not None:
            return d * scale
    return None


def bounds_with_reach(tables: Tables, rows: Rows, reach: Reach, certain: Floats) -> Floats | None:
    """The same with certain probabilities to leave by each exit."""
    if tables.n_vertices > LARGEST_PROGRAM:
        return None
    for zero in islice(_zero_exits(tables, reach), _TRIES):
        d = by_program(tables, zero, certain)
        if d is not None and (scale := inductive(rows, d, d, certain)) is not None:
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


def by_program(t: Tables, zero: Ints, certain: Floats | None = None) -> Floats | None:
    """The linear program: least sum of d, with d = 0 at some exits."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    n = t.n_actions
    action = np.repeat(np.arange(n), np.diff(t.transition_start))
    parts: list[Part] = [(np.arange(n), t.action_vertex, np.full(n, -1.0))]
    parts.append((action, t.target, t.prob))
    parts += _call_rows(t, n, certain)
    m = 1 + max(int(row.max(initial=n - 1)) for row, _, _ in parts)
    if certain is not None:
        parts += _above_exits(t, m, certain)
        m += t.n_vertices
    row, column, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    upper = np.full(t.n_vertices, np.inf)
    upper[zero] = 0.0
    result = linprog(
        np.ones(t.n_vertices),
        A_ub=coo_array((value, (row, column)), shape=(m, t.n_vertices)).tocsr(),
        b_ub=np.where(np.arange(m) < n, -1.0, 0.0),
        bounds=np.stack([np.zeros(t.n_vertices), upper], axis=1),
        method="highs",
        options={"time_limit": seconds_left()},
    )
    return None if result.x is None else np.maximum(result.x, 0.0)


def _call_rows(t: Tables, first: int, certain: Floats | None) -> list[Part]:
    """-d(call) + d(en) + p.t + (1 - sum p) t_k <= 0: a row for every call port and exit k."""
    ports = np.flatnonzero(t.vertex_kind == CALL)
    box = t.vertex_box[ports]
    callee = t.box_component[box]
    p = np.zeros((len(ports), t.max_exits)) if certain is None else certain[t.entry_of_call(ports)]
    exits = t.component_start[callee] + t.n_entries[callee]
    parts: list[Part] = []
    for k in range(t.max_exits):
        own = t.n_exits[callee] > k
        row = (first + np.cumsum(own) - 1)[own].astype(np.int32)
        first += int(own.sum())
        parts.append((row, ports[own], np.full(len(row), -1.0)))
        parts.append((row, t.entry_of_call(ports[own]), np.ones(len(row))))
        for j in range(t.max_exits):
            some = t.n_exits[callee[own]] > j
            share = (p[own, j] + (j == k) * (1 - p[own].sum(axis=1)))[some]
            parts.append((row[some], (t.box_return[box[own]] + j)[some], share))
            parts.append((row[some], (exits[own] + j)[some], -share))
    return parts


def _above_exits(t: Tables, first: int, certain: Floats) -> list[Part]:
    """-d(q) + p(q).d(exits) <= 0 for every vertex."""
    every = np.arange(t.n_vertices, dtype=np.int32)
    parts: list[Part] = [(first + every, every, np.full(len(every), -1.0))]
    for k in range(t.max_exits):
        own = every[t.n_exits[t.vertex_component] > k]
        component = t.vertex_component[own]
        exits = t.component_start[component] + t.n_entries[component] + k
        parts.append((first + own, exits, certain[own, k]))
    return parts


def _by_guess(t: Tables, rows: Rows, zero: Ints) -> Floats | None:
    """Sweeps with all other exits at the same offset, which is raised until it does."""
    from scipy.sparse import csr_array

    matrix = csr_array((t.prob, t.target, t.transition_start), shape=(t.n_actions, t.n_vertices))
    begin, calls = t.action_start[:-1][t.states], t.vertex_kind == CALL
    for offset in 4.0 ** np.arange(1, 9):
        d = np.where(t.vertex_kind == EXIT, offset, 0.0)
        d[zero] = 0.0
        for _ in range(16):
            for _ in range(8):
                d[calls] = call_worth(t, d, None)[0]
                d[t.states] = 1.0 + np.maximum.reduceat(matrix @ d, begin)
            if smallest_slack(rows, d, d, no_reach(rows)) > -0.5:
                return d
            if d.max() > 1e6 * offset:
                break
    return None
