"""Where runs go: from the entries of contexts to their calls, and on to the contexts called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.model.tables import Floats, Tables
from recurl.solving.certified import visits_kernel
from recurl.solving.certified.threads import spread

if TYPE_CHECKING:
    from recurl.model.tables import Ints
    from recurl.solving.certified.points import Points
    from recurl.solving.certified.problem import Problem

_LEFT = 1e-7
"""Share of a run that may be lost."""


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """Expected visits inside contexts, from each of their entries.

    Attributes:
        row: Entry number from which a run comes. ``[visits]``
        call: Call number that it comes to. ``[visits]``
        visit: How often. ``[visits]``
        arrive: Probability to leave through each exit. ``[entries, K]``
    """

    row: np.ndarray
    call: np.ndarray
    visit: Floats
    arrive: Floats

    def matrix(self, column: np.ndarray, weight: Floats, columns: int) -> Any:
        """Visits from entries to whatever calls lead to: ``weight`` of it to each ``column``."""
        from scipy.sparse import csr_array

        used = np.flatnonzero(self.visit)
        call, rows = self.call[used], len(self.arrive)
        values = self.visit[used, None] * weight[call]
        row = np.broadcast_to(self.row[used, None], values.shape)
        keep = values != 0.0
        return csr_array((values[keep], (row[keep], column[call][keep])), shape=(rows, columns))


def flow_of(problem: Problem, points: Points, action: Ints, share: Floats) -> Flow:
    """Follow a policy whose calls return at their exits with probabilities ``share``."""
    t = problem.tables
    visit = np.zeros(int(points.visit[-1]))
    arrive = np.zeros((int(points.entry[-1]), t.max_exits))
    spread(
        len(points.component),
        len(action),
        lambda a, b: visits_kernel.call_visits(
            t, points, problem.order, action, share, _LEFT, visit, arrive, a, b
        ),
    )
    arrive /= np.maximum(arrive.sum(axis=1, keepdims=True), 1e-300)
    row, call = _ends(t, points)
    return Flow(row, call, visit, arrive)


def _ends(t: Tables, points: Points) -> tuple[np.ndarray, np.ndarray]:
    """Entry and call number of each visit number."""
    rows, calls = [], []
    for c in range(t.n_components):
        contexts = np.arange(points.first[c], points.first[c + 1])
        entries = np.arange(t.n_entries[c])
        count = np.arange(points.call[contexts[0] + 1] - points.call[contexts[0]])
        row = points.entry[contexts][:, None, None] + entries[:, None] + 0 * count
        call = points.call[contexts][:, None, None] + 0 * entries[:, None] + count
        rows.append(row.ravel())
        calls.append(call.ravel())
    return np.concatenate(rows), np.concatenate(calls)
