from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solving.exact_one_exit import exact_values, start_value
from tests.solving.references import small_model

import recurl
from recurl.solving.one_exit_bounds import step_bounds
from recurl.solving.one_exit_search import ITERATIONS, OneExitSearch
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


def search(model: recurl.RMDP, method: str, question: Question | None = None) -> OneExitSearch:
    system = System.of(model, question or Question())
    steps = step_bounds(system)
    assert steps is not None
    return OneExitSearch(system, steps, method)


@pytest.mark.parametrize("method", ITERATIONS)
def test_the_countdown(method: str) -> None:
    found = search(recurl.zoo.countdown(), method)
    assert found.run(1e-8, math.nan, None) == ""
    low, high = found.interval
    assert low <= 19 <= high
    assert high - low <= 1e-8


@pytest.mark.parametrize(("threshold", "answer"), [(18.0, True), (19.5, False), (-1e9, True)])
def test_a_threshold_stops_it(threshold: float, answer: bool) -> None:
    found = search(recurl.zoo.countdown(), "value-iteration")
    reason = found.run(1e-12, threshold, None)
    assert reason == "; stopped where the threshold is decided"
    low, high = found.interval
    assert high - low > 1e-12
    assert (low >= threshold) is answer


def test_intervals_shrink_in_stages() -> None:
    seen: list[tuple[float, float]] = []
    found = search(recurl.zoo.spelunking(), "value-iteration", Question("min"))
    found.run(1e-6, math.nan, lambda low, high, work: seen.append((low, high)))
    widths = [high - low for low, high in seen]
    assert len(seen) > 1
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] <= 1e-6


def test_more_than_floats_can_do_is_said() -> None:
    found = search(recurl.zoo.countdown(), "policy-iteration")
    assert found.run(0.0, math.nan, None) == "; floats allow no narrower interval"


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    method=st.sampled_from(sorted(ITERATIONS)),
    objective=st.sampled_from(["max", "min"]),
)
def test_around_the_exact_optimum(seed: int, method: str, objective: str) -> None:
    model = small_model(seed, "one_exit")
    found = search(model, method, Question(objective))
    found.run(1e-9, math.nan, None)
    low, high = found.interval
    assert low <= start_value(model, exact_values(model, objective)) <= high
