"""Names of contexts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import models
from tests.policy.some import random_policy

import recurl
from recurl.model.tables import CALL
from recurl.policy import Policy


def test_contexts_are_called_by_the_calls_around_them() -> None:
    policy = recurl.solve(recurl.zoo.cloud()).policy
    assert policy is not None
    names = set(policy.context_names)
    deep = {f"H within {n} calls of H" for n in range(2, 9)}
    assert names - {"H, where no run gets to"} == {"T", "S", "H", "H within 1 call of H"} | deep


def test_components_that_call_each_other_count_their_own_calls() -> None:
    builder = recurl.Builder("rally").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("go").to("b", 0.5).to("out", 0.5).at("b.x").action("go").to("out")
    builder.component("B", entries="in", exits="x").box("a", "A")
    builder.at("in").action("go").to("a", 0.5).to("x", 0.5).at("a.out").action("go").to("x")
    model = builder.build("A")
    component, after = [0, 1, 0, 1, 0], [1, 2, 3, 4, 3]
    kinds = np.split(model.tables.vertex_kind, model.tables.component_start[1:-1])
    callees = [
        entered if kind == CALL else 0
        for own, entered in zip(component, after, strict=True)
        for kind in kinds[own]
    ]
    policy = Policy(model, component, [0] * len(callees), callees=callees, start=[0])
    nested = ("A within 1 call of A", "B within 1 call of B", "A within 2 calls of A")
    assert policy.context_names == ("A", "B", *nested)


def test_a_stackless_policy_has_the_names_of_its_components() -> None:
    assert Policy.uniform(recurl.zoo.cloud()).context_names == ("T", "S", "H")


def test_boxes_tell_apart_what_components_do_not() -> None:
    builder = recurl.Builder("twins").component("A", entries="in", exits="out")
    builder.box("left", "B").box("right", "B")
    builder.at("in").action("go").to("left")
    builder.at("left.x").action("go").to("right").at("right.x").action("go").to("out")
    builder.component("B", entries="in", exits="x").at("in").action("go").to("x")
    model = builder.build("A")
    t = model.tables
    component = [0, 1, 1]
    callees = [1 if "left" in model.vertex_name(v) else 2 for v in range(t.component_start[1])]
    callees += [0, 0] * 2
    policy = Policy(model, component, [0] * len(callees), callees=callees, start=[0])
    assert policy.context_names == ("A", "A.left > B", "A.right > B")


@given(models(), st.integers(0, 2**32 - 1))
def test_names_are_unique_and_the_same_each_time(model: recurl.RMDP, seed: int) -> None:
    policy = random_policy(model, seed)
    names = policy.context_names
    assert len(set(names)) == policy.n_contexts == len(names)
    assert random_policy(model, seed).context_names == names
