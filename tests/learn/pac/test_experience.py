"""What episodes have shown."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl.errors import ProtocolError
from recurl.learn.pac.confidence import level_size
from recurl.learn.pac.experience import Experience, Pair

CALL = {"event": "call", "exits": (4, 5)}


@pytest.fixture
def experience() -> Experience:
    return Experience(recurl.ModelEnv(recurl.zoo.gambler(p=0.25)))


def test_states_are_known_by_their_observations(experience: Experience) -> None:
    assert [experience.state(v) for v in (4, 0, 4, np.int64(0))] == [0, 1, 0, 1]
    assert experience.observations == [4, 0]


def test_a_visit_makes_the_legal_pairs_known_once() -> None:
    experience = Experience(recurl.ModelEnv(recurl.zoo.cloud()))
    mask = np.array([0, 1], np.int8)
    for _ in range(2):
        state = experience.visit(3, mask)
    assert [experience.pairs[p].action for p in experience.pairs_of[state]] == [1]
    assert len(experience.pairs_of[experience.visit(5, None)]) == 2


def test_steps_and_returns_connect_and_calls_do_not(experience: Experience) -> None:
    start = experience.begin(0, None)
    pair = experience.pairs_of[start][0]
    entry = experience.visit(1, None)
    experience.call(pair, 1.0, entry, [experience.state(4)])
    assert experience.component(experience.state(4)) == experience.component(start)
    assert experience.component(entry) != experience.component(start)
    experience.step(pair, 1.0, entry)
    assert experience.component(entry) == experience.component(start)
    assert experience.samples == 2


def test_a_pair_is_looked_at_when_it_reaches_a_level(experience: Experience) -> None:
    number = experience.pairs_of[experience.begin(0, None)][0]
    pair = experience.pairs[number]
    for _ in range(level_size(1) - 1):
        experience.leave(number, 1.0)
    assert (pair.level, pair.at_level, pair.due) == (0, [], level_size(1))
    experience.step(number, 0.5, 0)
    assert (pair.level, pair.at_level, pair.due) == (1, [level_size(1) - 1, 1], level_size(2))
    experience.step(number, 0.5, 0)
    assert pair.at_level == [level_size(1) - 1, 1]
    assert experience.samples == pair.total == level_size(1) + 1


def test_sizes_may_be_planned() -> None:
    env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
    experience = Experience(env, lambda number, level: 2 + number if level == 1 else 100)
    number = experience.pairs_of[experience.begin(0, None)][0]
    for _ in range(4):
        experience.leave(number, 1.0)
    assert (experience.pairs[number].level, experience.pairs[number].at_level) == (1, [3])
    assert not experience.complete
    experience.begin(0, None)
    assert experience.complete
    assert experience.starts == {0: 2}
    experience.begin(1, None)
    assert experience.starts == {0: 2, 1: 0}  # as at the level of the start
    assert not experience.complete


def test_all_starts_belong_together(experience: Experience) -> None:
    one, other = experience.begin(0, None), experience.begin(4, None)
    assert experience.component(one) == experience.component(other)


def test_a_step_of_the_environment_is_recorded_by_its_event(experience: Experience) -> None:
    pair = experience.pairs_of[experience.begin(0, None)][0]
    call = (0, 1.0, False, False, {"event": "call", "exits": (4,)})
    assert experience.record(pair, call) == 0
    wrong = (5, 1.0, False, False, {"event": "return", "exit": 0})
    with pytest.raises(ProtocolError, match="exit 0 was announced as 4, but the observation is 5"):
        experience.record(pair, wrong)
    assert experience.record(pair, (4, *wrong[1:])) == 1
    assert experience.record(pair, (5, 1.0, False, False, {"event": None})) == 2
    assert experience.record(pair, (1, 1.0, True, False, {"event": None})) is None
    assert experience.pairs[pair].outcomes == {
        ("call", 0, 0): 0,
        ("exit", 0, -1): 1,
        ("step", 2, -1): 2,
    }
    assert experience.pairs[pair].counts == [1, 2, 1]
    assert experience.returns == {(1,): 0}


def test_rewards_must_follow_from_the_outcome() -> None:
    pair = Pair(0, 0)
    pair.add(("exit", 0, -1), 1.0)
    with pytest.raises(ProtocolError, match="paid 1 and 2"):
        pair.add(("exit", 0, -1), 2.0)


def test_several_exits_are_refused(experience: Experience) -> None:
    pair = experience.pairs_of[experience.begin(0, None)][0]
    with pytest.raises(ProtocolError, match="2 exits"):
        experience.call(pair, 0.0, 0, (0, 0))


def test_a_run_that_ends_within_a_call_is_no_return(experience: Experience) -> None:
    pair = experience.pairs_of[experience.begin(0, None)][0]
    experience.record(pair, (0, 1.0, False, False, {"event": "call", "exits": (4,)}))
    with pytest.raises(ProtocolError, match="1 calls pending"):
        experience.record(pair, (1, 1.0, True, False, {"event": None}))


def test_exits_are_counted_by_what_calls_announce() -> None:
    experience = Experience(recurl.ModelEnv(recurl.zoo.cloud()), several=True)
    start = experience.begin(0, None)
    inside = experience.record(experience.pairs_of[start][0], (3, 0.0, False, False, CALL))
    assert inside is not None
    assert experience.exit_counts() == (3, 0)
    back = (5, 0.0, False, False, {"event": "return", "exit": 1})
    assert experience.record(experience.pairs_of[inside][0], back) == experience.state(
        5, bottom=True
    )
    assert experience.exit_counts() == (3, 1)


def test_actions_must_be_discrete() -> None:
    env: gym.Env[int, int] = gym.Env()
    env.action_space = spaces.Box(0, 1)  # type: ignore[assignment]
    with pytest.raises(ProtocolError, match="Discrete"):
        Experience(env)
