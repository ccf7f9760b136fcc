from __future__ import annotations

import pytest
from tests.suite.sarsa import Counting, Sarsa

import recurl
from recurl.errors import UnknownNameError
from recurl.experiment.options import algorithms
from recurl.suite.agents import (
    AgentTrainee,
    UniformAgent,
    find_agent,
    make_trainee,
    ready_agents,
    suite_settings,
)
from recurl.suite.run import task_run
from recurl.suite.tasks import find_setting


def trainee(kind: type, name: str = "words-small", seed: int = 0) -> AgentTrainee:
    setting = find_setting(name)
    env = setting.env()
    return AgentTrainee(
        kind(env.observation_space, env.action_space, seed), setting, setting.model(), seed
    )


def test_every_learner_of_the_package_is_a_ready_agent() -> None:
    stands_for = {method.algorithm for method in ready_agents().values()}
    assert set(algorithms()) <= stands_for
    assert {"sb3-dqn", "sb3-ppo", "sb3-recurrent-ppo"} <= set(ready_agents())


def test_an_unknown_agent_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="rql"):
        find_agent("rqll")
    with pytest.raises(UnknownNameError, match="module:Class"):
        find_agent("nowhere:Nobody")


def test_an_agent_without_memory_is_evaluated_exactly() -> None:
    one = trainee(Sarsa, "office-small")
    seen: list[int] = []
    one.train([0, 500, 1_000], seen.append, lambda: False)
    assert seen == [0, 500, 1_000]
    assert one.steps == 1_000
    worth, policy = one.worth(), one.policy()
    assert worth.note == ""
    assert policy is not None
    assert worth.value == recurl.evaluate(policy).value


def test_the_policy_is_what_the_agent_does() -> None:
    one = trainee(Sarsa, "maze-vector-small")
    one.train([300], lambda _: None, lambda: False)
    policy = one.policy()
    assert policy is not None
    env = one.setting.env(one.model)
    observation, info = env.reset(seed=3)
    for step in range(40):
        vertex = env.unwrapped._walk.vertex
        action = one.agent.act(observation, {**info, "step": step}, explore=False)
        assert policy.actions[vertex] == action
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            observation, info = env.reset()


def test_an_agent_with_a_memory_is_tested_on_episodes_of_a_copy() -> None:
    one = trainee(Counting)
    one.train([200], lambda _: None, lambda: False)
    before = one.agent.random.bit_generator.state
    worth = one.worth()
    assert worth.note.startswith("sampled")
    assert worth.lower is not None
    assert worth.value is not None
    assert worth.lower <= worth.value
    assert one.agent.random.bit_generator.state == before
    assert one.policy() is None


def test_the_uniform_agent_is_worth_what_is_known() -> None:
    one = trainee(UniformAgent)
    low, high = one.setting.known.uniform
    worth = one.worth()
    assert worth.value == pytest.approx(low)
    assert worth.value == pytest.approx(high)


def test_training_stops_when_asked_to() -> None:
    one = trainee(UniformAgent)
    one.train([1_000], pytest.fail, lambda: one.steps >= 128)
    assert one.steps == 128


@pytest.mark.parametrize(
    ("algorithm", "observation", "seen"),
    [
        ("rql", "index", "index"),
        ("q", "image", "features"),
        ("deep-rql", "index", "onehot"),
        ("dqn", "vector", "features"),
    ],
)
def test_learners_see_what_the_environment_shows(
    algorithm: str, observation: str, seen: str
) -> None:
    assert suite_settings(algorithm, observation)["observation"] == seen


def test_learners_are_made_with_their_settings() -> None:
    run = task_run(find_setting("words-small"), find_agent("rql-paper"), seed=4)
    made = make_trainee(run, run.setting, run.setting.model())
    assert made.learner.settings.seed == 4
    assert made.learner.settings.replay == 0
    assert made.learner.settings.episode_limit == 1_000
