from __future__ import annotations

import numpy as np
import pytest

from recurl.solving.one_exit_linear_kernel import (
    Chain,
    add_combination,
    aggregate,
    gather,
    least_remainder,
    multiply,
    orthogonalise,
    remainder,
    shift_chain,
    spread,
    sweep_chain,
    visits,
)


def ring(n: int, stop: float) -> Chain:
    """Every row pays 1 and goes on to the next two, or stops."""
    start = np.arange(0, 2 * n + 1, 2).astype(np.uint32)
    column = np.stack([(np.arange(n) + 1) % n, (np.arange(n) + 2) % n], axis=1).ravel()
    weight = np.full(2 * n, (1 - stop) / 2)
    return Chain(start, column.astype(np.uint32), weight, np.ones(n))


def test_sweeps_and_remainders() -> None:
    chain, x, out = ring(20, 0.25), np.zeros(20), np.empty(20)
    sweep_chain(chain, x, 100)
    assert x == pytest.approx(4)
    remainder(chain, x, out)
    assert np.abs(out).max() < 1e-9
    multiply(chain, x, out)
    assert out == pytest.approx(1)


def test_a_shift_removes_the_common_error_at_once() -> None:
    chain, x = ring(20, 1e-6), np.zeros(20)
    assert shift_chain(chain, x, np.ones(20)) < 1e-9
    assert x == pytest.approx(1e6)


def test_visits() -> None:
    assert visits(ring(20, 0.5), 0) == pytest.approx(1)
    assert visits(ring(20, 0.5), 3) == pytest.approx(1.875)


def test_groups() -> None:
    chain = ring(6, 0.5)
    start, column, value = aggregate(chain, np.ones(6), np.ones(6), 3)
    matrix = np.zeros((2, 2))
    for group in range(2):
        own = slice(start[group], start[group + 1])
        matrix[group, column[own]] += value[own]
    # Of 6 ways of weight 1/4 per group, 3 stay inside and 3 leave.
    assert matrix.tolist() == [[3 - 0.75, -0.75], [-0.75, 3 - 0.75]]
    assert gather(np.arange(6.0), np.ones(6), 3).tolist() == [3, 12]
    out = np.empty(6)
    spread(chain, np.zeros(6), np.array([4.0, 8.0]), np.ones(6), 3, out)
    # One sweep on (4, 4, 4, 8, 8, 8), in place.
    assert out[:2].tolist() == [2, 3]


def test_a_small_krylov_space() -> None:
    basis, vector = np.zeros((3, 4)), np.array([3.0, 4.0, 0, 0])
    assert orthogonalise(basis, vector, 0).tolist() == [5]
    h = orthogonalise(basis, np.array([5.0, 0, 2, 0]), 1)
    assert h[0] == pytest.approx(3)
    assert basis[:2] @ basis[:2].T == pytest.approx(np.eye(2))
    x = np.zeros(4)
    add_combination(x, basis[:2], np.array([2.0, 0.0]))
    assert x == pytest.approx([1.2, 1.6, 0, 0])


def test_least_squares() -> None:
    h = np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
    y, left = least_remainder(h, 5.0)
    expected, rest, *_ = np.linalg.lstsq(h, np.array([5.0, 0, 0]), rcond=None)
    assert y == pytest.approx(expected)
    assert left == pytest.approx(np.sqrt(rest[0]))
