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
from recurl.policy.reached import CallSearch, Reached


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


def test_a_call_goes_on_only_behind_exits_of_its_entry() -> None:
    # Entry 0 calls entry 10, entry 1 calls entry 20; 10 leaves by 1, 20 by 2.
    calls = {0: (10, 100), 1: (20, 200)}
    leaves = {11: 1, 20: 2, 101: 5, 202: 6}
    search = CallSearch()
    for entry in (0, 1):
        search.enter(entry)
    for place in search.places():
        node = search.node[place]
        if node in calls:
            entry, back = calls[node]
            search.call(place, entry, back.__add__)
        elif node in leaves:
            search.leave(place, leaves[node])
        else:
            search.visit(search.frame[place], node + 1)
    exits = {search.entry[frame]: list(found) for frame, found in enumerate(search.exits)}
    assert exits == {0: [5], 1: [6], 10: [1], 20: [2]}
    assert [n for f, n in zip(search.frame, search.node, strict=True) if f == 0] == [0, 101]


def test_recursion_feeds_its_own_exits() -> None:
    # 0 calls itself, or leaves by 0; behind exit k < 3 it leaves by k + 1.
    search = CallSearch()
    search.enter(0)
    for place in search.places():
        node = search.node[place]
        if node == 0:
            search.visit(0, 1)
            search.leave(place, 0)
        elif node == 1:
            search.call(place, 0, (10).__add__)
        else:
            search.leave(place, min(node - 10 + 1, 3))
    assert list(search.exits[0]) == [0, 1, 2, 3]
