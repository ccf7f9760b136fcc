"""Newton's method on maps whose fixed points are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import eye_array, random_array

from recurl.solving.certified.newton import (
    Fineness,
    fixed_point,
    linear_operator,
    solve_from_identity,
    steps_to_rest,
)


def slow_map() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix of radius 0.9999, a vector, and the fixed point of both."""
    rng = np.random.default_rng(0)
    matrix = rng.random((30, 30))
    matrix *= 0.9999 / np.abs(np.linalg.eigvals(matrix)).max()
    b = rng.random(30)
    return matrix, b, np.linalg.solve(np.eye(30) - matrix, b)


def test_slow_linear_map() -> None:
    matrix, b, exact = slow_map()
    rest = fixed_point(lambda x: matrix @ x + b, lambda: matrix, np.zeros(30), 1e-9)
    assert rest.found
    assert rest.x == pytest.approx(exact, rel=1e-8)
    assert rest.steps < 10
    assert not steps_to_rest(
        lambda x: matrix @ x + b, lambda: matrix, np.zeros(30), 1e-9, limit=50
    ).found


def test_nonlinear_map_and_shape() -> None:
    state = np.zeros((2, 3))

    def step(x: np.ndarray) -> np.ndarray:
        state[:] = x
        return 0.4 + 0.6 * x**2

    def slopes() -> object:
        at = 1.2 * state.ravel().copy()
        return linear_operator(6, lambda x: at * x)

    rest = fixed_point(step, slopes, np.zeros((2, 3)), 1e-12)
    assert rest.found
    assert rest.x == pytest.approx(np.full((2, 3), 2 / 3))


def test_divergence_ends() -> None:
    rest = fixed_point(lambda x: x * x + 2, lambda: np.array([[2.0]]), np.ones(1), 1e-9)
    assert not rest.found
    assert steps_to_rest(
        lambda x: 2 * x + 1, lambda: np.array([[2.0]]), np.ones(1), 1e-9
    ).steps == pytest.approx(np.log2(1e100), abs=3)


def test_linear_part() -> None:
    matrix, b, exact = slow_map()
    assert solve_from_identity(matrix, b, rtol=1e-12) == pytest.approx(exact, rel=1e-6)


def test_fineness_follows_what_is_left() -> None:
    fine = Fineness(1e-9)
    assert fine.now == pytest.approx(1e-7)
    fine.after(np.array([3.0]), np.array([1.0]))
    assert fine.now == pytest.approx(2e-5)
    fine.after(np.array([1.0]), np.array([1.0]))
    assert fine.now == 1e-9


@pytest.mark.parametrize("size", [200, 201])
def test_small_and_large_systems_alike(size: int) -> None:
    rng = np.random.default_rng(size)
    matrix, right = random_array((size, size), density=0.05, rng=rng).tocsr() / 20, rng.random(size)
    found = solve_from_identity(matrix, right, rtol=1e-10)
    assert found - matrix @ found == pytest.approx(right, abs=1e-8)


def test_a_system_without_a_solution_is_left_alone() -> None:
    right = np.array([1.0, 2.0])
    assert solve_from_identity(eye_array(2, format="csr"), right).tolist() == [1.0, 2.0]
