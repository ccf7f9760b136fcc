from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurl.solving.linear import (
    DENSE,
    Blocks,
    System,
    least_solutions,
    solve_iterative,
    solve_sparse,
)


def dense_system(matrix: np.ndarray) -> System:
    row, column = np.nonzero(matrix)
    start = np.searchsorted(row, np.arange(len(matrix) + 1)).astype(np.int32)
    return System(start, column.astype(np.int32), matrix[row, column])


def random_matrix(seed: int, size: int, entries: int, radius: float) -> np.ndarray:
    random = np.random.default_rng(seed)
    matrix = np.zeros((size, size))
    matrix[np.repeat(np.arange(size), entries), random.integers(size, size=size * entries)] = 1.0
    matrix *= random.uniform(0.1, 1, size=matrix.shape)
    # Rows that all sum to the same number have it as their radius.
    return matrix * radius / matrix.sum(axis=1, keepdims=True)


@given(seed=st.integers(0, 1000), size=st.integers(2, 12))
def test_solutions_are_those_of_numpy(seed: int, size: int) -> None:
    matrix = random_matrix(seed, size, 2, 1.0) * 0.9
    b = np.random.default_rng(seed).uniform(0, 1, size=(size, 2))
    expected = np.linalg.solve(np.eye(size) - matrix, b)
    np.testing.assert_allclose(least_solutions(dense_system(matrix), b), expected, rtol=1e-9)


@pytest.mark.parametrize("radius", [0.5, 0.99, 0.99999])
def test_large_blocks(radius: float) -> None:
    size = 5 * DENSE
    matrix = random_matrix(1, size, 4, radius)
    b = np.random.default_rng(1).uniform(0, 1, size=(size, 2))
    expected = np.linalg.solve(np.eye(size) - matrix, b)
    np.testing.assert_allclose(least_solutions(dense_system(matrix), b), expected, rtol=1e-6)


@pytest.mark.parametrize("size", [3, 5 * DENSE])
@pytest.mark.parametrize("radius", [1.0, 1.2])
def test_too_large_a_radius_makes_solutions_infinite_or_zero(size: int, radius: float) -> None:
    matrix = random_matrix(1, size, 4, radius)
    b = np.zeros((size, 2))
    b[0, 0] = 1.0
    found = least_solutions(dense_system(matrix), b)
    assert (found[:, 1] == 0).all()
    label = Blocks.of(*dense_system(matrix)[:2]).label
    assert np.isinf(found[label == label[0], 0]).all()


def test_blocks_come_after_what_they_refer_to() -> None:
    matrix = np.array([[0, 1, 0.0], [0.5, 0, 0.2], [0, 0, 0]])
    blocks = Blocks.of(*dense_system(matrix)[:2])
    assert blocks.label.tolist() == [1, 1, 0]
    assert blocks.order.tolist() == [2, 0, 1]
    assert blocks.start.tolist() == [0, 1, 3]


def test_both_sparse_solvers_refuse_a_radius_of_one() -> None:
    row, column = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
    entries = (row, column, np.array([1.0, 1.0]))
    ones = np.ones(2)
    assert solve_sparse(*entries, ones) is None
    assert solve_iterative(*entries, ones, guess=ones) is None
    half = (row, column, np.array([0.5, 0.5]))
    assert solve_sparse(*half, ones) == pytest.approx([2.0, 2.0])
    assert solve_iterative(*half, ones, guess=ones) == pytest.approx([2.0, 2.0])
