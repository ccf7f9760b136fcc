"""The update rule, case by case, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurl.learn import rule_kernel as k
from recurl.learn.schedules import constant, exponential, harmonic, linear, power
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.simulation.random import new_stream


def test_the_three_targets() -> None:
    assert k.target(STEP, -1.0, 5.0, 100.0) == 4.0
    assert k.target(CALLS, -1.0, 5.0, 100.0) == 104.0
    assert k.target(EXITS, -1.0, 5.0, 100.0) == 99.0


def test_values_move_towards_the_target_by_the_step_size() -> None:
    q, visits = np.array([0.0, 10.0]), np.array([0, 3])
    k.improve(q, visits, 1, 20.0, harmonic(), 7)
    assert q.tolist() == [0.0, 12.5]  # the fourth visit: a quarter of the way
    assert visits.tolist() == [0, 4]


def test_schedules_by_their_formulas() -> None:
    assert k.scheduled(constant(0.3), 10, 10) == 0.3
    assert k.scheduled(linear(1.0, 0.5, 100), 50, 1) == 0.75
    assert k.scheduled(linear(1.0, 0.5, 100), 500, 1) == 0.5
    assert k.scheduled(exponential(1.0, 10, 0.2), 10, 1) == pytest.approx(0.6)
    assert k.scheduled(power(0.5, first=0.8), 0, 16) == pytest.approx(0.2)
    assert k.scheduled(power(0.5, last=0.4), 0, 16) == 0.4


def test_ties_go_to_the_first_action() -> None:
    q = np.array([9.0, 1.0, 3.0, 3.0, 2.0])
    assert k.greedy(q, 1, 4) == 1
    assert k.best(q, 1, 4) == 3.0


def test_one_action_needs_no_random_number() -> None:
    random = new_stream(3)
    before = random.copy()
    assert k.choose(np.zeros(1), 0, 1, 1.0, random) == 0
    np.testing.assert_array_equal(random, before)


def test_exploring_is_as_frequent_as_asked() -> None:
    random, q = new_stream(3), np.array([1.0, 0.0, 0.0, 0.0])
    chosen = np.bincount([k.choose(q, 0, 4, 0.4, random) for _ in range(20_000)], minlength=4)
    # 60 % greedy and a quarter of the rest; four standard deviations are 0.013.
    assert chosen / 20_000 == pytest.approx([0.7, 0.1, 0.1, 0.1], abs=0.013)


def test_exploration_counts_the_visits_of_the_state() -> None:
    visits = np.array([99, 1, 2, 0])
    assert k.exploration(power(0.5), visits, 1, 3, 0) == pytest.approx(0.5)  # n = 1 + 2 + 0 + 1
    assert k.exploration(constant(0.1), visits, 1, 3, 0) == 0.1


VECTORS = st.lists(st.floats(-1000, 1000), min_size=2, max_size=6)


@given(VECTORS, st.sampled_from([0.001, 0.5, 3.0]))
def test_exit_values_are_relative_to_the_least_and_rounded(given: list[float], q: float) -> None:
    vector = np.array(given)
    least = k.normalise(vector, len(given), q, 0)
    assert least == min(given)
    assert vector.min() == 0.0
    assert np.abs(vector - (np.array(given) - least)).max() <= q / 2 + 1e-9
    assert np.abs(vector / q - np.rint(vector / q)).max() < 1e-6


@given(VECTORS, st.integers(1, 40))
def test_a_grain_bounds_the_steps_and_the_relative_error(given: list[float], grain: int) -> None:
    vector = np.array(given)
    k.normalise(vector, len(given), 0.001, grain)
    spread = max(given) - min(given)
    step = 0.001
    while grain * step < spread:
        step *= 2
    assert np.rint(vector / step).max() <= grain
    assert np.abs(vector - (np.array(given) - min(given))).max() <= step / 2 + 1e-9
    assert step <= max(0.001, 2 * spread / grain)


def test_without_a_quantum_nothing_is_rounded() -> None:
    vector = np.array([0.1, 0.3, 1.7])
    assert k.normalise(vector, 3, 0.0, 32) == 0.1
    assert vector.tolist() == [0.0, 0.3 - 0.1, 1.7 - 0.1]


def test_one_exit_is_worth_nothing_relative_to_itself() -> None:
    vector = np.array([-7.5, 99.0])
    assert k.normalise(vector, 1, 0.001, 0) == -7.5
    assert vector.tolist() == [0.0, 99.0]


def test_values_that_are_not_finite_are_handed_on() -> None:
    vector = np.array([0.0, np.inf])
    assert k.normalise(vector, 2, 0.001, 32) == 0.0
    assert not np.isfinite(vector[1])
