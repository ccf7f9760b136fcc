"""What policies do, as rules on the stack."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import models
from tests.policy.some import random_policy, situations

import recurl
from recurl.policy import RANDOM, Policy
from recurl.policy.conditions import CalledAt, Pending, Within, Worth
from recurl.policy.rules import Rule


def name_of(policy: Policy, vertex: int, context: int) -> str:
    action = policy.action(vertex, context)
    return "any" if action == RANDOM else policy.model.action_names(vertex)[action]


@given(models(), st.integers(0, 2**32 - 1), st.booleans())
def test_a_rule_says_what_the_policy_does_on_every_stack(
    model: recurl.RMDP, seed: int, values: bool
) -> None:
    policy = random_policy(model, seed, values=values)
    rules: dict[int, Rule] = {}
    for stack, context, vertex in situations(policy, 4):
        rule = rules.setdefault(vertex, policy.explain(vertex))
        assert rule.action(stack, context) == name_of(policy, vertex, context), str(rule)
    for vertex in range(model.tables.n_vertices):
        reached = {policy.slot(x, vertex) for x in _contexts(policy, vertex)}
        reached &= set(policy.reached.slots)
        found = {policy.slot(x, vertex) for c in policy.explain(vertex).clauses for x in c.contexts}
        assert found == reached


def _contexts(policy: Policy, vertex: int) -> list[int]:
    own = policy.model.tables.vertex_component[vertex]
    return [x for x, c in enumerate(policy.context_component) if c == own]


def cloud_policy() -> Policy:
    policy = recurl.solve(recurl.zoo.cloud()).policy
    assert policy is not None
    return policy


def boxes(model: recurl.RMDP, *names: str) -> list[int]:
    return [list(model.names.boxes).index(name) for name in names]


def test_the_optimum_of_the_cloud_says_yes_once_eight_calls_are_pending() -> None:
    policy = cloud_policy()
    rule = policy.explain("H.u5")
    assert rule.text == (
        "no with 0..7 pending calls of H at b6, yes from 8 on (in runs there are at most 8)"
    )
    assert str(policy.explain("S.u3")) == "S.u3: reliable"
    assert str(policy.explain("T.u1")) == "T.u1: divide"


def test_the_rule_of_the_cloud_holds_on_stacks_of_any_depth() -> None:
    policy, model = cloud_policy(), recurl.zoo.cloud()
    rule, vertex = policy.explain("H.u5"), model.find("H.u5")
    for depth in range(14):
        for again in itertools.product(["", "b7"], repeat=3):
            called = ["b1", "b4", *again, *["b6"] * depth, *again]
            stack = boxes(model, *filter(None, called))
            context = int(policy.start[0])
            for box in stack:
                port = int(model.tables.box_call[box])
                context = int(policy.callees[policy.slot(context, port)])
            done = name_of(policy, vertex, context)
            assert done == rule.action(stack, context) == ("yes" if depth >= 8 else "no")


def test_the_rule_of_the_cloud_is_what_traces_show() -> None:
    """In a cloud whose handlers call more often, so that runs come to all depths."""
    model = recurl.zoo.cloud()
    text = recurl.dumps(model).replace("{b6: 0.3, u6: 0.7}", "{b6: 0.9, u6: 0.1}")
    often = recurl.loads(text)
    policy = cloud_policy().changed(often)
    rule, handler, (counted,) = policy.explain("H.u5"), model.find("H.u5"), boxes(model, "b6")
    runs = recurl.simulate(often, policy, 200, traces=200)
    depths = set()
    for trace in runs.traces:
        for step in (step for step in trace if step.vertex == handler):
            depth = step.stack.count(counted)
            depths.add(depth)
            action = often.action_name(step.action)
            assert action == ("yes" if depth >= 8 else "no") == rule.action(step.stack, -1)
    assert depths == set(range(9))


def chain(actions: list[int], ends_in: int, counting: str = "again") -> Policy:
    """Contexts of one component that call each other in a row, the last one an earlier one."""
    builder = recurl.Builder("row").component("A", entries="in", exits="out")
    builder.box("again", "A").box("other", "A")
    for action in ("stay", "go"):
        (builder.at("in") if action == "stay" else builder).action(action).to("again", 0.2)
        builder.to("other", 0.2).to("out", 0.6)
    for box in ("again", "other"):
        builder.at(f"{box}.out").action("up").to("out")
    model = builder.build()
    t, size = model.tables, len(actions)
    chosen, callees = [], []
    for context, action in enumerate(actions):
        ahead = context + 1 if context + 1 < size else ends_in
        for vertex in range(t.n_vertices):
            name = model.local_name(vertex)
            chosen.append(action if name == "in" else 0)
            moves = counting in ("both", name.partition(".")[0])
            callees.append(ahead if moves else context)
    return Policy(model, [0] * size, chosen, callees=callees, start=[0])


@pytest.mark.parametrize(
    ("actions", "ends_in", "text"),
    [
        ([0, 0], 1, "stay"),
        ([0, 1], 1, "stay with 0 pending calls of A at again, go from 1 on"),
        ([0, 0, 1, 1], 3, "stay with 0..1 pending calls of A at again, go from 2 on"),
        ([0, 1, 0], 2, "stay with 0 or 2 or more pending calls of A at again, go with 1"),
        ([0, 1], 0, "stay with 0, 2, 4, ... pending calls of A at again, go with 1, 3, 5, ..."),
        (
            [1, 0, -1],
            1,
            "go with 0 pending calls of A at again, stay with 1, 3, 5, ..., any with 2, 4, 6, ...",
        ),
    ],
)
def test_intervals_of_pending_calls(actions: list[int], ends_in: int, text: str) -> None:
    rule = chain(actions, ends_in).explain("A.in")
    assert rule.text == text
    assert isinstance(rule.clauses[0].when, Pending) or len(rule.clauses) == 1


def test_where_all_calls_count_no_box_is_named() -> None:
    rule = chain([0, 1], 1, "both").explain("A.in")
    assert rule.text == "stay with 0 pending calls of A, go from 1 on"


def test_a_vertex_that_no_run_gets_to() -> None:
    policy = Policy.stackless(recurl.zoo.cloud(), {"T.u1": "mono"})
    assert str(policy.explain("H.u5")) == "H.u5: no run gets there"
    assert policy.explain("H.u5").action([], 0) is None


def test_unknown_vertices_are_answered_with_close_ones() -> None:
    with pytest.raises(recurl.errors.UnknownNameError, match="Did you mean"):
        cloud_policy().explain("H.u55")


def test_the_box_that_called() -> None:
    policy = recurl.solve(recurl.zoo.stack_matters()).policy
    assert policy is not None
    rule = policy.explain("G.in")
    assert isinstance(rule.clauses[0].when, CalledAt)
    assert rule.text == "even when called at G.first1, hope1 when called at main.game or G.second1"


def test_what_exits_are_worth() -> None:
    model = recurl.zoo.random_model(seed=1, nodes=12, components=2, exits=2, load=0.9)
    policy = recurl.solve(model, epsilon=1e-5).policy
    assert policy is not None
    assert policy.exit_values is not None
    found = [rule for rule in policy.rules.all() if isinstance(rule.clauses[0].when, Worth)]
    assert found
    for rule in found:
        vertex, text = model.find(rule.vertex), rule.text
        one, other = ("n1", "n2") if "where n1" in text else ("n2", "n1")
        low = float(text.split("at most ")[1].split()[0])
        high = float(text.split("at least ")[1].split()[0])
        own = model.tables.vertex_component[vertex]
        first = model.tables.n_entries[own]
        columns = [model.find(f"c{own}.{e}") - model.find(f"c{own}.n{first}") for e in (one, other)]
        for clause in rule.clauses:
            for x in clause.contexts:
                more = policy.exit_values[x, columns[0]] - policy.exit_values[x, columns[1]]
                assert (more <= low + 1e-3) != (more >= high - 1e-3)
                assert (clause is rule.clauses[0]) == (more <= low + 1e-3)


def test_contexts_are_listed_where_nothing_else_decides() -> None:
    found = []
    for seed in range(40):
        policy = random_policy(recurl.zoo.cloud(), seed, 5)
        found += [rule for rule in policy.rules.all() if isinstance(rule.clauses[0].when, Within)]
    assert found
    for rule in found:
        listed = [c.when for c in rule.clauses if isinstance(c.when, Within)]
        assert all("in " in w.text or w.text == "otherwise" for w in listed)
        assert not any(a.contexts & b.contexts for a, b in itertools.combinations(listed, 2))
        assert [w.rest for w in listed[:-1]] == [False] * (len(listed) - 1)


@pytest.mark.parametrize("name", ["office", "letter_world", "brackets", "taxi", "frozen_lake"])
def test_rules_of_products_agree_with_runs(name: str) -> None:
    model = getattr(recurl.zoo, name)()
    policy = recurl.solve(model, epsilon=1e-3).policy
    assert policy is not None
    rules = {model.find(rule.vertex): rule for rule in policy.rules.all()}
    for trace in recurl.simulate(model, policy, 50, traces=50).traces:
        for step in (step for step in trace if step.vertex in rules):
            rule = rules[step.vertex]
            if not isinstance(rule.clauses[0].when, (Worth, Within)):
                assert rule.action(step.stack, -1) == model.action_name(step.action)


def test_products_are_named_by_place_and_state() -> None:
    model = recurl.zoo.taxi()
    policy = recurl.solve(model, epsilon=1e-3).policy
    assert policy is not None
    assert policy.explain("ticket.at r1c0 passenger G").text == (
        "north with 0 pending calls of ticket, south with 1"
    )
