"""Expected greatest stack height of a recursive Markov chain.

``E[depth] = sum_h P(depth > h)``, and P(depth <= h) is the probability T_h to end without ever
going above height h: T_0 = 0, and T_{h+1} solves the equations of the leave probabilities in which
calls are worth T_h.
"""

from __future__ import annotations

import math

import numpy as np

from recurl.linear.systems import solve
from recurl.model.tables import CALLS, EXITS, STEP, Floats, Ints, runs
from recurl.solving.rows import Rows

_TALLEST = 1_000_000
_WORK = 2_000_000_000


def expected_depth(rows: Rows, places: Ints) -> tuple[float, float]:
    """Expected greatest stack height of a chain that surely ends, and what was left out at most.

    The sum is cut where its terms have become small; the rest is bounded by the geometric series
    of the last ratio, which the ratios approach.

    Example:
        Every level calls another one with probability 1/2, so the depth is 2 on average:

        >>> import recurl
        >>> from recurl.solving.rows import rows_of_model
        >>> rows = rows_of_model(recurl.zoo.countdown(p="1/2").tables)
        >>> round(expected_depth(rows, np.arange(rows.size, dtype=np.int32))[0], 9)
        2.0
    """
    levels = _Levels(rows, places)
    table = np.zeros((rows.size, int(rows.n_exits.max())))
    total, last = 0.0, 1.0
    tallest = max(100, min(_TALLEST, _WORK // (rows.size * table.shape[1] + 1)))
    for _ in range(tallest):
        missing = 1.0 - float(rows.start_prob @ table[rows.start].sum(axis=1))
        ratio, last = missing / last if last > 0 else 0.0, missing
        total += max(missing, 0.0)
        rest = missing * ratio / (1 - ratio) if ratio < 1 else math.inf
        if missing <= 1e-15 or rest <= 1e-13 * total:
            return total, max(rest, 0.0)
        table = levels.raised(table)
    return total, rest


class _Levels:
    """The equations of one stack height, given the probabilities of the height below."""

    def __init__(self, rows: Rows, places: Ints) -> None:
        inside = np.zeros(rows.size, np.bool_)
        inside[places] = True
        place, used = rows.row_place, inside[rows.row_place]
        step = np.flatnonzero(used & (rows.move == STEP))
        call = np.flatnonzero(used & (rows.move == CALLS))
        count = rows.n_returns[call]
        self.callee = np.repeat(rows.landing[call], count)
        self.exit = runs(np.zeros_like(count), count)
        self.step_weight, self.call_weight = rows.prob[step], np.repeat(rows.prob[call], count)
        self.place = np.concatenate([place[step], np.repeat(place[call], count)])
        self.target = np.concatenate([rows.landing[step], runs(rows.push[call], count)])
        self.size = rows.size
        self.leave = np.zeros((rows.size, int(rows.n_exits.max())))
        leave = np.flatnonzero(used & (rows.move == EXITS))
        np.add.at(self.leave, (place[leave], rows.landing[leave]), rows.prob[leave])

    def raised(self, below: Floats) -> Floats:
        """Probabilities to leave by each exit when calls must leave as ``below`` says."""
        from scipy.sparse import csr_array

        weight = np.append(self.step_weight, self.call_weight * below[self.callee, self.exit])
        matrix = csr_array((weight, (self.place, self.target)), shape=(self.size, self.size))
        found = solve(matrix, self.leave)
        return below if found is None else np.minimum(found, 1.0)
