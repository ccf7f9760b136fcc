"""Robust bounds contain the exact value of every model drawn from the confidence sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recurl
from recurl.learn.pac.access import ModelAccess, with_probabilities
from recurl.learn.pac.adaptive import sets_of
from recurl.learn.pac.intervals import FAMILIES, level_size
from recurl.learn.pac.kernel import Sets
from recurl.learn.pac.robust import RobustBounds
from recurl.model.rmdp import RMDP
from recurl.model.tables import Floats


def member(sets: Sets, model: RMDP, random: np.random.Generator) -> Floats:
    """Some distributions of the sets: from a corner, or part of the way to one."""
    prob = sets.centre.copy()
    begin = model.tables.transition_start
    for a in range(model.tables.n_actions):
        at = slice(begin[a], begin[a + 1])
        order = random.permutation(at.stop - at.start)
        if sets.radius[a] >= 2:
            p = sets.low[at].copy()
            for k in order:
                p[k] += min(1 - p.sum(), sets.high[at][k] - p[k])
        else:
            p = sets.centre[at].copy()
            more = min(sets.radius[a] / 2, 1 - p[order[0]])
            p[order[0]] += more
            for k in order[:0:-1]:
                less = min(more, p[k])
                p[k] -= less
                more -= less
        share = random.choice([1.0, random.random()])
        prob[at] = share * p + (1 - share) * sets.centre[at]
    return prob


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


def known(model: RMDP) -> Sets:
    p, pairs = model.tables.prob, model.tables.n_actions
    return Sets(p, p, p, np.full(pairs, 2.0), np.zeros(pairs))


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
