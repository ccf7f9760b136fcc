"""How often every policy leaves by each exit, at least: a sharper bound on what exit values do.

If every policy leaves a component by exit k with a probability of at least p[k], then a change t of
the exit values raises the optimum by at most ``p.t + (1 - sum p) max t``, and not by ``max t``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from recurl.model.tables import CALL, EXIT, Floats, Tables
from recurl.solving.budget import check_time
from recurl.solving.chains import leave_probabilities
from recurl.solving.rows import Rows, rows_of_model

_SLACK, _ENOUGH = 1e-12, 1e-7
_SWEEPS, _WORK = 2000, 500_000_000


def certain_reach(tables: Tables) -> Floats:
    """Probabilities p(q)[k], by vertex, with which every policy leaves by exit k at least.

    Satisfies in exact arithmetic: p >= 0; p(q) <= sum p p(q') for all actions; at an exit p is at
    most 1 for that exit and 0 for others; ``p(call) <= sum_j p(en)[j] p(ret_j)``. Sweeps from 0
    keep that at any time, so that it does not matter when they stop; where there is nothing to
    decide, Newton's method is quicker.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.and_or()
        >>> certain_reach(model.tables)[model.find("and.in")].round(6).tolist()
        [0.418861, 0.581139]
    """
    single = bool((np.diff(tables.action_start) <= 1).all())
    p = _by_newton(rows_of_model(tables)) if single else _by_sweeps(tables)
    return _with_ports(tables, p)


def reach_rows(t: Tables, certain: Floats) -> list[list[float]]:
    """The probabilities as a certificate lists them: by vertex, one per exit of its component."""
    counts = t.n_exits[t.vertex_component].tolist()
    return [p[:count] for p, count in zip(certain.tolist(), counts, strict=True)]


def call_worth(
    t: Tables, x: Floats, certain: Floats | None, extreme: Any = np.maximum
) -> tuple[Floats, Floats]:
    """Upper bounds on the values of call ports, and a bound on the rounding error.

    ``x(en) + p.t + (1 - sum p) max t`` with t = x(ret) - x(exits), exit by exit and p the certain
    probabilities; with ``extreme=np.minimum``, what it is worth at least.
    """
    calls = np.flatnonzero(t.vertex_kind == CALL)
    box = t.vertex_box[calls]
    callee, entry = t.box_component[box], t.entry_of_call(calls)
    exits = t.component_start[callee] + t.n_entries[callee]
    best = x[t.box_return[box]] - x[exits]
    total, others, size = x[entry].copy(), np.ones(len(calls)), 2 * np.abs(x[entry])
    for k in range(t.max_exits):
        at = np.where(t.n_exits[callee] > k, k, 0)
        change = x[t.box_return[box] + at] - x[exits + at]
        best = extreme(best, change)
        size = np.maximum(size, 2 * np.abs(change))
        if certain is not None:
            total += certain[entry, k] * change
            others -= certain[entry, k]
    total += np.maximum(others, 0.0) * best
    terms = 0 if certain is None else np.count_nonzero(certain[entry], axis=1)
    return total, rounding_of_calls(terms, size, total)


def rounding_of_calls(terms: Any, size: Floats, total: Floats) -> Floats:
    """A bound on the rounding error of what calls are worth.

    Args:
        terms: How many certain probabilities each sum has.
        size: Twice the greatest number of each sum, either way.
        total: The sums.
    """
    error: Floats = (terms + 2) * 2.3e-16 * (size + np.abs(total))
    return error


def _by_sweeps(t: Tables) -> Floats:
    """Sweeps of p = min_a sum p' - slack from below: never below 0, ports apart."""
    from scipy.sparse import csr_array

    matrix = csr_array((t.prob, t.target, t.transition_start), shape=(t.n_actions, t.n_vertices))
    begin, acting = t.action_start[:-1][t.states], np.flatnonzero(t.states)
    p = np.zeros((t.n_vertices, t.max_exits))
    sweeps = min(_SWEEPS, _WORK // (t.n_transitions * t.max_exits + 1) + 1)
    for _ in range(sweeps):
        check_time()
        before = p[acting]
        _with_ports(t, p)
        least = np.minimum.reduceat(matrix @ p, begin, axis=0) - _SLACK
        p[acting] = np.maximum(before, least)
        if (p[acting] - before).max() <= _ENOUGH:
            break
    return p


def _by_newton(rows: Rows) -> Floats:
    """Lower ends of the leave probabilities, which are inductive in spite of rounding errors."""
    return leave_probabilities(rows, everywhere=True).lower.copy()


def _with_ports(t: Tables, p: Floats) -> Floats:
    """Filled in at exits and, rounded down, at call ports."""
    exits = np.flatnonzero(t.vertex_kind == EXIT)
    p[exits, t.vertex_port[exits]] = 1.0
    calls = np.flatnonzero(t.vertex_kind == CALL)
    entry, first = t.entry_of_call(calls), t.box_return[t.vertex_box[calls]]
    p[calls] = 0.0
    terms = np.zeros((len(calls), t.max_exits))
    for j in range(t.max_exits):
        own = t.n_exits[t.box_component[t.vertex_box[calls]]] > j
        back = p[np.where(own, first + j, 0)]
        term = np.where(own, p[entry, j], 0.0)[:, None] * back
        p[calls] += term
        terms += term > 0
    # One exit for sure is a product with 1, which is exact; what leads to the call may need all of
    # it. Other sums have `Polynomials.below` to make up for what they lose here.
    exact = (p[entry] == 1).any(axis=1) & (np.count_nonzero(p[entry], axis=1) == 1)
    p[calls] *= np.where(exact[:, None], 1.0, 1 - (terms + 2) * 2.3e-16)
    return p
