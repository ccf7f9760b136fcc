"""Shapes that rows share are found, and only those."""

from __future__ import annotations

import numpy as np
import pytest

from recurl.learn.model_based.shapes import CERTAIN, Shapes, SortedRows, suggested


def fitted(counts):
    """The shapes of rows."""
    owner = np.repeat(np.arange(len(counts)), [len(row) for row in counts])
    return Shapes(SortedRows(owner, np.concatenate(counts).astype(float)), 1.0)


def test_rows_are_sorted_by_counts():
    rows = SortedRows(np.array([2, 0, 2, 2]), np.array([1.0, 4.0, 0.0, 7.0]))
    assert rows.pair.tolist() == [0, 2]
    assert rows.rows[:, :2].tolist() == [[4.0, 0.0], [7.0, 1.0]]
    assert rows.outcome.tolist() == [1, 3, 0]
    assert rows.width.tolist() == [1, 2]


def test_probabilities_that_rows_share_are_found():
    random = np.random.default_rng(0)
    shape = np.array([0.5, 0.2, 0.2, 0.1])
    rows = [random.multinomial(int(n), shape) for n in random.integers(50, 400, 60)]
    found = fitted([row[row > 0] for row in rows])
    best = found.shapes[int(found.weight[1 + len(found.loose) :].argmax())]
    assert best.chance[:4] == pytest.approx(shape, abs=0.01)
    assert best.group.tolist() == [0, 1, 1, 2]
    assert found.share()[:, -1].mean() > 0.9


def test_rows_that_share_nothing_have_no_shape():
    random = np.random.default_rng(0)
    rows = [random.multinomial(300, random.dirichlet([2.0, 2.0, 2.0])) for _ in range(100)]
    assert fitted([row[row > 0] for row in rows]).shapes == [CERTAIN]


def test_neighbours_that_may_be_equally_likely_are():
    assert suggested(np.array([34.0, 31.0, 30.0, 5.0])).group.tolist() == [0, 0, 0, 1]
    assert suggested(np.array([340.0, 250.0, 50.0])).group.tolist() == [0, 1, 2]
