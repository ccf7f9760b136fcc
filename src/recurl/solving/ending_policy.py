"""Search for a stackless policy that takes finitely many steps on average."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL, Floats, Ints
from recurl.policy import Policy
from recurl.solving.expectations import expectations
from recurl.solving.rows import rows_of_policy

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_SWEEPS, _MANY = 500, 1e6


def ending_policy(model: RMDP) -> tuple[Ints, Floats] | None:
    """Actions by vertex, counted within it, and expected steps by vertex; None if none was found.

    Sweeps of ``d(q) = 1 + min_a sum p d(q')``, with d(en) + max d(ret) at calls, so that it does
    not matter by which exits calls return; then with the best return in place of the worst one.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> actions, steps = ending_policy(model)
        >>> bool(np.isfinite(steps[model.tables.starts]).all())
        True
    """
    for extreme in (np.maximum, np.minimum):
        actions = _shortest(model, extreme)
        policy = Policy.stackless(model, actions)
        rows = rows_of_policy(policy)
        steps = expectations(rows, everywhere=True).steps
        if np.isfinite(steps[rows.start]).all():
            return actions, steps
    return None


def _shortest(model: RMDP, extreme: np.ufunc) -> Ints:
    """The actions that leave soonest, if calls return by the worst, or by the best exit."""
    from scipy.sparse import csr_array

    t = model.tables
    matrix = csr_array((t.prob, t.target, t.transition_start), shape=(t.n_actions, t.n_vertices))
    states, calls = np.flatnonzero(t.states), np.flatnonzero(t.vertex_kind == CALL)
    begin, box = t.action_start[:-1][states], t.vertex_box[calls]
    count, entry = t.n_exits[t.box_component[box]], t.entry_of_call(calls)
    d = np.zeros(t.n_vertices)
    for _ in range(_SWEEPS):
        before = d.copy()
        back = d[t.box_return[box]]
        for k in range(1, t.max_exits):
            back = extreme(back, d[t.box_return[box] + np.minimum(k, count - 1)])
        d[calls] = np.minimum(d[entry] + back, _MANY)
        value = 1.0 + matrix @ d
        d[states] = np.minimum(np.minimum.reduceat(value, begin), _MANY)
        if np.abs(d - before).max() <= 1e-9 * (1.0 + d.max()):
            break
    owner = np.repeat(np.arange(len(states)), np.diff(t.action_start)[states])
    order = np.lexsort((value, owner))
    actions = np.zeros(t.n_vertices, np.int32)
    actions[states] = order[begin] - begin
    return actions
