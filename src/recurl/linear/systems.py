"""Linear systems ``x = c + P x`` with P >= 0: factors, solutions, and better solutions.

A system is made out to be singular by its graph, before anything is factorised: a strongly
connected block of which no row sums to less than 1 has no solution that is finite and not negative.
Pivots are taken from the diagonal: for a P of spectral radius below 1 they are positive, and
elimination is stable. Large systems are solved by stabilised biconjugate gradients if that takes
few products, else by GMRES, which is made fast by *aggregation*:
neighbouring rows are lumped into groups, so few and so wide that a group refers to its neighbours
mostly; the system of the groups is factorised, and its solution smoothed by sweeps. That takes care
of errors that die out slowly, which are those that look alike at neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recurl.model.tables import Floats, Ints, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from threadpoolctl import ThreadpoolController

DENSE = 100
"""Rows up to which zeros cost less than leaving them out."""
SMALL = 30
"""Rows of a block whose inverse costs less than factors; distances that count as near."""
DIRECT = 1500
"""Rows up to which a system is factorised as it is."""
SPARSE = 30_000
"""Rows up to which any system is factorised if need be."""
LARGE = 50_000
"""Rows from which on a system is worth the second that compiling Gauss-Seidel sweeps takes."""
BASIS = 15
"""Krylov vectors between restarts."""
_UNIT = 2.0**-53
_RESTARTS, _PRODUCTS, _VISITS, _SMOOTHING, _WORSE = 60, 50, 5, 2, 1.5
_SMALLEST_GROUP, _FEW_GROUPS, _FILL = 8, 300, 10


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread, also as a decorator.

    The solvers invert many small matrices. There two threads wait for each other most of the time:
    taxi took ten times as long with them where another process was busy.
    """
    with _blas().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas() -> ThreadpoolController:
    # numpy and scipy each bring a BLAS. It is found only if it is loaded.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def chosen_lines(matrix: csr_array, chosen: npt.NDArray[np.integer]) -> csr_array:
    """Some lines of a matrix: what indexing by them makes, which takes longer on small ones."""
    if len(chosen) >= LARGE:
        return matrix[chosen]
    begin = matrix.indptr[chosen]
    count = matrix.indptr[chosen + 1] - begin
    start = np.zeros(len(chosen) + 1, np.int32)
    np.cumsum(count, out=start[1:])
    place = np.repeat(begin - start[:-1], count)
    place += np.arange(len(place), dtype=place.dtype)
    parts = matrix.data[place], matrix.indices[place], start
    return type(matrix)(parts, shape=(len(chosen), matrix.shape[1]))


def closed_rows(matrix: csr_array) -> Mask:
    """Rows of strongly connected blocks none of whose rows sums to less than 1 within the block.

    Example:
        A coin is tossed until it shows heads; the state after it stays what it is:

        >>> from scipy.sparse import csr_array
        >>> closed_rows(csr_array([[0.5, 0.5], [0, 1]])).tolist()
        [False, True]
    """
    from scipy.sparse.csgraph import connected_components

    count = np.diff(matrix.indptr)
    least = 1.0 - 2.0 * _UNIT * count
    if (matrix @ np.ones(len(count)) < least).all():
        return np.zeros(len(count), np.bool_)
    blocks, label = connected_components(matrix, connection="strong")
    row = np.repeat(label, count)
    inside = np.where(row == label[matrix.indices], matrix.data, 0.0)
    share = np.bincount(np.repeat(np.arange(len(count)), count), inside, len(count))
    leaves = np.zeros(blocks, np.bool_)
    leaves[label[share < least]] = True
    closed: Mask = ~leaves[label]
    return closed


def factors(matrix: csr_array, *, leak: float = 0.0) -> Any | None:
    """Factors of ``I - P``; None if it is singular.

    Args:
        matrix: P.
        leak: Share of the weights that closed rows are to lose; they are singular without.

    Example:
        >>> from scipy.sparse import csr_array
        >>> factors(csr_array([[0.5]])).solve(np.ones(1)).tolist()
        [2.0]
        >>> factors(csr_array([[1.0]])) is None
        True
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import splu

    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    data, closed = matrix.data, closed_rows(matrix)
    if closed.any():
        if not leak:
            return None
        data = data * np.repeat(1.0 - leak * closed, np.diff(matrix.indptr))
    try:
        # For the natural order scipy sets the symmetric mode of SuperLU, which writes beyond its
        # memory where a pivot is 0.
        system = csr_array(_identity_less(matrix, data), shape=matrix.shape).tocsc()
        return splu(system, permc_spec="COLAMD", diag_pivot_thresh=0.0)
    except RuntimeError:  # exactly singular in floats
        return None


def _identity_less(matrix: csr_array, data: Floats) -> tuple[Floats, Ints, Ints]:
    """Compressed rows of I less a matrix with other weights; diagonals may stand twice."""
    row = np.arange(matrix.shape[0] + 1, dtype=np.int32)
    start = matrix.indptr + row
    index, value = np.empty(start[-1], np.int32), np.ones(start[-1])
    others = np.ones(len(value), np.bool_)
    others[start[:-1]] = False
    index[start[:-1]], index[others], value[others] = row[:-1], matrix.indices, -data
    return value, index, start


def solve(
    matrix: csr_array, c: Floats, *, block_start: Ints | None = None, precision: float = 1e-14
) -> Floats | None:
    """A solution of ``x = c + P x`` in floats, for one column or several; None if none was found.

    Nothing is promised of the solution: whoever uses it checks what it needs.

    Args:
        matrix: P.
        c: The constants.
        block_start: First rows of small blocks, and one more at the end, if rows refer to their own
            block and to earlier rows only.
        precision: That of the equations, relative to c, where an iterative method is used.

    Example:
        A coin tossed until it shows heads:

        >>> from scipy.sparse import csr_array
        >>> solve(csr_array([[0.5]]), np.array([1.0])).tolist()
        [2.0]
    """
    n = len(c)
    if n <= DENSE:
        return solve_dense(np.eye(n) - matrix.toarray(), c)
    if block_start is not None and (n > DIRECT or np.diff(block_start).max() <= SMALL):
        return _substituted(matrix, c, block_start)
    # Rows that refer to their neighbours fill little, and are what slow methods are slowest for.
    near = n <= SPARSE and _group_size(matrix) <= SMALL
    if n > DIRECT and not near:
        columns = []
        for own in c.reshape(n, -1).T:
            x = _by_gradients(matrix, own, precision)
            columns.append(_iterated(matrix, own, precision) if x is None else x)
        found = [own for own in columns if own is not None]
        if len(found) == len(columns):
            return np.column_stack(found).reshape(c.shape)
        if n > SPARSE:
            return None
    made = factors(matrix)
    return None if made is None else made.solve(c)


def _substituted(matrix: csr_array, c: Floats, block_start: Ints) -> Floats | None:
    """The solution block after block: blocks are inverted, and what they add is substituted."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import spsolve_triangular

    size = np.diff(block_start)
    block = np.repeat(np.arange(len(size)), size)
    row = np.repeat(np.arange(len(c)), np.diff(matrix.indptr))
    own = block[row] == block[matrix.indices]
    if own.any():
        inverse = _inverse_of_blocks(block_start, row[own], matrix.indices[own], matrix.data[own])
        if inverse is None:
            return None
        outer = np.where(own, 0.0, matrix.data), matrix.indices, matrix.indptr
        c, matrix = inverse @ c, inverse @ csr_array(outer, shape=matrix.shape)
        matrix.eliminate_zeros()
    system = csr_array(_identity_less(matrix, matrix.data), shape=matrix.shape).tocsc()
    found: Floats = spsolve_triangular(system, c, overwrite_A=True, unit_diagonal=True)
    return found


def _inverse_of_blocks(
    block_start: Ints, row: npt.NDArray[np.integer], column: Ints, weight: Floats
) -> csr_array | None:
    """The inverse of I - P for a P of small blocks, given by its entries; None if it has none."""
    from scipy.sparse import csr_array

    sizes, n = np.diff(block_start), int(block_start[-1])
    block = np.repeat(np.arange(len(sizes)), sizes)
    width, first = sizes[block], block_start[:-1][block]
    start = np.append(0, np.cumsum(width))
    index = np.arange(start[-1]) - np.repeat(start[:-1] - first, width)
    value = (index == np.repeat(np.arange(n), width)).astype(np.float64)
    np.subtract.at(value, start[row] + column - first[row], weight)
    for size in np.unique(sizes[sizes > 0]).tolist():
        begin = start[block_start[:-1][sizes == size]]
        place = begin[:, None] + np.arange(size * size)
        own = value[place].reshape(-1, size, size)
        try:
            inverse = np.linalg.inv(own) if size > 1 or not own.all() else 1.0 / own
        except np.linalg.LinAlgError:
            return None
        value[place] = inverse.reshape(place.shape)
    return csr_array((value, index, start), shape=(n, n))


def solve_entries(
    row: npt.NDArray[np.integer],
    column: npt.NDArray[np.integer],
    value: Floats,
    c: Floats,
    precision: float = 1e-14,
) -> Floats | None:
    """A solution for a P given by its entries, see `solve`."""
    from scipy.sparse import csr_array

    n = len(c)
    if n <= DENSE:  # where a sparse matrix takes longer to build than to solve
        dense = np.bincount(row.astype(np.int64) * n + column, value, n * n).reshape(n, n)
        return solve_dense(np.eye(n) - dense, c)
    return solve(csr_array((value, (row, column)), shape=(n, n)), c, precision=precision)


def solve_dense(matrix: Floats, b: Floats) -> Floats | None:
    """The solution of ``matrix x = b``; None if the matrix is singular."""
    try:
        return np.linalg.solve(matrix, b).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None


def sweep(matrix: csr_array, c: Floats, x: Floats, times: int) -> Floats:
    """X after some sweeps: of Jacobi, or of Gauss and Seidel if there are many rows."""
    if len(x) < LARGE:
        for _ in range(times):
            x = c + matrix @ x
        return x
    from recurl.linear.sweep_kernel import sweep_rows

    x = x.copy()
    start, column = unsigned(matrix.indptr), unsigned(matrix.indices)
    for _ in range(times):
        sweep_rows(start, column, matrix.data, c, x, x)
    return x


def unsigned(index: npt.NDArray[np.integer]) -> npt.NDArray[np.uint32]:
    """Indices of a large matrix as the compiled sweeps take them; not copied where they fit."""
    return index.view(np.uint32) if index.dtype == np.int32 else index.astype(np.uint32)


@np.errstate(all="ignore")  # what is not finite is not found
def _by_gradients(matrix: csr_array, c: Floats, precision: float) -> Floats | None:
    """The solution by stabilised biconjugate gradients; None if they take many products."""
    from scipy.sparse.linalg import LinearOperator, bicgstab

    system = LinearOperator(matrix.shape, lambda x: x - matrix @ x, dtype=np.float64)
    start = c + matrix @ c
    x: Floats = bicgstab(system, c, start, rtol=precision, atol=0.0, maxiter=_PRODUCTS)[0]
    rest = np.abs(c + matrix @ x - x).max()
    return x if rest <= 1e3 * precision * np.abs(c).max() else None


def _iterated(matrix: csr_array, c: Floats, precision: float) -> Floats | None:
    """The solution up to rounding by GMRES; None if it does not converge quickly."""
    x, corrector = np.zeros(len(c)), Corrector()
    size, before = float(np.abs(c).max()), np.inf
    for _ in range(_RESTARTS):
        rest = float(np.abs(c + matrix @ x - x).max())
        if rest <= precision * size + 4e-16 * float(np.abs(x).max()):
            return x
        if not rest < 0.5 * before:
            break
        before = rest
        if corrector.improve(matrix, c, x, np.ones(len(c)), 1e-6) == 0:
            break
    return None


class Corrector:
    """Improves solutions of large systems that differ little from each other, as policies do."""

    def __init__(self) -> None:
        self._lumped: Lumped | None = None
        self._first = self._last = 0

    def improve(
        self, matrix: csr_array, c: Floats, x: Floats, right: Floats, reduction: float
    ) -> int:
        """Make the remainder of x smaller by a factor, if a full basis allows; iterations.

        The groups of an earlier system are used again until that takes clearly longer. No
        iterations if the system is singular. For ``right`` see `Lumped`.
        """
        if self._lumped is None or self._last > min(_WORSE * self._first + 1, BASIS - 1):
            self._lumped, self._first = Lumped(matrix, right), 0
        self._last = self._gmres(matrix, c, x, self._lumped, reduction)
        self._first = self._first or self._last
        return self._last

    @np.errstate(all="ignore")  # what is not finite ends the search
    def _gmres(
        self, matrix: csr_array, c: Floats, x: Floats, lumped: Lumped, reduction: float
    ) -> int:
        """Flexible GMRES: the combination of preconditioned vectors with the least remainder."""
        rest = c + matrix @ x - x
        length = float(np.linalg.norm(rest))
        if not lumped.usable or not 0.0 < length < np.inf:
            return 0
        basis, tries = np.empty((BASIS + 1, len(c))), np.empty((BASIS, len(c)))
        hessenberg, goal = np.zeros((BASIS + 1, BASIS)), np.zeros(BASIS + 1)
        basis[0], goal[0] = rest / length, length
        for k in range(1, BASIS + 1):
            tries[k - 1] = lumped.apply(matrix, basis[k - 1])
            vector = tries[k - 1] - matrix @ tries[k - 1]
            hessenberg[:k, k - 1] = basis[:k] @ vector
            vector -= hessenberg[:k, k - 1] @ basis[:k]
            hessenberg[k, k - 1] = left = np.linalg.norm(vector)
            if not np.isfinite(left):
                return 0
            system = hessenberg[: k + 1, :k]
            y = np.linalg.lstsq(system, goal[: k + 1])[0]
            if np.linalg.norm(goal[: k + 1] - system @ y) <= reduction * length or not left > 0.0:
                break
            basis[k] = vector / left
        x += y @ tries[:k]
        return k


class Lumped:
    """A preconditioner: the factorised system of groups, and sweeps.

    Args:
        matrix: P.
        right: How a group's value spreads over its rows: positive, and near to
            ``right >= 1 + P right``.
    """

    def __init__(self, matrix: csr_array, right: Floats) -> None:
        n, self._right = len(right), right
        self.size = 1 if n <= DIRECT else _group_size(matrix)
        self._left = np.ones(n)
        for _ in range(_VISITS if self.size > 1 else 0):  # visits from all rows within some steps
            self._left = 1.0 + matrix.T @ self._left
        coarse = self._aggregate(matrix)
        while coarse.nnz > _FILL * coarse.shape[0] > _FILL * _FEW_GROUPS:
            self.size *= 2
            coarse = self._aggregate(matrix)
        self._factors = factors(coarse) if np.isfinite(coarse.data).all() else None

    @property
    def usable(self) -> bool:
        """Whether the system of the groups could be factorised."""
        return self._factors is not None

    def apply(self, matrix: csr_array, b: Floats) -> Floats:
        """An approximate solution of ``(I - P) x = b``."""
        assert self._factors is not None
        sums = np.add.reduceat(self._left * b, self._begins) / self._own
        rough = np.repeat(self._factors.solve(sums), self.size)[: len(b)] * self._right
        return sweep(matrix, b, rough, _SMOOTHING)

    def _aggregate(self, matrix: csr_array) -> csr_array:
        """P by groups: rows summed with weights left, spread as right, divided by the own sum."""
        from scipy.sparse import csr_array

        self._begins: Ints = np.arange(0, len(self._right), self.size, dtype=np.int32)
        groups = len(self._begins)
        self._own: Floats = np.add.reduceat(self._left * self._right, self._begins)
        scale = self._left / np.repeat(self._own, self.size)[: len(self._left)]
        value = np.repeat(scale, np.diff(matrix.indptr)) * matrix.data
        value *= self._right[matrix.indices]
        # The entries of a group stand together already: rows of groups are rows run together.
        start = np.append(matrix.indptr[self._begins], len(value))
        coarse = csr_array((value, matrix.indices // self.size, start), shape=(groups, groups))
        coarse.sum_duplicates()
        return coarse


def _group_size(matrix: csr_array) -> int:
    """Half of the usual distance between a row and the rows that it refers to."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[::31]
    distance = np.median(np.abs(matrix.indices[::31] - row)) if len(row) else 0
    return max(_SMALLEST_GROUP, int(distance / 2))
