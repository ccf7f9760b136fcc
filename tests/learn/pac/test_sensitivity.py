"""Derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.learn.pac.observed import with_probabilities
from recurl.learn.pac.sensitivity import sensitivity


def value(policy: recurl.Policy, model: recurl.RMDP, discount: float) -> float:
    """The discounted value, in the model whose lanes end all."""
    if discount == 1:
        return recurl.evaluate(policy.changed(model)).value
    lanes = recurl.discount_steps(model, discount)
    t, u = model.tables, lanes.tables
    actions = np.zeros(u.n_vertices, np.int32)
    for v in range(t.n_vertices):
        actions[lanes.find(model.vertex_name(v))] = policy.actions[v]
    return recurl.evaluate(recurl.Policy.stackless(lanes, actions)).value


@pytest.mark.parametrize("discount", [1.0, 0.8])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_derivatives_are_those_of_finite_differences(seed: int, discount: float) -> None:
    model = recurl.zoo.random_model(seed=seed, components=2, nodes=4, exits=3, successors=3)
    t = model.tables
    choice = np.random.default_rng(seed).integers(0, np.maximum(np.diff(t.action_start), 1))
    policy = recurl.Policy.stackless(model, choice)
    gain, small = sensitivity(policy, discount), 1e-6
    own, greatest = value(policy, model, discount), 0.0
    for a in np.flatnonzero(np.diff(t.transition_start) > 1).tolist():
        i, prob = int(t.transition_start[a]), t.prob.copy()
        prob[i] += small
        prob[i + 1] -= small
        change = value(policy, with_probabilities(model, prob), discount) - own
        assert gain[i] - gain[i + 1] == pytest.approx(change / small, abs=0.03)
        greatest = max(greatest, abs(change / small))
    assert greatest > 0.3


def test_what_is_never_visited_does_not_matter() -> None:
    model = recurl.zoo.cloud()
    gain = sensitivity(recurl.Policy.stackless(model, {"T.u1": "mono"}))
    inside = model.tables.vertex_component[model.tables.action_vertex] > 0
    pair = np.repeat(np.arange(model.tables.n_actions), np.diff(model.tables.transition_start))
    assert (gain[inside[pair]] == 0).all()
    assert gain[0] == -8
