from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import recurl
from recurl.linear import systems
from recurl.linear.systems import (
    DIRECT,
    Corrector,
    Lumped,
    chosen_lines,
    closed_rows,
    factors,
    solve,
    solve_entries,
    unsigned,
)
from recurl.solving.blocks import Iterate
from recurl.solving.one_exit_system import System as OneExit
from recurl.solving.question import Question


def random_matrix(seed: int, size: int, entries: int, radius: float) -> np.ndarray:
    random = np.random.default_rng(seed)
    matrix = np.zeros((size, size))
    matrix[np.repeat(np.arange(size), entries), random.integers(size, size=size * entries)] = 1.0
    matrix *= random.uniform(0.1, 1, size=matrix.shape)
    # Rows that all sum to the same number have it as their radius.
    return matrix * radius / matrix.sum(axis=1, keepdims=True)


@given(seed=st.integers(0, 1000), size=st.integers(2, 12))
def test_solutions_are_those_of_numpy(seed: int, size: int) -> None:
    matrix = random_matrix(seed, size, 2, 0.9)
    b = np.random.default_rng(seed).uniform(0, 1, size=size)
    expected = np.linalg.solve(np.eye(size) - matrix, b)
    row, column = np.nonzero(matrix)
    found = solve_entries(row, column, matrix[row, column], b)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("limits", [{}, {"DIRECT": 0}, {"DIRECT": 0, "SPARSE": 0}])
@pytest.mark.parametrize("radius", [0.5, 0.99, 0.99999])
def test_every_way_to_solve_a_large_system(
    radius: float, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By elimination, and by GMRES with groups."""
    for name, limit in limits.items():
        monkeypatch.setattr(systems, name, limit)
    size = 600
    matrix = random_matrix(1, size, 4, radius)
    b = np.random.default_rng(1).uniform(0, 1, size=(size, 2))
    expected = np.linalg.solve(np.eye(size) - matrix, b)
    np.testing.assert_allclose(solve(csr_array(matrix), b), expected, rtol=1e-6)
    np.testing.assert_allclose(solve(csr_array(matrix), b[:, 0]), expected[:, 0], rtol=1e-6)


@pytest.mark.parametrize("size", [2, 200, 2000])
def test_a_singular_system_has_no_solution(size: int) -> None:
    ring = csr_array(([1.0] * size, (range(size), np.roll(range(size), 1))), shape=(size, size))
    assert solve(ring, np.ones(size)) is None
    assert closed_rows(ring).all()
    assert factors(ring) is None


def test_closed_rows_may_leak() -> None:
    matrix = csr_array(np.array([[0.5, 0.25, 0.25], [0, 0, 1], [0, 1, 0]]))
    assert closed_rows(matrix).tolist() == [False, True, True]
    made = factors(matrix, leak=0.5)
    assert made is not None
    leaking = matrix.toarray() * [[1], [0.5], [0.5]]
    wanted = np.linalg.solve(np.eye(3) - leaking, np.ones(3))
    np.testing.assert_allclose(made.solve(np.ones(3)), wanted)


def test_weights_that_stand_twice_or_are_zero() -> None:
    parts = np.array([0.25, 0.25, 0.0, 0.0, 1.0]), [1, 1, 0, 0, 1], [0, 3, 5]
    matrix = csr_array(parts, shape=(2, 2))
    assert factors(matrix) is None
    matrix.data[4] = 0.5
    made = factors(matrix)
    assert made is not None
    np.testing.assert_allclose(made.solve(np.ones(2)), [2, 2])
    assert matrix.nnz == 5


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_indices_of_any_width_stay_what_they_are(dtype: type) -> None:
    index = np.array([0, 3, 2**31 - 1], dtype)
    assert unsigned(index).dtype == np.uint32
    assert unsigned(index).tolist() == index.tolist()
    assert np.shares_memory(unsigned(index), index) == (dtype is np.int32)


@given(seed=st.integers(0, 1000), size=st.integers(2, 12))
def test_chosen_lines(seed: int, size: int) -> None:
    matrix = random_matrix(seed, size, 2, 0.9)
    chosen = np.random.default_rng(seed).integers(size, size=size // 2).astype(np.int32)
    lines = chosen_lines(csr_array(matrix), chosen)
    np.testing.assert_array_equal(lines.toarray(), matrix[chosen])


@pytest.mark.parametrize("loops", [False, True])
def test_small_blocks_are_substituted(loops: bool) -> None:
    random = np.random.default_rng(2)
    matrix = np.tril(random.random((300, 300)), -1) * (random.random((300, 300)) < 0.01)
    starts = np.delete(np.arange(301), [*range(1, 20), *range(151, 161)]).astype(np.int32)
    for first, last in ((0, 20), (150, 161), (200, 201)) if loops else ():
        size = last - first
        matrix[first:last, first:last] = random.random((size, size)) / size
    for b in (random.random((300, 2)), random.random(300)):
        found = solve(csr_array(matrix), b, block_start=starts)
        np.testing.assert_allclose(found, np.linalg.solve(np.eye(300) - matrix, b), rtol=1e-10)
    matrix[200, 200] = 1.0
    assert solve(csr_array(matrix), np.ones(300), block_start=starts) is None


def chain_and_solution(locality: str, nodes: int = 400) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """The equations of first actions of a random process, and their solution."""
    model = recurl.zoo.random_model(
        1, 1, nodes, kind="one_exit", call_fraction=0, exit_probability=0.01, locality=locality
    )
    system = OneExit.of(model, Question())
    matrix, c = Iterate.first(system.equations, system.gain).chain(0, system.n_rows)
    return matrix, c, np.linalg.solve(np.eye(system.n_rows) - matrix.toarray(), c)


@pytest.mark.parametrize("direct", [DIRECT, 0])
@pytest.mark.parametrize("locality", ["near", "uniform"])
def test_solves_what_dense_elimination_solves(
    locality: str, direct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "DIRECT", direct)
    matrix, c, wanted = chain_and_solution(locality)
    corrector, x = Corrector(), np.zeros(len(wanted))
    for _ in range(20):
        corrector.improve(matrix, c, x, np.ones(len(x)), 1e-8)
    np.testing.assert_allclose(x, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_few_groups_where_everything_refers_to_everything() -> None:
    model = recurl.zoo.random_model(
        1, 1, 20_000, kind="one_exit", call_fraction=0, exit_probability=0.01, successors=4
    )
    system = OneExit.of(model, Question())
    it = Iterate.first(system.equations, system.gain)
    it.improve(0, system.n_rows)
    (matrix, c), x = it.chain(0, system.n_rows), it.x
    ones = np.ones(system.n_rows)
    assert system.n_rows / Lumped(matrix, ones).size < 20
    before = np.abs(c + matrix @ x - x).max()
    assert Corrector().improve(matrix, c, x, ones, 1e-3) < 15
    assert np.abs(c + matrix @ x - x).max() < 0.02 * before
