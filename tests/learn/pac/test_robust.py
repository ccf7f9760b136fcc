"""Robust bounds contain the exact value of every model drawn from the confidence sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learn.pac.members import known, member

import recurl
from recurl.learn.pac.access import ModelAccess, with_probabilities
from recurl.learn.pac.adaptive import sets_of
from recurl.learn.pac.intervals import FAMILIES, level_size
from recurl.learn.pac.kernel import Sets
from recurl.learn.pac.robust import RobustBounds, Starts
from recurl.model.rmdp import RMDP

MODELS = [
    recurl.zoo.cloud(exits=1),
    recurl.zoo.gambler(p=0.25),
    *(recurl.zoo.random_model(seed=s, components=2, nodes=4, kind="one_exit") for s in range(3)),
]


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, len(MODELS) - 1), st.sampled_from(FAMILIES))
def test_every_model_of_the_sets_has_its_value_within_the_bounds(
    seed: int, which: int, family: str
) -> None:
    model, random = MODELS[which], np.random.default_rng(seed)
    access = ModelAccess(model, seed)
    access.level[:] = 8
    access.draw(np.full(model.tables.n_actions, level_size(8)))
    sets = sets_of(access.view(), family, 0.1)
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
        np.where(
            model.tables.states, bounds.choice(sets, -1.0) - model.tables.action_start[:-1], 0
        ),
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
    sets = sets_of(ModelAccess(model).view(), "clopper-pearson", 0.1)
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
