"""Losses until a component is left, bounded: what is earned exceeds them if runs go on.

Numbers d, 0 at exits and at least 0 at return ports, with ``d(q) > sum p d(q') - r(q, a)`` and
``d(call) >= d(entry) + sum U_k(entry) d(return k)``, where U_k bounds the probability to leave by
exit k: in every step, what was earned grows against d by some c > 0 on average. If runs may not
end, totals are infinite then. The proof is in docs/explanation/certificates.md.
"""

from __future__ import annotations

import numpy as np

from recurl.model.tables import CALL, EXIT, RETURN, Floats, Mask, Tables, runs
from recurl.solving.budget import seconds_left
from recurl.solving.offsets import LARGEST_PROGRAM

_ROOM = 1e-12


def bounded_losses(t: Tables, rewards: Floats, taken: Mask, leave: Floats) -> Floats | None:
    """Such numbers by vertex, checked with rounding counted; None if none were found.

    Args:
        t: The model.
        rewards: Rewards of transitions.
        taken: Actions that count.
        leave: Bounds on the probability to leave by each exit, by vertex. ``[n, K]``
    """
    gain = np.add.reduceat(t.prob * rewards, t.transition_start[:-1])
    d = np.zeros(t.n_vertices)
    if gain[taken].min(initial=np.inf) <= 0:
        found = _program(t, gain, taken, leave) if t.n_vertices <= LARGEST_PROGRAM else None
        if found is None:
            return None
        d = found
    calls = np.flatnonzero(t.vertex_kind == CALL)
    entry, call, exits, back = _ways(t, calls)
    after = np.bincount(call, leave[entry[call], exits] * d[back], len(calls))
    d[calls] = d[entry] + after + _ROOM * (np.abs(d[entry]) + after)
    owner = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    own, after = d[t.action_vertex], np.bincount(owner, t.prob * d[t.target], t.n_actions)
    size = np.bincount(owner, t.prob * (np.abs(d[t.target]) + np.abs(rewards)), t.n_actions)
    grows = own + gain - after - _ROOM * (np.abs(own) + size)
    return d if (grows[taken] > 0).all() else None


def _ways(t: Tables, calls: np.ndarray) -> tuple[np.ndarray, ...]:
    """Entries of calls; number of the call, exit, and return port of every way through them."""
    box, entry = t.vertex_box[calls], t.entry_of_call(calls)
    count = t.n_exits[t.box_component[box]]
    first = np.zeros_like(count)
    return (
        entry,
        np.arange(len(calls)).repeat(count),
        runs(first, count),
        runs(t.box_return[box], count),
    )


def _program(t: Tables, gain: Floats, taken: Mask, leave: Floats) -> Floats | None:
    """The numbers with the greatest c, at most 1, by linear programming."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array, hstack, vstack

    actions, calls, n = np.flatnonzero(taken), np.flatnonzero(t.vertex_kind == CALL), t.n_vertices
    every = csr_array((t.prob, t.target, t.transition_start), shape=(t.n_actions, n))
    entry, call, exits, back = _ways(t, calls)
    rows, number = np.arange(len(actions)), np.arange(len(calls))
    own = coo_array((np.ones(len(rows)), (rows, t.action_vertex[actions])), shape=(len(rows), n))
    value = np.concatenate([leave[entry[call], exits], np.ones(len(calls)), -np.ones(len(calls))])
    line, column = np.concatenate([call, number, number]), np.concatenate([back, entry, calls])
    ports = coo_array((value, (line, column)), shape=(len(calls), n))
    falls = np.append(np.ones(len(rows)), np.zeros(len(calls)))[:, None]
    most = np.where(t.vertex_kind == EXIT, 0.0, np.inf)
    least = np.where((t.vertex_kind == EXIT) | (t.vertex_kind == RETURN), 0.0, -np.inf)
    found = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=hstack([vstack([every[actions] - own, ports]), coo_array(falls)]).tocsr(),
        b_ub=np.append(gain[actions], np.zeros(len(calls))),
        bounds=[*zip(least, most, strict=True), (0.0, 1.0)],
        method="highs",
        options={"time_limit": seconds_left()},
    )
    return None if found.x is None else np.clip(found.x[:n], least, most)
