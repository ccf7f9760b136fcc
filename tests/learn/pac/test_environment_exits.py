"""Environments with several exits, discounted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium import spaces

import recurl
from recurl.errors import ProtocolError
from recurl.learn.pac.bounds import CertifiedBounds
from recurl.learn.pac.criteria import Discounted
from recurl.learn.pac.environment import EpisodeAccess
from recurl.learn.pac.learner import PACLearner
from recurl.learn.pac.loop import PACTask
from recurl.learn.pac.observed import from_vertex

CLOUD: dict[str, Any] = {"gamma": 0.5, "reward_bound": 8, "support": 2, "starts": 1}


def test_repetitions_of_cloud_hold_as_often_as_claimed() -> None:
    model, held = recurl.zoo.cloud(), 0
    truth = recurl.solve(recurl.discount_steps(model, 0.5), epsilon=1e-7).value
    for seed in range(7):
        found = PACLearner(2.0, 0.1, seed=seed, **CLOUD).learn(recurl.ModelEnv(model))
        assert found.reached
        held += found.lower <= truth <= found.upper
        assert found.policy is not None
    assert held >= 6
    assert found.numbers["Exits"] == "4 discovered, 4 of them taken"
    assert found.samples < (found.planned or 0)


def test_the_discovered_model_is_worth_the_same() -> None:
    model = recurl.zoo.cloud()
    found = PACLearner(1e-3, 0.1, **CLOUD).learn(recurl.ModelEnv(model), most=20_000)
    truth = recurl.solve(recurl.discount_steps(model, 0.5)).value
    assert found.lower <= truth <= found.upper
    learned = recurl.solve(recurl.discount_steps(found.model, 0.5)).value
    assert learned == pytest.approx(truth, abs=0.03)


def test_several_starts_and_exits() -> None:
    model = recurl.zoo.random_model(seed=4, components=2, nodes=3, exits=3, entries=2)
    truth = recurl.solve(recurl.discount_steps(model, 0.4)).value
    learner = PACLearner(1.0, 0.1, gamma=0.4, reward_bound=1, support=4, starts=2)
    found = learner.learn(recurl.ModelEnv(model))
    assert found.reached
    assert found.lower <= truth <= found.upper
    planned = PACLearner(2.5, 0.1, "plan", gamma=0.4, reward_bound=1, support=4, starts=2)
    drawn = planned.learn(recurl.ModelEnv(model))
    assert drawn.lower <= truth <= drawn.upper
    assert drawn.reached
    assert drawn.planned is not None
    assert drawn.samples >= drawn.planned


def test_counts_are_resumed(tmp_path: Path) -> None:
    learner = PACLearner(2.0, 0.1, **CLOUD)
    file = tmp_path / "seen"
    short = learner.learn(recurl.ModelEnv(recurl.zoo.cloud()), most=600, checkpoint=file)
    whole = learner.learn(recurl.ModelEnv(recurl.zoo.cloud()), checkpoint=file)
    assert (short.reached, whole.reached) == (False, True)
    again = learner.learn(recurl.ModelEnv(recurl.zoo.cloud()), checkpoint=file)
    assert again.samples == whole.samples > short.samples


class Abort(gym.Env[Any, Any]):
    """Go deeper for -1, or end the whole run, calls and all, for 2. One exit is never taken."""

    observation_space = spaces.Discrete(4)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {"event": None}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action == 1:
            return 3, 2.0, True, False, {"event": None}
        return 0, -1.0, False, False, {"event": "call", "exits": (1, 2)}


def test_runs_that_end_with_calls_pending() -> None:
    learner = PACLearner(0.5, 0.1, gamma=0.5, reward_bound=2, support=1, starts=1)
    found = learner.learn(Abort())
    assert found.lower <= 2 <= found.upper
    assert "3 discovered, 1 of them taken" in found.numbers["Exits"]  # type: ignore[operator]
    assert "2 of 3 exits not taken" in found.unseen
    assert "Never seen: 2 of 3 exits taken" not in found.statement
    assert any("at which no run has stood" in text for text in found.unseen)
    with pytest.raises(ProtocolError, match="discount"):
        PACLearner(0.5, 0.1, steps=2, reward_bound=2, support=1).learn(Abort())


def test_states_with_nothing_pending_are_kept_apart() -> None:
    """The gambler calls itself: its start has one exit, and so has the component called."""
    env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
    task = PACTask(1.0, 0.1, reward_bound=1.0, support=2, starts=1)
    source = EpisodeAccess(env, task, 0.5)
    source.sample(None, 1.0, 10**6)
    seen = source.experience
    assert sorted(zip(seen.bottom, seen.observations, strict=True)) == [
        (below, v) for below in (False, True) for v in (0, 4, 5)
    ]
    observed = source.observed()
    assert observed.model.tables.n_exits.tolist() == [2, 2]
    lower, upper = CertifiedBounds(task, Discounted(0.5), 2.0).tighten(observed, 4.0)
    truth = recurl.solve(recurl.discount_steps(recurl.zoo.gambler(p=0.25), 0.5)).value
    assert lower <= truth <= upper
    assert from_vertex(observed.model, 0).tables.start_prob.tolist() == [1.0]


def test_what_cannot_be_is_said() -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud())
    with pytest.raises(ValueError, match="episodes"):
        PACLearner(access="generative", **CLOUD).learn(env)
    with pytest.raises(ProtocolError, match="discount"):
        PACLearner(steps=9, reward_bound=8, support=2, access="episodes").learn(env)
