from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo.reference import best_exit_values, step_bound

from recurl import zoo
from recurl.model.tables import CALL, EXIT
from recurl.zoo.random_edges import UNITS

KINDS = ["general", "one_exit", "deterministic", "hierarchical"]

sizes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "components": st.integers(1, 5),
        "nodes": st.integers(1, 12),
        "entries": st.integers(1, 2),
        "actions": st.integers(1, 3),
        "successors": st.integers(1, 4),
        "exit_probability": st.sampled_from([0.05, 0.4, "1/3", 0.95]),
        "call_fraction": st.sampled_from([0, 0.25, 1]),
        "load": st.sampled_from([0.0, 0.5, 0.9]),
        "locality": st.sampled_from(["near", "uniform"]),
    }
)
exits = st.integers(1, 3)


def edge_sums(model: Any, weights: np.ndarray) -> np.ndarray:
    return np.add.reduceat(weights, model.tables.transition_start[:-1])


def call_and_exit_probabilities(model: Any) -> tuple[np.ndarray, np.ndarray]:
    t = model.tables
    kind = t.vertex_kind[t.target]
    return edge_sums(model, t.prob * (kind == CALL)), edge_sums(model, t.prob * (kind == EXIT))


@given(sizes, exits, st.sampled_from(["general", "hierarchical"]))
def test_stochastic_models_keep_their_promises(size: dict[str, Any], k: int, kind: str) -> None:
    model = zoo.random_model(**size, exits=k, kind=kind)  # type: ignore[arg-type]
    t = model.tables
    assert (edge_sums(model, t.prob) == 1).all()
    assert (t.n_exits == k).all()
    assert (np.diff(t.action_start)[t.states] == size["actions"]).all()
    assert (np.diff(t.transition_start) <= size["successors"] + 1).all()
    calls, leaves = call_and_exit_probabilities(model)
    assert (leaves == leaves[0]).all()
    assert leaves[0] == pytest.approx(float(Fraction(size["exit_probability"])), abs=1e-9)
    assert (calls <= size["load"] * leaves[0]).all()
    assert kind != "hierarchical" or model.kind.hierarchical
    assert step_bound(model).max() <= 2 / (leaves[0] * (1 - size["load"])) + 1e-9


@given(sizes)
def test_one_exit(size: dict[str, Any]) -> None:
    model = zoo.random_model(**size, kind="one_exit")
    assert model.kind.one_exit
    x = best_exit_values(model)
    assert np.abs(x).max() <= step_bound(model).max() + 1e-9


@given(sizes, exits)
def test_deterministic(size: dict[str, Any], k: int) -> None:
    model = zoo.random_model(**size, exits=k, kind="deterministic")
    assert model.kind.deterministic
    assert model.kind.hierarchical
    assert np.isfinite(step_bound(model)).all()


@given(sizes, st.sampled_from(KINDS))
def test_no_action_has_a_target_twice(size: dict[str, Any], kind: str) -> None:
    t = zoo.random_model(**size, kind=kind).tables  # type: ignore[arg-type]
    action = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    assert len(set(zip(action, t.target, strict=True))) == t.n_transitions


@given(sizes, st.sampled_from(KINDS))
def test_the_seed_is_all_that_is_random(size: dict[str, Any], kind: Any) -> None:
    assert zoo.random_model(**size, kind=kind) == zoo.random_model(**size, kind=kind)
    other = zoo.random_model(**size | {"seed": size["seed"] + 1}, kind=kind)
    assert other != zoo.random_model(**size, kind=kind)


@pytest.mark.parametrize("kind", ["general", "one_exit", "hierarchical"])
def test_calls_are_as_frequent_as_asked(kind: Any) -> None:
    model = zoo.random_model(nodes=500, kind=kind, components=6, call_fraction=0.25)
    t = model.tables
    kinds = t.vertex_kind[t.target]
    calling = t.vertex_component[t.target] < (5 if kind == "hierarchical" else 6)
    share = (kinds == CALL)[calling].sum() / (kinds != EXIT)[calling].sum()
    # Of the actions whose successors would both call, some had one of them changed to a node.
    assert 0.2 < share <= 0.255


def test_without_a_bound_on_the_load_calls_may_outweigh_exits() -> None:
    calls, leaves = call_and_exit_probabilities(zoo.random_model(load=math.inf))
    assert (calls > leaves).any()


@pytest.mark.parametrize("stop", [0.05, 0.001])
@pytest.mark.parametrize("locality", ["near", "uniform"])
def test_plain_decision_processes(stop: float, locality: Any) -> None:
    model = zoo.random_model(
        components=1, nodes=3000, kind="one_exit", actions=3, successors=4,
        exit_probability=stop, call_fraction=0, locality=locality,
    )  # fmt: skip
    t = model.tables
    assert t.n_boxes == 0
    assert call_and_exit_probabilities(model)[1] == pytest.approx(stop, abs=1 / UNITS)
    vertex = np.repeat(t.action_vertex, np.diff(t.transition_start))
    inner = (t.vertex_kind[t.target] != EXIT) & (vertex > 1)
    step = np.abs(t.target[inner] - vertex[inner])
    off = np.minimum(step, 3000 - step)
    assert (off <= 10).all() == (locality == "near")


def test_rewards_stay_in_their_range() -> None:
    reward = zoo.random_model(reward_low=2, reward_high=3).tables.reward
    assert (reward >= 2).all()
    assert (reward <= 3).all()
    assert np.ptp(reward) > 0.9


def test_a_million_vertices() -> None:
    model = zoo.random_model(components=1000, nodes=715, kind="one_exit")
    assert model.tables.n_vertices == 1_003_000
    assert model.tables.n_transitions > 4_000_000
    assert (np.diff(model.tables.transition_start) > 0).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"components": 0}, "components must be a whole number, at least 1"),
        ({"nodes": 0}, "nodes must be"),
        ({"entries": 0}, "entries must be"),
        ({"exits": 0}, "exits must be"),
        ({"boxes": -1}, "boxes must be"),
        ({"actions": 0}, "actions must be"),
        ({"successors": 0}, "successors must be"),
        ({"seed": -1}, "seed must be"),
        ({"exit_probability": 0}, "exit_probability must be in"),
        ({"call_fraction": 1.5}, "call_fraction must be in"),
        ({"load": -1}, "load must not be negative"),
        ({"load": math.nan}, "load must not be negative"),
        ({"reward_low": 2}, "reward_low above reward_high"),
        ({"kind": "odd"}, "kind must be one of general, one_exit, deterministic, hierarchical"),
        ({"locality": "far"}, "locality must be one of uniform, near"),
        ({"kind": "one_exit", "exits": 2}, "exits must be 1 for the kind one_exit"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        zoo.random_model(**wrong)
