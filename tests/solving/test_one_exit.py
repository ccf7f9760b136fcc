from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solving.exact_one_exit import (
    exact_policy_values,
    exact_values,
    small_models,
    start_value,
)

import recurl
from recurl.solving.one_exit import solve_one_exit
from recurl.solving.question import Question

METHODS = ("policy-iteration", "value-iteration", "linear-program")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("model", "best"),
    [
        (recurl.zoo.cloud(exits=1), -5.3425),
        (recurl.zoo.countdown(), 19.0),
        (recurl.zoo.gambler(p="2/5"), 9.0),
        (recurl.zoo.succinct(10), 1023.0),
    ],
)
def test_closed_forms(model: recurl.RMDP, best: float, method: str) -> None:
    solution = solve_one_exit(model, Question(), 1e-9, method=method)
    assert solution.lower <= best <= solution.upper
    assert solution.gap <= 1e-9
    assert solution.method == method


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(small_models, st.sampled_from(["max", "min"]), st.sampled_from(["model", "steps"]))
def test_interval_contains_the_exact_optimum_everywhere(
    method: str, model: recurl.RMDP, objective: str, rewards: str
) -> None:
    question = Question(objective, rewards)
    solution = solve_one_exit(model, question, 1e-7, method=method)
    exact = exact_values(model, objective, rewards)
    assert solution.lower <= start_value(model, exact) <= solution.upper
    assert solution.gap <= 1e-7
    for low, x, high in zip(solution.values_lower, exact, solution.values_upper, strict=True):
        assert low <= x <= high


@settings(max_examples=15)
@given(small_models)
def test_policy_attains_the_optimum(model: recurl.RMDP) -> None:
    solution = solve_one_exit(model, Question(), 1e-9)
    attained = start_value(model, exact_policy_values(solution.policy))
    assert solution.lower <= attained <= solution.upper


@settings(max_examples=15)
@given(small_models, st.sampled_from(["max", "min"]))
def test_certificates_hold_in_exact_arithmetic(model: recurl.RMDP, objective: str) -> None:
    solution = solve_one_exit(model, Question(objective), 1e-6)
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)


@pytest.mark.parametrize("locality", ["near", "uniform"])
@pytest.mark.parametrize("stop", [0.05, 0.001])
def test_large_blocks(locality: str, stop: float) -> None:
    model = recurl.zoo.random_model(
        3, 1, 1600, kind="one_exit", actions=3, successors=4, exit_probability=stop,
        call_fraction=0, locality=locality,
    )  # fmt: skip
    by_policies = solve_one_exit(model, Question(), 1e-6, method="policy-iteration")
    by_sweeps = solve_one_exit(model, Question(), 1e-6, method="value-iteration")
    assert by_policies.gap <= 1e-6
    assert by_sweeps.gap <= 1e-6
    assert max(by_policies.lower, by_sweeps.lower) <= min(by_policies.upper, by_sweeps.upper)
    # Where successors are spread evenly, sweeps with a common shift are quicker.
    assert ("linear iterations" in by_policies.work) == (locality == "near")


def test_large_recursion() -> None:
    model = recurl.zoo.random_model(
        5, 20, 200, kind="one_exit", exit_probability=0.05, load=0.98, locality="near"
    )
    by_policies = solve_one_exit(model, Question("min"), 1e-6, method="policy-iteration")
    by_sweeps = solve_one_exit(model, Question("min"), 1e-6, method="value-iteration")
    assert by_policies.gap <= 1e-6
    assert max(by_policies.lower, by_sweeps.lower) <= min(by_policies.upper, by_sweeps.upper)


def test_sweeps_are_picked_where_runs_are_short_and_the_reason_says_so() -> None:
    model = recurl.zoo.random_model(
        0, 1, 300, kind="one_exit", call_fraction=0, exit_probability=0.4
    )
    solution = solve_one_exit(model, Question(), 1e-6)
    assert solution.method == "value-iteration"
    assert "stops soon" in solution.reason


def test_threshold_stops_early() -> None:
    model = recurl.zoo.spelunking()
    seen: list[tuple[float, float]] = []

    def note(low: float, high: float, work: dict[str, float]) -> None:
        seen.append((low, high))

    question = Question()
    early = solve_one_exit(
        model, question, 0.0, method="value-iteration", at_least=-20, callback=note
    )
    assert early.at_least(-20) is True
    assert "threshold" in early.reason
    assert seen[-1] == (early.lower, early.upper)
    full = solve_one_exit(model, question, 1e-9)
    assert early.gap > full.gap
    assert early.lower <= full.value <= early.upper


def test_honest_about_the_limits_of_floats() -> None:
    solution = solve_one_exit(recurl.zoo.succinct(20), Question(), 1e-12)
    assert solution.lower <= 2**20 - 1 <= solution.upper
    assert "floats allow no narrower" in solution.reason


def test_start_distribution_and_exit_value() -> None:
    model = (
        recurl.Builder("two")
        .component("A", entries=["a", "b"], exits="out")
        .at("a").action("go", reward=1).to("out")
        .at("b").action("go", reward=4).to("out")
        .build(start={"A.a": "1/3", "A.b": "2/3"})
    )  # fmt: skip
    solution = solve_one_exit(model, Question("max", "model", (10.0,)), 1e-9)
    assert solution.lower <= 13 <= solution.upper
    assert solution.gap < 1e-9
    assert recurl.verify(model, solution.certificate).lower == solution.lower


def test_unreachable_traps_do_not_matter() -> None:
    model = (
        recurl.Builder("trap")
        .component("A", entries="in", exits="out").at("in").action("go", reward=-3).to("out")
        .component("B", entries="in", exits="out").at("in").action("go").to("x")
        .at("x").action("stay").to("x")
        .build(start="A")
    )  # fmt: skip
    solution = solve_one_exit(model, Question(), 1e-6)
    assert solution.value == pytest.approx(-3)
    trapped = [model.find("B.in"), model.find("B.x")]
    assert np.isnan(solution.values_lower[trapped]).all()
    assert math.isfinite(solution.values_lower[model.find("A.in")])
    assert recurl.verify(model, solution.certificate).upper == solution.upper
