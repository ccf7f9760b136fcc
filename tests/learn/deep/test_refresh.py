"""Calls that are entered anew: all stored ones, where as many are looked for as could be missed."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import recurl
from recurl.learn.deep import foreign_loop, loop
from recurl.learn.deep.engine import DeepModelEngine
from recurl.learn.deep.foreign import DeepForeignEngine
from recurl.learn.deep.refresh import SPARE, refresh_draws, refreshed
from recurl.learn.deep.replay import Kind, Transition, new_buffer, steps_of, store_rows
from recurl.learn.deep.settings import DeepSettings
from recurl.model.tables import CALLS

PLAN: dict[str, Any] = {"hidden": (8,), "batch": 8, "buffer": 30, "warm_up": 5, "evaluate_every": 0}
KIND = Kind(0, 1, 0, True)


def filled() -> jnp.ndarray:
    """Six steps, of which numbers 1 and 4 are calls."""
    none, numbers = jnp.zeros((6, 0)), jnp.arange(6.0)
    moves, rows = jnp.array([0, CALLS, 2, 0, CALLS, 2]), numbers[:, None]
    steps = Transition(
        numbers, rows, numbers, numbers, moves, numbers, numbers, rows, none, numbers, none
    )
    return store_rows(new_buffer(KIND, 6), jnp.arange(6), steps, jnp.ones(6, bool))


def again(calls: Transition) -> tuple[jnp.ndarray, jnp.ndarray]:
    return 100 + calls.values, 10.0 * calls.ports


def test_calls_are_entered_anew_and_other_steps_are_left() -> None:
    buffer, draws = filled(), jnp.array([0.0, 0.2, 0.4, 0.5, 0.7, 0.9, 0.99, 0.1])
    after = refreshed(KIND, buffer, jnp.int32(6), jnp.bool_(True), draws, again)
    steps = steps_of(KIND, after)
    assert steps.other.tolist() == [0, 10, 2, 3, 40, 5]
    assert steps.values_there.ravel().tolist() == [0, 101, 2, 3, 104, 5]
    for name in ("here", "values", "action", "reward", "move", "there", "ports"):
        kept = getattr(steps_of(KIND, buffer), name)
        assert getattr(steps, name).tolist() == kept.tolist(), name


def test_no_more_calls_than_asked_for_and_none_when_nothing_is_due() -> None:
    buffer, draws = filled(), jnp.array([0.0, 0.2, 0.7, 0.9])
    one = refreshed(KIND, buffer, jnp.int32(6), jnp.bool_(True), draws, again)
    assert steps_of(KIND, one).other.tolist() == [0, 10, 2, 3, 4, 5]
    none = refreshed(KIND, buffer, jnp.int32(6), jnp.bool_(False), draws, again)
    assert none.tolist() == buffer.tolist()


def test_random_numbers_are_those_of_the_step_and_apart_from_its_others() -> None:
    key = recurl.DeepRecursiveQLearning(recurl.zoo.cloud(), **PLAN).engine.run.key
    draws = refresh_draws(key, jnp.int32(3), 5)
    assert draws.shape == (SPARE * 5,)
    assert draws.tolist() != refresh_draws(key, jnp.int32(4), 5).tolist()
    assert not set(draws.tolist()) & set(loop.step_draws(key, jnp.int32(3), 16).tolist())


def test_all_calls_of_a_model_are_as_they_would_be_entered_now() -> None:
    settings = DeepSettings(refresh=100, **PLAN)
    engine = DeepModelEngine(recurl.zoo.palindrome(size=2), settings, flat=False)
    engine.advance(50)
    steps = steps_of(loop.kept(*engine.program[:2]), engine.run.buffer)
    calls = np.flatnonzero(np.asarray(steps.move) == CALLS)
    assert len(calls) > 5
    brain = engine.run.brain
    values, least = loop.enter(
        engine.program, engine.world, (brain, brain.online), steps.values, steps.ports
    )
    np.testing.assert_allclose(steps.other[calls], least[calls], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(steps.values_there[calls], values[calls], rtol=1e-5, atol=1e-6)


def test_all_calls_of_an_environment_are_as_they_would_be_entered_now() -> None:
    settings = DeepSettings(refresh=100, **PLAN)
    env = recurl.ModelEnv(recurl.zoo.stack_matters())
    engine = DeepForeignEngine(env, settings, flat=False)
    engine.advance(50)
    setting, mind = (settings.plan, engine.shape), engine.mind
    steps = steps_of(foreign_loop.kept(setting), mind.buffer)
    calls = np.flatnonzero(np.asarray(steps.move) == CALLS)
    assert len(calls) > 5
    values, least = foreign_loop.entered_values(
        setting, (mind.brain, mind.brain.online), steps.values, steps.ports, steps.ports_mask
    )
    np.testing.assert_allclose(steps.other[calls], least[calls], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(steps.values_there[calls], values[calls], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [recurl.DQN, recurl.DeepRecursiveQLearning])
def test_a_learner_without_it_stores_no_ports(kind: Any) -> None:
    given = PLAN if kind is recurl.DeepRecursiveQLearning else {**PLAN, "refresh": 3}
    engine = kind(recurl.zoo.cloud(), preset="paper", **given).engine
    assert not loop.kept(*engine.program[:2]).ports
