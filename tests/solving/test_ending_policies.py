from __future__ import annotations

import math

import numpy as np
import pytest
from tests.solving.references import cubic, retry_client, stop_or_bet

import recurl
from recurl.solving.ending_policies import ending_policy, endless_policy


def test_a_client_that_may_retry_for_ever_gives_up() -> None:
    model = retry_client()
    found = ending_policy(model)
    assert found is not None
    actions, steps = found
    policy = recurl.Policy.stackless(model, actions)
    assert recurl.evaluate(policy).steps == steps[model.tables.starts[0]] < np.inf


def test_none_ends() -> None:
    builder = recurl.Builder("shut").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("go").to("a").action("come").to("a")
    for name in ("x", "y"):
        builder.at(f"a.{name}").action("up").to(name)
    assert ending_policy(builder.build()) is None


def test_betting_goes_on() -> None:
    # Uniformly it ends: half of the time one stops. Always betting ends with 2/3 only.
    model = stop_or_bet()
    assert recurl.evaluate(recurl.Policy.uniform(model)).termination[0] == 1.0
    found = endless_policy(model)
    assert found is not None
    assert found.policy.action_name("A.in") == "bet"
    assert found.termination[1] == pytest.approx(2 / 3)


def test_without_a_choice() -> None:
    found = endless_policy(cubic())
    assert found is not None
    assert found.termination[1] == pytest.approx((math.sqrt(5) - 1) / 2)


@pytest.mark.parametrize("model", [recurl.zoo.cloud(), recurl.zoo.palindrome(), stop_or_bet("2/5")])
def test_proper_models_have_none(model: recurl.RMDP) -> None:
    assert endless_policy(model) is None


@pytest.mark.parametrize(("exits", "seed"), [(2, 3), (3, 1)])
def test_a_witness_against_a_multi_exit_model(exits: int, seed: int) -> None:
    model = recurl.zoo.random_model(
        seed, 2, 3, kind="general", exits=exits, load=1.6, exit_probability=0.4,
        call_fraction=0.6,
    )  # fmt: skip
    found = recurl.analyse(model)
    assert found.verdict == "not proper"
    assert found.witness is not None
    runs = recurl.simulate(model, found.witness, 2000, seed=1, step_limit=3000)
    assert runs.truncated.mean() > 0.05
