from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurl.solving.linear_kernel import (
    biconjugate,
    relax_linear,
    right_sides,
    solve_linear_blocks,
    solve_monotone,
    store,
)


def random_matrix(seed: int, n: int, radius: float) -> np.ndarray:
    """A nonnegative matrix of a given spectral radius, some entries 0."""
    random = np.random.default_rng(seed)
    matrix = random.random((n, n)) * (random.random((n, n)) < 0.7) + 0.01
    return matrix * radius / np.abs(np.linalg.eigvals(matrix)).max()


@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), radius=st.floats(0.1, 0.98))
def test_elimination(seed: int, n: int, radius: float) -> None:
    a = random_matrix(seed, n, radius)
    b = np.random.default_rng(seed).random((n, 2))
    x = b.copy()
    assert solve_monotone(a.copy(), x)
    assert np.allclose(x, np.linalg.solve(np.eye(n) - a, b))


@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), radius=st.floats(1.001, 3))
def test_radii_of_one_or_more_are_noticed(seed: int, n: int, radius: float) -> None:
    assert not solve_monotone(random_matrix(seed, n, radius), np.ones((n, 1)))


def csr(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    row, column = np.nonzero(a)
    start = np.searchsorted(row, np.arange(len(a) + 1)).astype(np.int32)
    return start, column.astype(np.int32), a[row, column]


@pytest.mark.parametrize("radius", [0.5, 0.999])
def test_iterations(radius: float) -> None:
    a = random_matrix(3, 60, radius)
    b = np.ones(60)
    expected = np.linalg.solve(np.eye(60) - a, b)
    x = np.zeros(60)
    if not relax_linear(*csr(a), b, x):
        biconjugate(*csr(a), b, x, 500)
    assert np.allclose(x, expected, rtol=1e-9)


def test_blocks_in_order() -> None:
    # 0 = 1 + x0 / 2; 1 and 2 go round between each other and to 0; 3 is never left.
    a = np.array([[0.5, 0, 0, 0], [0, 0, 0.5, 0], [0.25, 0.5, 0, 0], [0, 0, 0, 1.0]])
    order = np.arange(4, dtype=np.int32)
    begins = np.array([0, 1, 3, 4], np.int32)
    x, b = np.zeros((4, 2)), np.array([[1.0, 0], [1, 0], [1, 0], [1, 0]])
    local = np.full(4, -1, np.int32)
    assert solve_linear_blocks(*csr(a), b, x, order, begins, 0, local, 10) == 3
    assert x[:, 0] == pytest.approx([2, 7 / 3, 8 / 3, np.inf])
    assert x[:, 1].tolist() == [0, 0, 0, 0]
    assert solve_linear_blocks(*csr(a), b, x, order, begins, 0, local, 1) == 1


def test_what_comes_from_outside() -> None:
    a = np.array([[0.0, 0.5, 0.25], [0.5, 0, 0], [0, 0, 0]])
    x = np.array([[0.0], [0.0], [8.0]])
    local = np.array([0, 1, -1], np.int32)
    block = np.array([0, 1], np.int32)
    right = right_sides(*csr(a), np.ones((3, 1)), x, block, local)
    assert right[:, 0].tolist() == [3, 1]
    store(x, block, right, right, False)
    assert x[:, 0].tolist() == [np.inf, np.inf, 8]
