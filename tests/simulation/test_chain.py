from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.definition import models

import recurl
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.simulation.chain import chain_of


def row(chain, slot: int) -> slice:  # type: ignore[no-untyped-def]
    return slice(chain.row_start[slot], chain.row_start[slot + 1])


def test_rows_of_a_stackless_policy_are_those_of_its_actions() -> None:
    model = recurl.zoo.cloud()
    chain = chain_of(recurl.Policy.stackless(model, {"S.u3": "fast"}))
    here = row(chain, model.find("S.u3"))  # slots are vertices: one context per component
    assert chain.below[here].tolist() == pytest.approx([0.4, 1.0], abs=1e-15)
    assert chain.move[here].tolist() == [CALLS, EXITS]
    assert chain.landing[here].tolist() == [model.find("S.u3"), 0]
    assert chain.push[here].tolist() == [model.find("S.b5.u4"), -1]
    assert chain.reward[here].tolist() == [-1.0, -1.0]
    assert chain.start.tolist() == [model.find("T.u1")]


def test_rows_of_the_uniform_policy_mix_all_actions() -> None:
    model = recurl.zoo.cloud()
    chain = chain_of(recurl.Policy.uniform(model))
    here = row(chain, model.find("S.u3"))
    np.testing.assert_allclose(np.diff(chain.below[here], prepend=0), [0.15, 0.35, 0.2, 0.3])
    assert row(chain, model.find("T.u2")) == slice(2, 2)  # an exit has no row


def test_a_call_enters_the_context_that_the_policy_names() -> None:
    model = recurl.zoo.gambler()
    size = model.tables.n_vertices
    callees = np.zeros((2, size), int)
    callees[0, model.find("W.first.in")] = 1  # elsewhere, context 0 is called
    policy = recurl.Policy(
        model, [0, 0], np.zeros(2 * size), callees=callees.ravel(), start=[0], kind="by context"
    )
    chain = chain_of(policy)
    outer, inner = row(chain, model.find("W.in")), row(chain, size + model.find("W.in"))
    back = model.find("W.first.out")
    assert (chain.landing[outer][0], chain.push[outer][0]) == (size, back)
    assert (chain.landing[inner][0], chain.push[inner][0]) == (0, size + back)


@given(models())
def test_rows_are_distributions_that_end_in_one(model: recurl.RMDP) -> None:
    chain = chain_of(recurl.Policy.uniform(model))
    for slot in range(model.tables.n_vertices):
        below = chain.below[row(chain, slot)]
        assert len(below) == 0 or below[-1] == 1
        assert (np.diff(below, prepend=0) >= 0).all()
    steps = chain.move == STEP
    np.testing.assert_array_equal(
        chain.landing[steps], model.tables.target[chain.transition[steps]]
    )
    assert chain.start_below[-1] == 1


def test_sums_are_as_exact_in_the_last_row_as_in_the_first() -> None:
    model = recurl.zoo.random_model(seed=1, components=1000, nodes=100)
    chain = chain_of(recurl.Policy.stackless(model, np.zeros(model.tables.n_vertices, int)))
    several = chain.row_start[:-1][np.diff(chain.row_start) > 1]
    prob = model.tables.prob[chain.transition[several]]
    assert len(several) > 100_000
    np.testing.assert_allclose(chain.below[several], prob, rtol=0, atol=1e-15)
