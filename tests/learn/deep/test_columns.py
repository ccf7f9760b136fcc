from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from recurl.learn.deep.columns import cut, width

PARTS = [(2,), (), (0,), (2, 2)]


def test_parts_of_numpy_are_views() -> None:
    table = np.zeros((3, width(PARTS)))
    first, number, none, square = cut(table, PARTS)
    square[1] = [[1, 2], [3, 4]]
    number[2], first[0] = 9, 5
    assert none.shape == (3, 0)
    assert table.tolist() == [[5, 5, 0, 0, 0, 0, 0], [0, 0, 0, 1, 2, 3, 4], [0, 0, 9, 0, 0, 0, 0]]


def test_the_device_cuts_alike() -> None:
    table = np.arange(14.0).reshape(2, 7)
    for mine, his in zip(cut(jnp.asarray(table), PARTS), cut(table, PARTS), strict=True):
        np.testing.assert_array_equal(mine, his)
