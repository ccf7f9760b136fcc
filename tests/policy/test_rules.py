"""What policies do, as rules on the stack."""

from __future__ import annotations

import itertools
import math
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import models
from tests.policy.some import random_policy, situations

import recurl
from recurl.policy import RANDOM, Policy
from recurl.policy.conditions import CalledAt, InContexts, Pending, Worth
from recurl.policy.rules import PolicyRule


def name_of(policy: Policy, vertex: int, context: int) -> str:
    action = policy.action(vertex, context)
    return "any" if action == RANDOM else policy.model.action_names(vertex)[action]


@given(models(), st.integers(0, 2**32 - 1), st.booleans())
def test_a_rule_says_what_the_policy_does_on_every_stack(
    model: recurl.RMDP, seed: int, values: bool
) -> None:
    policy = random_policy(model, seed, values=values)
    rules: dict[int, PolicyRule] = {}
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


def by_box(deepest: int | None = None) -> Policy:
    """In stack_matters: even when called at first1, else hope1; the other way round if deep."""
    model = recurl.zoo.stack_matters()
    t, contexts = model.tables, 2 * ((deepest or 0) + 1)
    component = [0, *[1] * contexts]
    actions, callees = [], []
    for context, c in enumerate(component):
        level, even = divmod(context - 1, 2)
        turned = deepest is not None and level == deepest
        for vertex in range(t.component_start[c], t.component_start[c + 1]):
            name = model.vertex_name(vertex)
            names = list(model.action_names(vertex))
            choice = names.index("even" if even != turned else "hope1") if name == "G.in" else 0
            actions.append(choice)
            ahead = 0 if context == 0 else min(level + 1, contexts // 2 - 1)
            callees.append(1 + 2 * ahead + ("first1" in name))
    return Policy(model, component, actions, callees=callees, start=[0])


def test_the_box_that_called() -> None:
    rule = by_box().explain("G.in")
    assert isinstance(rule.clauses[0].when, CalledAt)
    assert rule.text == "even when called at G.first1, hope1 when called at main.game or G.second1"


def test_exceptions_that_hardly_come_up_are_counted_and_not_listed() -> None:
    policy = by_box(deepest=40)
    rule, vertex = policy.explain("G.in"), policy.model.find("G.in")
    text = "even when called at G.first1, hope1 when called at main.game or G.second1"
    assert rule.text.startswith(f"{text} (exceptions: ")
    assert 0 < rule.exceptions < 1e-6
    outer, even = boxes(policy.model, "game", "first1")
    for depth in (0, 1, 39, 40, 41, 60):
        stack, context = [outer, *[even] * depth], int(policy.start[0])
        for box in stack:
            port = int(policy.model.tables.box_call[box])
            context = int(policy.callees[policy.slot(context, port)])
        assert rule.action(stack, context) == name_of(policy, vertex, context)
    # Where they do come up, contexts are listed.
    assert by_box(deepest=2).explain("G.in").exceptions == 0


def test_what_exits_are_worth() -> None:
    found = 0
    for seed in range(60):
        policy = random_policy(recurl.zoo.cloud(), seed, 6, values=True)
        assert policy.exit_values is not None
        for rule in policy.rules.all():
            for clause in rule.clauses:
                if isinstance(clause.when, Worth):
                    found += 1
                    sign = 1 if clause.when.exits == ("u7", "u6") else -1
                    more = sign * (policy.exit_values[:, 1] - policy.exit_values[:, 0])
                    ranges = clause.when.ranges
                    for x in clause.contexts:
                        assert any(low <= more[x] <= high for low, high in ranges)
    assert found


def test_what_exits_are_worth_in_words() -> None:
    when = Worth(((-math.inf, 0.25),), ("u7", "u6"), frozenset())
    assert when.text == "where u7 is worth at most 0.25 more than u6"
    assert Worth(((0.5, math.inf),), ("u7", "u6"), frozenset()).short == "where at least 0.5 more"


def test_contexts_are_listed_where_nothing_else_decides() -> None:
    found = []
    for seed in range(40):
        policy = random_policy(recurl.zoo.cloud(), seed, 5)
        found += [
            rule for rule in policy.rules.all() if isinstance(rule.clauses[0].when, InContexts)
        ]
    assert found
    for rule in found:
        listed = [c.when for c in rule.clauses if isinstance(c.when, InContexts)]
        assert all("in " in w.text or w.text == "otherwise" for w in listed)
        assert not any(a.contexts & b.contexts for a, b in itertools.combinations(listed, 2))
        assert [w.rest for w in listed[:-1]] == [False] * (len(listed) - 1)


@cache
def good(model: recurl.RMDP) -> recurl.Policy:
    policy = recurl.solve(model, epsilon=1e-3).policy
    assert policy is not None
    return policy


@pytest.mark.parametrize("name", ["office", "letter_world", "brackets", "taxi", "frozen_lake"])
def test_rules_of_products_agree_with_runs(name: str) -> None:
    model = getattr(recurl.zoo, name)()
    policy = good(model)
    rules = {model.find(rule.vertex): rule for rule in policy.rules.all()}
    for trace in recurl.simulate(model, policy, 50, traces=50).traces:
        for step in (step for step in trace if step.vertex in rules):
            rule = rules[step.vertex]
            if not isinstance(rule.clauses[0].when, (Worth, InContexts)):
                assert rule.action(step.stack, -1) == model.action_name(step.action)


def test_products_are_named_by_place_and_state() -> None:
    policy = good(recurl.zoo.taxi())
    assert policy.explain("ticket.at r1c0 passenger G").text == (
        "north with 0 pending calls of ticket, south with 1"
    )
