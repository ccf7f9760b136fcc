"""Upper bounds at given points: least, and settled so that nothing fails."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.certified import kernel
from recurl.solving.certified.points import entry_values
from recurl.solving.certified.problem import Problem
from recurl.solving.certified.upper import Links, no_hint, start_above, start_mix, upper_bound

from .parts import few_points


def test_settled_points_fail_nowhere(problem: Problem) -> None:
    t, points = problem.tables, few_points(problem)
    upper = upper_bound(problem, points, np.zeros(int(points.slot[-1])), 1e-6)
    assert upper.excess > 0
    raised = upper.settled(problem)
    entries = entry_values(raised.points, raised.values)
    start = np.array([context for context, _ in start_mix(problem, raised, 0)[1]])
    assert kernel.upper_excess(t, raised.points, problem.gain, entries, raised.values, start) <= 0


def test_newton_comes_to_the_same_as_steps(problem: Problem) -> None:
    t, points = problem.tables, few_points(problem)
    upper = upper_bound(problem, points, np.zeros(int(points.slot[-1])), 1e-9)
    assert upper.rest is not None
    assert upper.rest.found
    values, entries = np.zeros_like(upper.values), np.zeros_like(upper.entries)
    for _ in range(2000):
        out = np.empty_like(entries)
        kernel.upper_step(
            t, points, problem.gain, problem.order, entries, values, no_hint(points), 1e-12, out, 0,
            len(points.component),
        )  # fmt: skip
        entries = out
    assert upper.entries == pytest.approx(entries, abs=1e-6)


def test_above_the_optimum(problem: Problem) -> None:
    model = recurl.zoo.random_model(seed=2, components=3, nodes=8)
    points = few_points(problem)
    upper = upper_bound(problem, points, np.zeros(int(points.slot[-1])), 1e-9)
    assert start_above(problem, upper) >= recurl.solve(model, epsilon=1e-6).lower


def test_matrix_is_the_derivative(problem: Problem) -> None:
    t, points = problem.tables, few_points(problem)
    upper = upper_bound(problem, points, np.zeros(int(points.slot[-1])), 1e-9)
    links = Links.of(problem, points, upper.entries, upper.values, no_hint(points))
    matrix = links.matrix(problem, points).toarray()
    for i in range(0, len(upper.entries), 3):
        moved = upper.entries.copy()
        moved[i] += 1e-5
        out, values = np.empty_like(moved), upper.values.copy()
        kernel.upper_step(
            t, points, problem.gain, problem.order, moved, values, no_hint(points), 1e-13, out, 0,
            len(points.component),
        )  # fmt: skip
        assert (out - upper.entries) / 1e-5 == pytest.approx(matrix[:, i], abs=2e-3)
