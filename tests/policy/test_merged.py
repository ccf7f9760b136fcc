"""Merged contexts choose as before, and no two of them alike."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.policy import Policy
from recurl.policy.merged import merged


def copies(policy: Policy, count: int) -> Policy:
    """The same choices with each context several times, calls going from copy to copy."""
    x = policy.n_contexts
    callees = [(policy.callees + x * ((i + 1) % count)) for i in range(count)]
    return Policy(
        policy.model,
        np.tile(policy.context_component, count),
        np.tile(policy.actions, count),
        callees=np.concatenate(callees),
        start=policy.start + x,
    )


def test_copies_are_merged() -> None:
    policy = Policy.stackless(recurl.zoo.cloud(), {"T.u1": "divide", "S.u3": "fast"})
    found = merged(copies(policy, 3))
    assert found.n_contexts == policy.n_contexts
    assert recurl.evaluate(found).value == recurl.evaluate(policy).value


@pytest.mark.parametrize("name", ["cloud", "stack_matters"])
def test_contexts_that_differ_stay(name: str) -> None:
    model = recurl.zoo.make(name)
    policy = recurl.solve(model).policy
    assert policy is not None
    found = merged(policy)
    assert model.tables.n_components < found.n_contexts <= policy.n_contexts
    assert merged(copies(policy, 2)).n_contexts == found.n_contexts
    assert recurl.evaluate(found).value == pytest.approx(recurl.evaluate(policy).value, abs=1e-12)
    assert merged(found).n_contexts == found.n_contexts
