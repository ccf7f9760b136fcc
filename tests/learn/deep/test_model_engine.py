from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learn.deep.small import COPIES_ON_MODEL, SMALL

import recurl
from recurl.errors import LimitError
from recurl.learn.deep.model_engine import DeepModelEngine, advance, key_of_test
from recurl.learn.deep.settings import PRESETS, DeepSettings
from recurl.learn.schedules import constant


def engine(seed: int = 0, **given: Any) -> DeepModelEngine:
    settings = DeepSettings(**{**SMALL, "seed": seed, **given})
    return DeepModelEngine(recurl.zoo.cloud(), settings, flat=False)


COPIES: dict[str, Any] = {"copies": 7, "rollout": 3, "exploration_repeat": 4, "target_every": 0}
WITH_A_UNIT = PRESETS["parallel"] | {k: v for k, v in COPIES_ON_MODEL.items() if k != "preset"}
"""Copies whose rewards are scaled by what the warm-up tells."""


@pytest.mark.parametrize("given", [{}, COPIES, WITH_A_UNIT])
def test_stretches_may_be_divided_in_any_way(given: dict[str, Any]) -> None:
    one, two = engine(**given), engine(**given)
    one.advance(130)
    for steps in (1, 49, 30, 50):
        two.advance(steps)
    for name, array in one.arrays().items():
        assert array.tobytes() == two.arrays()[name].tobytes(), name


def test_seeds_differ() -> None:
    one, two = engine(1), engine(2)
    one.advance(50)
    two.advance(50)
    assert (one.arrays()["agent.buffer.numbers"] != two.arrays()["agent.buffer.numbers"]).any()


def test_a_due_test_is_part_of_the_stretch_and_the_same_as_by_itself() -> None:
    found = engine()
    found.advance(150)
    within = found.test(100, 100, 151)
    found._tested.clear()
    for a, b in zip(within, found.test(100, 100, 151), strict=True):
        assert (a == b).all()
    other = found.test(100, 100, 52)[0]
    assert (other != within[0]).any()


def test_training_episodes_are_told_once() -> None:
    found = engine()
    found.advance(100)
    ended, total = found.tally
    assert -20 < total / ended < 0
    found.begin_tally()
    assert found.tally == (0, 0)
    assert found.episodes > 5


def test_a_loss_that_is_not_finite_stops_with_the_last_good_state() -> None:
    # As for the whole learner.
    found = engine(warm_up=60, learning_rate=constant(1.0), reward_scale=1e30)
    found.advance(60)
    before = found.arrays()
    with pytest.raises(
        LimitError, match=r"at step 6\d: lower learning_rate \(now 1\).*step 60 is kept"
    ):
        found.advance(100)
    assert found.steps == 60
    for name, array in found.arrays().items():
        assert array.tobytes() == before[name].tobytes(), name


def test_weights_that_are_not_finite_are_found_before_the_loss_tells() -> None:
    found = engine()
    found.advance(10)
    weights = jax.tree.map(lambda x: x.at[0].set(np.inf), found.agent.learned.online)
    learned = found.agent.learned._replace(online=weights)
    found.agent = found.agent._replace(learned=learned)
    with pytest.raises(LimitError, match="the loss is nan at step 11"):
        found.advance(1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("place.vertex", 99), ("place.height", -1), ("agent.buffer.shown", 1000),
        ("agent.buffer.numbers", -2), ("place.boxes", 50), ("agent.step", -4),
    ],
)  # fmt: skip
def test_a_state_that_cannot_be_is_refused(name: str, value: int) -> None:
    found = engine()
    arrays = found.arrays()
    arrays[name] = np.full_like(arrays[name], value)
    with pytest.raises(ValueError, match="the"):
        found.restore({}, arrays)


def test_a_test_is_made_by_the_program_where_it_is_due() -> None:
    settings = DeepSettings(**SMALL)
    engine = DeepModelEngine(recurl.zoo.cloud(), settings, flat=False)
    key = jax.random.key(0)
    where = (engine.program, engine.sizes, engine.model_arrays)
    run, (returns, lengths, cut) = advance(*where, engine.run, jnp.int32(50), key)
    assert int(run.agent.step) == 50
    assert (np.asarray(lengths) >= 1).all()
    assert (np.asarray(returns) < 0).all()
    assert not np.asarray(cut).any()
    run, (returns, lengths, _) = advance(*where, run, jnp.int32(49), key)
    assert int(run.agent.step) == 99
    assert not np.asarray(lengths).any()
    assert not np.asarray(returns).any()


def test_keys_of_tests_differ() -> None:
    key = jax.random.key(0)
    one, two = (float(jax.random.uniform(key_of_test(key, jnp.int32(i)))) for i in (1, 2))
    assert one != pytest.approx(two)
