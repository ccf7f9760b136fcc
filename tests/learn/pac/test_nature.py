"""Corners of sets against linear programs; models of nature against models of the sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.learn.pac.members import known, member

import recurl
from recurl.learn.pac.confidence import FAMILIES, level_size, sets_of
from recurl.learn.pac.model_access import ModelAccess
from recurl.learn.pac.nature import EXACT, corners, of_pairs, opened, without_lanes, worst_cases
from recurl.learn.pac.observed import with_probabilities

rows = st.lists(
    st.tuples(st.floats(-5, 5), st.floats(0.01, 1), st.floats(0, 0.5)), min_size=1, max_size=7
)


@given(rows)
def test_the_best_corner_of_a_box_is_the_optimum_over_it(
    row: list[tuple[float, float, float]],
) -> None:
    worth, weight, width = map(np.array, zip(*row, strict=True))
    centre = weight / weight.sum()
    low, high = np.maximum(centre - width, 0), np.minimum(centre + width, 1)
    found = corners(low, high, centre, 2.0)
    best = max(float(p @ worth) for p in found)
    bounds = list(zip(low, high, strict=True))
    optimum = -linprog(-worth, A_eq=np.ones((1, len(row))), b_eq=[1.0], bounds=bounds).fun
    np.testing.assert_allclose([p.sum() for p in found], 1)
    assert min(p.min() for p in found) >= -1e-15
    if len(row) <= EXACT:
        assert best == pytest.approx(optimum, abs=1e-7)
    assert best >= optimum - 1e-7


@given(rows, st.floats(0, 1.9))
def test_the_best_corner_of_a_ball_is_the_optimum_over_it(
    row: list[tuple[float, float, float]], radius: float
) -> None:
    worth, weight, _ = map(np.array, zip(*row, strict=True))
    centre, m = weight / weight.sum(), len(row)
    found = corners(np.zeros(m), np.ones(m), centre, radius)
    best, eye = max(float(p @ worth) for p in found), np.eye(m)
    matrix = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, m)), np.ones((1, m))]])
    limits = np.concatenate([centre, -centre, [radius]])
    total = np.append(np.ones(m), np.zeros(m))[None]
    cost = np.append(-worth, np.zeros(m))
    optimum = -linprog(cost, matrix, limits, total, [1.0], bounds=(0, None)).fun
    if m <= EXACT:
        assert best == pytest.approx(optimum, abs=1e-7)
    assert best >= optimum - 1e-7


@pytest.mark.parametrize("family", FAMILIES)
def test_no_model_of_the_sets_is_worth_more_than_the_opened_one(family: str) -> None:
    model = recurl.zoo.random_model(seed=2, components=2, nodes=4, successors=3)
    access, random = ModelAccess(model, 3), np.random.default_rng(0)
    access.level[:] = 22
    access.draw(np.full(model.tables.n_actions, level_size(22)))
    sets = sets_of(access.observed(), family, 0.1)
    greatest = recurl.solve(opened(model, sets).model, epsilon=1e-7).upper
    values = [
        recurl.solve(with_probabilities(model, member(sets, model, random)), epsilon=1e-7).lower
        for _ in range(10)
    ]
    assert recurl.solve(model).value <= greatest
    assert max(values) <= greatest


def test_known_probabilities_open_nothing() -> None:
    model = recurl.zoo.cloud()
    same = opened(model, known(model))
    np.testing.assert_array_equal(same.pair, np.arange(model.tables.n_actions))
    np.testing.assert_array_equal(same.model.tables.prob, model.tables.prob)
    np.testing.assert_array_equal(same.model.tables.target, model.tables.target)


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


def test_where_a_policy_takes_any_action_the_worst_counts() -> None:
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
    assert plain.changed(model) == plain
