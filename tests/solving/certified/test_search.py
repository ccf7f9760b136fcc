"""Rounds of a search: bounds only improve, with and without the points of trials."""

from __future__ import annotations

import pytest

from recurl.model.tables import Floats
from recurl.solving.certified.first import first_bounds
from recurl.solving.certified.problem import Problem
from recurl.solving.certified.search import Found, Search
from recurl.solving.certified.trials import Trials


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
