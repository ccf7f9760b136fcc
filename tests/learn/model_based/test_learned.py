"""The model that counts make."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl import ModelBasedRecursiveLearning
from recurl.learn.model_based.counts import END, LEAVE, STEP, OutcomeCounts
from recurl.learn.model_based.learned import learned


@pytest.mark.parametrize(
    "model",
    [recurl.zoo.cloud(), recurl.zoo.leaky_pfa(), recurl.zoo.random_model(1, 2, 6)],
    ids=lambda model: model.name,
)
def test_probabilities_are_counts(model):
    made = ModelBasedRecursiveLearning(model, episode_limit=200).learn(3000)
    found, counts, _ = made.learned_model()
    t = found.tables
    total = np.add.reduceat(counts, t.transition_start[:-1])
    sizes = np.diff(t.transition_start)
    seen = np.repeat(total, sizes)
    assert (seen > 0).any()
    expected = np.where(seen > 0, counts / np.maximum(seen, 1), 1.0)
    assert t.prob == pytest.approx(expected, abs=1e-12)


def test_learned_models_are_ordinary_models(tmp_path):
    model = recurl.zoo.cloud()
    made = ModelBasedRecursiveLearning(model, episode_limit=200).learn(5000)
    found = made.learned_model().model
    assert recurl.solve(found).value == pytest.approx(-5.3425, abs=0.3)
    assert recurl.simulate(found, episodes=10, seed=1).mean < 0
    recurl.dump(found, tmp_path / "learned.json")
    again = recurl.load(tmp_path / "learned.json")
    assert again.fingerprint == found.fingerprint
    assert str(found)


def test_all_transitions_lead_where_they_led():
    model = recurl.zoo.leaky_pfa()
    made = ModelBasedRecursiveLearning(model, episode_limit=200).learn(5000)
    found, _, state = made.learned_model()
    keys = list(made.engine.counts.states)
    for vertex, own in enumerate(state.tolist()):
        if own >= 0:
            assert found.labels[vertex] == model.vertex_name(keys[own])
    assert found.tables.n_components == model.tables.n_components
    assert sorted(found.tables.n_exits) == sorted(model.tables.n_exits)


def test_untried_states_and_ends_within_calls_leave_everything():
    counts = OutcomeCounts(spaces.Discrete(4), spaces.Discrete(1))
    counts.begin(counts.visit(0, None))
    counts.add(0, STEP, counts.state(1), -1, 2.0)
    found = learned(counts, "small", str).model
    assert recurl.solve(found).value == pytest.approx(2.0)
    assert found.tables.n_exits.tolist() == [2]
    counts.add(counts.pairs_of[counts.visit(1, None)][0], LEAVE, 0, -1, 1.0)
    assert learned(counts, "small", str).model.tables.n_exits.tolist() == [1]
    counts.add(1, END, 0, -1, 5.0)
    assert recurl.solve(learned(counts, "small", str).model).value == pytest.approx(5.0)
