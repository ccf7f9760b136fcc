"""Policies read off a table: the same runs as the learner's own greedy ones."""

from __future__ import annotations

import numpy as np
import pytest

import recurl


@pytest.mark.parametrize("name", ["cloud", "stack_matters", "and_or", "spelunking"])
@pytest.mark.parametrize("preset", ["paper", "swift"])
def test_the_policy_earns_what_greedy_episodes_earn(name: str, preset: str) -> None:
    model = recurl.zoo.make(name)
    learner = recurl.RecursiveQLearning(model, preset=preset, episode_limit=200).learn(30_000)
    simulated = recurl.simulate(model, learner.policy(), 20_000, seed=1, step_limit=200)
    score = learner.test(20_000)
    error = 5 * simulated.standard_error * np.sqrt(2) + 1e-9
    assert score.mean == pytest.approx(simulated.mean, abs=error)
    assert score.cut == pytest.approx(float(simulated.truncated.mean()), abs=0.02)


def test_one_exit_policies_are_stackless() -> None:
    learner = recurl.RecursiveQLearning(recurl.zoo.cloud(exits=1), preset="swift").learn(20_000)
    policy = learner.policy()
    assert policy.kind == "stackless"
    assert policy.action_name("S.u3") == "reliable"
    assert recurl.evaluate(policy).value == pytest.approx(-5.3425, abs=1e-9)


def test_a_model_without_calls_has_a_policy_too() -> None:
    builder = recurl.Builder("coin").component("A", entries="in", exits="out")
    builder.at("in").action("one", reward=1).to("out").action("two", reward=2).to("out")
    learner = recurl.RecursiveQLearning(builder.build(), exploration=0.5).learn(1000)
    assert recurl.evaluate(learner.policy()).value == 2.0


def test_flat_policies_are_stackless() -> None:
    policy = recurl.QLearning(recurl.zoo.cloud(), preset="swift").learn(20_000).policy()
    assert policy.kind == "stackless"


def test_contexts_never_met_take_the_first_action() -> None:
    policy = recurl.RecursiveQLearning(recurl.zoo.cloud()).policy()
    assert (policy.actions == 0).all()
    assert policy.action_name("T.u1", int(policy.start[0])) == "mono"
    assert any("never met" in label for label in policy.labels)


def test_a_learned_policy_states_the_rule_of_the_optimum() -> None:
    model = recurl.zoo.stack_matters()
    learner = recurl.RecursiveQLearning(model, preset="swift", episode_limit=200, seed=1)
    policy, best = learner.learn(100_000).policy(), recurl.solve(model).policy
    assert best is not None
    rule = policy.explain("G.in")
    assert rule.text == "even when called at G.first1, hope1 when called at main.game or G.second1"
    assert best.explain("G.in").text.startswith(rule.text)
    assert [row.action for row in policy.table()] == ["hope1", "even"]
    assert policy.context_names == ("main", "G", "G within 1 call of G")


def test_exit_values_of_contexts_are_those_of_the_table() -> None:
    learner = recurl.RecursiveQLearning(recurl.zoo.cloud(), preset="swift", episode_limit=200)
    policy = learner.learn(20_000).policy()
    assert policy.exit_values is not None
    for label, values in zip(policy.labels, policy.exit_values, strict=True):
        if "never met" in label:
            assert np.isnan(values).all()
        elif label.startswith("H"):
            worth = [float(part.split()[-1]) for part in label.split(" with ")[1].split(", ")]
            np.testing.assert_allclose(values, worth, atol=1e-6)
    again = policy.changed()
    assert again == policy
    assert len(set(policy.context_names)) == policy.n_contexts
