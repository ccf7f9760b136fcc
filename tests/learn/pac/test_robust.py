"""Robust bounds contain the exact value of every model drawn from the confidence sets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.learn.pac.members import known, member

import recurl
from recurl.learn.pac.confidence import FAMILIES, Sets, level_size, sets_of
from recurl.learn.pac.model_access import ModelAccess
from recurl.learn.pac.observed import with_probabilities
from recurl.learn.pac.robust import RobustBounds, Starts
from recurl.model.rmdp import RMDP
from recurl.model.tables import Layout

MODELS = [
    recurl.zoo.cloud(exits=1),
    recurl.zoo.gambler(p=0.25),
    *(recurl.zoo.random_model(seed=s, components=2, nodes=4, kind="one_exit") for s in range(3)),
]


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, len(MODELS) - 1), st.sampled_from(FAMILIES))
def test_every_model_of_the_sets_has_its_value_within_the_bounds(
    seed: int, which: int, family: str
) -> None:
    model, random = MODELS[which], np.random.default_rng(seed)
    access = ModelAccess(model, seed)
    access.level[:] = 8
    access.draw(np.full(model.tables.n_actions, level_size(8)))
    sets = sets_of(access.observed(), family, 0.1)
    bounds = RobustBounds(access.model)
    bounds.tighten(sets)
    if not bounds.bounded:
        return
    drawn = with_probabilities(model, member(sets, model, random))
    solution = recurl.solve(drawn, epsilon=1e-9)
    assert bounds.lower <= solution.upper
    assert solution.lower <= bounds.upper
    worst = recurl.Policy.stackless(
        drawn,
        bounds.choice(sets, -1.0),
    )
    assert recurl.evaluate(worst).value >= bounds.lower - 1e-9
    assert recurl.analyse(drawn).bound_everywhere <= (bounds.steps or 0) * (1 + 1e-6)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_known_probabilities_give_the_optimum(model: RMDP) -> None:
    bounds = RobustBounds(model)
    bounds.tighten(known(model), 1e-12)
    value = recurl.solve(model, epsilon=1e-10).value
    assert bounds.lower - 1e-12 <= value <= bounds.upper + 1e-12
    assert bounds.upper - bounds.lower < 1e-9


def test_a_worst_case_in_closed_form() -> None:
    """Between 0.2 and 0.3 the gambler's steps are (1 + 2p)/(1 - 2p), greatest at 0.3."""
    model = recurl.zoo.gambler(p=0.25)
    p = model.tables.prob
    low, high = p.copy(), p.copy()
    low[:2], high[:2] = [0.2, 0.7], [0.3, 0.8]
    bounds = RobustBounds(model)
    bounds.tighten(Sets(low, high, p, np.full(3, 2.0), np.zeros(3)), 1e-12)
    assert bounds.upper == pytest.approx(1.6 / 0.4)
    assert bounds.lower == pytest.approx(1.4 / 0.6)


def test_without_a_bound_on_steps_nothing_is_claimed() -> None:
    model = recurl.zoo.gambler(p=0.4)
    sets = sets_of(ModelAccess(model).observed(), "clopper-pearson", 0.1)
    bounds = RobustBounds(model)
    bounds.tighten(sets)
    assert (bounds.lower, bounds.upper) == (-math.inf, math.inf)
    given = RobustBounds(model, steps=10)
    given.tighten(sets)
    assert 0 <= given.lower <= 9 <= given.upper <= 10 + 1e-9


def test_what_may_be_missing_widens_the_bounds_by_its_worth() -> None:
    """An unseen outcome of probability m may be worth r (1 + K)."""
    model = recurl.zoo.gambler(p=0.25)
    sets = known(model)
    gone = np.array([0.0, 0.0, 0.1])
    low = sets.low.copy()
    low[-1] = 0.9
    bounds = RobustBounds(model, 20.0, (-1.0, 1.0))
    bounds.tighten(sets._replace(missing=gone, low=low), 1e-12)
    # z = 0.9 + 0.1 * 21 = 3, y = 1 + x + z and x = 1 + (x + y) / 4, that is x = 2.5 + z / 2
    assert bounds.upper == pytest.approx(4)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_value_of_unknown_starts_is_rounded_to_the_safe_side(sign: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 7))
        x, low = rng.normal(size=n), rng.uniform(0, 1 / n, n)
        high = low + rng.uniform(0, 1 / n, n)
        high[-1] = 1.0
        sets = Sets(low, high, low / low.sum(), np.array([2.0]), np.array([0.0]))
        rest, exact = 1 - sum(map(Fraction, low.tolist())), Fraction(0)
        for k in np.argsort(-sign * x).tolist():
            more = min(rest, Fraction(high[k]) - Fraction(low[k]))
            rest -= more
            exact += (Fraction(low[k]) + more) * Fraction(x[k])
        found = Starts(np.arange(n, dtype=np.int32), sets).expectation(x, 0.0, sign)
        assert sign * (Fraction(found) - exact) >= 0
        assert found == pytest.approx(float(exact))


def test_starts_are_weighted_at_their_best_and_worst() -> None:
    """Three starts worth 0, 1 and 4 with probabilities known to 0.1, and one that may exist."""
    centre = np.array([0.5, 0.3, 0.2])
    sets = Sets(centre - 0.1, centre + 0.1, centre, np.array([2.0]), np.array([0.0]))
    starts, x = Starts(np.array([2, 0, 1], np.int32), sets), np.array([1.0, 4.0, 0.0])
    assert starts.expectation(x, 9.0, 1.0) == pytest.approx(0.3 * 1 + 0.3 * 4)
    assert starts.expectation(x, -9.0, -1.0) == pytest.approx(0.3 * 1 + 0.1 * 4)
    ball = Starts(starts.vertices, sets._replace(radius=np.array([0.3])))
    assert ball.expectation(x, 9.0, 1.0) == pytest.approx(0.3 * 1 + 0.35 * 4)
    more = Starts(starts.vertices, sets._replace(missing=np.array([0.05])))
    assert more.expectation(x, 9.0, 1.0) == pytest.approx(0.05 * 9 + 0.3 * 4 + 0.25 * 1)


def test_a_start_that_is_not_known_widens_the_bounds() -> None:
    model = recurl.zoo.gambler(p=0.25)
    one = Sets(*(np.array([1.0]) for _ in range(3)), np.array([2.0]), np.array([0.0]))
    sure = RobustBounds(model, 6.0, (-1.0, 1.0), starts=Starts(np.array([0], np.int32), one))
    other = one._replace(low=np.array([0.9]), missing=np.array([0.1]))
    unsure = RobustBounds(model, 6.0, (-1.0, 1.0), starts=Starts(np.array([0], np.int32), other))
    for bounds in (sure, unsure):
        bounds.tighten(known(model), 1e-12)
    assert sure.upper == pytest.approx(3)
    assert unsure.upper == pytest.approx(0.9 * 3 + 0.1 * 6)
    assert unsure.lower == pytest.approx(0.9 * 3 - 0.1 * 6)


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


def extreme(model: RMDP, sets: Sets, sign: float, beyond: float) -> float:
    """The expectation of the first action, where all that follows is worth 0."""
    bounds = RobustBounds(model)
    x = np.zeros(model.tables.n_vertices + 1)
    return float(bounds._expectations(sets, model.tables.reward, x, sign, beyond)[0])


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
    beyond = sign * 7.0
    found = extreme(model, sets, sign, beyond)
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
    found = extreme(model, sets, sign, 0.0)
    # variables: p and the absolute differences from the centre
    eye = np.eye(m)
    matrix = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, m)), np.ones((1, m))]])
    limits = np.concatenate([centre, -centre, [radius]])
    cost = np.append(-sign * worth, np.zeros(m))
    total = np.append(np.ones(m), np.zeros(m))[None]
    best = linprog(cost, A_ub=matrix, b_ub=limits, A_eq=total, b_eq=[1.0], bounds=(0, None))
    assert found == pytest.approx(-sign * best.fun, abs=1e-7)


def test_steps_and_visits_of_a_known_model() -> None:
    model = recurl.zoo.gambler(p=0.25)
    bounds = RobustBounds(model)
    d, excess = bounds.greatest_steps(known(model), 1e-9)
    assert excess == pytest.approx(0, abs=1e-8)
    assert d[0] == pytest.approx(3)
    visits = bounds.visits(model.tables.prob, np.arange(3, dtype=np.int32), 1e-12)
    assert visits.sum() == pytest.approx(3)


def test_steps_without_bound_are_seen() -> None:
    for p in (0.5, 0.6):
        model = recurl.zoo.gambler(p=p)
        assert RobustBounds(model).greatest_steps(known(model))[1] == np.inf


def test_no_pair_is_due_for_the_gap_where_all_is_known() -> None:
    model = recurl.zoo.cloud(exits=1)
    bounds = RobustBounds(model)
    bounds.tighten(known(model), 1e-13)
    np.testing.assert_allclose(bounds.scores(known(model)), 0, atol=1e-10)
