"""Policies with contexts: the same worth in every form."""

from __future__ import annotations

import numpy as np
import pytest
from tests.learn.pac.members import known

import recurl
from recurl.learn.pac.contexts import for_model, of_pairs, without_lanes, worst_cases
from recurl.learn.pac.corners import opened

MODELS = [
    recurl.zoo.cloud(),
    recurl.zoo.stack_matters(),
    recurl.zoo.random_model(seed=1, components=3, nodes=4),
    recurl.zoo.random_model(seed=2, components=2, nodes=5, entries=2, exits=3),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_the_worst_case_of_what_is_known_is_the_value_itself(model: recurl.RMDP) -> None:
    policy = recurl.solve(model, "certified", 1e-4).policy
    assert policy is not None
    cases = worst_cases(policy, known(model))
    assert sum(weight for weight, _ in cases) == pytest.approx(1)
    worst = sum(w * recurl.solve(m, epsilon=1e-8, objective="min").value for w, m in cases)
    assert worst == pytest.approx(recurl.evaluate(policy).value, abs=1e-6)


def test_where_a_policy_takes_any_action_the_worst_is_feared() -> None:
    model = recurl.zoo.cloud()
    ((_, worst),) = worst_cases(recurl.Policy.uniform(model), known(model))
    least = recurl.solve(model, objective="min", epsilon=1e-8).value
    assert recurl.solve(worst, objective="min", epsilon=1e-8).value == pytest.approx(least)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_lanes_are_left_out(model: recurl.RMDP) -> None:
    """Discounted again, in its own contexts, the policy is worth the same."""
    policy = recurl.solve(recurl.discount_steps(model, 0.8), "certified", 1e-3).policy
    assert policy is not None
    found = without_lanes(policy, model)
    assert found.model is model
    assert found.kind == policy.kind
    own = [(w, recurl.discount_steps(m, 0.8)) for w, m in worst_cases(found, known(model))]
    value = sum(w * recurl.solve(m, epsilon=1e-7).value for w, m in own)
    assert value == pytest.approx(recurl.evaluate(policy).value, abs=1e-6)
    assert without_lanes(found, model) == found


def test_choices_of_nature_are_left_out() -> None:
    model = recurl.zoo.cloud()
    p, sets = model.tables.prob, known(model)
    sets = sets._replace(low=np.maximum(p - 0.01, 0), high=np.minimum(p + 0.01, 1))
    wide = opened(model, sets)
    policy = recurl.solve(wide.model).policy
    assert policy is not None
    plain = of_pairs(policy, model, wide.pair)
    assert recurl.evaluate(plain).value == pytest.approx(-5.3425, abs=1e-4)
    assert for_model(plain, model) == plain
