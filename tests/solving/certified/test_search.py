"""Rounds of a search: bounds only improve, and points go where the gap is."""

from __future__ import annotations

import numpy as np
import pytest
from tests.solving.oracle import random_spec

import recurl
from recurl.model.tables import Floats
from recurl.solving.certified.lower import Lower, lower_bound
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.certified.search import (
    BestBounds,
    Calls,
    PointSearch,
    arrivals,
    first_bounds,
    gaps_of_calls,
    interpolation_errors,
    inverses_of,
    near_bounds,
    visits_of_calls,
    worst_calls,
)
from recurl.solving.certified.trials import Trials
from recurl.solving.certified.upper import Upper

from .parts import few_solved, random_problem


def found_first(problem: SearchProblem) -> tuple[BestBounds, Upper, Lower]:
    upper, lower = first_bounds(problem)
    found = BestBounds()
    found.keep_upper(upper)
    found.keep_lower(lower)
    return found, upper, lower


def gaps_of_rounds(
    problem: SearchProblem, found: BestBounds, seeds: list[Floats] | None, rounds: int
) -> list[float]:
    assert found.lower is not None
    search = PointSearch(problem, 1e-6, seeds, found.lower, connected=True)
    gaps = []
    for _ in range(rounds):
        search.round(found)
        gaps.append(found.gap)
    return gaps


def test_first_bounds_are_sound(problem: SearchProblem) -> None:
    found, upper, lower = found_first(problem)
    assert upper.excess_at([np.arange(n) for n in upper.contexts.count]) <= 1e-11
    assert lower.sound
    model = recurl.zoo.random_model(seed=2, components=3, nodes=8)
    assert found.low <= recurl.solve(model).lower <= found.high


@pytest.mark.parametrize("exits", [2, 3])
def test_points_of_a_similar_problem_are_a_beginning(exits: int) -> None:
    model = recurl.zoo.random_model(seed=2, components=3, nodes=8, exits=exits)
    other = model.with_rewards_times(1.01)
    known = recurl.solve(model, epsilon=1e-4).points
    bounds = near_bounds(SearchProblem.of(other, recurl.Question()), known, 1e-8)
    assert bounds is not None
    upper, lower = bounds
    solution = recurl.solve(other)
    assert lower.start() <= solution.upper
    assert upper.start() >= solution.lower
    assert upper.start() - lower.start() <= 1e-2


def test_points_that_do_not_fit_are_left_out(problem: SearchProblem) -> None:
    fit = [np.zeros((part.size, 1)) for part in problem.components]
    assert near_bounds(problem, fit, 1e-8) is not None
    assert near_bounds(problem, fit[:-1], 1e-8) is None
    assert near_bounds(problem, [own[:, :0] for own in fit], 1e-8) is None
    assert near_bounds(problem, [own.ravel() for own in fit], 1e-8) is None
    assert near_bounds(problem, [np.nan * own for own in fit], 1e-8) is None


def test_rounds_alone(problem: SearchProblem) -> None:
    found, _, _ = found_first(problem)
    gaps = gaps_of_rounds(problem, found, None, 8)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-4


def test_rounds_from_the_points_of_trials(problem: SearchProblem) -> None:
    found, upper, lower = found_first(problem)
    trials = Trials(upper, lower, tolerance=1e-8)
    trials.run()
    found.keep_upper(trials.upper())
    found.keep_lower(trials.lower())
    gaps = gaps_of_rounds(problem, found, trials.vectors(), 4)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-3


def test_worse_bounds_are_not_kept(problem: SearchProblem) -> None:
    found, upper, lower = found_first(problem)
    better = few_solved(problem)
    found.keep_upper(better)
    assert found.upper is better
    found.keep_upper(upper)
    assert found.upper is better
    unsound = Lower(lower.contexts, lower.action, lower.callee, lower.reach, lower.rewards + 1)
    found.keep_lower(unsound)
    assert found.lower is lower


def test_points_not_connected_close_in_too() -> None:
    problem = random_problem(6)
    found, _, lower = found_first(problem)
    before = found.gap
    search = PointSearch(problem, 1e-4, None, lower, connected=False)
    for _ in range(3):
        search.round(found)
    assert found.gap < 0.1 * before


def test_visits_are_those_of_a_run(problem: SearchProblem) -> None:
    # With one context per component the upper bound's own policy is a chain to be evaluated.
    upper = few_solved(problem)
    inverses = inverses_of(upper)
    visits = visits_of_calls(upper, inverses)
    matrix = (inverses.visits() @ upper.links.matrix).toarray()
    start = np.zeros(len(matrix))
    for entry, (c, mix) in enumerate(upper.start_mixes()):
        for x, weight in mix:
            own = upper.contexts.view_entries(start, c)
            own[entry, x] += problem.tables.start_prob[entry] * weight
    entries = np.linalg.solve(np.eye(len(matrix)) - matrix.T, start)
    assert visits == pytest.approx(inverses.visits().toarray().T @ entries, abs=1e-8)


def test_arrivals_sum_to_one(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    arrive = arrivals(upper, inverses_of(upper))
    assert arrive.min() >= 0
    assert arrive.sum(axis=1) == pytest.approx(1)


def test_errors_lie_between_the_tangent_and_the_bound(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    calls = Calls.of(upper)
    lower = lower_bound(upper.contexts, upper.links.action, upper.links.heaviest, 1e-12)
    assert lower.sound
    reach = lower.reach[upper.contexts.entry_slots]
    errors = interpolation_errors(upper, calls, reach)
    gaps = gaps_of_calls(upper, calls, lower)
    assert errors.min() >= 0
    assert (errors <= gaps + 1e-9).all()
    # Nothing is amiss where a call has the vector of a point.
    near = upper.contexts.called_vectors(upper.links.heaviest)
    at = np.ptp(calls.vector - near, axis=1) < 1e-12
    assert errors[at] == pytest.approx(0, abs=1e-9)


def test_worst_calls_make_up_the_gap_one_per_segment(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    contexts, calls = upper.contexts, Calls.of(upper)
    gaps = np.random.default_rng(0).random(len(calls.value))
    chosen = worst_calls(contexts, calls, gaps, 1e-6)
    for c, own in chosen.items():
        assert (contexts.call_callee[own] == c).all()
        cells = contexts.points[c].cells(calls.vector[own][:, :2])
        assert len(set(cells.tolist())) == len(own)
    assert worst_calls(contexts, calls, np.zeros_like(gaps), 1e-6) == {}


def test_points_whose_calls_never_return_are_weighed_without_a_warning() -> None:
    model = random_spec(11003672, exits=2, actions=2)
    found = recurl.solve(model, of="steps", objective="min", epsilon=10)
    assert found.lower <= 10.0761 <= found.upper
    assert found.gap <= 10
