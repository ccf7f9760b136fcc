from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.definition import models

import recurl
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.policy.outcomes import outcomes_of_policy


def row(outcomes, slot: int) -> slice:  # type: ignore[no-untyped-def]
    return slice(outcomes.row_start[slot], outcomes.row_start[slot + 1])


def test_rows_of_a_stackless_policy_are_those_of_its_actions() -> None:
    model = recurl.zoo.cloud()
    outcomes = outcomes_of_policy(recurl.Policy.stackless(model, {"S.u3": "fast"}))
    here = row(outcomes, model.find("S.u3"))  # slots are vertices: one context per component
    assert outcomes.below[here].tolist() == pytest.approx([0.4, 1.0], abs=1e-15)
    assert outcomes.move[here].tolist() == [CALLS, EXITS]
    assert outcomes.landing[here].tolist() == [model.find("S.u3"), 0]
    assert outcomes.push[here].tolist() == [model.find("S.b5.u4"), -1]
    assert outcomes.reward[here].tolist() == [-1.0, -1.0]
    assert outcomes.start.tolist() == [model.find("T.u1")]


def test_rows_of_the_uniform_policy_mix_all_actions() -> None:
    model = recurl.zoo.cloud()
    outcomes = outcomes_of_policy(recurl.Policy.uniform(model))
    here = row(outcomes, model.find("S.u3"))
    np.testing.assert_allclose(np.diff(outcomes.below[here], prepend=0), [0.15, 0.35, 0.2, 0.3])
    assert row(outcomes, model.find("T.u2")) == slice(2, 2)  # an exit has no row


def test_a_call_enters_the_context_that_the_policy_names() -> None:
    model = recurl.zoo.gambler()
    size = model.tables.n_vertices
    callees = np.zeros((2, size), int)
    callees[0, model.find("W.first.in")] = 1  # everywhere else, context 0 is called
    policy = recurl.Policy(
        model, [0, 0], np.zeros(2 * size), callees=callees.ravel(), start=[0], kind="by context"
    )
    outcomes = outcomes_of_policy(policy)
    outer, inner = row(outcomes, model.find("W.in")), row(outcomes, size + model.find("W.in"))
    back = model.find("W.first.out")
    assert (outcomes.landing[outer][0], outcomes.push[outer][0]) == (size, back)
    assert (outcomes.landing[inner][0], outcomes.push[inner][0]) == (0, size + back)


@given(models())
def test_rows_are_distributions_that_end_in_one(model: recurl.RMDP) -> None:
    outcomes = outcomes_of_policy(recurl.Policy.uniform(model))
    for slot in range(model.tables.n_vertices):
        below = outcomes.below[row(outcomes, slot)]
        assert len(below) == 0 or below[-1] == 1
        assert (np.diff(below, prepend=0) >= 0).all()
    steps = outcomes.move == STEP
    np.testing.assert_array_equal(
        outcomes.landing[steps], model.tables.target[outcomes.transition[steps]]
    )
    assert outcomes.start_below[-1] == 1


def test_sums_are_as_exact_in_the_last_row_as_in_the_first() -> None:
    model = recurl.zoo.random_model(seed=1, components=1000, nodes=100)
    outcomes = outcomes_of_policy(
        recurl.Policy.stackless(model, np.zeros(model.tables.n_vertices, int))
    )
    several = outcomes.row_start[:-1][np.diff(outcomes.row_start) > 1]
    prob = model.tables.prob[outcomes.transition[several]]
    assert len(several) > 100_000
    np.testing.assert_allclose(outcomes.below[several], prob, rtol=0, atol=1e-15)
