"""Learning from episodes, nothing known but bounds."""

from __future__ import annotations

from typing import Any

import pytest

import recurl
from recurl.learn.pac.episodes import learn_by_episodes
from recurl.learn.pac.learner import PACLearner
from recurl.learn.pac.one_exit import Task

BOUNDS: dict[str, Any] = {"steps": 5, "reward_bound": 1, "support": 2}


def test_repetitions_hold_as_often_as_claimed() -> None:
    model = recurl.zoo.gambler(p=0.25)
    held = 0
    for seed in range(10):
        learner = PACLearner(1.5, 0.1, seed=seed, **BOUNDS)
        found = learner.learn(recurl.ModelEnv(model))
        assert found.reached
        held += found.lower <= 3 <= found.upper
    assert held >= 9


def test_the_statement_says_what_was_not_seen() -> None:
    found = PACLearner(0.1, 0.1, **BOUNDS).learn(
        recurl.ModelEnv(recurl.zoo.gambler(p=0.25)), most=2000
    )
    assert not found.reached
    assert found.samples == 2000
    assert found.planned is None
    assert any("outcomes of 2 pairs that may exist" in text for text in found.unseen)
    assert found.numbers["States discovered"] == 3
    assert found.policy is not None


def test_a_choice_is_learned() -> None:
    model = (
        recurl.Builder("choice")
        .component("A", entries="in", exits="out")
        .at("in").action("bad", reward=0).to("out")
                 .action("good", reward=1).to("out", 0.5).to("x", 0.5)
        .at("x").action("up", reward=1).to("out")
        .build()
    )  # fmt: skip
    env = recurl.ModelEnv(model)
    found = PACLearner(0.5, 0.1, steps=2, reward_bound=1, support=2).learn(env)
    assert found.lower <= 1.5 <= found.upper
    assert found.policy is not None
    assert found.policy.actions[0] == 1
    assert found.model.label(0) == "0"


def test_what_must_be_given_is_said() -> None:
    env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
    with pytest.raises(ValueError, match="reward_bound"):
        PACLearner().learn(env)
    with pytest.raises(ValueError, match="models only"):
        learn_by_episodes(env, Task(1, 0.1, 5, 1, checkpoint="x"), 2)
