from __future__ import annotations

import numpy as np
import pytest

from recurl.solving.newton_kernel import (
    Polynomials,
    jacobian,
    newton_dense,
    residual,
    sweep_up,
)


def square() -> Polynomials:
    """x = 2/5 + 3/5 x^2, and y = x / 2 + y / 4."""
    ints = np.int32
    return Polynomials(
        np.array([0, 1, 3]),
        np.array([0.4, 0.0]),
        np.array([0.6, 0.5, 0.25]),
        np.array([0, 0, 1], ints),
        np.array([0, -1, -1], ints),
    )


def test_residual_and_jacobian() -> None:
    x = np.array([0.5, 0.25])
    assert residual(square(), x) == pytest.approx([0.4 + 0.15 - 0.5, 0.25 + 0.0625 - 0.25])
    row, column, value = jacobian(square(), x)
    matrix = np.zeros((2, 2))
    np.add.at(matrix, (row, column), value)
    assert matrix == pytest.approx(np.array([[0.6, 0], [0.5, 0.25]]))


def test_newton_and_sweeps_meet() -> None:
    x, y = np.zeros(2), np.zeros(2)
    assert newton_dense(square(), x, 60) < 10
    sweep_up(square(), y, 500)
    assert x == pytest.approx([2 / 3, 4 / 9], abs=1e-14)
    assert y == pytest.approx(x, abs=1e-12)
