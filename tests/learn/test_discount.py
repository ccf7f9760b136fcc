"""gamma in learning and simulating, against the discounted model solved by value."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from benchmarks import discounted

import recurl
from recurl.learn.schedules import power

SEEDS = range(int(os.environ.get("RECURL_DISCOUNTED_MODELS", "3")))
"""Random models to compare on; the variable asks for more."""


def small(seed: int) -> recurl.RMDP:
    return recurl.zoo.random_model(seed, 2, 4, boxes=1)


@pytest.mark.parametrize("seed", SEEDS)
def test_learning_with_gamma_finds_the_value_of_the_discounted_model(seed: int) -> None:
    model, gamma = small(seed), 0.8
    exact = recurl.solve(recurl.discount_steps(model, gamma)).value
    learner = recurl.RecursiveQLearning(
        model,
        gamma=gamma,
        preset="paper",
        learning_rate=power(0.7),
        exploration=0.3,
        quantum=0.01,
        episode_limit=60,
        seed=seed,
    ).learn(600_000)
    t = model.tables
    starts = t.component_start[t.start_component] + np.flatnonzero(t.start_prob)
    weights = t.start_prob[t.start_prob > 0]
    found = sum(
        weight * learner.engine.q_values(int(vertex), 0).max()
        for weight, vertex in zip(weights, starts, strict=True)
    )
    assert found == pytest.approx(exact, abs=0.02 * max(1.0, abs(exact)))


@pytest.mark.parametrize("seed", SEEDS)
def test_simulating_with_gamma_gives_the_value_of_the_discounted_model(seed: int) -> None:
    model, gamma = small(seed), 0.9
    runs = recurl.simulate(model, episodes=20_000, gamma=gamma, step_limit=500, seed=seed)
    stopped = recurl.discount_steps(model, gamma)
    exact = recurl.evaluate(recurl.Policy.uniform(stopped)).value
    assert runs.mean == pytest.approx(exact, abs=2.6 * runs.margin + 1e-9)


def test_a_function_of_the_walk_is_discounted_too() -> None:
    model = recurl.zoo.cloud()
    runs = recurl.simulate(model, lambda walk: 0, 5, gamma=0.5, traces=5)
    for total, trace in zip(runs.returns, runs.traces, strict=True):
        rewards = [step.reward for step in trace]
        assert total == pytest.approx(sum(r * 0.5**t for t, r in enumerate(rewards)))


def test_tests_of_a_learner_are_discounted() -> None:
    model = recurl.zoo.cloud()
    learner = recurl.RecursiveQLearning(model, gamma=0.9, episode_limit=200).learn(20_000)
    score = learner.test(20_000)
    runs = recurl.simulate(model, learner.policy(), 20_000, gamma=0.9)
    error = 5 * np.hypot(score.deviation, runs.returns.std()) / np.sqrt(20_000)
    assert score.mean == pytest.approx(runs.mean, abs=error)


def errand() -> recurl.RMDP:
    """A call between two steps, with nothing to choose: 1 + 2 g^2 + 4 g^4 with discount g."""
    builder = recurl.Builder("errand").component("A", entries="in", exits="out")
    builder.box("b", "B")
    builder.at("in").action("go", reward=1).to("b.in")
    builder.at("b.out").action("on").to("last").at("last").action("go", reward=4).to("out")
    builder.component("B", entries="in", exits="out")
    builder.at("in").action("go").to("work").at("work").action("go", reward=2).to("out")
    return builder.build()


DEEP: dict[str, Any] = {
    "preset": "paper",
    "hidden": (32,),
    "batch": 32,
    "buffer": 2_000,
    "warm_up": 100,
    "target_every": 20,
    "learning_rate": 0.005,
    "observation": "onehot",
    "evaluate_every": 0,
}
"""A network that learns a small model within seconds."""

CASES: list[tuple[Any, bool, dict[str, Any]]] = [
    (recurl.QLearning, False, {}),
    (recurl.QLearning, True, {}),
    (recurl.RecursiveQLearning, False, {}),
    (recurl.RecursiveQLearning, True, {}),
    (recurl.DeepRecursiveQLearning, True, DEEP),
]
"""Learners, whether they learn on an environment, and settings."""


@pytest.mark.parametrize(("kind", "on_env", "settings"), CASES)
def test_tests_of_models_and_environments_weigh_rewards_alike(
    kind: Any, on_env: bool, settings: dict[str, Any]
) -> None:
    model = errand()
    given = dict(settings, gamma=0.5, evaluate_every=20, evaluate_episodes=2)
    subject = recurl.ModelEnv(model) if on_env else model
    if on_env:
        given["evaluation_env"] = recurl.ModelEnv(model)
    learner = kind(subject, **given).learn(40)
    exact = recurl.solve(model, gamma=0.5).value
    assert learner.curve.last.mean == learner.test(2).mean == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("kind", [recurl.DQN, recurl.DeepRecursiveQLearning])
def test_deep_learning_with_gamma_finds_the_value_of_the_discounted_model(kind: Any) -> None:
    model = errand()
    learner = kind(model, **{**DEEP, "gamma": 0.5, "evaluate_every": 3_000}).learn(3_000)
    exact = recurl.solve(model, gamma=0.5).value
    vertices = np.array([model.tables.component_start[0]])
    context = np.asarray(learner.engine.start, np.float32)
    assert learner.engine.q_values(vertices, context).max() == pytest.approx(exact, abs=0.05)
    assert learner.curve.last.mean == learner.test(2).mean == pytest.approx(exact, abs=1e-6)


def test_flat_learning_with_gamma_is_plain_q_learning() -> None:
    """A corridor: the first step is worth gamma² of the reward at its end."""
    builder = recurl.Builder("corridor").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("one").at("one").action("go").to("two")
    builder.at("two").action("go", reward=8).to("out").action("back").to("one")
    learner = recurl.QLearning(builder.build(), gamma=0.5, learning_rate=0.5).learn(3000)
    values = [learner.q_values(f"A.{name}") for name in ("in", "one", "two")]
    assert np.concatenate(values).tolist() == pytest.approx([2, 4, 8, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("task", discounted.TASKS, ids=lambda task: task.name)
def test_craft_tasks_are_learned_as_fast_as_by_plain_q_learning(task: discounted.Task) -> None:
    model = discounted.model_of(task)
    optimum = recurl.solve(model, gamma=discounted.GAMMA).lower
    makers = (discounted.ours, discounted.ours_on_env, discounted.plain)
    took = [discounted.steps_to_optimum(make(model, 0), optimum) for make in makers]
    assert max(took[:2]) <= took[2] < discounted.MOST


@pytest.mark.parametrize("gamma", [0, -0.5, 1.5])
def test_gamma_out_of_range_is_refused(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma"):
        recurl.QLearning(recurl.zoo.cloud(), gamma=gamma)
    with pytest.raises(ValueError, match="gamma"):
        recurl.simulate(recurl.zoo.cloud(), gamma=gamma)


@pytest.mark.parametrize("exits", [1, 2])
def test_contexts_with_a_discount_are_good(exits: int) -> None:
    model = recurl.zoo.cloud(exits=exits)
    optimum = recurl.solve(model, gamma=0.9).value
    for seed in range(3):
        learner = recurl.RecursiveQLearning(model, gamma=0.9, episode_limit=200, seed=seed).learn(
            50_000
        )
        assert recurl.evaluate(learner.policy(), gamma=0.9).value > optimum * 1.01
