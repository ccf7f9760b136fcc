"""What episodes have shown."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl.errors import ProtocolError
from recurl.learn.pac.atlas import Atlas, Pair
from recurl.learn.pac.intervals import level_size


@pytest.fixture
def atlas() -> Atlas:
    return Atlas(recurl.ModelEnv(recurl.zoo.gambler(p=0.25)))


def test_states_are_known_by_their_observations(atlas: Atlas) -> None:
    assert [atlas.state(v) for v in (4, 0, 4, np.int64(0))] == [0, 1, 0, 1]
    assert atlas.observations == [4, 0]


def test_a_visit_makes_the_legal_pairs_known_once() -> None:
    atlas = Atlas(recurl.ModelEnv(recurl.zoo.cloud()))
    mask = np.array([0, 1], np.int8)
    for _ in range(2):
        state = atlas.visit(3, mask)
    assert [atlas.pairs[p].action for p in atlas.pairs_of[state]] == [1]
    assert len(atlas.pairs_of[atlas.visit(5, None)]) == 2


def test_steps_and_returns_connect_and_calls_do_not(atlas: Atlas) -> None:
    start = atlas.begin(0, None)
    pair = atlas.pairs_of[start][0]
    entry = atlas.visit(1, None)
    atlas.call(pair, 1.0, entry, (4,))
    assert atlas.component(atlas.state(4)) == atlas.component(start)
    assert atlas.component(entry) != atlas.component(start)
    atlas.step(pair, 1.0, entry)
    assert atlas.component(entry) == atlas.component(start)
    assert atlas.samples == 2


def test_a_pair_is_looked_at_when_it_reaches_a_level() -> None:
    pair = Pair(0, 0)
    for _ in range(level_size(1) - 1):
        pair.add(("exit", 0, -1), 1.0)
    assert (pair.level, pair.looked) == (0, [])
    pair.add(("step", 2, -1), 0.5)
    assert (pair.level, pair.looked) == (1, [level_size(1) - 1, 1])
    pair.add(("step", 2, -1), 0.5)
    assert pair.looked == [level_size(1) - 1, 1]


def test_rewards_must_follow_from_the_outcome() -> None:
    pair = Pair(0, 0)
    pair.add(("exit", 0, -1), 1.0)
    with pytest.raises(ProtocolError, match="paid 1 and 2"):
        pair.add(("exit", 0, -1), 2.0)


def test_several_exits_are_refused(atlas: Atlas) -> None:
    pair = atlas.pairs_of[atlas.begin(0, None)][0]
    with pytest.raises(ProtocolError, match="2 exits"):
        atlas.call(pair, 0.0, 0, (1, 2))


def test_actions_must_be_discrete() -> None:
    env: gym.Env[int, int] = gym.Env()
    env.action_space = spaces.Box(0, 1)  # type: ignore[assignment]
    with pytest.raises(ProtocolError, match="Discrete"):
        Atlas(env)
