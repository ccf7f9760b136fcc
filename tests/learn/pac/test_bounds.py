"""Any model, adaptively: bounds hold for every model of the sets, and as often as claimed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learn.pac.members import member

import recurl
from recurl.learn.pac.bounds import CertifiedBounds
from recurl.learn.pac.confidence import FAMILIES, sets_of
from recurl.learn.pac.criteria import TotalReward
from recurl.learn.pac.learner import PACLearner
from recurl.learn.pac.loop import Loop, PACTask
from recurl.learn.pac.model_access import ModelAccess
from recurl.learn.pac.observed import with_probabilities

MODELS = [
    recurl.zoo.cloud(),
    recurl.zoo.stack_matters(),
    *(recurl.zoo.random_model(seed=s, components=2, nodes=4, exits=2) for s in range(2)),
    recurl.zoo.random_model(seed=4, components=2, nodes=3, exits=2, entries=2, successors=3),
]


def looped(access: ModelAccess, task: PACTask) -> Loop:
    """A finished loop on any model."""
    criterion = TotalReward()
    loop = Loop(access, CertifiedBounds(task, criterion), task, criterion)
    loop.run()
    return loop


@settings(max_examples=6)
@given(st.integers(0, 10**6), st.sampled_from(MODELS), st.sampled_from(FAMILIES))
def test_every_model_of_the_sets_has_its_value_within_the_bounds(
    seed: int, model: recurl.RMDP, family: str
) -> None:
    access = ModelAccess(model, seed)
    random = np.flatnonzero(access.support > 1)
    access.raise_levels(random, by=20)
    task = PACTask(1e6, 0.1, intervals=family)
    run = looped(access, task)
    assert run.reached
    sets = sets_of(access.observed(), family, task.delta)
    drawn = with_probabilities(model, member(sets, model, np.random.default_rng(seed)))
    solution = recurl.solve(drawn, epsilon=1e-7)
    assert run.lower <= solution.upper
    assert solution.lower <= run.upper
    policy, attained = run.bounds.policy()
    assert policy is not None
    assert recurl.evaluate(policy.changed(drawn)).value >= attained - 1e-9


def test_repetitions_hold_as_often_as_claimed_after_every_round() -> None:
    model, held = recurl.zoo.cloud(), 0
    truth = recurl.solve(model, epsilon=1e-7).value
    for seed in range(10):
        rounds: list[bool] = []
        found = PACLearner(1.0, 0.1, seed=seed).learn(
            model,
            callback=lambda low, high, _, rounds=rounds: rounds.append(low <= truth <= high),
        )
        assert found.reached
        assert found.upper - found.lower <= 1.0
        held += all(rounds)
    assert held >= 9


def test_several_exits_need_no_assumption() -> None:
    model = recurl.zoo.random_model(seed=1, components=2, nodes=4)
    found = PACLearner(0.6, 0.05, seed=1).learn(model)
    truth = recurl.solve(model).value
    assert found.reached
    assert found.lower <= truth <= found.upper
    assert found.policy is not None
    assert recurl.evaluate(found.policy).value >= truth - found.loss
    assert "no plan beforehand" in found.statement


def test_samples_go_where_the_value_hangs_on_them() -> None:
    """Of two gambles, one hardly matters: it pays a thousandth."""
    model = (
        recurl.Builder("two")
        .component("A", entries="in", exits=["out", "odd"])
        .at("in").action("go").to("x", 0.5, reward=1).to("y", 0.5, reward=-1)
        .at("x").action("toss").to("out", 0.5, reward=0.001).to("odd", 0.5)
        .at("y").action("toss").to("out", 0.5, reward=0.001).to("odd", 0.5)
        .build()
    )  # fmt: skip
    access = ModelAccess(model, 1)
    looped(access, PACTask(0.05, 0.1))
    much, little, least = access.observed().totals
    assert much > 10 * max(little, least)


def test_what_may_never_end_is_said() -> None:
    model = (
        recurl.Builder("loop")
        .component("A", entries="in", exits=["out", "odd"])
        .at("in").action("go").to("x", 0.5).to("odd", 0.5)
        .at("x").action("stay", reward=1).to("x").action("leave").to("out")
        .build()
    )  # fmt: skip
    found = PACLearner(0.1, 0.1).learn(model, most=100)
    assert found.upper == math.inf
    assert not found.reached
    assert any("never ends" in text for text in found.warnings)


def test_pairs_are_sampled_evenly_while_some_policy_may_not_end() -> None:
    access, task = ModelAccess(recurl.zoo.cloud(), seed=2), PACTask(0.5, 0.1)
    access.raise_levels(np.flatnonzero(access.support > 1), by=2)
    bounds = CertifiedBounds(task, TotalReward())
    assert bounds.tighten(access.observed(), math.inf) == (-math.inf, math.inf)
    assert set(bounds.scores().tolist()) == {1.0}


def test_searches_begin_with_the_points_of_the_last_round() -> None:
    access, task = ModelAccess(recurl.zoo.cloud(), seed=1), PACTask(1.0, 0.1)
    access.raise_levels(np.flatnonzero(access.support > 1), by=12)
    bounds, resumed = (CertifiedBounds(task, TotalReward()) for _ in range(2))
    lower, upper = bounds.tighten(access.observed(), math.inf)
    resumed.restore(bounds.state())
    assert resumed.state().keys() == bounds.state().keys()
    assert len(bounds.state()) == 3 * recurl.zoo.cloud().tables.n_components
    again = bounds.tighten(access.observed(), upper - lower)
    assert resumed.tighten(access.observed(), upper - lower) == again
    assert again == pytest.approx((lower, upper), abs=0.2)


def test_a_model_without_chance_needs_no_sample() -> None:
    model = recurl.zoo.random_model(seed=1, components=2, nodes=3, kind="deterministic", exits=2)
    found = PACLearner(0.01, 0.1).learn(model)
    assert found.samples == 0
    assert found.value == pytest.approx(recurl.solve(model).value, abs=0.01)
