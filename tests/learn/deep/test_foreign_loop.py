"""The program that follows a step of an environment, case by case."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recurl.learn.deep.foreign_loop import (
    entered_values,
    first_actions,
    kept,
    new_mind,
    policy_action,
    policy_values,
    take_in,
)
from recurl.learn.deep.network import Shape
from recurl.learn.deep.replay import steps_of
from recurl.learn.deep.rule import predict
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.deep.sheet import Seen, blank
from recurl.learn.schedules import constant
from recurl.model.tables import CALLS, EXITS, STEP

SHAPE = Shape(3, 2, 4)
PLAN = DeepSettings(hidden=(6,), batch=4, buffer=10, warm_up=100, exploration=constant(0.0))
SETTING = (PLAN, SHAPE)


def filled(lanes: int = 3) -> tuple[np.ndarray, Seen]:
    """A step, a call with one of two exits, and a return through exit 1."""
    rng = np.random.default_rng(0)
    sheet, seen = blank(SHAPE, lanes)
    for part in (seen.here, seen.there, seen.next, seen.values, seen.popped, seen.ports):
        part[...] = rng.random(part.shape)
    seen.move[:], seen.exit[:] = [STEP, CALLS, EXITS], [0, 0, 1]
    seen.reward[:], seen.action[:] = [1, 2, 3], [0, 1, 2]
    seen.mask[...] = seen.next_mask[...] = 1
    seen.real[:] = 1
    seen.ports_mask[1, 0, :3] = 1
    return sheet, seen


def test_each_move_is_stored_with_its_number_and_goes_on_in_its_values() -> None:
    mind = new_mind(SETTING, jnp.uint32(0))
    brain = jax.tree.map(jnp.copy, mind.brain)
    sheet, seen = filled()
    mind, told = take_in(SETTING, mind, sheet)
    steps = steps_of(kept(SETTING), mind.buffer)
    q = predict(
        PLAN, brain, brain.online, jnp.asarray(seen.ports[1, 0]), jnp.asarray(seen.values[1])
    )
    other = [0.0, float(q[:3].max()), float(seen.values[2, 1])]
    np.testing.assert_allclose(steps.other[1:3], other[1:], rtol=1e-5)
    after = [seen.values[0], np.zeros(2), seen.popped[2]]
    np.testing.assert_allclose(steps.values_there[:3], after, rtol=1e-6)
    np.testing.assert_allclose(told[:, 2:], after, rtol=1e-6)
    assert steps.move[:3].tolist() == [STEP, CALLS, EXITS]
    assert int(mind.step) == 3
    wanted = predict(PLAN, brain, brain.online, jnp.asarray(seen.next), jnp.asarray(after))
    assert told[:, 0].tolist() == wanted.argmax(axis=1).tolist()


def test_lanes_that_only_begin_are_not_stored_and_begin_with_equal_exits() -> None:
    mind = new_mind(SETTING, jnp.uint32(0))
    sheet, seen = filled()
    seen.real[:], seen.begins[:] = [0, 1, 0], [1, 0, 0]
    mind, told = take_in(SETTING, mind, sheet)
    assert int(mind.step) == 1
    assert steps_of(kept(SETTING), mind.buffer).reward.tolist() == [2, *[0] * 9]
    assert told[0, 2:].tolist() == [0, 0]


def test_as_many_updates_as_steps() -> None:
    setting = (DeepSettings(hidden=(6,), batch=4, buffer=10, warm_up=1), SHAPE)
    sheet, _ = filled()
    mind, _ = take_in(setting, new_mind(setting, jnp.uint32(0)), sheet)
    assert int(mind.brain.updates) == 2  # the first step is for warming up
    single, seen = blank(SHAPE, 1)
    seen.real[:], seen.mask[...], seen.next_mask[...] = 1, 1, 1
    mind, _ = take_in(setting, mind, single)
    assert int(mind.brain.updates) == 3


def test_exit_values_of_exits_that_exist() -> None:
    mind = new_mind(SETTING, jnp.uint32(0))
    rng = np.random.default_rng(1)
    values, ports = (
        jnp.asarray(rng.random(2, np.float32)),
        jnp.asarray(rng.random((2, 3), np.float32)),
    )
    mask = jnp.ones((2, 4), bool)
    both = (mind.brain, mind.brain.online)
    found, least = entered_values(SETTING, both, values, ports, mask)
    q = predict(PLAN, *both, ports, jnp.stack([values, values])).max(axis=1)
    np.testing.assert_allclose(found, q - q.min(), atol=1e-6)
    assert float(least) == pytest.approx(float(q.min()))
    np.testing.assert_allclose(policy_values(SETTING, mind.brain, values, ports, mask), found)
    one, least = entered_values(SETTING, both, values, ports, mask.at[0].set(False))
    assert one.tolist() == [0, 0]
    assert float(least) == pytest.approx(float(q[1]))


def test_actions_that_do_not_exist_are_not_chosen() -> None:
    setting = (DeepSettings(hidden=(6,), batch=4, buffer=10, exploration=constant(1.0)), SHAPE)
    mind = new_mind(setting, jnp.uint32(0))
    lanes = 400
    features, values = np.zeros((lanes, 3), np.float32), np.zeros((lanes, 2), np.float32)
    mask = np.tile(np.array([False, True, False, True]), (lanes, 1))
    found = np.asarray(first_actions(setting, mind, features, values, mask))
    assert set(found.tolist()) == {1, 3}
    assert 140 < (found == 1).sum() < 260
    single = policy_action(setting, mind.brain, features[0], values[0], mask[0])
    assert int(single) in (1, 3)
