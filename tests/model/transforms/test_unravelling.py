from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import binary, landing, models, value_after

import recurl
from recurl.errors import LimitError, ModelError
from recurl.model.rmdp import RMDP


def reachable(model: RMDP, depth: int) -> set[tuple[tuple[int, ...], int]]:
    """States with at most so many boxes on their stack, by a search of its own."""
    t = model.tables
    found: set[tuple[tuple[int, ...], int]] = {((), v) for v in model.start_exact()}
    fresh = list(found)
    while fresh:
        stack, vertex = fresh.pop()
        first, last = t.transition_start[t.action_start[vertex : vertex + 2]]
        for target in t.target[first:last].tolist():
            after = landing(model, stack, target)
            if after is not None and len(after[0]) <= depth and after not in found:
                found.add(after)
                fresh.append(after)
    return found


@given(models(), st.integers(0, 3))
def test_states_are_the_reachable_ones(model: RMDP, depth: int) -> None:
    flat = recurl.unravel(model, depth)
    states = reachable(model, depth)
    assert flat.tables.n_boxes == 0
    assert flat.tables.states.sum() == len(states)
    assert len(set(flat.names.nodes)) == flat.tables.n_vertices
    binary(flat)  # checks every rule of arrays


@given(models(), st.integers(0, 3))
def test_value_is_that_of_the_definition_with_calls_cut(model: RMDP, depth: int) -> None:
    def deeper(stack: tuple[int, ...], entry: int) -> Fraction:
        assert len(stack) == depth + 1
        return Fraction(sum(stack) - entry, 7)

    flat = recurl.unravel(model, depth, deeper)
    for horizon in (1, 2, 4):
        assert value_after(flat, horizon) == value_after(model, horizon, depth=depth, deeper=deeper)


@given(models())
def test_nothing_is_cut_within_as_many_steps_as_the_depth(model: RMDP) -> None:
    assert value_after(recurl.unravel(model, 4), 4) == value_after(model, 4)


@given(models())
def test_floats_of_binary_models_stay_floats(model: RMDP) -> None:
    exact, floats = recurl.unravel(model, 2, -1.5), recurl.unravel(binary(model), 2, -1.5)
    assert (floats.exact.binary, exact.exact.binary) == (True, False)
    for one, other in zip(exact.tables, floats.tables, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def finite_value(model: RMDP) -> float:
    """Value of a model without boxes, by value iteration."""
    t = model.tables
    assert t.n_boxes == 0
    states = np.flatnonzero(t.states)
    expected = np.add.reduceat(t.prob * t.reward, t.transition_start[:-1])
    x, change = np.zeros(t.n_vertices), 1.0
    while change > 1e-13:
        q = expected + np.add.reduceat(t.prob * x[t.target], t.transition_start[:-1])
        best = np.maximum.reduceat(q, t.action_start[states])
        change = np.abs(x[states] - best).max()
        x[states] = best
    return model.start_value(x)


def test_bounds_close_in_on_the_value_of_cloud() -> None:
    model = recurl.zoo.cloud()
    lower = [finite_value(recurl.unravel(model, depth, -20)) for depth in (2, 5, 8)]
    upper = [finite_value(recurl.unravel(model, depth, 0)) for depth in (2, 5, 8)]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert lower[-1] - 1e-12 <= -5.3425 <= upper[-1] + 1e-12
    assert upper[-1] - lower[-1] < 0.02


@pytest.mark.parametrize("n", [1, 2, 6])
def test_flattened_succinct_models_are_worth_what_they_should(n: int) -> None:
    flat = recurl.flatten(recurl.zoo.succinct(n))
    assert str(flat.kind) == "1-exit, deterministic, hierarchical"
    assert finite_value(flat) == 2**n - 1


def test_flattening_names_the_recursive_components() -> None:
    with pytest.raises(ModelError) as caught:
        recurl.flatten(recurl.zoo.cloud())
    assert [problem.place for problem in caught.value.problems] == ["component H", "component S"]
    assert "unravel" in str(caught.value)


def test_flattening_keeps_the_exits_apart() -> None:
    model = (
        recurl.Builder()
        .component("A", entries="in", exits=["yes", "no"]).box("ask", "B")
        .at("in").action("go").to("ask")
        .at("ask.left").action("say").to("yes").at("ask.right").action("say").to("no")
        .component("B", entries="in", exits=["left", "right"])
        .at("in").action("toss").to("left", "1/3").to("right", "2/3")
        .build("A")
    )  # fmt: skip
    flat = recurl.flatten(model)
    assert [flat.vertex_name(v) for v in range(5)] == [
        "A.in", "A.yes", "A.no", "A.ask>in", "A.ask:left",
    ]  # fmt: skip
    assert flat.action_names(3) == ["toss"]


def test_a_limit_says_what_would_help() -> None:
    with pytest.raises(LimitError, match="more than 1000 states down to depth 20: raise the limit"):
        recurl.unravel(recurl.zoo.gambler(), 20, limit=1000)
    assert recurl.unravel(recurl.zoo.gambler(), 2, limit=13).tables.states.sum() == 13


def test_features_and_labels_come_along() -> None:
    model = (
        recurl.Builder()
        .features("height")
        .component("A", entries="in", exits="out").box("b", "A")
        .at("in", features=[1], label="begin").action("go").to("b", 0.5).to("out", 0.5)
        .at("b.out", features=[2]).action("up").to("out")
        .build()
    )  # fmt: skip
    flat = recurl.unravel(model, 1)
    assert flat.features is not None
    assert [flat.local_name(v) for v in range(5)] == ["in", "out", "deeper", "b>in", "b:out"]
    assert flat.features[:, 0].tolist() == [1, 0, 0, 1, 2]
    assert flat.labels == {0: "begin", 3: "begin"}


def test_a_negative_depth_is_refused() -> None:
    with pytest.raises(ValueError, match="depth must not be negative"):
        recurl.unravel(recurl.zoo.gambler(), -1)
