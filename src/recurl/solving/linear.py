"""Least nonnegative solutions of linear systems x = A x + b with A, b >= 0.

Solved in the order of strongly connected components. In a component with spectral radius of at
least 1 the least solution is 0 if nothing comes in, else infinite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.model.graph_kernel import strong_components
from recurl.model.tables import Floats, Ints
from recurl.solving.linear_kernel import (
    HUGE,
    biconjugate,
    relax_linear,
    right_sides,
    solve_linear_blocks,
    store,
)

DENSE = 120
"""Unknowns up to which a block is solved by dense elimination."""
SPARSE = 30_000
"""Unknowns up to which a block may be solved by sparse elimination, if nothing else does it."""

KRYLOV_LIMIT = 1000
"""Iterations of the iterative solver before another one is tried."""


class Blocks(NamedTuple):
    """Strongly connected components of the equations, in an order that solves them.

    Attributes:
        label: Block of each unknown.
        order: Unknowns, block by block.
        start: First position of each block in ``order``; one more at the end.
    """

    label: Ints
    order: Ints
    start: Ints

    @classmethod
    def of(cls, start: Ints, target: Ints) -> Blocks:
        """The blocks of a CSR graph: what a block refers to comes with it or before it."""
        label, count = strong_components(start, target)
        order = np.argsort(label, kind="stable").astype(np.int32)
        start = np.searchsorted(label[order], np.arange(count + 1)).astype(np.int32)
        return cls(label, order, start)


class System(NamedTuple):
    """A nonnegative matrix, in CSR form.

    Attributes:
        start: First entry of each row; one more at the end.
        column: Column of each entry.
        weight: Value of each entry; positive.
    """

    start: Ints
    column: Ints
    weight: Floats


def least_solutions(system: System, b: Floats) -> Floats:
    """Least nonnegative solutions, inf included, for each column of b.

    Example:
        A coin tossed until it shows heads, and a state that is never left:

        >>> system = System(np.array([0, 1, 2]), np.array([0, 1]), np.array([0.5, 1.0]))
        >>> least_solutions(system, np.array([[1.0], [1.0]])).tolist()
        [[2.0], [inf]]
    """
    blocks = Blocks.of(system.start, system.column)
    x, at = np.zeros_like(b), 0
    local = np.full(len(b), -1, np.int32)
    args = (*system, b, x, blocks.order, blocks.start)
    while (at := solve_linear_blocks(*args, at, local, DENSE)) < len(blocks.start) - 1:
        block = blocks.order[blocks.start[at] : blocks.start[at + 1]]
        local[block] = np.arange(len(block))
        _large_block(system, b, x, block, local)
        local[block] = -1
        at += 1
    return x


def _large_block(system: System, b: Floats, x: Floats, block: Ints, local: Ints) -> None:
    """Least solutions of one block, by iterative or sparse direct solvers."""
    entries = block_entries(system, block, local)
    right = right_sides(*system, b, x, block, local)
    clean = np.where(right < np.inf, right, 0.0)
    solved = None if _grows(*entries, len(block)) else solve_columns(*entries, clean)
    store(x, block, right, clean if solved is None else solved, solved is not None)


def block_entries(system: System, block: Ints, local: Ints) -> tuple[Ints, Ints, Floats]:
    """Row, column and value of the entries inside a block, numbered within it."""
    count = system.start[block + 1] - system.start[block]
    before = np.cumsum(count) - count
    at = np.repeat(system.start[block] - before, count) + np.arange(count.sum())
    row = np.repeat(np.arange(len(block), dtype=np.int32), count)
    column = local[system.column[at]]
    inside = column >= 0
    return row[inside], column[inside], system.weight[at][inside]


def solve_columns(row: Ints, column: Ints, value: Floats, b: Floats) -> Floats | None:
    """Solve x = A x + b for A >= 0 and each column of b; None if the radius of A is not below 1."""
    ones = np.ones(len(b))
    # Only a right-hand side above 0 tells whether the radius is below 1.
    columns = [*b.T] if (b > 0).all(axis=0).any() else [ones, *b.T]
    solved = []
    for c in columns:
        x = solve_iterative(row, column, value, c, guess=ones)
        if x is None:
            return solve_sparse(row, column, value, b) if len(b) <= SPARSE else None
        solved.append(x)
    return np.stack(solved[-b.shape[1] :], axis=1)


def _grows(row: Ints, column: Ints, value: Floats, size: int) -> bool:
    """Whether powers of A are seen to grow everywhere, so that the radius is at least 1."""
    from scipy.sparse import csr_array

    matrix = csr_array((value, (row, column)), shape=(size, size))
    z = np.ones(size)
    for _ in range(32):
        z = matrix @ z
        z /= z.max()
    return bool((matrix @ z >= z * (1 + 1e-9)).all())


def solve_iterative(
    row: Ints, column: Ints, value: Floats, b: Floats, *, guess: Floats
) -> Floats | None:
    """Solve x = A x + b for A, b >= 0 by sweeps, then biconjugate gradients; None if both fail.

    Rows ascend.

    For b > 0 they fail if the spectral radius of A is not below 1: it is below 1 exactly if some
    x > 0 has x - A x > 0.
    """
    start = np.searchsorted(row, np.arange(len(b) + 1)).astype(np.int32)
    solution = guess.copy()
    if not relax_linear(start, column, value, b, solution):
        biconjugate(start, column, value, b, solution, KRYLOV_LIMIT)
    error = np.abs(solution - np.bincount(row, value * solution[column], len(b)) - b)
    small = (error <= 1e-9 * b.max()).all() and ((error <= 0.5 * b) | (b == 0)).all()
    return solution if small and (solution >= 0).all() else None


def solve_sparse(row: Ints, column: Ints, value: Floats, b: Floats) -> Floats | None:
    """Solve x = A x + b for A >= 0; None if the spectral radius of A is not below 1.

    As in `solve_monotone`, positive pivots on the diagonal tell.
    """
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    size = len(b)
    matrix = csc_array((value, (row, column)), shape=(size, size))
    try:
        factors = splu(
            csc_array(eye_array(size) - matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # exactly singular
        return None
    if not (factors.U.diagonal() > 1 / HUGE).all():
        return None
    solution: Floats = factors.solve(b)
    return solution
