"""How often runs get to places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.some import random_policy
from tests.strategies import proper_models

import recurl
from recurl.policy import Policy
from recurl.policy.visits import Count, Visits


def everywhere(policy: Policy) -> range:
    return range(len(policy.reached.slot))


@given(proper_models(), st.integers(0, 2**32 - 1))
def test_all_visits_together_are_the_steps_of_a_run(model: recurl.RMDP, seed: int) -> None:
    policy = random_policy(model, seed)
    assert not policy.visits.sampled
    total = policy.visits.at(everywhere(policy)).mean
    assert total == pytest.approx(recurl.evaluate(policy).steps, rel=1e-9)


@pytest.mark.parametrize("name", ["cloud", "brackets", "spelunking", "gambler"])
def test_visits_are_those_of_simulated_runs(name: str) -> None:
    model = getattr(recurl.zoo, name)()
    policy = Policy.uniform(model) if name != "spelunking" else recurl.solve(model).policy
    assert policy is not None
    episodes = 2000
    runs = recurl.simulate(model, policy, episodes, seed=3, traces=episodes)
    counts = np.zeros((episodes, model.tables.n_vertices))
    for episode, trace in enumerate(runs.traces):
        np.add.at(counts[episode], [step.vertex for step in trace], 1)
    margin = 5 * counts.std(axis=0, ddof=1) / np.sqrt(episodes) + 5 / episodes
    vertices = policy.slot_vertex[policy.reached.slot]
    sampled = Visits(policy.reached, exact=0, seed=1)
    assert sampled.sampled
    for vertex in np.unique(vertices):
        places = np.flatnonzero(vertices == vertex).tolist()
        exact, drawn = policy.visits.at(places), sampled.at(places)
        assert exact.margin is None
        assert abs(exact.mean - counts[:, vertex].mean()) <= margin[vertex]
        assert drawn.margin is not None
        assert abs(drawn.mean - exact.mean) <= 3 * drawn.margin + 5 / 1000


def test_where_runs_may_not_end_visits_are_sampled() -> None:
    policy = Policy.uniform(recurl.zoo.gambler(p=0.6))
    assert policy.visits.sampled
    assert 0.2 < policy.visits.cut < 0.5  # a third of the runs never ends
    assert policy.visits.at([0]).margin is not None


def test_where_a_run_stays_for_ever_visits_are_sampled() -> None:
    builder = recurl.Builder("stay").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("room").at("room").action("stay").to("room")
    policy = Policy.uniform(builder.build())
    assert policy.visits.sampled
    assert policy.visits.cut == 1


def test_near_the_edge_of_ending_visits_are_still_exact() -> None:
    policy = Policy.uniform(recurl.zoo.gambler(p=0.4999))
    assert policy.visits.at(everywhere(policy)).mean == pytest.approx(9999, rel=1e-6)


def test_counts_in_words() -> None:
    assert str(Count(0.123456)) == "0.1235"
    assert str(Count(2.0, 0.031)) == "2 ± 0.031"


@pytest.mark.parametrize("exact", [0, 1000])
def test_means_by_place_are_those_of_single_places(exact: int) -> None:
    policy = Policy.uniform(recurl.zoo.cloud())
    visits = Visits(policy.reached, exact=exact)
    assert visits.sampled == (exact == 0)
    assert visits.means.tolist() == pytest.approx(
        [visits.at([place]).mean for place in everywhere(policy)]
    )
