from __future__ import annotations

import numpy as np

import recurl
from recurl.learn.deep.extract import greedy_policy
from recurl.learn.deep.model_engine import DeepModelEngine
from recurl.learn.deep.settings import DeepSettings


def engine(model: recurl.RMDP, flat: bool = False) -> DeepModelEngine:
    return DeepModelEngine(model, DeepSettings(hidden=(8,), batch=8, seed=3), flat)


def test_contexts_are_those_that_calls_enter() -> None:
    model = recurl.zoo.stack_matters()
    found = engine(model)
    policy = greedy_policy(found, max_contexts=50)
    t = model.tables
    game = t.box_component[t.vertex_box[model.find("main.game.e0")]]
    start = int(policy.start[0])
    callee = int(policy.callees[policy.slot(start, int(t.box_call[0]))])
    assert policy.context_component[callee] == game
    values = found.entered(np.zeros(t.max_exits, np.float32), 0)
    assert values.min() == 0
    vertices = np.array([model.find("G.in")])
    assert policy.action(int(vertices[0]), callee) == found.q_values(vertices, values)[0].argmax()
    worth = ", ".join(f"{x:.6g}" for x in values.astype(float))
    label = policy.labels[callee]
    assert [part.split()[-1] for part in label.split(" with ")[1].split(", ")] == worth.split(", ")


def test_calls_beyond_the_limit_lead_to_equal_exits() -> None:
    found = engine(recurl.zoo.palindrome())
    policy = greedy_policy(found, max_contexts=3)
    assert policy.n_contexts <= 3 + 5
    assert any("beyond the limit" in label for label in policy.labels)
    whole = greedy_policy(found, max_contexts=2000)
    assert whole.n_contexts >= policy.n_contexts


def test_a_one_exit_model_has_a_context_per_component() -> None:
    model = recurl.zoo.gambler()
    assert greedy_policy(engine(model)).kind == "stackless"


def test_a_flat_policy_is_stackless() -> None:
    model = recurl.zoo.cloud()
    found = engine(model, flat=True)
    policy = greedy_policy(found)
    assert policy.kind == "stackless"
    vertex = model.find("H.u5")
    q = found.q_values(np.array([vertex]), np.zeros(0, np.float32))[0]
    assert policy.action(vertex) == q[:2].argmax()


def test_rules_of_a_network_are_what_it_does_in_runs() -> None:
    model = recurl.zoo.stack_matters()
    policy = greedy_policy(engine(model), max_contexts=50)
    assert policy.exit_values is not None
    assert policy.exit_values.shape == (policy.n_contexts, model.tables.max_exits)
    rules = {model.find(rule.vertex): rule for rule in policy.rules.all()}
    assert rules
    for trace in recurl.simulate(model, policy, 20, traces=20).traces:
        for step in (step for step in trace if step.vertex in rules):
            context = int(policy.start[0])
            for box in step.stack:
                port = int(model.tables.box_call[box])
                context = int(policy.callees[policy.slot(context, port)])
            said = rules[step.vertex].action(step.stack, context)
            assert said == model.action_name(step.action)
    assert len(policy.table()) >= len(rules)
