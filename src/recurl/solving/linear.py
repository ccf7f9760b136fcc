"""Linear systems ``x = c + P x`` with P >= 0, on whole arrays.

Systems are cut into strongly connected blocks, which are solved one after the other: small ones
together, by sparse elimination, large ones by GMRES. GMRES is made fast by *aggregation*:
neighbouring rows are lumped into groups, so few and so wide that a group refers to its neighbours
mostly; the system of the groups is factorised, and its solution is smoothed by sweeps. That takes
care of errors that die out slowly, which are those that look alike at neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recurl.model.tables import Floats, Ints
from recurl.solving.digraphs import product, unchecked
from recurl.solving.outward import Indices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

HUGE = 1e13
"""Size of a solution beyond which floats cannot tell it from an infinite one."""
DENSE = 100
"""Rows up to which zeros cost less than leaving them out."""
DIRECT = 1500
"""Rows up to which a block is factorised as it is."""
SMALL, TOGETHER = 200, 3000
"""Rows up to which a block is small, and of small blocks that are solved at the same time."""
LARGE = 50_000
"""Rows from which on a block is worth the second that compiling Gauss-Seidel sweeps takes."""
_FILL_OF_ROW = 60
"""Numbers of a row up to which elimination may fill it."""
BASIS = 15
"""Krylov vectors between restarts."""
_SPARSE = 30_000
"""Rows up to which any block is factorised if need be."""
_RESTARTS, _PRODUCTS = 60, 400
_VISITS = 5
_SMOOTHING = 2
_WORSE = 1.5
_SMALLEST_GROUP = 8
_FEW_GROUPS, _FILL = 300, 10
# Panels of several columns only pay where much fills in, and then little.
_OPTIONS = {"DiagPivotThresh": 0.0, "PanelSize": 1, "Relax": 20, "SymmetricMode": True}
_SEGMENTS = 8
"""Blocks up to which each is solved by itself, in between those rows that are none."""
_CORRECTIONS, _QUICKLY, _EXACT = 9, 0.03, 4e-16
"""Corrections that take less time than elimination, how they must shrink, and until when."""
_FEW_ROWS = 10_000
"""Rows up to which scalar products of libraries stay on one thread."""


def batches(block_start: Ints, largest: int | None = None) -> Iterator[tuple[int, int]]:
    """Runs of blocks (first, last) to be solved together: small ones, or a single large one."""
    largest = SMALL if largest is None else largest
    count = len(block_start) - 1
    large = np.append(np.flatnonzero(np.diff(block_start) > largest), count)
    first = 0
    while first < count:
        stop = int(large[np.searchsorted(large, first)])
        room = np.searchsorted(block_start, block_start[first] + TOGETHER, side="right") - 1
        last = first + 1 if stop == first else min(max(int(room), first + 1), stop)
        yield first, last
        first = last


class Chain(NamedTuple):
    """The equations ``x = constant + P x`` of some rows when an action is chosen in each.

    Attributes:
        matrix: P, columns counted among the rows. ``[n, n]``
        constant: The gains, and the share of earlier rows. ``[n]``
    """

    matrix: csr_array
    constant: Floats

    def remainder(self, x: Floats) -> Floats:
        """``constant + P x - x``."""
        left: Floats = self.constant + product(self.matrix, x) - x
        return left

    def sweep(self, x: Floats, times: int) -> Floats:
        """X after some sweeps: of Jacobi, or of Gauss and Seidel if there are many rows."""
        if len(x) < LARGE:
            for _ in range(times):
                x = self.constant + product(self.matrix, x)
            return x
        from recurl.solving.sweep_kernel import sweep_rows

        x, m = x.copy(), self.matrix
        start, column = unsigned(m.indptr), unsigned(m.indices)
        for _ in range(times):
            sweep_rows(start, column, m.data, self.constant, x, x)
        return x


def unsigned(index: Indices) -> npt.NDArray[np.uint32]:
    """Indices of a large matrix as the compiled sweeps take them; not copied where they fit."""
    if index.dtype == np.int32:
        return index.view(np.uint32)
    return index.astype(np.uint32)


def chosen_lines(matrix: csr_array, chosen: Ints) -> csr_array:
    """Some lines of a matrix."""
    if len(chosen) == matrix.shape[0] and (chosen[1:] > chosen[:-1]).all():
        return matrix
    if len(chosen) >= LARGE:
        return matrix[chosen]
    begin = matrix.indptr[chosen]
    count = matrix.indptr[chosen + 1] - begin
    start = np.zeros(len(chosen) + 1, np.int32)
    np.cumsum(count, out=start[1:])
    place = np.repeat(begin - start[:-1], count)
    place += np.arange(len(place), dtype=place.dtype)
    parts = matrix.data[place], matrix.indices[place], start
    return unchecked(type(matrix), parts, (len(chosen), matrix.shape[1]))


def inner_part(lines: csr_array, first: int, x: Floats) -> tuple[csr_array, Floats]:
    """Split lines at a column: the matrix of the columns from it on, and the share of the others.

    Lines are as many as there are columns from ``first`` on that they refer to.
    """
    n, kind = lines.shape[0], type(lines)
    if first == 0:
        return unchecked(kind, (lines.data, lines.indices, lines.indptr), (n, n)), np.zeros(n)
    inside = lines.indices >= first
    weight = np.where(inside, 0.0, lines.data)
    others = unchecked(kind, (weight, lines.indices, lines.indptr), lines.shape) @ x
    start = np.append(np.zeros(1, np.int32), np.cumsum(inside, dtype=np.int32))[lines.indptr]
    parts = lines.data[inside], lines.indices[inside] - np.int32(first), start
    return unchecked(kind, parts, (n, n)), others


def factorise(matrix: csr_array, *, ordered: bool = False) -> Any | None:
    """Factors of ``I - P``, transposed, to solve with ``trans="T"``; None if it is singular.

    Pivots are taken from the diagonal: for a nonnegative P of spectral radius below 1 they are
    positive, and elimination is stable. Rows that mostly refer to earlier ones are eliminated as
    they are ordered.
    """
    from scipy.sparse import csc_array

    n, row = matrix.shape[0], np.arange(matrix.shape[0] + 1, dtype=np.int32)
    start = matrix.indptr.astype(np.int32, copy=False) + row
    others = np.ones(int(start[-1]), np.bool_)
    others[start[:-1]] = False
    index, value = np.empty(len(others), np.int32), np.ones(len(others))
    index[start[:-1]], index[others] = row[:-1], matrix.indices
    value[others] = -matrix.data
    return _factors(unchecked(csc_array, (value, index, start), (n, n)), ordered=ordered)


def _factors(matrix: Any, *, ordered: bool = False) -> Any | None:
    order = "NATURAL" if ordered else "MMD_AT_PLUS_A"
    gstrf, sort = _superlu_routines()
    try:
        if gstrf is not None and sort is not None:
            start, index = (x.astype(np.int32, copy=False) for x in (matrix.indptr, matrix.indices))
            sort(matrix.shape[1], start, index, matrix.data)
            if not _stand_twice(start, index):
                return gstrf(
                    matrix.shape[0],
                    len(index),
                    matrix.data,
                    index,
                    start,
                    csc_construct_func=type(matrix),
                    ilu=False,
                    options={"ColPerm": order, **_OPTIONS},
                )
        from scipy.sparse.linalg import splu

        return splu(matrix, permc_spec=order, diag_pivot_thresh=0.0, options=_OPTIONS)
    except RuntimeError:  # exactly singular
        return None


def _stand_twice(start: Ints, index: Ints) -> bool:
    """Whether entries of a column stand twice, given that each has some, and that they ascend."""
    same = index[1:] == index[:-1]
    same[start[1:-1] - 1] = False
    return bool(same.any())


@cache
def _superlu_routines() -> tuple[Any, Any]:
    """The routines of scipy that factorise, and sort entries; None if they are not there.

    What `splu` does before it calls them takes as long as the factors of a few hundred rows.
    """
    try:
        from scipy.sparse._sparsetools import csr_sort_indices
        from scipy.sparse.linalg._dsolve._superlu import gstrf
    except ImportError:
        return None, None
    return gstrf, csr_sort_indices


def solve_dense(matrix: Floats, b: Floats) -> Floats | None:
    """The solution of ``matrix x = b``; None if the matrix is singular."""
    try:
        return np.linalg.solve(matrix, b).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None


def solve_directly(chain: Chain, *, ordered: bool = False) -> Floats | None:
    """The solution by elimination, one column or several; None if the matrix is singular.

    See `factorise`.
    """
    n = len(chain.constant)
    if n <= DENSE:
        return solve_dense(np.eye(n) - chain.matrix.toarray(), chain.constant)
    factors = factorise(chain.matrix, ordered=ordered)
    return None if factors is None else factors.solve(chain.constant, trans="T")


class LineSolver:
    """Solves ``x = b + P x`` for several b at once, as policies change the rows of P.

    Rows that refer to earlier ones only are solved in order. If the others matter little, that is
    repeated for what remains; else rows are eliminated, see `factorise`.

    Args:
        block_start: First row of each block, some of which may be empty, and one more.
    """

    def __init__(self, block_start: Ints) -> None:
        self._start, self._repeats = block_start, True

    def solve(self, lines: csr_array, b: Floats) -> Floats | None:
        """Solutions, one per row of b; None if the matrix is singular."""
        n = b.shape[1]
        row = np.repeat(np.arange(n, dtype=np.int32), np.diff(lines.indptr))
        below = lines.indices < row
        if below.all():
            return _in_order(lines, lines.data, b)
        if n <= DENSE:
            dense = -lines.toarray()
            dense.flat[:: n + 1] += 1.0
            found = solve_dense(dense, b.T)
            return None if found is None else found.T
        large = np.flatnonzero(np.diff(self._start) > 1)
        cuts = np.append(self._start[large], self._start[large + 1])
        if len(large) <= _SEGMENTS and 2 * (cuts[len(large) :] - cuts[: len(large)]).sum() <= n:
            return _by_segments(lines, b, [0, *cuts.tolist(), n])
        if self._repeats:
            found = _in_order_repeatedly(lines, np.where(below, lines.data, 0.0), b)
            if found is not None:
                return found
            self._repeats = False
        factors = factorise(lines, ordered=fills_little(self._start))
        return None if factors is None else factors.solve(np.asfortranarray(b.T), trans="T").T


def _by_segments(lines: csr_array, b: Floats, cuts: list[int]) -> Floats | None:
    """Solutions from cut to cut: rows refer to their own segment, or to earlier ones."""
    x = np.zeros_like(b)
    for first, last in pairwise(sorted(set(cuts))):
        begin, end = int(lines.indptr[first]), int(lines.indptr[last])
        parts = lines.data[begin:end], lines.indices[begin:end], lines.indptr[first : last + 1]
        own = unchecked(type(lines), (*parts[:2], parts[2] - begin), (last - first, len(x[0])))
        inner = inner_part(own, first, x[0])[0]
        solver = LineSolver(np.array([0, last - first], np.int32))
        found = solver.solve(inner, b[:, first:last] + (own @ x.T).T)
        if found is None:
            return None
        x[:, first:last] = found
    return x


def fills_little(block_start: Ints) -> bool:
    """Whether elimination in the order of rows, which fills a block at most, fills little."""
    filled = float((np.diff(block_start).astype(np.float64) ** 2).sum())
    return filled <= _FILL_OF_ROW * int(block_start[-1] - block_start[0])


@cache
def _gstrs() -> Any:
    """The routine of scipy that substitutes in triangular factors; None if it is not there."""
    try:
        from scipy.sparse.linalg._dsolve._superlu import gstrs
    except ImportError:
        return None
    return gstrs


def _in_order(lines: csr_array, weight: Floats, b: Floats) -> Floats:
    """Solutions for rows that refer to earlier ones only; weights of other entries are 0."""
    n, routine = b.shape[1], _gstrs()
    if routine is None:
        parts = (weight, lines.indices, lines.indptr)
        factors: Any = factorise(unchecked(type(lines), parts, (n, n)), ordered=True)
        solved: Floats = factors.solve(np.asfortranarray(b.T), trans="T").T
        return solved
    # Rows of -P are columns of an upper triangle; its diagonal is with the other factor.
    diagonal = np.ones(n), np.arange(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32)
    upper = -weight, lines.indices, lines.indptr
    found: Floats = routine("T", n, n, *diagonal, n, len(weight), *upper, b.T.copy(order="F"))[0].T
    return found


def _in_order_repeatedly(lines: csr_array, weight: Floats, b: Floats) -> Floats | None:
    """Solutions by correcting what remains, if that shrinks quickly; else None."""
    x = _in_order(lines, weight, b)
    size = _EXACT * np.abs(b).max(axis=1)
    before = 1.0 / _EXACT
    for _ in range(_CORRECTIONS):
        rest = b + (lines @ x.T).T - x
        left = float((np.abs(rest).max(axis=1) / (size + _EXACT * np.abs(x).max(axis=1))).max())
        if left <= 1.0:
            return x
        if not left < _QUICKLY * before:
            return None
        x, before = x + _in_order(lines, weight, rest), left
    return None


class LinearSolver:
    """Solves systems of one size that differ little from each other, as policies improve.

    Args:
        size: Number of rows.
    """

    def __init__(self, size: int) -> None:
        self._basis, self._tries = np.empty((BASIS + 1, size)), np.empty((BASIS, size))
        self._lumped: Lumped | None = None
        self._first = self._last = 0

    def improve(self, chain: Chain, x: Floats, right: Floats, reduction: float) -> int:
        """Make the remainder of x smaller by a factor, if a full basis allows; iterations.

        The groups of an earlier system are used again until that takes clearly longer. No
        iterations if the system is singular.
        """
        if self._lumped is None or self._last > min(_WORSE * self._first + 1, BASIS - 1):
            self._lumped = Lumped(chain, right)
            self._first = 0
        self._last = self._gmres(chain, x, self._lumped, reduction) if self._lumped.usable else 0
        self._first = self._first or self._last
        return self._last

    def _gmres(self, chain: Chain, x: Floats, lumped: Lumped, reduction: float) -> int:
        """Flexible GMRES: the combination of preconditioned vectors with the least remainder."""
        basis, tries = self._basis, self._tries
        hessenberg = np.zeros((BASIS + 1, BASIS))
        rest = chain.remainder(x)
        length = float(np.sqrt(_dot(rest, rest)))
        if not 0.0 < length < np.inf:
            return 0
        basis[0] = rest / length
        for k in range(1, BASIS + 1):
            tries[k - 1] = lumped.apply(chain, basis[k - 1])
            vector = tries[k - 1] - product(chain.matrix, tries[k - 1])
            hessenberg[: k + 1, k - 1] = _orthogonalise(basis, vector, k)
            factors, left = _least_remainder(hessenberg[: k + 1, :k], length)
            if left <= reduction * length or not hessenberg[k, k - 1] > 0.0:
                break
        x += factors @ tries[:k]
        return k


def _orthogonalise(basis: Floats, vector: Floats, count: int) -> Floats:
    """Append a vector to an orthonormal basis; its coefficients."""
    total = np.empty(count + 1)
    total[:count] = basis[:count] @ vector
    vector = vector - total[:count] @ basis[:count]
    total[count] = np.sqrt(_dot(vector, vector))
    np.divide(vector, total[count] or 1.0, out=basis[count])
    return total


def _dot(a: Floats, b: Floats) -> np.float64:
    """Scalar product on one thread: those that a library uses for many rows wait for each other.

    Division by one that is 0 is not an error, as it is for the floats of Python.
    """
    return np.float64(a @ b if len(a) < _FEW_ROWS else np.einsum("i,i", a, b))


def _least_remainder(hessenberg: Floats, length: float) -> tuple[Floats, float]:
    """Minimise ``|length e1 - H y|``; y and the minimum."""
    goal = np.zeros(len(hessenberg))
    goal[0] = length
    if not np.isfinite(hessenberg).all():
        return np.zeros(hessenberg.shape[1]), length
    y: Floats = np.linalg.lstsq(hessenberg, goal)[0].astype(np.float64)
    return y, float(np.linalg.norm(goal - hessenberg @ y))


class Lumped:
    """A preconditioner: the factorised system of groups, and sweeps.

    Args:
        chain: The system.
        right: How a group's value spreads over its rows: positive, and near to
            ``right >= 1 + P right``.
    """

    def __init__(self, chain: Chain, right: Floats) -> None:
        self.right = right
        self.size = 1 if len(right) <= DIRECT else _group_size(chain.matrix)
        self.left = _visits(chain.matrix, _VISITS if self.size > 1 else 0)
        coarse = self._aggregate(chain.matrix)
        while coarse.nnz > _FILL * coarse.shape[0] > _FILL * _FEW_GROUPS:
            self.size *= 2
            coarse = _in_pairs(coarse)
        self._factors = _factors(coarse) if np.isfinite(coarse.data).all() else None

    @property
    def usable(self) -> bool:
        """Whether the system of the groups could be factorised."""
        return self._factors is not None

    def apply(self, chain: Chain, b: Floats) -> Floats:
        """An approximate solution of ``(I - P) x = b``."""
        assert self._factors is not None
        groups = self._factors.solve(np.add.reduceat(self.left * b, self._begins))
        rough = np.repeat(groups, self.size)[: len(b)] * self.right
        return Chain(chain.matrix, b).sweep(rough, _SMOOTHING)

    @property
    def _begins(self) -> npt.NDArray[np.int64]:
        return np.arange(0, len(self.right), self.size)

    def _aggregate(self, matrix: csr_array) -> Any:
        """``I - P`` by groups of rows: summed with weights left, spread as right."""
        from scipy.sparse import csr_array, dia_array

        begins = self._begins
        groups = len(begins)
        value = np.repeat(self.left, np.diff(matrix.indptr)) * matrix.data
        value *= self.right[matrix.indices]
        # The entries of a group stand together already: rows of groups are rows run together.
        start = np.append(matrix.indptr[begins], len(value)).astype(np.int32)
        inside = csr_array((value, matrix.indices // self.size, start), shape=(groups, groups))
        inside.sum_duplicates()
        own = np.add.reduceat(self.left * self.right, begins)
        return dia_array((own[None], [0]), shape=inside.shape).tocsc() - inside.tocsc()


def _in_pairs(matrix: Any) -> Any:
    """A matrix of groups with every two neighbours made one."""
    from scipy.sparse import csc_array

    size = (matrix.shape[0] + 1) // 2
    start = np.append(matrix.indptr[:-1:2], matrix.nnz)
    paired = csc_array((matrix.data, matrix.indices // 2, start), shape=(size, size))
    paired.sum_duplicates()
    return paired


def _group_size(matrix: csr_array) -> int:
    """Half of the usual distance between a row and the rows that it refers to."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[::31]
    distance = np.median(np.abs(matrix.indices[::31] - row)) if len(row) else 0
    return max(_SMALLEST_GROUP, int(distance / 2))


def _visits(matrix: csr_array, times: int) -> Floats:
    """How often rows are visited from all rows within some steps: ``sum_k 1 P^k``."""
    count = np.ones(matrix.shape[0])
    for _ in range(times):
        count = 1.0 + matrix.T @ count
    return count


def solve_iteratively(solver: LinearSolver, chain: Chain, right: Floats) -> Floats | None:
    """The solution up to rounding; None if it does not converge."""
    x = np.zeros(len(chain.constant))
    size = float(np.abs(chain.constant).max(initial=0.0))
    if size == 0.0:
        return x
    before = np.inf
    for _ in range(_RESTARTS):
        rest = float(np.abs(chain.remainder(x)).max())
        if rest <= 1e-14 * size + 4e-16 * float(np.abs(x).max()):
            return x
        if not rest < 0.9 * before and rest <= 1e-10 * size:
            return x
        before = rest
        if solver.improve(chain, x, right, 1e-6) == 0:
            break
    return x if rest <= 1e-9 * size else None


def solve_nonnegative(
    row: Indices, column: Indices, value: Floats, b: Floats, precision: float = 1e-14
) -> Floats | None:
    """A float solution of x = A x + b for A >= 0, given by its entries; None if none was found.

    Nothing is promised of the solution: whoever uses it checks what it needs. The precision is that
    of the equations, relative to b, where an iterative method is used.

    Example:
        A coin tossed until it shows heads:

        >>> zero = np.array([0])
        >>> solve_nonnegative(zero, zero, np.array([0.5]), np.array([1.0])).tolist()
        [2.0]
    """
    from scipy.sparse import csr_array

    n = len(b)
    if n <= DENSE:  # where a sparse matrix takes longer to build than to solve
        dense = np.bincount(row.astype(np.int64) * n + column, value, n * n).reshape(n, n)
        return solve_dense(np.eye(n) - dense, b)
    chain = Chain(csr_array((value, (row, column)), shape=(n, n)), b)
    if n > DIRECT and (found := _quickly(chain, precision)) is not None:
        return found
    if n <= _SPARSE:
        return solve_directly(chain)
    return solve_iteratively(LinearSolver(n), chain, np.ones(n))


@np.errstate(all="ignore")
def _quickly(chain: Chain, precision: float) -> Floats | None:
    """Stabilised biconjugate gradients on (I - A) x = b; None if the remainder stays large.

    The wrappers of the same method in scipy take longer than its products, up to many thousand
    rows. Where a direction has no length, numbers cease to be finite, and nothing is found.
    """
    b, matrix = chain.constant, chain.matrix
    size = float(np.sqrt(_dot(b, b)))
    x: Floats = chain.sweep(b, 1)
    rest = shadow = ahead = chain.remainder(x)
    length = _dot(rest, rest)
    for _ in range(_PRODUCTS):
        if not np.sqrt(_dot(rest, rest)) > precision * size:
            break
        moved = ahead - product(matrix, ahead)
        step = length / _dot(shadow, moved)
        half = rest - step * moved
        turned = half - product(matrix, half)
        smooth = _dot(turned, half) / _dot(turned, turned)
        x = x + step * ahead + smooth * half
        rest = half - smooth * turned
        length, before = _dot(shadow, rest), length
        ahead = rest + length / before * step / smooth * (ahead - smooth * moved)
    left = np.abs(chain.remainder(x)).max(initial=0.0)
    return x if left <= 1e3 * precision * np.abs(b).max(initial=0.0) else None
