from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import recurl
from recurl.solving import linear
from recurl.solving.blocks import Iterate
from recurl.solving.linear import (
    DIRECT,
    Chain,
    LinearSolver,
    Lumped,
    batches,
    chosen_lines,
    inner_part,
    solve_directly,
    solve_nonnegative,
    unsigned,
)
from recurl.solving.one_exit_system import System as OneExit
from recurl.solving.question import Question


def solved(matrix: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    row, column = np.nonzero(matrix)
    return solve_nonnegative(row, column, matrix[row, column], b)


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
    b = np.random.default_rng(seed).uniform(0, 1, size=size)
    expected = np.linalg.solve(np.eye(size) - matrix, b)
    np.testing.assert_allclose(solved(matrix, b), expected, rtol=1e-9)


@pytest.mark.parametrize("limits", [{}, {"DIRECT": 0}, {"DIRECT": 0, "_SPARSE": 0, "_PRODUCTS": 1}])
@pytest.mark.parametrize("radius", [0.5, 0.99, 0.99999])
def test_every_way_to_solve_a_large_system(
    radius: float, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By elimination, by products alone, and by GMRES with groups."""
    for name, limit in limits.items():
        monkeypatch.setattr(linear, name, limit)
    size = 600
    matrix = random_matrix(1, size, 4, radius)
    b = np.random.default_rng(1).uniform(0, 1, size=size)
    expected = np.linalg.solve(np.eye(size) - matrix, b)
    np.testing.assert_allclose(solved(matrix, b), expected, rtol=1e-6)


@pytest.mark.parametrize("size", [2, 200])
def test_a_singular_system_has_no_solution(size: int) -> None:
    ring = np.roll(np.eye(size), 1, axis=0)
    assert solved(ring, np.ones(size)) is None


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_indices_of_any_width_stay_what_they_are(dtype: type) -> None:
    index = np.array([0, 3, 2**31 - 1], dtype)
    assert unsigned(index).dtype == np.uint32
    assert unsigned(index).tolist() == index.tolist()
    assert np.shares_memory(unsigned(index), index) == (dtype is np.int32)


def test_small_blocks_are_taken_together_and_large_ones_alone() -> None:
    sizes = [1, 150, 300, 2, 2999, 3, 1]
    start = np.concatenate([[0], np.cumsum(sizes)])
    assert list(batches(start)) == [(0, 2), (2, 3), (3, 4), (4, 5), (5, 7)]


@given(seed=st.integers(0, 1000), size=st.integers(2, 12))
def test_chosen_lines_split_at_a_column(seed: int, size: int) -> None:
    matrix = random_matrix(seed, size, 2, 0.9)
    random = np.random.default_rng(seed)
    x, first = random.uniform(size=size), int(random.integers(size))
    chosen = random.integers(size, size=size - first).astype(np.int32)
    lines = chosen_lines(csr_array(matrix), chosen)
    np.testing.assert_array_equal(lines.toarray(), matrix[chosen])
    inner, others = inner_part(lines, first, x)
    np.testing.assert_array_equal(inner.toarray(), matrix[chosen][:, first:])
    np.testing.assert_allclose(others, matrix[chosen][:, :first] @ x[:first], atol=1e-15)


def test_elimination_in_the_order_of_rows() -> None:
    matrix = np.tril(random_matrix(1, 300, 4, 0.9))
    chain = Chain(csr_array(matrix), np.ones(300))
    expected = np.linalg.solve(np.eye(300) - matrix, np.ones(300))
    np.testing.assert_allclose(solve_directly(chain, ordered=True), expected, rtol=1e-12)


def chain_and_solution(locality: str, nodes: int = 400) -> tuple[Chain, np.ndarray]:
    """The chain of first actions of a random process, and its solution."""
    model = recurl.zoo.random_model(
        1, 1, nodes, kind="one_exit", call_fraction=0, exit_probability=0.01, locality=locality
    )
    system = OneExit.of(model, Question())
    chain = Iterate.first(system.equations, system.gain).chain(0, system.n_rows)
    dense = np.eye(system.n_rows) - chain.matrix.toarray()
    return chain, np.linalg.solve(dense, chain.constant)


@pytest.mark.parametrize("direct", [DIRECT, 0])
@pytest.mark.parametrize("locality", ["near", "uniform"])
def test_solves_what_dense_elimination_solves(
    locality: str, direct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "DIRECT", direct)
    chain, wanted = chain_and_solution(locality)
    solver, x = LinearSolver(len(wanted)), np.zeros(len(wanted))
    for _ in range(20):
        solver.improve(chain, x, np.ones(len(x)), 1e-8)
    np.testing.assert_allclose(x, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_few_groups_where_everything_refers_to_everything() -> None:
    model = recurl.zoo.random_model(
        1, 1, 20_000, kind="one_exit", call_fraction=0, exit_probability=0.01, successors=4
    )
    system = OneExit.of(model, Question())
    it = Iterate.first(system.equations, system.gain)
    it.improve(0, system.n_rows)
    chain, x = it.chain(0, system.n_rows), it.x
    ones = np.ones(system.n_rows)
    assert system.n_rows / Lumped(chain, ones).size < 20
    before = np.abs(chain.remainder(x)).max()
    assert LinearSolver(len(x)).improve(chain, x, ones, 1e-3) < 15
    assert np.abs(chain.remainder(x)).max() < 0.02 * before


@pytest.mark.parametrize("n", [2, 3, 8])
def test_directions_without_length_are_not_an_error(n: int) -> None:
    chain = Chain(csr_array(np.eye(n, k=1)), np.eye(n)[-1])
    found = linear._quickly(chain, 1e-14)
    assert found is None or found == pytest.approx(np.ones(n))
    row, column = np.arange(n - 1), np.arange(1, n)
    assert solve_nonnegative(row, column, np.ones(n - 1), np.eye(n)[-1]) == pytest.approx(1.0)
