"""Anderson acceleration on maps whose fixed points are known."""

from __future__ import annotations

import numpy as np
import pytest

from recurl.solving.certified.fixed_point import fixed_point


def test_slow_linear_map() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((30, 30))
    matrix *= 0.9999 / np.abs(np.linalg.eigvals(matrix)).max()
    b = rng.random(30)
    exact = np.linalg.solve(np.eye(30) - matrix, b)
    found, steps = fixed_point(lambda x: matrix @ x + b, np.zeros(30), 1e-9)
    assert found == pytest.approx(exact, rel=1e-8)
    assert steps < 60


def test_nonlinear_map_and_shape() -> None:
    found, _ = fixed_point(lambda x: 0.4 + 0.6 * x**2, np.zeros((2, 3)), 1e-12)
    assert found == pytest.approx(np.full((2, 3), 2 / 3))


def test_divergence_ends() -> None:
    found, steps = fixed_point(lambda x: x * x + 2, np.ones(1), 1e-9)
    assert steps < 500
    assert found.shape == (1,)
