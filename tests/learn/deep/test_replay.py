from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recurl
from recurl.learn.deep import replay
from recurl.learn.deep.env_engine import DeepEnvEngine, ObservationView
from recurl.learn.deep.loop import View, batch_draws, enter
from recurl.learn.deep.model_engine import DeepModelEngine
from recurl.learn.deep.replay import SPARE, Buffer, ReplayRecord, Transition, cut, width
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.deep.simulator import ModelView
from recurl.model.tables import CALLS, EXITS, STEP

# Compiled as a whole, as in a run: operation by operation takes longer.
new_buffer = jax.jit(replay.new_buffer, static_argnums=(0, 1))
store, steps_of = (jax.jit(f, static_argnums=0) for f in (replay.store, replay.steps_of))
link, places = jax.jit(replay.link), jax.jit(replay.places)
chains = jax.jit(replay.chains, static_argnums=(0, 3, 4))
refresh_draws = jax.jit(replay.refresh_draws, static_argnums=2)
refreshed = jax.jit(replay.refreshed, static_argnums=(0, 5))

PLAN: dict[str, Any] = {"hidden": (8,), "batch": 8, "buffer": 30, "warm_up": 5, "evaluate_every": 0}
PARTS = [(2,), (), (0,), (2, 2)]
VERTICES = ReplayRecord(1, 1, "int32", 1, 0)


def test_parts_of_numpy_are_views() -> None:
    table = np.zeros((3, width(PARTS)))
    first, number, none, square = cut(table, PARTS)
    square[1] = [[1, 2], [3, 4]]
    number[2], first[0] = 9, 5
    assert none.shape == (3, 0)
    assert table.tolist() == [[5, 5, 0, 0, 0, 0, 0], [0, 0, 0, 1, 2, 3, 4], [0, 0, 9, 0, 0, 0, 0]]


def test_the_device_cuts_alike() -> None:
    table = np.arange(14.0).reshape(2, 7)
    for mine, his in zip(cut(jnp.asarray(table), PARTS), cut(table, PARTS), strict=True):
        np.testing.assert_array_equal(mine, his)


def numbered(numbers: Any, moves: Any = STEP) -> Transition:
    """Steps of a model that hold their own number in every field."""
    x = np.asarray(numbers, np.float32)
    rows, none = x[:, None], np.zeros((len(x), 0), np.float32)
    move = np.broadcast_to(np.asarray(moves), x.shape)
    return Transition(
        rows, rows, rows, rows, x, x, move, x, none, rows, none, none, -np.ones(len(x), np.float32)
    )


def filled(moves: Any, size: int | None = None) -> Buffer:
    count = len(moves)
    buffer = new_buffer(VERTICES, size or count)
    return store(VERTICES, buffer, np.arange(count), numbered(range(count), moves))


def test_steps_are_written_over_others_and_left_out_beyond_the_end() -> None:
    buffer = filled([STEP, STEP, STEP])
    buffer = store(VERTICES, buffer, np.array([0, 3, 1]), numbered([7, 8, 9], CALLS))
    steps = steps_of(VERTICES, buffer)
    assert steps.here.ravel().tolist() == [7, 9, 2]
    assert steps.values.ravel().tolist() == [7, 9, 2]
    assert steps.move.tolist() == [CALLS, CALLS, STEP]
    assert (steps.here.dtype, steps.move.dtype) == (jnp.int32, jnp.uint8)


def test_vertices_are_kept_exactly() -> None:
    step = numbered([0])._replace(there=np.array([[2**31 - 1]], np.int32))
    buffer = store(VERTICES, new_buffer(VERTICES, 1), np.array([0]), step)
    assert steps_of(VERTICES, buffer).there.tolist() == [[2**31 - 1]]


def test_images_are_stored_as_bytes() -> None:
    record = ReplayRecord(3, 6, "uint8", 2, 2)
    row, values, mask = np.array([[1, 200, 255]]), np.array([[9.5, -1]]), np.array([[1, 0]])
    x, ports = np.array([4.5]), np.array([[[1, 2, 3], [4, 5, 6]]])
    masks = np.array([[[0, 1], [1, 1]]])
    step = Transition(row, row, ports, values, x, x, x, x, np.zeros((1, 0)), values, mask, masks, x)
    buffer = store(record, new_buffer(record, 1), np.array([0]), step)
    assert (buffer.shown.dtype, buffer.shown.shape) == (jnp.uint8, (1, 12))
    found = steps_of(record, buffer)
    assert found.here.tolist() == found.there.tolist() == [[1, 200, 255]]
    assert found.ports.tolist() == [[1, 2, 3, 4, 5, 6]]
    assert (found.values.tolist(), found.other.tolist()) == ([[9.5, -1]], [4.5])
    assert (found.mask.tolist(), found.ports_mask.tolist()) == (
        [[True, False]],
        [[[False, True], [True, True]]],
    )


def test_places_are_those_that_are_filled() -> None:
    last = np.nextafter(np.float32(1), np.float32(0))
    draws = np.array([0.0, 0.24, 0.25, 0.5, 0.99, last], np.float32)
    found = places(filled([STEP] * 4, size=10), np.int32(4), draws)
    assert found.tolist() == [0, 0, 1, 2, 3, 3]


def test_ordinary_steps_are_joined_until_a_call_an_exit_or_an_end() -> None:
    moves = [STEP, STEP, CALLS, STEP, EXITS, STEP]
    buffer = link(filled(moves), np.array([0, 1, 2, 3, -1]), np.array([1, 2, 3, 4, 5]))
    steps, discount = chains(VERTICES, buffer, np.arange(6), 3, 0.5)
    # Rewards are the numbers of the steps: 0 + 1/2 + 2/4 for the first chain, cut by the call.
    assert steps.reward.tolist() == [1, 2, 2, 5, 4, 5]
    assert steps.move.tolist() == [CALLS, CALLS, CALLS, EXITS, EXITS, STEP]
    assert steps.there.ravel().tolist() == [2, 2, 2, 4, 4, 5]
    assert steps.here.ravel().tolist() == steps.action.tolist() == [0, 1, 2, 3, 4, 5]
    assert discount.tolist() == [0.125, 0.25, 0.5, 0.25, 0.5, 0.5]
    alone, discount = chains(VERTICES, buffer, np.arange(6), 1, 0.5)
    assert (alone.reward.tolist(), set(discount.tolist())) == ([0, 1, 2, 3, 4, 5], {0.5})


@pytest.mark.parametrize("lanes", [1, 3])
def test_links_lead_to_the_next_step_of_the_same_episode(lanes: int) -> None:
    def env() -> recurl.ModelEnv:
        return recurl.ModelEnv(recurl.zoo.cloud(), observation="onehot")

    settings = DeepSettings(**{**PLAN, "buffer": 300, "n_step": 3})
    import gymnasium as gym

    subject = env() if lanes == 1 else gym.vector.SyncVectorEnv([env] * lanes)
    engine = DeepEnvEngine(subject, settings, flat=False)
    engine.advance(250)
    steps = engine.stored
    here, there = np.asarray(steps.here), np.asarray(steps.there)
    following = np.asarray(steps.next)[: engine.steps]
    linked = np.flatnonzero(following >= 0)
    assert len(linked) > 100
    assert (here[following[linked]] == there[linked]).all()
    np.testing.assert_array_equal(
        np.asarray(steps.values)[following[linked]], np.asarray(steps.values_there)[linked]
    )
    unlinked = np.setdiff1d(np.arange(engine.steps), linked)
    assert engine.episodes <= len(unlinked) <= engine.episodes + lanes


def again(calls: Transition) -> tuple[jnp.ndarray, jnp.ndarray]:
    return 100 + calls.values, 10.0 * calls.ports[:, 0]


MOVES = [STEP, CALLS, EXITS, STEP, CALLS, EXITS]


def test_calls_are_refreshed_and_other_steps_are_left() -> None:
    buffer, draws = filled(MOVES), np.array([0.0, 0.2, 0.4, 0.5, 0.7, 0.9, 0.99, 0.1])
    after = refreshed(VERTICES, buffer, np.int32(6), np.bool_(True), draws, again)
    steps = steps_of(VERTICES, after)
    assert steps.other.tolist() == [0, 10, 2, 3, 40, 5]
    assert steps.values_there.ravel().tolist() == [0, 101, 2, 3, 104, 5]
    for name in ("here", "values", "action", "reward", "move", "there", "ports", "next"):
        kept = getattr(steps_of(VERTICES, buffer), name)
        assert getattr(steps, name).tolist() == kept.tolist(), name


def test_no_more_calls_than_asked_for_and_none_when_nothing_is_due() -> None:
    buffer, draws = filled(MOVES), np.array([0.0, 0.2, 0.7, 0.9])
    one = refreshed(VERTICES, buffer, np.int32(6), np.bool_(True), draws, again)
    assert steps_of(VERTICES, one).other.tolist() == [0, 10, 2, 3, 4, 5]
    none = refreshed(VERTICES, buffer, np.int32(6), np.bool_(False), draws, again)
    assert none.numbers.tolist() == buffer.numbers.tolist()


def test_random_numbers_are_those_of_the_step_and_apart_from_its_others() -> None:
    agent = recurl.DeepRecursiveQLearning(recurl.zoo.cloud(), **PLAN).engine.agent
    key = jax.random.wrap_key_data(agent.key)
    draws = refresh_draws(key, jnp.int32(3), 5)
    assert draws.shape == (SPARE * 5,)
    assert draws.tolist() != refresh_draws(key, jnp.int32(4), 5).tolist()
    assert not set(draws.tolist()) & set(batch_draws(agent, jnp.int32(3), 16).tolist())


def refreshing(kind: str) -> tuple[DeepModelEngine | DeepEnvEngine, View]:
    # Enough draws to miss no stored call.
    settings = DeepSettings(refresh=400, **PLAN)
    if kind == "model":
        model = DeepModelEngine(recurl.zoo.palindrome(size=2), settings, flat=False)
        return model, ModelView(model.sizes, model.model_arrays)
    env = DeepEnvEngine(recurl.ModelEnv(recurl.zoo.stack_matters()), settings, flat=False)
    return env, ObservationView(env.shape)


@pytest.mark.parametrize("kind", ["model", "environment"])
def test_all_calls_are_as_they_would_be_entered_now(kind: str) -> None:
    engine, view = refreshing(kind)
    engine.advance(50)
    steps, learned = engine.stored, engine.agent.learned
    calls = np.flatnonzero(np.asarray(steps.move) == CALLS)
    assert len(calls) > 5
    ports = jax.jit(view.ports)(steps.ports, steps.ports_mask)
    entered = jax.jit(enter, static_argnums=0)
    found = entered(engine.program, learned, learned.online, steps.values, ports)
    values, least = (np.asarray(x)[calls] for x in found)
    np.testing.assert_allclose(np.asarray(steps.other)[calls], least, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(steps.values_there)[calls], values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [recurl.DQN, recurl.DeepRecursiveQLearning])
def test_a_learner_that_refreshes_nothing_stores_no_ports(kind: Any) -> None:
    given = PLAN if kind is recurl.DeepRecursiveQLearning else {**PLAN, "refresh": 3}
    engine = kind(recurl.zoo.cloud(), preset="paper", **given).engine
    assert engine.program.record.ports == 0
