from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solving.references import iterate, random_policy, small_model

import recurl
from recurl.solving.expectations import expectations
from recurl.solving.rows import rows_of_model, rows_of_policy


@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["general", "one_exit"]))
def test_expectations_agree_with_plain_iteration(seed: int, kind: str) -> None:
    model = small_model(seed, kind)
    policy = recurl.Policy.stackless(model, random_policy(model, seed).actions)
    found = expectations(rows_of_policy(policy), everywhere=True)
    _, steps, reward = iterate(policy)
    places = found.leaving.places
    np.testing.assert_allclose(found.steps[places], steps[places], rtol=1e-9)
    assert (np.abs(found.reward - reward)[places] <= found.error[places] + 1e-9).all()
    assert found.error[places].max() < 1e-9


def test_a_chain_that_may_not_end_has_infinite_steps() -> None:
    found = expectations(rows_of_model(recurl.zoo.gambler(p=0.6).tables))
    assert found.steps[0] == math.inf
    assert found.reward[0] == math.inf


def test_a_critical_chain_has_infinite_steps_and_rewards() -> None:
    found = expectations(rows_of_model(recurl.zoo.gambler(p=0.5).tables))
    assert (found.steps[0], found.reward[0]) == (math.inf, math.inf)


def stuck(gain: float, loss: float, before: float = 0.0) -> recurl.RMDP:
    builder = recurl.Builder("stuck").component("A", entries="in", exits="out")
    builder.at("in").action("go", reward=before).to("out", "1/2").to("a", "1/2")
    builder.at("a").action("x", reward=gain).to("b")
    builder.at("b").action("x", reward=loss).to("a")
    return builder.build()


@pytest.mark.parametrize(
    ("gain", "loss", "value"), [(1, 0, math.inf), (0, -1, -math.inf), (1, -1, math.nan), (0, 0, 3)]
)
def test_totals_of_endless_runs(gain: float, loss: float, value: float) -> None:
    found = expectations(rows_of_model(stuck(gain, loss, before=3).tables))
    assert found.steps[0] == math.inf
    assert found.reward[0] == pytest.approx(value, nan_ok=True)
