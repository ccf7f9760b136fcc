"""Linear systems ``x = c + P x`` of one block under one policy.

P is nonnegative with spectral radius below 1. Small blocks are factorised. Large ones are solved by
GMRES, made fast by *aggregation*: neighbouring rows are lumped into groups, so few and so wide that
a group refers to its neighbours mostly; the system of the groups is factorised, and what it says is
smoothed by a Gauss-Seidel sweep. That takes care of errors that die out slowly, which are those
that look alike at neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.solving.one_exit_linear_kernel import (
    Chain,
    add_combination,
    aggregate,
    gather,
    least_remainder,
    multiply,
    orthogonalise,
    remainder,
    spread,
    visits,
)

if TYPE_CHECKING:
    from recurl.model.tables import Floats

DIRECT = 1500
"""Rows up to which a system is factorised as it is."""
BASIS = 15
"""Krylov vectors between restarts."""
_VISITS = 5
_WORSE = 1.5
_SMALLEST_GROUP = 8
_FEW_GROUPS, _FILL = 300, 10


class LinearSolver:
    """Solves systems of one size that differ little from each other, as policies improve.

    Args:
        size: Number of rows.
    """

    def __init__(self, size: int) -> None:
        self._basis, self._tries = np.empty((BASIS + 1, size)), np.empty((BASIS, size))
        self._vector = np.empty(size)
        self._lumped: Lumped | None = None
        self._first = self._last = 0

    def improve(self, chain: Chain, x: Floats, right: Floats, reduction: float) -> int:
        """Make the remainder of x smaller by a factor, if a full basis allows; iterations.

        The groups of an earlier system are used again until that takes clearly longer.
        """
        if self._lumped is None or self._last > min(_WORSE * self._first + 1, BASIS - 1):
            self._lumped = Lumped(chain, right)
            self._first = 0
        self._last = self._gmres(chain, x, self._lumped, reduction)
        self._first = self._first or self._last
        return self._last

    def _gmres(self, chain: Chain, x: Floats, lumped: Lumped, reduction: float) -> int:
        """Flexible GMRES: the combination of preconditioned vectors with the least remainder."""
        basis, tries, vector = self._basis, self._tries, self._vector
        hessenberg = np.zeros((BASIS + 1, BASIS))
        remainder(chain, x, vector)
        length = orthogonalise(basis, vector, 0)[0]
        if length == 0.0:
            return 0
        for k in range(1, BASIS + 1):
            lumped.apply(chain, basis[k - 1], tries[k - 1])
            multiply(chain, tries[k - 1], vector)
            hessenberg[: k + 1, k - 1] = orthogonalise(basis, vector, k)
            factors, left = least_remainder(hessenberg[: k + 1, :k], length)
            if left <= reduction * length or hessenberg[k, k - 1] == 0.0:
                break
        add_combination(x, tries, factors)
        return k


class Lumped:
    """A preconditioner: the factorised system of groups, and a sweep.

    Args:
        chain: The system.
        right: How a group's value spreads over its rows: positive, and near to
            ``right >= 1 + P right``.
    """

    def __init__(self, chain: Chain, right: Floats) -> None:
        self.right = right
        self.size = 1 if len(right) <= DIRECT else _group_size(chain)
        self.left = visits(chain, _VISITS if self.size > 1 else 0)
        start, column, value = aggregate(chain, self.left, right, self.size)
        while len(column) > _FILL * len(start) > _FILL * _FEW_GROUPS:
            self.size *= 2
            start, column, value = aggregate(chain, self.left, right, self.size)
        self._factors = _factorise(start, column, value)

    def apply(self, chain: Chain, b: Floats, out: Floats) -> None:
        """An approximate solution of ``(I - P) out = b``."""
        coarse = self._factors.solve(gather(b, self.left, self.size), trans="T")
        spread(chain, b, coarse, self.right, self.size, out)


def _group_size(chain: Chain) -> int:
    """Half of the usual distance between a row and the rows that it refers to."""
    row = np.repeat(np.arange(len(chain.constant)), np.diff(chain.start))[::31]
    distance = np.median(np.abs(chain.column[::31].astype(np.int64) - row)) if len(row) else 0
    return max(_SMALLEST_GROUP, int(distance / 2))


def _factorise(start: np.ndarray, column: np.ndarray, value: Floats) -> Any:
    """Factors of the transposed matrix (CSR read as CSC)."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    groups = len(start) - 1
    matrix = csc_array((value, column, start), shape=(groups, groups))
    options = {"SymmetricMode": True}
    return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
