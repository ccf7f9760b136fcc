"""Where runs of a policy get to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import models
from tests.policy.some import random_policy, situations

import recurl
from recurl.errors import LimitError
from recurl.policy import Policy
from recurl.policy.reached import Reached


@given(models(), st.integers(0, 2**32 - 1))
def test_all_that_a_run_comes_to_is_found(model: recurl.RMDP, seed: int) -> None:
    policy = random_policy(model, seed)
    found = set(Reached(policy).slots)
    met = {policy.slot(context, vertex) for _, context, vertex in situations(policy, 3)}
    assert met <= found


@given(models(), st.integers(0, 2**32 - 1))
def test_nothing_else_is_found(model: recurl.RMDP, seed: int) -> None:
    policy = random_policy(model, seed, 1)
    reached = Reached(policy)
    # Every frame is found by a call, and every place by a step or a return: follow them back to
    # the start, through frames that are known to be left by the exit they are left by.
    targets = {place for place, _ in reached.starts} | {end for _, end, _ in reached.steps}
    targets |= {reached.place(call.frame, reached.entry[call.frame]) for call in reached.calls}
    left = {(reached.frame[place], k) for place, k, _ in reached.leaves}
    for call in reached.calls:
        for k in reached.exits[call.frame]:
            assert (call.frame, k) in left
            targets.add(reached.place(reached.frame[call.place], call.back + k))
    assert targets == set(range(len(reached.slot)))


def two_doors() -> recurl.RMDP:
    """B is left by the exit that belongs to the entry; only the first entry is called."""
    builder = recurl.Builder("doors").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("call").to("b.one")
    builder.at("b.x").action("up").to("out").at("b.y").action("up").to("b.two")
    builder.component("B", entries=["one", "two"], exits=["x", "y"])
    builder.at("one").action("go").to("x").at("two").action("go").to("y")
    return builder.build("A.in")


def test_a_call_returns_only_by_exits_of_its_entry() -> None:
    model = two_doors()
    reached = Reached(Policy.stackless(model, {}))
    names = [model.vertex_name(slot) for slot in reached.slots]
    assert names == ["A.in", "A.b.x", "B.one"]
    assert [model.vertex_name(slot) for slot in reached.ports] == ["A.b.one"]


def test_the_search_is_given_up_beyond_a_limit() -> None:
    policy = Policy.uniform(recurl.zoo.spelunking())
    with pytest.raises(LimitError, match="more than 100 places"):
        Reached(policy, most=100)
