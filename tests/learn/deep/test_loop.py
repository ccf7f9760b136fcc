"""The compiled loop against a plain one that draws the same random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.learn.deep.reference import Reference, as_float

import recurl
from recurl.learn.deep.encoding import vertex_rows
from recurl.learn.deep.engine import DeepModelEngine
from recurl.learn.deep.loop import kept
from recurl.learn.deep.replay import Transition, steps_of
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.schedules import linear

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


def stored(engine: DeepModelEngine) -> Transition:
    return steps_of(kept(*engine.program[:2]), engine.run.buffer)


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
    ],
)
def test_the_loop_does_what_a_plain_one_does(model: recurl.RMDP, given: dict[str, Any]) -> None:
    settings = DeepSettings(**{**SMALL, **given})
    engine = DeepModelEngine(model, settings, flat=False)
    plain = Reference(model, settings, vertex_rows(model, settings.observation), engine.run)
    engine.advance(300)
    for _ in range(300):
        plain.take_step()
    run, steps = engine.run, stored(engine)
    last = plain.buffer[-settings.buffer :]
    order = [i % settings.buffer for i in range(300 - settings.buffer, 300)]
    whole = {"here": 0, "action": 2, "move": 4}
    for name, column in whole.items():
        found = np.asarray(getattr(steps, name))[order]
        assert found.tolist() == [row[column] for row in last], name
    for name, column in {"values": 1, "reward": 3, "other": 5, "values_there": 7}.items():
        found = np.asarray(getattr(steps, name))[order]
        goes_on = np.array([row[4] != 2 or row[0] != row[6] for row in last])
        wanted = np.array([row[column] for row in last])
        np.testing.assert_allclose(found[goes_on], wanted[goes_on], rtol=1e-3, atol=1e-4)
    for mine, his in ((run.brain.online, plain.online), (run.brain.settled, plain.average)):
        his = his if settings.averaging or his is plain.online else plain.online
        for x, y in zip(as_float(mine), as_float(his), strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-4)
    counts = (engine.episodes, engine.cut, engine.overflowed)
    assert counts == (plain.ended, plain.cut, plain.overflowed)
    # The stack of palindrome is kept so low here that some episodes are cut by it.
    assert (engine.overflowed > 5) == (settings.stack_limit == 3)
    assert int(run.place.height) <= settings.stack_limit
    assert float(run.brain.loss) == pytest.approx(plain.loss, rel=1e-2)


def test_a_flat_learner_sees_ordinary_steps_and_the_end() -> None:
    model = recurl.zoo.cloud()
    settings = DeepSettings(hidden=(4,), batch=4, buffer=500, evaluate_every=0)
    engine = DeepModelEngine(model, settings, flat=True)
    engine.advance(500)
    buffer = stored(engine)
    assert buffer.values.shape == (500, 0)
    assert set(np.asarray(buffer.move).tolist()) == {0, 2}
    assert int((np.asarray(buffer.move) == 2).sum()) == engine.episodes
    assert not np.asarray(buffer.other).any()


def test_running_scales_are_one_over_the_root_mean_square() -> None:
    model = recurl.zoo.palindrome(size=2)
    scales: Any = {"value_scale": "running", "reward_scale": "running"}
    settings = DeepSettings(hidden=(4,), batch=4, buffer=400, evaluate_every=0, **scales)
    engine = DeepModelEngine(model, settings, flat=False)
    engine.advance(400)
    brain, buffer = engine.run.brain, stored(engine)
    rewards = np.asarray(buffer.reward)
    assert float(brain.reward_size.number) == 401
    assert float(brain.reward_size.squares) == pytest.approx(1 + (rewards**2).sum(), rel=1e-5)
    calls = np.asarray(buffer.move) == 1
    entered = np.asarray(buffer.values_there)[calls]
    exits = 8  # of every letter
    assert float(brain.value_size.number) == 1 + exits * calls.sum()
    assert float(brain.value_size.squares) == pytest.approx(1 + (entered**2).sum(), rel=1e-4)
