from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import models

import recurl
from recurl.errors import ProtocolError
from recurl.learn.event_reader import EventReader


@given(models(), st.integers(0, 2**16))
def test_what_is_read_is_what_the_environment_says(model: recurl.RMDP, seed: int) -> None:
    env, reader = recurl.ModelEnv(model), EventReader(model)
    vertex, _ = env.reset(seed=seed)
    random = np.random.default_rng(seed)
    for _ in range(20):
        mask = env._mask()
        action = int(random.choice(np.flatnonzero(mask)))
        old = (vertex, action)
        vertex, _, ended, _, info = env.step(action)
        if ended:
            break
        t = model.tables
        row = t.action_start[old[0]] + action
        ways = range(t.transition_start[row], t.transition_start[row + 1])
        boxes = {int(t.move_box[i]) for i in ways if t.landing[i] == vertex and t.move_box[i] >= 0}
        if info["event"] == "call" and len(boxes) > 1:
            with pytest.raises(ProtocolError, match="which one is not seen"):
                reader.info(vertex, old)
            break
        info.pop("action_mask")
        assert reader.info(vertex, old) == info


def test_observations_behind_wrappers_are_read() -> None:
    model = recurl.zoo.cloud()
    env = FlattenObservation(recurl.ModelEnv(model))
    reader = EventReader(env)
    observation, info = env.reset(seed=0)
    assert reader.vertex(observation) == model.find("T.u1")
    assert reader.info(0, None)["action_mask"].tolist() == info["action_mask"].tolist()
    observation, *_, info = env.step(1)
    read = reader.info(reader.vertex(observation), (0, 1))
    assert (read["event"], read["exits"]) == ("call", info["exits"])


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(ProtocolError, match="give predict the environment's info="):
        EventReader(gym.make("FrozenLake-v1"))
    alike = recurl.ModelEnv(recurl.zoo.palindrome(), observation="features")
    with pytest.raises(ProtocolError, match="no vertex looks like"):
        EventReader(alike).vertex(np.full(7, 99, np.float32))
    unclear = (
        recurl.Builder("two ways")
        .component("A", entries="in", exits="out").box("left", "A").box("right", "A")
        .at("in").action("go").to("left", "1/4").to("right", "1/4").to("out", "1/2")
        .at("left.out").action("up").to("out")
        .at("right.out").action("up").to("out")
        .build()
    )  # fmt: skip
    with pytest.raises(ProtocolError, match=r"A\.in, go calls A\.in through left, right: which"):
        EventReader(unclear).info(0, (0, 0))
