from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from recurl.errors import ProtocolError
from recurl.learn.deep.lanes import ManyLanes, OneLane, lanes_of


def vector(mode: AutoresetMode) -> Any:
    given = {"autoreset_mode": mode}
    return gym.make_vec("recurl/Cloud-v0", 2, vectorization_mode="sync", vector_kwargs=given)


def test_one_lane_begins_anew_after_the_end() -> None:
    lane = lanes_of(gym.make("recurl/Cloud-v0"), None)
    assert lane.count == 1
    [(start, _)] = lane.reset(0)
    [moment] = lane.step(np.array([0]))  # mono: the run is over
    assert (moment.reward, moment.terminated, moment.truncated) == (-8.0, True, False)
    assert moment.fresh is not None
    assert moment.fresh[0] == start


def test_one_lane_is_cut_at_the_limit() -> None:
    lane = OneLane(gym.make("recurl/Cloud-v0"), 2)
    lane.reset(0)
    [first] = lane.step(np.array([1]))
    [second] = lane.step(np.array([1]))
    assert (first.truncated, first.fresh) == (False, None)
    assert second.truncated
    assert second.fresh is not None
    assert first.info["event"] == "call"


def test_lanes_that_begin_at_the_next_step() -> None:
    lanes = ManyLanes(vector(AutoresetMode.NEXT_STEP))
    lanes.reset(0)
    over, goes_on = lanes.step(np.array([0, 1]))
    assert (over.terminated, over.fresh, over.real) == (True, None, True)
    assert goes_on.info["event"] == "call"
    assert goes_on.info["exits"] == (5,)
    begun, _ = lanes.step(np.array([0, 1]))
    assert not begun.real
    assert begun.fresh is not None
    assert begun.fresh[1]["action_mask"].tolist() == [1, 1]


def test_lanes_that_begin_at_once() -> None:
    lanes = ManyLanes(vector(AutoresetMode.SAME_STEP))
    lanes.reset(0)
    over, goes_on = lanes.step(np.array([0, 1]))
    assert (over.terminated, over.real, over.observation) == (True, True, 1)
    assert over.fresh is not None
    assert over.fresh[0] == 0
    assert "final_obs" not in over.fresh[1]
    assert goes_on.fresh is None
    assert "exit" not in goes_on.info


def test_what_lanes_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="cuts its own episodes"):
        lanes_of(vector(AutoresetMode.NEXT_STEP), 10)
    with pytest.raises(ProtocolError, match="must begin episodes itself"):
        lanes_of(vector(AutoresetMode.DISABLED), None)
