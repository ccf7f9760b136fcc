"""box_gamma of learners, against the model that `discount_boxes` makes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

import recurl
from recurl.errors import ModelError, ProtocolError
from recurl.schedules import power


def single(seed: int) -> recurl.RMDP:
    return recurl.zoo.random_model(seed, components=2, nodes=4, boxes=1, exits=1)


def factor_matters(model: recurl.RMDP) -> bool:
    """Whether the best policy without the discount is a worse one with it."""
    plain = recurl.solve(model).policy
    best = recurl.solve(model, box_gamma=0.5).value
    return plain is not None and recurl.evaluate(plain, box_gamma=0.5).value < best - 1e-3


SEEDS = [seed for seed in range(30) if factor_matters(single(seed))][:4]
LEARNERS: list[Any] = [recurl.RecursiveQLearning, recurl.ModelBasedRecursiveLearning]


@pytest.mark.parametrize("seed", SEEDS)
def test_values_converge_to_those_of_the_discounted_model(seed: int) -> None:
    model = single(seed)
    exact = recurl.solve(recurl.discount_boxes(model, 0.5)).value
    learner = recurl.RecursiveQLearning(
        model,
        box_gamma=0.5,
        preset="paper",
        learning_rate=power(0.7),
        exploration=0.3,
        episode_limit=60,
        seed=seed,
    ).learn(200_000)
    t = model.tables
    name = model.vertex_name(int(t.starts[0]))
    assert len(t.starts) == 1
    values = learner.q_values(name)
    assert values is not None
    assert values.max() == pytest.approx(exact, abs=0.02)
    assert recurl.evaluate(learner.policy(), box_gamma=0.5).value == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", LEARNERS)
def test_learners_find_good_policies(kind: Any, seed: int) -> None:
    model = single(seed)
    exact = recurl.solve(model, box_gamma=0.5).value
    learner = kind(model, box_gamma=0.5, episode_limit=60, seed=seed).learn(6_000)
    found = recurl.evaluate(learner.policy(), box_gamma=0.5).value
    assert exact - 0.02 < found < exact + 1e-9


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_tests_of_learners_are_discounted(kind: Any, wrapped: bool) -> None:
    model = recurl.zoo.cloud(exits=1)
    subject = recurl.ModelEnv(model) if wrapped else model
    learner = kind(subject, box_gamma=0.5, episode_limit=200).learn(3_000)
    exact = recurl.solve(model, box_gamma=0.5).value
    assert learner.test(2_000).mean == pytest.approx(exact, abs=0.1)
    assert recurl.solve(model).value < exact - 1


@pytest.mark.parametrize("kind", LEARNERS)
def test_several_exits_are_refused(kind: Any) -> None:
    with pytest.raises(ModelError, match=r"component H: has 2 exits .*gamma"):
        kind(recurl.zoo.cloud(), box_gamma=0.9)
    with pytest.raises(ProtocolError, match=r"a call has 2 exits.*gamma"):
        kind(recurl.ModelEnv(recurl.zoo.cloud()), box_gamma=0.9).learn(1000)
    with pytest.raises(ValueError, match="not both"):
        kind(recurl.zoo.gambler(), gamma=0.9, box_gamma=0.9)


class EndsInside(gym.Env[int, int]):
    """Calls, and ends in the call."""

    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.inside = False
        return 0, {"event": None}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if self.inside:
            return 1, 1.0, True, False, {"event": None}
        self.inside = True
        return 1, 0.0, False, False, {"event": "call", "exits": (2,)}


@pytest.mark.parametrize("kind", LEARNERS)
def test_an_end_in_a_call_is_a_second_exit(kind: Any) -> None:
    kind(EndsInside()).learn(10)
    with pytest.raises(ProtocolError, match="ended in a call"):
        kind(EndsInside(), box_gamma=0.9).learn(10)


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_factor_that_is_too_large_is_answered_with_one_that_is_not(kind: Any) -> None:
    with pytest.warns(UserWarning, match="every policy ends with 0.884 or less"):
        kind(recurl.zoo.gambler(p=0.6), box_gamma=0.95)


def test_a_flat_learner_has_no_boxes() -> None:
    with pytest.raises(ValueError, match="RecursiveQLearning"):
        recurl.QLearning(recurl.zoo.gambler(), box_gamma=0.9)
