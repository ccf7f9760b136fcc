"""Bounds at given points: sound at every vector, and settled so that nothing fails."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.certified import kernel
from recurl.solving.certified.bounds import Problem, entry_values, lower_bound, upper_bound
from recurl.solving.certified.points import arranged, make_points
from recurl.solving.certified.search import Found, Search
from recurl.solving.certified.solver import problem_of
from recurl.solving.certified.trials import Trials, first_bounds
from recurl.solving.question import Question


@pytest.fixture(scope="module")
def problem() -> Problem:
    return problem_of(recurl.zoo.random_model(seed=2, components=3, nodes=8), Question())


def test_crude_points_satisfy_all_inequalities(problem: Problem) -> None:
    upper, lower = first_bounds(problem)
    assert (
        kernel.upper_excess(problem.tables, upper.points, problem.gain, upper.entries, upper.values)
        <= 1e-12
    )
    assert lower.sound


def test_settled_points_fail_nowhere(problem: Problem) -> None:
    t = problem.tables
    rows = [arranged(np.array([[-1.0, 0.0], [0.0, 0.0], [2.0, 0.0]]), connected=True)] * 3
    anchors = [problem.crude(c)[0] for c in range(3)]
    rows = [
        arranged(np.concatenate([r, a[None, :]]), connected=True)
        for r, a in zip(rows, anchors, strict=True)
    ]
    points = make_points(t, rows, anchors)
    start = np.zeros(int(points.slot[-1]))
    upper = upper_bound(problem, points, start, 1e-6)
    assert upper.excess > 0
    raised = upper.settled(problem)
    entries = entry_values(raised.points, raised.values)
    assert kernel.upper_excess(t, raised.points, problem.gain, entries, raised.values) <= 0
    suggested, improved = lower_bound(problem, upper, 1e-10)
    assert improved.start(problem) >= suggested.start(problem) - 1e-9


def test_trials_and_rounds_meet(problem: Problem) -> None:
    upper, lower = first_bounds(problem)
    trials = Trials(problem, upper, lower, tolerance=1e-8)
    trials.run(5)
    before = trials.bounds()
    trials.run(15)
    after = trials.bounds()
    assert before[0] - 1e-12 <= after[0] <= after[1] <= before[1] + 1e-12
    found = Found()
    found.keep(problem, trials.upper(), trials.lower())
    assert found.low == pytest.approx(after[0])
    assert found.high == pytest.approx(after[1], abs=1e-9)
    search = Search(problem, 1e-6, trials.vectors(), trials.lower(), connected=True)
    gaps = []
    for _ in range(4):
        search.round(found)
        gaps.append(found.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-3
