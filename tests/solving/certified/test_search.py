"""Rounds of a search: bounds only improve, with and without the points of trials."""

from __future__ import annotations

import numpy as np
import pytest

from recurl.model.tables import Floats
from recurl.solving.certified.first import first_bounds
from recurl.solving.certified.lower import Lower
from recurl.solving.certified.points import make_points
from recurl.solving.certified.problem import Problem
from recurl.solving.certified.search import Found, Search
from recurl.solving.certified.trials import Trials
from recurl.solving.certified.upper import Upper, upper_bound


def gaps_of_rounds(
    problem: Problem, found: Found, seeds: list[Floats] | None, rounds: int
) -> list[float]:
    assert found.lower is not None
    search = Search(problem, 1e-6, seeds, found.lower, connected=True)
    gaps = []
    for _ in range(rounds):
        search.round(found)
        gaps.append(found.gap)
    return gaps


def test_trials_and_rounds_meet(problem: Problem) -> None:
    upper, lower = first_bounds(problem)
    trials = Trials(problem, upper, lower, tolerance=1e-8)
    trials.run(5)
    before = trials.bounds()
    trials.run(15)
    after = trials.bounds()
    assert before[0] - 1e-12 <= after[0] <= after[1] <= before[1] + 1e-12
    found = Found()
    found.keep_upper(problem, trials.upper())
    found.keep_lower(problem, trials.lower())
    assert found.low == pytest.approx(after[0])
    assert found.high == pytest.approx(after[1], abs=1e-9)
    gaps = gaps_of_rounds(problem, found, trials.vectors(), 4)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-3


def test_rounds_alone(problem: Problem) -> None:
    upper, lower = first_bounds(problem)
    found = Found()
    found.keep_upper(problem, upper)
    found.keep_lower(problem, lower)
    gaps = gaps_of_rounds(problem, found, None, 8)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-4


def test_trials_trust_no_point_that_the_start_does_not_lead_to(problem: Problem) -> None:
    upper, lower = first_bounds(problem)
    t = problem.tables
    far = [np.array([[-1000.0, 0.0], problem.crude(c)[0]]) for c in range(t.n_components)]
    points = make_points(t, far)
    bound = upper_bound(problem, points, np.zeros(int(points.slot[-1])), 1e-9)
    values = bound.values.copy()
    values[points.slot[0]] -= 100.0  # too low, but far from all that is called
    wrong = Upper.of(problem, points, values)
    assert wrong.excess < 1e-6
    assert wrong.excess_from(problem, range(len(points.component))) > 1
    trials = Trials(problem, wrong, lower, tolerance=1e-8)
    claimed = trials.upper()
    assert claimed.excess_from(problem, range(len(claimed.points.component))) < 1e-9
    trials.run(10)
    assert trials.bounds()[1] >= first_low(problem, upper, lower)


def first_low(problem: Problem, upper: Upper, lower: Lower) -> float:
    """A lower bound that rests on sound points."""
    trials = Trials(problem, upper, lower, tolerance=1e-8)
    trials.run(20)
    return trials.bounds()[0]
