"""The compiled loop against a plain one that draws the same random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.learn.deep.reference import Reference, as_float

import recurl
from recurl.learn.deep.encoding import vertex_rows
from recurl.learn.deep.model_engine import DeepModelEngine
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.schedules import constant, linear
from recurl.model.tables import CALLS

SMALL: dict[str, Any] = {
    "hidden": (12, 8),
    "batch": 16,
    "buffer": 150,
    "warm_up": 60,
    "target_every": 40,
    "learning_rate": linear(0.01, 0.002, 250),
    "exploration": linear(1.0, 0.3, 200),
    "evaluate_every": 0,
}


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (recurl.zoo.cloud(), {"episode_limit": 30}),
        (
            recurl.zoo.palindrome(size=2),
            {"observation": "categories", "averaging": 0.9, "value_scale": 0.1, "stack_limit": 3},
        ),
        (recurl.zoo.stack_matters(), {"reward_scale": 0.5, "train_every": 2}),
        (recurl.zoo.palindrome(size=2), {"value_scale": 0.1, "stack_limit": 3, "refresh": 3}),
        (recurl.zoo.cloud(), {"gamma": 0.9, "refresh": 2}),
        (
            recurl.zoo.palindrome(size=2),
            {
                "buffer": 50,
                "rollout": 50,
                "epochs": 2,
                "trace": 0.7,
                "target_every": 0,
                "exploration_repeat": 3,
                "value_scale": 0.1,
                "stack_limit": 3,
            },
        ),
    ],
)
def test_the_loop_does_what_a_plain_one_does(model: recurl.RMDP, given: dict[str, Any]) -> None:
    settings = DeepSettings(**{**SMALL, **given})
    engine = DeepModelEngine(model, settings, flat=False)
    plain = Reference(model, settings, vertex_rows(model, settings.observation), engine.run)
    engine.advance(300)
    for _ in range(300):
        plain.take_step()
    run, steps = engine.run, engine.stored
    last = plain.buffer[-settings.buffer :]
    order = [i % settings.buffer for i in range(300 - settings.buffer, 300)]
    whole = {"here": 0, "action": 2, "move": 4}
    for name, column in whole.items():
        found = np.asarray(getattr(steps, name)).ravel()[order]
        assert found.tolist() == [row[column] for row in last], name
    for name, column in {"values": 1, "reward": 3, "other": 5, "values_there": 7}.items():
        found = np.asarray(getattr(steps, name))[order]
        goes_on = np.array([row[4] != 2 or row[0] != row[6] for row in last])
        wanted = np.array([row[column] for row in last])
        np.testing.assert_allclose(found[goes_on], wanted[goes_on], rtol=1e-3, atol=1e-4)
    for mine, his in (
        (run.agent.learned.online, plain.online),
        (run.agent.learned.policy, plain.average),
    ):
        his = his if settings.averaging or his is plain.online else plain.online
        for x, y in zip(as_float(mine), as_float(his), strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-4)
    counts = (engine.episodes, engine.cut, engine.overflowed)
    assert counts == (plain.ended, plain.cut, plain.overflowed)
    # The stack of palindrome is kept so low here that some episodes are cut by it.
    assert (engine.overflowed > 5) == (settings.stack_limit == 3)
    assert int(run.place.height[0]) <= settings.stack_limit
    assert float(run.agent.learned.loss) == pytest.approx(plain.loss, rel=1e-2)


def copies() -> DeepModelEngine:
    settings = DeepSettings(
        **{**SMALL, "copies": 3, "rollout": 10, "target_every": 0, "exploration": constant(1.0),
           "stack_limit": 200}
    )  # fmt: skip
    return DeepModelEngine(recurl.zoo.palindrome(size=2), settings, flat=False)


def test_copies_have_their_own_episodes_and_stacks() -> None:
    engine = copies()
    engine.advance(30)
    stored, place = engine.stored, engine.run.place
    here, there = (np.asarray(shown).reshape(10, 3) for shown in (stored.here, stored.there))
    change = np.choose(np.asarray(stored.move).reshape(10, 3), [0, 1, -1])
    for copy in range(3):
        height = 0
        for i in range(10):
            height += change[i, copy]
            after = here[i + 1, copy] if i < 9 else int(place.vertex[copy])
            assert height < 0 or after == there[i, copy]
            height = max(0, height)
        assert height == int(place.height[copy])
    assert len({tuple(column) for column in here.T}) == 3


def test_nothing_is_learned_before_a_rollout_is_complete() -> None:
    engine = copies()
    engine.advance(89)
    assert int(engine.agent.learned.updates) == 1  # of 16 of the 30 steps after warm_up
    engine.advance(1)
    assert int(engine.agent.learned.updates) == 2
    assert engine.stored.action.shape == (30,)


def test_an_action_that_explores_is_repeated_for_k_steps_with_probability_one_in_k() -> None:
    settings = DeepSettings(
        **{**SMALL, "exploration": constant(1.0), "exploration_repeat": 4, "buffer": 4_000,
           "warm_up": 10_000}
    )  # fmt: skip
    engine = DeepModelEngine(recurl.zoo.palindrome(), settings, flat=False)
    engine.advance(4_000)
    action = np.asarray(engine.stored.action)
    # Neighbours are equal by repetition, or by chance one in five.
    same = np.mean(action[1:] == action[:-1])
    mean_length = 1 + 1 / 2 + 1 / 3 + 1 / 4
    kept = 1 - 1 / mean_length
    assert same == pytest.approx(kept + (1 - kept) / 5, abs=0.06)


def test_a_flat_learner_sees_ordinary_steps_and_the_end() -> None:
    model = recurl.zoo.cloud()
    settings = DeepSettings(hidden=(4,), batch=4, buffer=500, evaluate_every=0)
    engine = DeepModelEngine(model, settings, flat=True)
    engine.advance(500)
    buffer = engine.stored
    assert buffer.values.shape == (500, 0)
    assert set(np.asarray(buffer.move).tolist()) == {0, 2}
    assert int((np.asarray(buffer.move) == 2).sum()) == engine.episodes
    assert not np.asarray(buffer.other).any()


def test_the_unit_is_measured_before_the_first_update() -> None:
    model = recurl.zoo.palindrome(size=2)
    settings = DeepSettings(**{**SMALL, "reward_scale": "warm_up", "warm_up": 60})
    engine = DeepModelEngine(model, settings, flat=False)
    engine.advance(61)
    rewards, calls = np.asarray(engine.stored.reward), np.asarray(engine.stored.move) == CALLS
    sizes = engine.agent.learned.rewards
    assert float(sizes.number) == 61
    assert float(sizes.squares) == pytest.approx((rewards[:61] ** 2).sum(), rel=1e-5)
    # Exit values count for nothing as long as there is no unit.
    assert calls[:60].any()
    assert not np.asarray(engine.stored.values_there)[:60].any()
    engine.advance(80)
    assert engine.agent.learned.rewards == sizes


@pytest.mark.parametrize("factor", [1 / 128, 128])
def test_rewards_times_a_factor_give_the_same_run(factor: float) -> None:
    given = {**SMALL, "reward_scale": "warm_up", "refresh": 2}
    model = recurl.zoo.palindrome(size=2)
    plain = DeepModelEngine(model, DeepSettings(**given), flat=False)
    other = DeepModelEngine(model, DeepSettings(**given), flat=False)
    arrays = other.model_arrays
    other.model_arrays = arrays._replace(reward=factor * arrays.reward)
    plain.advance(250)
    other.advance(250)
    mine, his = plain.agent.learned.online, other.agent.learned.online
    for x, y in zip(as_float(mine), as_float(his), strict=True):
        np.testing.assert_array_equal(x, y)
