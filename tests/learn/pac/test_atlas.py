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

CALL = {"event": "call", "exits": (4, 5)}


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
    atlas.call(pair, 1.0, entry, [atlas.state(4)])
    assert atlas.component(atlas.state(4)) == atlas.component(start)
    assert atlas.component(entry) != atlas.component(start)
    atlas.step(pair, 1.0, entry)
    assert atlas.component(entry) == atlas.component(start)
    assert atlas.samples == 2


def test_a_pair_is_looked_at_when_it_reaches_a_level(atlas: Atlas) -> None:
    number = atlas.pairs_of[atlas.begin(0, None)][0]
    pair = atlas.pairs[number]
    for _ in range(level_size(1) - 1):
        atlas.leave(number, 1.0)
    assert (pair.level, pair.looked, pair.due) == (0, [], level_size(1))
    atlas.step(number, 0.5, 0)
    assert (pair.level, pair.looked, pair.due) == (1, [level_size(1) - 1, 1], level_size(2))
    atlas.step(number, 0.5, 0)
    assert pair.looked == [level_size(1) - 1, 1]
    assert atlas.samples == pair.total == level_size(1) + 1


def test_sizes_may_be_planned() -> None:
    env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
    atlas = Atlas(env, lambda number, level: 2 + number if level == 1 else 100)
    number = atlas.pairs_of[atlas.begin(0, None)][0]
    for _ in range(4):
        atlas.leave(number, 1.0)
    assert (atlas.pairs[number].level, atlas.pairs[number].looked) == (1, [3])
    assert not atlas.complete
    atlas.begin(0, None)
    assert atlas.complete
    assert atlas.starts == {0: 2}
    atlas.begin(1, None)
    assert atlas.starts == {0: 2, 1: 0}  # as last looked at
    assert not atlas.complete


def test_all_starts_belong_together(atlas: Atlas) -> None:
    one, other = atlas.begin(0, None), atlas.begin(4, None)
    assert atlas.component(one) == atlas.component(other)


def test_a_step_of_the_environment_is_recorded_by_its_event(atlas: Atlas) -> None:
    pair = atlas.pairs_of[atlas.begin(0, None)][0]
    call = (0, 1.0, False, False, {"event": "call", "exits": (4,)})
    assert atlas.record(pair, call) == 0
    assert atlas.record(pair, (5, 1.0, False, False, {"event": "return", "exit": 0})) == 2
    assert atlas.record(pair, (5, 1.0, False, False, {"event": None})) == 2
    assert atlas.record(pair, (1, 1.0, True, False, {"event": None})) is None
    assert atlas.pairs[pair].outcomes == {("call", 0, 0): 0, ("exit", 0, -1): 1, ("step", 2, -1): 2}
    assert atlas.pairs[pair].counts == [1, 2, 1]
    assert atlas.returns == {(1,): 0}


def test_rewards_must_follow_from_the_outcome() -> None:
    pair = Pair(0, 0)
    pair.add(("exit", 0, -1), 1.0)
    with pytest.raises(ProtocolError, match="paid 1 and 2"):
        pair.add(("exit", 0, -1), 2.0)


def test_several_exits_are_refused(atlas: Atlas) -> None:
    pair = atlas.pairs_of[atlas.begin(0, None)][0]
    with pytest.raises(ProtocolError, match="2 exits"):
        atlas.call(pair, 0.0, 0, (0, 0))


def test_a_run_that_ends_within_a_call_is_no_return(atlas: Atlas) -> None:
    pair = atlas.pairs_of[atlas.begin(0, None)][0]
    atlas.record(pair, (0, 1.0, False, False, {"event": "call", "exits": (4,)}))
    with pytest.raises(ProtocolError, match="1 calls pending"):
        atlas.record(pair, (1, 1.0, True, False, {"event": None}))


def test_exits_are_counted_by_what_calls_announce() -> None:
    atlas = Atlas(recurl.ModelEnv(recurl.zoo.cloud()), several=True)
    start = atlas.begin(0, None)
    inside = atlas.record(atlas.pairs_of[start][0], (3, 0.0, False, False, CALL))
    assert inside is not None
    assert atlas.exits_in_words() == "3 discovered, 0 of them taken"
    back = (5, 0.0, False, False, {"event": "return", "exit": 1})
    assert atlas.record(atlas.pairs_of[inside][0], back) == atlas.state(5, bottom=True)
    assert atlas.exits_taken() == ([set(), {1}], [1, 2])


def test_actions_must_be_discrete() -> None:
    env: gym.Env[int, int] = gym.Env()
    env.action_space = spaces.Box(0, 1)  # type: ignore[assignment]
    with pytest.raises(ProtocolError, match="Discrete"):
        Atlas(env)
