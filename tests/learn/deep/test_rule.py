from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recurl.learn.deep.network import Shape
from recurl.learn.deep.rule import (
    Batch,
    Sizes,
    best,
    factor,
    greedy,
    new_brain,
    normalised,
    predict,
    scheduled,
    seen,
    targets,
    update,
)
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.schedules import Schedule, constant, exponential, linear
from recurl.model.tables import CALLS, EXITS, STEP


def test_the_three_cases() -> None:
    rng = np.random.default_rng(0)
    move = rng.integers(0, 3, 50)
    reward, ahead, other = rng.normal(size=(3, 50)).astype(np.float32)
    wanted = {
        STEP: lambda i: reward[i] + ahead[i],
        CALLS: lambda i: reward[i] + ahead[i] + other[i],
        EXITS: lambda i: reward[i] + other[i],
    }
    found = targets(*map(jnp.asarray, (move, reward, ahead, other)))
    np.testing.assert_allclose(found, [wanted[m](i) for i, m in enumerate(move)], rtol=1e-6)


def test_after_the_end_nothing_is_looked_up() -> None:
    # A run that is over has no actions, so that the best of them is -inf.
    goal = targets(jnp.array([EXITS]), jnp.ones(1), jnp.array([-jnp.inf]), jnp.zeros(1))
    assert goal.tolist() == [1.0]


def test_exit_values_are_relative_to_the_worst_exit_that_exists() -> None:
    hopes = jnp.array([[5.0, 3.0, -9.0], [2.0, 0.0, 1.0]])
    exits = jnp.array([[True, True, False], [True, True, True]])
    values, least = normalised(hopes, exits)
    assert values.tolist() == [[2, 0, 0], [2, 0, 1]]
    assert least.tolist() == [3, 0]


def test_actions_that_do_not_exist_are_never_the_best() -> None:
    q, mask = jnp.array([1.0, 1.0, 7.0]), jnp.array([True, True, False])
    assert float(best(q, mask)) == 1
    assert int(greedy(q, mask)) == 0


@pytest.mark.parametrize("schedule", [constant(0.3), linear(1, 0.1, 70), exponential(0.8, 20, 0.1)])
@pytest.mark.parametrize("step", [0, 1, 35, 70, 500])
def test_schedules_are_those_of_the_tables(schedule: Schedule, step: int) -> None:
    assert float(scheduled(schedule, jnp.int32(step))) == pytest.approx(schedule(step), rel=1e-5)


def test_running_scales() -> None:
    size = seen(Sizes(jnp.float32(1), jnp.float32(1)), jnp.array([3.0, 0.0]), jnp.float32(1))
    assert float(factor("running", size)) == pytest.approx((2 / 10) ** 0.5)
    assert float(factor(0.25, size)) == 0.25


def batch(rng: np.random.Generator, shape: Shape, size: int) -> Batch:
    values = rng.random((size, shape.exits), np.float32)
    return Batch(
        features=jnp.asarray(rng.random((size, shape.features), np.float32)),
        values=jnp.asarray(values),
        action=jnp.asarray(rng.integers(0, shape.actions, size)),
        reward=jnp.asarray(rng.normal(size=size).astype(np.float32)),
        move=jnp.full(size, EXITS),
        other=jnp.zeros(size),
        features_there=jnp.zeros((size, shape.features)),
        values_there=jnp.asarray(values),
        mask=jnp.ones((size, shape.actions), bool),
    )


def test_updates_learn_what_ends_pay_and_copy_the_target_now_and_then() -> None:
    shape = Shape(3, 2, 4)
    plan = DeepSettings(hidden=(32,), target_every=3, learning_rate=constant(0.01))
    brain = new_brain(plan, shape, jax.random.key(0))
    data = batch(np.random.default_rng(1), shape, 8)
    improve = jax.jit(lambda brain, step: update(plan, brain, data, step))
    for number in range(1, 1000):
        last, brain = brain, improve(brain, jnp.int32(number))
        same = (brain.target.layers[0].weights == brain.online.layers[0].weights).all()
        assert bool(same) == (number % 3 == 0) or number > 20
    assert float(last.loss) < 1e-3
    q = predict(plan, brain, brain.online, data.features, data.values)
    chosen = q[jnp.arange(8), data.action]
    np.testing.assert_allclose(chosen, data.reward, atol=0.1)
    assert (brain.settled.layers[0].weights == brain.online.layers[0].weights).all()


def test_scaled_rewards_give_the_same_predictions_in_their_own_units() -> None:
    shape = Shape(3, 2, 4)
    plan = DeepSettings(hidden=(8,), reward_scale=0.25)
    brain = new_brain(plan, shape, jax.random.key(0))
    data = batch(np.random.default_rng(1), shape, 8)
    q = predict(plan, brain, brain.online, data.features, data.values)
    plain = predict(DeepSettings(hidden=(8,)), brain, brain.online, data.features, data.values)
    np.testing.assert_allclose(q, 4 * plain, rtol=1e-5)
    wanted = jnp.mean((0.25 * (q[jnp.arange(8), data.action] - data.reward)) ** 2)
    assert float(update(plan, brain, data, jnp.int32(0)).loss) == pytest.approx(
        float(wanted), rel=1e-4
    )
