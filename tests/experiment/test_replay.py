from __future__ import annotations

from itertools import pairwise

import pytest

import recurl
from recurl.experiment.replay import DRAWN, LONGEST, component_data, exit_values, replay_data, spot


def test_frames_follow_the_rules_of_calls() -> None:
    policy = recurl.solve(recurl.zoo.cloud()).policy
    assert policy is not None
    found = replay_data(policy)
    frames = found["frames"]
    for now, after in pairwise(frames):
        change = len(after["stack"]) - len(now["stack"])
        word = now["event"].split()[0]
        assert {"calls": 1, "leaves": -1, "moves": 0, "stays": 0}[word] == change
        assert after["total"] == pytest.approx(now["total"] + after["reward"])
    assert frames[-1]["event"] == "leaves through exit u2: the run ends"
    assert frames[-1]["stack"] == []
    assert found["ended"]


@pytest.mark.parametrize("name", ["cloud", "spelunking", "palindrome", "stack_matters"])
def test_where_a_step_begins_and_leads_to_is_drawn(name: str) -> None:
    policy = recurl.solve(getattr(recurl.zoo, name)()).policy
    assert policy is not None
    found = replay_data(policy)
    for frame in found["frames"]:
        shape = found["components"][frame["component"]]
        for part, vertex, _ in (frame["from"], frame["to"]):
            drawn = [box["name"] for box in shape["boxes"]] if part == "boxes" else shape[part]
            assert vertex in drawn


def test_an_episode_without_end_is_shown_as_far_as_it_goes() -> None:
    loop = recurl.Builder("loop").component("A", entries="a", exits="out")
    model = (
        loop.at("a").action("go").to("b").at("b").action("stay").to("b").action("leave").to("out")
    ).build(start="A")
    found = replay_data(recurl.Policy.stackless(model, {"A.b": "stay"}))
    assert not found["ended"]
    assert len(found["frames"]) == LONGEST
    assert found["frames"][-1]["event"] == "stays at b"


def test_exit_values_of_a_learner() -> None:
    model = recurl.zoo.cloud()
    learner = recurl.RecursiveQLearning(model, preset="swift", episode_limit=200).learn(20_000)
    first = replay_data(learner.policy())["frames"][0]
    assert first["exits"] == [["u2", 0.0]]
    assert exit_values(model, 2, "any context") == []


CLOUD, CAVE = recurl.zoo.cloud(), recurl.zoo.spelunking()


def test_a_small_component_is_drawn_whole() -> None:
    assert component_data(CLOUD, "S", set()) == {
        "entries": ["u3"],
        "exits": ["u4"],
        "nodes": [],
        "boxes": [{"name": "b4", "calls": "H"}, {"name": "b5", "calls": "S"}],
        "more": {"entries": 0, "exits": 0, "nodes": 0, "boxes": 0},
    }


def test_of_a_large_component_what_is_touched_is_drawn() -> None:
    box, node = "below-r1c0@r0c2", "r1c2@r0c2"
    found = component_data(CAVE, "level0", {("boxes", box), ("nodes", node)})
    assert found["boxes"] == [{"name": box, "calls": "level1"}]
    assert found["nodes"] == [node]
    assert found["more"]["boxes"] == 80
    untouched = component_data(CAVE, "level0", set())
    assert 0 < len(untouched["boxes"]) <= DRAWN["boxes"]


def test_every_vertex_has_its_spot() -> None:
    names = {name: spot(CLOUD, CLOUD.find(name)) for name in ("T.u1", "T.u2", "T.b1.u3", "T.b1.u4")}
    assert names == {
        "T.u1": ("entries", "u1", ""),
        "T.u2": ("exits", "u2", ""),
        "T.b1.u3": ("boxes", "b1", "call"),
        "T.b1.u4": ("boxes", "b1", "return"),
    }
    assert spot(CAVE, CAVE.find("level0.r0c2@r0c2")).part == "nodes"
