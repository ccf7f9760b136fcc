"""The inner optimisation against linear programs, bounds against sampled models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import recurl
from recurl.learn.pac import kernel
from recurl.learn.pac.kernel import Sets
from recurl.model.rmdp import RMDP
from recurl.model.tables import Layout


def fan(rewards: list[float]) -> RMDP:
    """One action to as many nodes as there are rewards; each then exits."""
    m = len(rewards)
    return RMDP.from_arrays(
        Layout.of([1], [1], [m]),
        action_start=[0, 1, 1, *range(2, m + 2)],
        transition_start=[0, *range(m, 2 * m + 1)],
        target=[*range(2, m + 2), *([1] * m)],
        prob=[1 / m] * m + [1.0] * m,
        reward=[*rewards, *([0.0] * m)],
    )


def optimum(worth: np.ndarray, low: np.ndarray, high: np.ndarray, sign: float) -> float:
    bounds = list(zip(low, high, strict=True))
    found = linprog(-sign * worth, A_eq=np.ones((1, len(worth))), b_eq=[1.0], bounds=bounds)
    return float(-sign * found.fun)


rows = st.lists(
    st.tuples(st.floats(-5, 5), st.floats(0.01, 1), st.floats(0, 0.5)), min_size=2, max_size=6
)


@given(rows, st.sampled_from([1.0, -1.0]), st.floats(0, 0.3))
def test_boxes_against_a_linear_program(
    row: list[tuple[float, float, float]], sign: float, missing: float
) -> None:
    worth, weight, width = map(np.array, zip(*row, strict=True))
    centre = weight / weight.sum()
    low, high = np.maximum(centre - width, 0), np.minimum(centre + width, 1)
    model = fan(worth.tolist())
    rest = np.ones(len(row))
    actions = model.tables.n_actions
    gone = np.zeros(actions)
    gone[0] = missing
    sets = Sets(
        np.append(low, rest),
        np.append(high, rest),
        np.append(centre, rest),
        np.full(actions, 2.0),
        gone,
    )
    room = kernel.new_room(model.tables)
    x = np.zeros(model.tables.n_vertices)
    beyond = sign * 7.0
    found = kernel.expectation(model.tables, sets, model.tables.reward, x, 0, sign, beyond, room)
    if missing > 0:
        worth, low, high = np.append(worth, beyond), np.append(low, 0), np.append(high, missing)
    assert found == pytest.approx(optimum(worth, low, high, sign), abs=1e-7)


@given(rows, st.sampled_from([1.0, -1.0]), st.floats(0, 1.9))
def test_balls_against_a_linear_program(
    row: list[tuple[float, float, float]], sign: float, radius: float
) -> None:
    worth, weight, _ = map(np.array, zip(*row, strict=True))
    centre, m = weight / weight.sum(), len(row)
    model = fan(worth.tolist())
    actions, ends = model.tables.n_actions, np.ones(2 * m)
    radii = np.zeros(actions)
    radii[0] = radius
    sets = Sets(0 * ends, ends, np.append(centre, np.ones(m)), radii, np.zeros(actions))
    room = kernel.new_room(model.tables)
    x = np.zeros(model.tables.n_vertices)
    found = kernel.expectation(model.tables, sets, model.tables.reward, x, 0, sign, 0.0, room)
    # variables: p and the absolute differences from the centre
    eye = np.eye(m)
    matrix = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, m)), np.ones((1, m))]])
    limits = np.concatenate([centre, -centre, [radius]])
    cost = np.append(-sign * worth, np.zeros(m))
    total = np.append(np.ones(m), np.zeros(m))[None]
    best = linprog(cost, A_ub=matrix, b_ub=limits, A_eq=total, b_eq=[1.0], bounds=(0, None))
    assert found == pytest.approx(-sign * best.fun, abs=1e-7)


def exact_sets(model: RMDP) -> Sets:
    p, pairs = model.tables.prob, model.tables.n_actions
    return Sets(p, p, p, np.full(pairs, 2.0), np.zeros(pairs))


def test_steps_and_visits_of_a_known_model() -> None:
    model = recurl.zoo.gambler(p=0.25)
    t, sets = model.tables, exact_sets(model)
    d = np.zeros(t.n_vertices)
    excess = kernel.steps_from_below(t, sets, d, 0.0, 1e-9, 1000)
    assert excess == pytest.approx(0, abs=1e-8)
    assert d[0] == pytest.approx(3)
    choice = t.action_start[:-1].astype(np.int32)
    y = kernel.visits(t, t.prob, choice, 1e-12, 1000)
    assert y.sum() == pytest.approx(3)


def test_steps_without_bound_are_seen() -> None:
    for p in (0.5, 0.6):
        model = recurl.zoo.gambler(p=p)
        d = np.zeros(model.tables.n_vertices)
        excess = kernel.steps_from_below(model.tables, exact_sets(model), d, 0.0, 0.02, 3000)
        assert excess == np.inf


def test_doubts_vanish_where_all_is_known() -> None:
    model = recurl.zoo.cloud(exits=1)
    x = np.random.default_rng(0).normal(size=model.tables.n_vertices)
    for sign in (1.0, -1.0):
        found = kernel.doubts(model.tables, exact_sets(model), model.tables.reward, x, sign, 0.0)
        np.testing.assert_allclose(found, 0, atol=1e-13)
