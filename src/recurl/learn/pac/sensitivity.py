"""Sensitivity of the value of a policy to the probabilities of its model.

Under a policy, the rewards x(q) that are collected until the component of q is left, and the
probabilities P(q, k) to leave it by exit k, solve equations in which a call pays
x(en) + sum_j P(en, j) x(ret_j). The derivative of the value at the start by the probability of a
transition follows from the transposed linear equations: w_x(q), how often q is visited, and
w_P(q, k), the total worth of leaving q by k. It only says where to sample: sweeps stop
early, and errors cost samples, never the guarantee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import CALLS, EXITS, STEP
from recurl.policy.outcomes import outcomes_of_policy
from recurl.solving.rows import rows_of_policy

if TYPE_CHECKING:
    from recurl.model.tables import Floats, Ints
    from recurl.policy import Policy
    from recurl.solving.rows import Rows

_SWEEPS, _NEAR = 1000, 1e-3


class _Calls(NamedTuple):
    """The transitions that call, with entry and return places; exits that are not there are 0."""

    at: Ints
    entry: Ints
    back: np.ndarray
    real: np.ndarray


def sensitivity(policy: Policy, discount: float = 1.0) -> Floats:
    """Derivative of the value of a policy by the probability of each transition of its model.

    Args:
        policy: The policy.
        discount: Weight of what comes after a step.

    Example:
        The gambler's steps are (1 + 2p) / (1 - 2p), with the derivative 4 / (1 - 2p)² = 16 at 1/4:

        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.25)
        >>> g = sensitivity(recurl.Policy.uniform(model))
        >>> round(float(g[0] - g[1]))
        16
    """
    rows, chain = rows_of_policy(policy), outcomes_of_policy(policy)
    place, calls = rows.row_place, _calls(rows)
    p, x = _forward(rows, calls, discount)
    wx, wp = _backward(rows, calls, p, x, discount)
    after_p, after_x = _after(rows, calls, p, x)
    gain = wx[place] * (rows.reward + discount * after_x)
    gain = gain + discount * (wp[place] * after_p).sum(axis=1)
    return _sums(chain.transition, gain, policy.model.tables.n_transitions)


def _sums(place: Ints, amount: Floats, size: int) -> Floats:
    """Amounts summed up by place."""
    return np.bincount(place, amount, size).astype(np.float64)


def _calls(rows: Rows) -> _Calls:
    at = np.flatnonzero(rows.move == CALLS)
    exits = np.arange(rows.n_exits.max())
    real = exits < rows.n_returns[at][:, None]
    back = np.where(real, rows.push[at][:, None] + exits, 0)
    return _Calls(at.astype(np.int32), rows.landing[at], back, real)


def _after(rows: Rows, calls: _Calls, p: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Exit probabilities and rewards after each transition."""
    step, leave = rows.move == STEP, np.flatnonzero(rows.move == EXITS)
    at = np.where(step, rows.landing, 0)
    after_p, after_x = np.where(step[:, None], p[at], 0.0), np.where(step, x[at], 0.0)
    after_p[leave, rows.landing[leave]] = 1.0
    out = np.where(calls.real, p[calls.entry], 0.0)
    after_p[calls.at] = np.einsum("tj,tjk->tk", out, p[calls.back])
    after_x[calls.at] = x[calls.entry] + (out * x[calls.back]).sum(axis=1)
    return after_p, after_x


def _forward(rows: Rows, calls: _Calls, discount: float) -> tuple[Floats, Floats]:
    """P and x, by sweeps from 0."""
    place, exits = rows.row_place, int(rows.n_exits.max())
    p, x = np.zeros((rows.size, exits)), np.zeros(rows.size)
    for _ in range(_SWEEPS):
        after_p, after_x = _after(rows, calls, p, x)
        weight = rows.prob * discount
        new_p = np.zeros_like(p)
        np.add.at(new_p, place, weight[:, None] * after_p)
        new_x = _sums(place, rows.prob * rows.reward + weight * after_x, rows.size)
        change = max(np.abs(new_p - p).max(), np.abs(new_x - x).max())
        p, x = new_p, new_x
        if change <= _NEAR * 0.1 * max(1.0, np.abs(x).max()):
            break
    return p, x


def _backward(
    rows: Rows, calls: _Calls, p: Floats, x: Floats, discount: float
) -> tuple[Floats, Floats]:
    """w_x and w_P, by sweeps of the transposed equations."""
    place, step = rows.row_place, np.flatnonzero(rows.move == STEP)
    weight = rows.prob * discount
    start = _sums(rows.start, rows.start_prob, rows.size)
    wx, wp = start.copy(), np.zeros_like(p)
    out = np.where(calls.real, p[calls.entry], 0.0)
    worth = np.where(calls.real, x[calls.back], 0.0)
    leave = np.where(calls.real[:, :, None], p[calls.back], 0.0)
    for _ in range(_SWEEPS):
        tx, tp = weight * wx[place], weight[:, None] * wp[place]
        new_x, new_p = start.copy(), np.zeros_like(wp)
        np.add.at(new_x, rows.landing[step], tx[step])
        np.add.at(new_p, rows.landing[step], tp[step])
        cx, cp = tx[calls.at], tp[calls.at]
        np.add.at(new_x, calls.entry, cx)
        np.add.at(new_x, calls.back, cx[:, None] * out)
        np.add.at(new_p, calls.entry, cx[:, None] * worth + np.einsum("tk,tjk->tj", cp, leave))
        np.add.at(new_p, calls.back, out[:, :, None] * cp[:, None, :])
        change = np.abs(new_x - wx).sum() + np.abs(new_p - wp).sum()
        wx, wp = new_x, new_p
        if change <= _NEAR * (np.abs(wx).sum() + np.abs(wp).sum()):
            break
    return wx, wp
