"""All methods on the same models of every kind: their intervals must have a point in common."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solving.references import small_model
from tests.strategies import proper_models

import recurl
from recurl.solving.api import ONE_EXIT

KINDS = ["one_exit", "deterministic", "hierarchical", "general"]


def check(model: recurl.RMDP, objective: str, epsilon: float = 1e-5) -> None:
    """Every method, unravelled bounds, and what the policy earns."""
    methods = ["auto", "certified", *(ONE_EXIT if model.kind.one_exit else ())]
    found = [recurl.solve(model, method, epsilon, objective=objective) for method in methods]
    assert all(solution.gap <= epsilon for solution in found)
    lows, highs = [s.lower for s in found], [s.upper for s in found]
    outer = unravelled(model, objective)
    assert max([*lows, outer[0]]) <= min([*highs, outer[1]]) + 1e-9
    assert found[0].policy is not None
    value = recurl.evaluate(found[0].policy).value
    assert min(lows) - 1e-9 <= value <= max(highs) + 1e-9


def unravelled(model: recurl.RMDP, objective: str, depth: int = 4) -> tuple[float, float]:
    """Bounds from finite models in which deeper calls are worth too little or too much."""
    steps = recurl.analyse(model).bound_everywhere
    most = float(np.abs(model.tables.reward).max()) * steps * (depth + 2) + 1
    ends = [
        recurl.solve(recurl.unravel(model, depth, sign * most), objective=objective)
        for sign in (-1, 1)
    ]
    return ends[0].lower, ends[1].upper


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(seed=st.integers(0, 10_000), objective=st.sampled_from(["max", "min"]))
def test_zoo(kind: str, seed: int, objective: str) -> None:
    check(small_model(seed, kind), objective)


@settings(max_examples=15)
@given(model=proper_models(), objective=st.sampled_from(["max", "min"]))
def test_drawn(model: recurl.RMDP, objective: str) -> None:
    check(model, objective)


@pytest.mark.parametrize("kind", KINDS)
def test_simulation(kind: str) -> None:
    model = small_model(7, kind)
    solution = recurl.solve(model)
    assert solution.policy is not None
    runs = recurl.simulate(model, solution.policy, 20_000, seed=3)
    assert not runs.truncated.any()
    error = runs.returns.std() / math.sqrt(len(runs.returns))
    assert abs(runs.returns.mean() - solution.value) <= 4 * error + 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", ["max", "min"])
def test_thresholds_are_decided(kind: str, objective: str) -> None:
    model = small_model(11, kind)
    value = recurl.solve(model, objective=objective).value
    for threshold, answer in ((value - 0.1, True), (value + 0.1, False)):
        decided = recurl.solve(model, epsilon=1e-9, objective=objective, at_least=threshold)
        assert decided.at_least(threshold) is answer


@pytest.mark.parametrize("kind", ["one_exit", "general"])
def test_steps_are_those_of_the_analysis(kind: str) -> None:
    model = small_model(5, kind)
    longest = recurl.solve(model, of="steps", epsilon=1e-7)
    assert longest.upper <= recurl.analyse(model).bound * (1 + 1e-6) + 1e-6
    shortest = recurl.solve(model, of="steps", objective="min", epsilon=1e-7)
    assert shortest.policy is not None
    assert recurl.evaluate(shortest.policy).steps == pytest.approx(shortest.value, abs=1e-6)
    assert shortest.value <= longest.value


def test_probabilities_of_all_exits() -> None:
    model = small_model(5, "general")
    t = model.tables
    first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
    names = [model.local_name(first + k) for k in range(t.n_exits[t.start_component])]
    least = [recurl.solve(model, of=f"exit:{n}", objective="min").upper for n in names]
    most = [recurl.solve(model, of=f"exit:{n}").lower for n in names]
    assert sum(least) <= 1 + 1e-6
    assert sum(most) >= 1 - 1e-6
    ends = recurl.evaluate(recurl.Policy.uniform(model)).exit_probabilities
    for low, high, p in zip(least, most, ends.values(), strict=True):
        assert low - 1e-5 <= p <= high + 1e-5
