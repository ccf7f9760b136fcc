"""The shape of models, against plain searches over runs and sets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from tests.model.examples import server, two_exits
from tests.strategies import models

import recurl
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.structure import CallGraph, Kind
from recurl.model.tables import CALL, EXIT, RETURN

HORIZON = 6

State = tuple[tuple[int, ...], int]
"""Pending boxes, and vertex."""


def successors(model: RMDP, state: State, depth: int) -> set[State]:
    """States one step later, call ports and exits passed through; runs that leave are gone."""
    t = model.tables
    stack, vertex = state
    first = t.transition_start[t.action_start[vertex]]
    last = t.transition_start[t.action_start[vertex + 1]]
    after = set()
    for target in t.target[first:last].tolist():
        if t.vertex_kind[target] == CALL:
            after.add(((*stack, int(t.vertex_box[target])), int(t.entry_of_call(target))))
        elif t.vertex_kind[target] != EXIT:
            after.add((stack, target))
        elif len(stack) > depth:
            back = int(t.box_return[stack[-1]] + t.vertex_port[target])
            after.add((stack[:-1], back))
        else:
            after.add(((), target))
    return after


def distances(model: RMDP, vertex: int) -> dict[int, int]:
    """Steps from a vertex to the exits of its component, if there are at most HORIZON."""
    t = model.tables
    found: dict[int, int] = {}
    seen: set[State] = set()
    layer = {((), vertex)}
    for steps in range(1, HORIZON + 1):
        after = set().union(*(successors(model, state, 0) for state in layer)) - seen
        for _, v in after:
            if t.vertex_kind[v] == EXIT:
                found.setdefault(int(t.vertex_port[v]), steps)
        layer = {state for state in after if t.vertex_kind[state[1]] != EXIT}
        seen |= layer
    return found


@settings(max_examples=30)
@given(models())
def test_distances_are_fewest_steps(model: RMDP) -> None:
    t = model.tables
    for vertex in np.flatnonzero(t.states).tolist():
        found = distances(model, vertex)
        exits = t.n_exits[t.vertex_component[vertex]]
        for k, distance in enumerate(model.reach.distance[vertex].tolist()):
            if k in found:
                assert distance == found[k]
            else:
                assert distance > HORIZON or k >= exits
    for vertex in np.flatnonzero(t.vertex_kind == EXIT):
        assert model.reach.distance[vertex, t.vertex_port[vertex]] == 0


def summaries(model: RMDP) -> list[set[int]]:
    """Exits that each vertex can reach, as sets that grow until they are closed."""
    t = model.tables
    ends: list[set[int]] = [set() for _ in range(t.n_vertices)]
    while True:
        before = sum(map(len, ends))
        for v in range(t.n_vertices):
            if t.vertex_kind[v] == EXIT:
                ends[v] = {int(t.vertex_port[v])}
            elif t.vertex_kind[v] == CALL:
                back = int(t.box_return[t.vertex_box[v]])
                ends[v] = set().union(*(ends[back + k] for k in ends[int(t.entry_of_call(v))]))
            else:
                row = slice(*t.transition_start[t.action_start[v : v + 2]])
                ends[v] = set().union(*(ends[w] for w in t.target[row]))
        if sum(map(len, ends)) == before:
            return ends


def visited(model: RMDP, ends: list[set[int]]) -> set[int]:
    """Vertices that runs can visit, by following transitions and calls that return."""
    t = model.tables
    seen: set[int] = set()
    todo = t.starts.tolist()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if t.vertex_kind[v] == CALL:
            entry = int(t.entry_of_call(v))
            todo += [entry, *(int(t.box_return[t.vertex_box[v]]) + k for k in ends[entry])]
        elif t.vertex_kind[v] != EXIT:
            todo += t.target[slice(*t.transition_start[t.action_start[v : v + 2]])].tolist()
    return seen


@given(models())
def test_reachable_and_dead_vertices(model: RMDP) -> None:
    ends = summaries(model)
    assert set(np.flatnonzero(model.reach.reachable).tolist()) == visited(model, ends)
    np.testing.assert_array_equal(model.reach.dead, [not end for end in ends])


@settings(max_examples=30)
@given(models())
def test_runs_visit_reachable_vertices_only(model: RMDP) -> None:
    t = model.tables
    layer: set[State] = {((), v) for v in t.starts.tolist()}
    for _ in range(4):
        assert all(model.reach.reachable[v] for _, v in layer)
        layer = {
            after
            for state in layer
            if t.vertex_kind[state[1]] != EXIT
            for after in successors(model, state, 0)
        }


@given(models())
def test_longest_way_out(model: RMDP) -> None:
    nearest = model.reach.distance.min(axis=1)
    reached = [d for d, r in zip(nearest, model.reach.reachable, strict=True) if r]
    assert model.longest_way_out == max([d for d in reached if d < math.inf], default=0)


@given(models())
def test_the_call_graph_and_its_groups(model: RMDP) -> None:
    t = model.tables
    n = t.n_components
    edges = set(zip(t.box_owner.tolist(), t.box_component.tolist(), strict=True))
    graph = model.call_graph
    assert list(graph.edges) == sorted(edges)
    reach = np.zeros((n, n), bool)
    for caller, callee in edges:
        reach[caller, callee] = True
    for w in range(n):
        reach |= reach[:, [w]] & reach[[w], :]
    group = {c: i for i, members in enumerate(graph.groups) for c in members}
    assert sorted(group) == list(range(n))
    assert all(
        (group[a] == group[b]) == (a == b or (reach[a, b] and reach[b, a]))
        for a in range(n)
        for b in range(n)
    )
    assert all(group[callee] <= group[caller] for caller, callee in edges)
    assert graph.recursive == reach.diagonal().any()
    kind = model.kind
    assert kind.hierarchical == (not graph.recursive)
    assert kind.one_exit == all(count == 1 for count in t.n_exits)
    assert kind.deterministic == all(np.diff(t.transition_start) == 1)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind(True, True, True), "1-exit, deterministic, hierarchical"),
        (Kind(False, False, False), "multi-exit, recursive"),
        (Kind(True, False, False), "1-exit, recursive"),
    ],
)
def test_kinds_in_words(kind: Kind, words: str) -> None:
    assert str(kind) == words


def test_a_known_longest_way_out() -> None:
    # From the call port: 1 step in the callee, 1 after the return; the rest is 1 step away.
    model = server()
    assert model.longest_way_out == 2
    assert model.reach.distance[model.find("S.retry.start")].tolist() == [2]
    assert CallGraph.of(model.tables).groups == ((0,),)
    other = two_exits().build()
    assert other.reach.distance[other.find("A.in")].tolist() == [4, 4]
    assert other.longest_way_out == 5  # from the call port again.in
    assert [other.names.components[g[0]] for g in other.call_graph.groups] == ["B", "A"]


def test_a_vertex_that_cannot_leave_does_not_count_for_the_longest_way_out() -> None:
    model = (
        Builder()
        .component("A", entries="in", exits="out")
        .at("in").action("go").to("out", 0.5).to("trap", 0.5)
        .at("trap").action("stay").to("trap")
        .build()
    )  # fmt: skip
    assert model.longest_way_out == 1
    assert model.reach.dead[model.find("A.trap")]


def test_return_ports_of_calls_that_never_return_are_not_reachable() -> None:
    model = (
        Builder()
        .component("A", entries="in", exits="out").box("b", "A")
        .at("in").action("go").to("b")
        .at("b.out").action("go").to("out")
        .build()
    )  # fmt: skip
    t = model.tables
    assert not model.reach.reachable[np.flatnonzero(t.vertex_kind == RETURN)].any()
    assert model.reach.dead[model.find("A.in")]
    assert model.longest_way_out == 0


def test_a_sound_model_has_no_warnings() -> None:
    assert server().warnings == ()


@pytest.fixture
def odd() -> Builder:
    return (
        Builder()
        .component("A", entries="in", exits="out").box("b", "A")
        .at("in").action("go").to("out", "1/2").to("trap", "1/2")
        .at("trap").action("stay").to("trap")
        .at("attic").action("go").to("b")
        .at("b.out").action("go").to("out")
    )  # fmt: skip


def test_unreachable_and_dead_vertices_are_warned_about(odd: Builder) -> None:
    model = odd.build()
    assert [str(warning) for warning in model.warnings] == [
        "component A, vertex attic: no run can visit it (remove it, or lead to it)",
        "component A, box b: no run can call it (remove it, or call it)",
        "component A, vertex trap: no run can leave from it (lead to an exit, if it should end)",
    ]
    assert model.warnings[0].path == ("components", "A", "vertices", "attic")


def test_return_ports_of_exits_never_taken_are_not_mentioned() -> None:
    model = (
        Builder()
        .component("A", entries="in", exits=["good", "bad"]).box("b", "A")
        .at("in").action("go").to("good", "1/2").to("b", "1/2")
        .at("b.good").action("go").to("good")
        .at("b.bad").action("go").to("bad")
        .build()
    )  # fmt: skip
    assert model.warnings == ()
    assert recurl.zoo.palindrome().warnings == ()


def test_many_places_are_one_warning() -> None:
    builder = Builder().component("A", entries="in", exits="out").at("in").action("go").to("out")
    for number in range(9):
        builder.at(f"attic{number}").action("go").to("out")
    (warning,) = builder.build().warnings
    assert str(warning) == (
        "9 vertices, such as 'A.attic0', 'A.attic1', 'A.attic2': no run can visit them "
        "(remove them, or lead to them)"
    )


def test_the_diameter_of_the_paper_is_that_of_rewards() -> None:
    cloud = recurl.zoo.cloud()
    least, most = cloud.exact.reward_range
    assert cloud.reward_diameter == max(-least, most) > 0
    assert cloud.with_rewards_times(Fraction(-2)).reward_diameter == 2 * cloud.reward_diameter
    assert cloud.longest_way_out == 6
