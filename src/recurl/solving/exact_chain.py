"""Small 1-exit chains in fractions, where floats cannot tell how close to critical they are.

Let A be the matrix of the expected steps if all calls come back. On a strongly connected part S
from which no other part is in doubt, all calls do come back exactly if its spectral radius is at
most 1, and the expected steps are finite exactly if it is below 1. (For e = 1 - P one has
e <= A e by convexity, with equality in a row of S only if the row is linear. If the radius is at
most 1, the left eigenvector shows equality in all rows, so that all are linear; as S can be left,
its radius is then below 1, and e = 0.) Elimination in fractions tells: the radius is below 1
exactly if all pivots are positive, and 1 if only the last one is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import EXITS
from recurl.policy import RANDOM
from recurl.policy.outcomes import outcomes_of_policy
from recurl.solving.budget import check_time

if TYPE_CHECKING:
    from recurl.model.tables import Ints, Mask
    from recurl.policy import Policy
    from recurl.solving.rows import Rows

LARGEST = 60
"""Places up to which fractions are used."""


class ExactRows:
    """The exact probabilities and rewards of the rows of a policy."""

    def __init__(self, policy: Policy) -> None:
        model, chain = policy.model, outcomes_of_policy(policy)
        actions = np.diff(model.tables.action_start)[policy.slot_vertex]
        count = np.where(policy.actions == RANDOM, actions, 1)
        self._exact, self._transition = model.exact, chain.transition
        self._count = np.repeat(count, np.diff(chain.row_start))

    def prob(self, i: int) -> Fraction:
        """Probability of a transition of the rows."""
        return self._exact.prob(int(self._transition[i])) / int(self._count[i])

    def reward(self, i: int) -> Fraction:
        """Reward of a transition of the rows."""
        return self._exact.reward(int(self._transition[i]))


class Decided(NamedTuple):
    """Exact answers for places in doubt.

    Attributes:
        critical: Places of parts whose radius is 1.
        infinite: Places that lead to one: they end with probability 1, after infinitely many steps
            on average.
        finite: Places whose expected steps are finite.
        steps: Expected steps, of these.
        reward: Expected rewards, of these.
    """

    critical: Mask
    infinite: Mask
    finite: Ints
    steps: list[Fraction]
    reward: list[Fraction]


def decide(rows: Rows, exact: ExactRows, places: Ints) -> Decided | None:
    """Steps and rewards of some 1-exit places that refer to no others, all of which can leave.

    Returns:
        What was found, or None if some call may not come back.
    """
    number = {int(v): n for n, v in enumerate(places)}
    matrix, right = _equations(rows, exact, number)
    label = _parts(matrix)
    critical = np.zeros(rows.size, np.bool_)
    for part in sorted(set(label)):
        own = [n for n, other in enumerate(label) if other == part]
        sign = _last_pivot([[matrix[a].get(b, Fraction(0)) for b in own] for a in own])
        if sign < 0:
            return None
        critical[places[own]] = sign == 0
    lost = _leading_to(matrix, [n for v, n in number.items() if critical[v]])
    infinite = np.zeros(rows.size, np.bool_)
    infinite[places[sorted(lost)]] = True
    finite = [n for n in range(len(places)) if n not in lost]
    table = [[int(a == b) - matrix[a].get(b, Fraction(0)) for b in finite] for a in finite]
    solved = _solve([[*row, *right[a]] for row, a in zip(table, finite, strict=True)])
    steps, reward = ([x[column] for x in solved] for column in (0, 1))
    return Decided(critical, infinite, places[finite], steps, reward)


def _equations(
    rows: Rows, exact: ExactRows, number: dict[int, int]
) -> tuple[list[dict[int, Fraction]], list[tuple[Fraction, Fraction]]]:
    """Rows of A, with what a step counts and what it pays."""
    matrix, right = [], []
    for v in number:
        begin, end = rows.transition_start[rows.action_start[v : v + 2]].tolist()
        row: dict[int, Fraction] = {}
        paid = Fraction(0)
        for i in range(begin, end):
            p = exact.prob(i)
            paid += p * exact.reward(i)
            if rows.move[i] != EXITS and p:
                after = [int(rows.landing[i]), *([int(rows.push[i])] if rows.push[i] >= 0 else [])]
                for q in after:
                    row[number[q]] = row.get(number[q], Fraction(0)) + p
        matrix.append(row)
        right.append((Fraction(1), paid))
    return matrix, right


def _parts(matrix: list[dict[int, Fraction]]) -> list[int]:
    """Strongly connected part of each row."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    pairs = np.array([(a, b) for a, row in enumerate(matrix) for b in row], int).reshape(-1, 2)
    graph = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(matrix),) * 2)
    labels: list[int] = connected_components(graph, connection="strong")[1].tolist()
    return labels


def _leading_to(matrix: list[dict[int, Fraction]], goals: Sequence[int]) -> set[int]:
    found = set(goals)
    while True:
        more = {a for a, row in enumerate(matrix) if a not in found and not found.isdisjoint(row)}
        if not more:
            return found
        found |= more


def _last_pivot(part: list[list[Fraction]]) -> int:
    """1, 0 or -1 if the radius of an irreducible part of A is below, at or above 1."""
    rows = [[int(a == b) - x for b, x in enumerate(row)] for a, row in enumerate(part)]
    for n in range(len(rows)):
        check_time()
        pivot = rows[n][n]
        if pivot <= 0:
            return 0 if pivot == 0 and n == len(rows) - 1 else -1
        _eliminate(rows, n, range(n + 1, len(rows)))
    return 1


def _eliminate(rows: list[list[Fraction]], n: int, others: Sequence[int]) -> None:
    for k in others:
        if factor := rows[k][n] / rows[n][n]:
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[n], strict=True)]


def _solve(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Solutions of equations whose last two columns are right-hand sides."""
    for n in range(len(rows)):
        check_time()
        _eliminate(rows, n, [k for k in range(len(rows)) if k != n])
    return [[x / row[n] for x in row[-2:]] for n, row in enumerate(rows)]
