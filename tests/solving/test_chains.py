from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solving.references import cubic, iterate, looping, random_policy, small_model

import recurl
from recurl.linear import systems
from recurl.solving import chains
from recurl.solving.chains import Leaving, leave_probabilities
from recurl.solving.rows import rows_of_model, rows_of_policy


def leaving(model: recurl.RMDP) -> Leaving:
    return leave_probabilities(rows_of_model(model.tables), everywhere=True)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (cubic(), (math.sqrt(5) - 1) / 2),
        (recurl.zoo.gambler(p="3/5"), 2 / 3),
        (looping(), 1 / 2),
    ],
)
def test_known_probabilities_to_end(model: recurl.RMDP, expected: float) -> None:
    found = leaving(model)
    assert found.lower[0, 0] <= expected <= found.upper[0, 0]
    assert found.upper[0, 0] - found.lower[0, 0] < 1e-11


def test_the_and_or_tree() -> None:
    model = recurl.zoo.and_or()
    at, expected = model.find("and.in"), math.sqrt(10) / 2 - 1
    found = leaving(model)
    assert found.value[at] == pytest.approx([1 - expected, expected], abs=1e-12)
    assert found.lower[at, 1] <= expected <= found.upper[at, 1]


def test_a_critical_chain_gets_an_honest_interval() -> None:
    found = leaving(recurl.zoo.gambler(p=0.5))
    assert found.lower[0, 0] <= 1.0 <= found.upper[0, 0]
    assert 1 - 1e-6 < found.lower[0, 0] < 1
    assert found.iterations <= chains.NEWTON_LIMIT


def test_one_exit_chains_that_end_need_no_newton() -> None:
    found = leaving(recurl.zoo.gambler(p=0.4))
    assert found.iterations == 0
    assert found.lower[0, 0] == found.upper[0, 0] == 1.0


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), load=st.sampled_from([0.8, 2.0, math.inf]))
def test_newton_agrees_with_plain_iteration(seed: int, load: float) -> None:
    model = small_model(seed, load=load, call_fraction=0.6)
    policy = random_policy(model, seed)
    policy = recurl.Policy.stackless(model, policy.actions)
    found = leave_probabilities(rows_of_policy(policy), everywhere=True)
    reference, _, _ = iterate(policy, 300)  # from below, slowly where it is nearly critical
    assert (reference <= found.upper).all()
    np.testing.assert_allclose(found.value, reference, atol=0.03)
    again, _, _ = iterate(policy, 1, leave=found.value.copy())
    np.testing.assert_allclose(found.value, again, atol=1e-9)


@given(seed=st.integers(0, 10_000), limit=st.sampled_from(["DENSE", "DIRECT"]))
def test_large_systems_agree_with_small_ones(seed: int, limit: str) -> None:
    model = small_model(seed, load=math.inf, call_fraction=0.6)
    rows = rows_of_policy(recurl.Policy.uniform(model))
    with pytest.MonkeyPatch.context() as patch:
        expected = leave_probabilities(rows)
        patch.setattr(systems, limit, 1)
        found = leave_probabilities(rows)
    np.testing.assert_allclose(found.value, expected.value, atol=1e-9)


@given(seed=st.integers(0, 10_000))
def test_exits_of_runs_that_end_sum_to_one(seed: int) -> None:
    model = small_model(seed, load=0.8)
    policy = random_policy(model, seed, contexts=2)
    found = leave_probabilities(rows_of_policy(policy))
    start = rows_of_policy(policy).start[0]
    assert found.value[start].sum() == pytest.approx(1, abs=1e-10)
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()


def test_places_that_no_run_visits_are_left_out() -> None:
    model = recurl.zoo.cloud()
    policy = recurl.Policy.stackless(model, {"T.u1": "mono"})
    rows = rows_of_policy(policy)
    assert leave_probabilities(rows).places.tolist() == [model.find("T.u1")]
    assert len(leave_probabilities(rows, everywhere=True).places) == model.tables.states.sum()
