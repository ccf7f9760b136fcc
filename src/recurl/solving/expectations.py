"""Expected steps and rewards of recursive Markov chains, given how calls leave.

Both are linear: ``E(q) = 1 + sum p E(q')`` with ``E(en) + sum_j P(en, j) E(ret_j)`` for a call, and
likewise with rewards. The gains and the losses are summed apart, so that a total is +inf or -inf
where it is, and undefined only where both are infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recurl.model.tables import Floats, Ints
from recurl.solving.chains import Leaving, leave_probabilities
from recurl.solving.chains_kernel import chain_margins, step_system
from recurl.solving.linear import System, least_solutions
from recurl.solving.rows import Mask, Rows


@dataclass(frozen=True, eq=False)
class Expectations:
    """What to expect from each place until its component is left.

    Attributes:
        leaving: Probabilities to leave by each exit.
        steps: Expected steps; inf if infinite, or if a run may never end. ``[n]``
        reward: Expected total reward; nan if undefined. ``[n]``
        error: Bound on the error of the reward; inf if none was proved. ``[n]``
    """

    leaving: Leaving
    steps: Floats
    reward: Floats
    error: Floats


def expectations(rows: Rows, *, everywhere: bool = False) -> Expectations:
    """Leave probabilities, expected steps and rewards of rows with one action per place.

    Example:
        >>> import recurl
        >>> from recurl.solving.rows import rows_of_model
        >>> found = expectations(rows_of_model(recurl.zoo.gambler(p=0.25).tables))
        >>> found.steps.round(9)[0]
        np.float64(3.0)
    """
    leaving = leave_probabilities(rows, everywhere=everywhere)
    system = System(*step_system(rows, leaving.value, leaving.places))
    gain = np.bincount(rows.row_place, rows.prob * np.maximum(rows.reward, 0), rows.size)
    loss = np.bincount(rows.row_place, rows.prob * np.maximum(-rows.reward, 0), rows.size)
    one = np.where(_endless(leaving), np.inf, 1.0)
    b = np.stack([one, gain, loss], axis=1)
    while True:
        x = least_solutions(system, b)
        with np.errstate(invalid="ignore"):
            reward = x[:, 1] - x[:, 2]
        doubtful, error = _check(rows, leaving, x[:, 0], reward)
        if len(doubtful) == 0:
            break
        b[doubtful] = np.where(x[doubtful] > 0, np.inf, 0.0)
    return Expectations(_sure_where_finite(leaving, x[:, 0]), x[:, 0], reward, error)


def _endless(leaving: Leaving) -> Mask:
    """Places that are proved to leave with probability below 1."""
    endless = np.zeros(len(leaving.sure), np.bool_)
    endless[leaving.places] = leaving.upper[leaving.places].sum(axis=1) < 1 - 1e-9
    return endless


def _check(rows: Rows, leaving: Leaving, steps: Floats, reward: Floats) -> tuple[Ints, Floats]:
    """Places at which finite steps are not proved, and a bound on the errors of rewards.

    If d >= m + A d with m > 0, for the greatest possible weights A, then d / m bounds the expected
    steps, and a reward whose equations are off by at most r is off by at most r d / m. Where this
    fails the chain is critical as far as floats can tell, and what it adds up is infinite.
    """
    finite = leaving.places[np.isfinite(steps[leaving.places])]
    tables = (leaving.value, leaving.lower, leaving.upper)
    margin, off = chain_margins(rows, *tables, steps, reward, finite)
    error = np.full(rows.size, np.inf)
    error[finite] = np.max(off, initial=0.0) * steps[finite] / np.min(margin, initial=1.0)
    return finite[~(margin > 0.5)], error


def _sure_where_finite(leaving: Leaving, steps: Floats) -> Leaving:
    """Places with finite expected steps leave with probability 1."""
    return replace(leaving, sure=leaving.sure | np.isfinite(steps))
