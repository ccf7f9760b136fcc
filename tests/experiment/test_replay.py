from __future__ import annotations

from itertools import pairwise

import pytest

import recurl
from recurl.experiment.replay import component_data, exit_values, replay_data


def test_frames_follow_the_rules_of_calls() -> None:
    policy = recurl.solve(recurl.zoo.cloud()).policy
    assert policy is not None
    frames = replay_data(policy)["frames"]
    for now, after in pairwise(frames):
        change = len(after["stack"]) - len(now["stack"])
        word = now["event"].split()[0]
        assert {"calls": 1, "returns": -1, "moves": 0}[word] == change
        assert after["total"] == pytest.approx(now["total"] + after["reward"])
    assert frames[-1]["event"] == "leaves: the run ends"
    assert frames[-1]["stack"] == []


def test_component_is_drawn_with_its_boxes() -> None:
    assert component_data(recurl.zoo.cloud(), "S") == {
        "entries": ["u3"],
        "exits": ["u4"],
        "boxes": [{"name": "b4", "calls": "H"}, {"name": "b5", "calls": "S"}],
    }


def test_exit_values_of_a_learner() -> None:
    model = recurl.zoo.cloud()
    learner = recurl.RecursiveQLearning(model, preset="swift", episode_limit=200).learn(20_000)
    first = replay_data(learner.policy())["frames"][0]
    assert first["exits"] == [["u2", 0.0]]
    assert exit_values(model, 2, "any context") == []
