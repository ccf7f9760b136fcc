from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recurl.learn.deep import rule
from recurl.learn.deep.network import NetworkShape
from recurl.learn.deep.rule import (
    LearnedNetworks,
    Sizes,
    TrainingBatch,
    attainable,
    best,
    exit_values,
    greedy,
    measured,
    new_sums,
    scheduled,
    targets,
    unit,
)
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.schedules import Schedule, constant, exponential, linear
from recurl.model.tables import CALLS, EXITS, STEP

# Compiled as a whole, as in a run: operation by operation takes longer.
new_learned, one_step_targets, predict, traced, update = (
    jax.jit(function, static_argnums=(0, 1))
    for function in (
        rule.new_learned, rule.one_step_targets, rule.predict, rule.traced, rule.update
    )
)  # fmt: skip
summed = jax.jit(rule.summed)


def test_the_three_cases() -> None:
    rng = np.random.default_rng(0)
    move = rng.integers(0, 3, 50)
    reward, ahead, other = rng.normal(size=(3, 50)).astype(np.float32)
    discount = rng.random(50).astype(np.float32)
    wanted = {
        STEP: lambda i: reward[i] + discount[i] * ahead[i],
        CALLS: lambda i: reward[i] + discount[i] * (ahead[i] + other[i]),
        EXITS: lambda i: reward[i] + discount[i] * other[i],
    }
    found = targets(*map(jnp.asarray, (move, reward, ahead, other, discount)))
    np.testing.assert_allclose(found, [wanted[m](i) for i, m in enumerate(move)], rtol=1e-6)


def test_after_the_end_nothing_is_looked_up() -> None:
    # A run that is over has no actions, so that the best of them is -inf.
    goal = targets(
        jnp.array([EXITS]), jnp.ones(1), jnp.array([-jnp.inf]), jnp.zeros(1), jnp.ones(1)
    )
    assert goal.tolist() == [1.0]


def test_exit_values_are_relative_to_the_worst_exit_that_exists() -> None:
    hopes = jnp.array([[5.0, 3.0, -9.0], [2.0, 0.0, 1.0]])
    exits = jnp.array([[True, True, False], [True, True, True]])
    values, least = exit_values(DeepSettings(), hopes, exits)
    assert values.tolist() == [[2, 0, 0], [2, 0, 1]]
    assert least.tolist() == [3, 0]
    values, least = exit_values(DeepSettings(gamma=0.9), hopes, exits)
    assert values.tolist() == [[5, 3, 0], [2, 0, 1]]
    assert least.tolist() == [0, 0]


def test_actions_that_do_not_exist_are_never_the_best() -> None:
    q, mask = jnp.array([1.0, 1.0, 7.0]), jnp.array([True, True, False])
    assert float(best(q, mask)) == 1
    assert int(greedy(q, mask)) == 0


@pytest.mark.parametrize("schedule", [constant(0.3), linear(1, 0.1, 70), exponential(0.8, 20, 0.1)])
@pytest.mark.parametrize("step", [0, 1, 35, 70, 500])
def test_schedules_are_those_of_the_tables(schedule: Schedule, step: int) -> None:
    assert float(scheduled(schedule, jnp.int32(step))) == pytest.approx(schedule(step), rel=1e-5)


def test_the_unit_of_rewards() -> None:
    plan = DeepSettings(reward_scale="warm_up", hidden=())
    learned = new_learned(plan, NetworkShape((1,), 0, 1), jax.random.key(0))
    assert float(unit(plan, learned)) == 1
    real = jnp.array([True, False])
    learned = measured(plan, learned, jnp.array([0.0, 5.0]), real)
    learned = measured(plan, learned, jnp.array([4.0, 5.0]), real)
    assert learned.rewards == Sizes(2, 16)
    assert float(unit(plan, learned)) == pytest.approx((2 / 16) ** 0.5)
    later = learned._replace(updates=jnp.int32(1))
    assert measured(plan, later, jnp.array([9.0, 9.0]), real).rewards == Sizes(2, 16)
    assert float(unit(DeepSettings(reward_scale=0.25), learned)) == 0.25


def batch(rng: np.random.Generator, shape: NetworkShape, size: int) -> TrainingBatch:
    values = rng.random((size, shape.exits), np.float32)
    return TrainingBatch(
        observations=jnp.asarray(rng.random((size, shape.features), np.float32)),
        values=jnp.asarray(values),
        action=jnp.asarray(rng.integers(0, shape.actions, size)),
        reward=jnp.asarray(rng.normal(size=size).astype(np.float32)),
        move=jnp.full(size, EXITS),
        other=jnp.zeros(size),
        observations_there=jnp.zeros((size, shape.features)),
        values_there=jnp.asarray(values),
        mask=jnp.ones((size, shape.actions), bool),
        discount=jnp.ones(size),
        exit=jnp.full(size, -1),
    )


def test_updates_learn_what_ends_pay_and_copy_the_target_now_and_then() -> None:
    shape = NetworkShape((3,), 2, 4)
    plan = DeepSettings(hidden=(32,), target_every=3, learning_rate=constant(0.01))
    learned = new_learned(plan, shape, jax.random.key(0))
    data = batch(np.random.default_rng(1), shape, 8)
    sums = new_sums(1)
    for number in range(1, 1000):
        last, learned = learned, update(plan, shape, learned, data, sums, jnp.int32(number))
        same = (learned.target.layers[0].weights == learned.online.layers[0].weights).all()
        assert bool(same) == (number % 3 == 0) or number > 20
    assert float(last.loss) < 1e-3
    q = predict(plan, shape, learned, learned.online, data.observations, data.values)
    chosen = q[jnp.arange(8), data.action]
    np.testing.assert_allclose(chosen, data.reward, atol=0.1)
    assert (learned.policy.layers[0].weights == learned.online.layers[0].weights).all()


def test_scaled_rewards_give_the_same_predictions_in_their_own_units() -> None:
    shape = NetworkShape((3,), 2, 4)
    plan = DeepSettings(hidden=(8,), reward_scale=0.25)
    learned = new_learned(plan, shape, jax.random.key(0))
    data = batch(np.random.default_rng(1), shape, 8)
    q = predict(plan, shape, learned, learned.online, data.observations, data.values)
    unscaled = 0.25 * data.values
    plain = predict(
        DeepSettings(hidden=(8,)), shape, learned, learned.online, data.observations, unscaled
    )
    np.testing.assert_allclose(q, 4 * plain, rtol=1e-5)
    wanted = jnp.mean((0.25 * (q[jnp.arange(8), data.action] - data.reward)) ** 2)
    assert float(
        update(plan, shape, learned, data, new_sums(1), jnp.int32(0)).loss
    ) == pytest.approx(float(wanted), rel=1e-4)


@pytest.mark.parametrize("target_every", [0, 100])
def test_without_a_target_network_targets_are_by_the_trained_weights(target_every: int) -> None:
    shape = NetworkShape((3,), 2, 4)
    plan = DeepSettings(hidden=(8,), target_every=target_every, averaging=0.9)
    first, other = (new_learned(plan, shape, jax.random.key(i)) for i in (0, 1))
    data = batch(np.random.default_rng(1), shape, 50)._replace(move=jnp.full(50, STEP))
    there = (data.observations_there, data.values_there)
    learned = first._replace(online=other.online)
    used = first.online if target_every else other.online
    wanted = data.reward + predict(plan, shape, first, used, *there).max(axis=1)
    np.testing.assert_allclose(one_step_targets(plan, shape, learned, data), wanted, rtol=1e-5)
    if not target_every:
        then = jnp.full(50, -1)
        np.testing.assert_allclose(traced(plan, shape, learned, data, then), wanted, rtol=1e-5)


@pytest.mark.parametrize("double", [False, True])
def test_double_targets_take_the_action_that_the_online_network_prefers(double: bool) -> None:
    shape = NetworkShape((3,), 2, 4)
    plan = DeepSettings(hidden=(8,), double=double)
    one, two = (new_learned(plan, shape, jax.random.key(i)) for i in (0, 1))
    learned: LearnedNetworks = one._replace(target=two.online)
    data = batch(np.random.default_rng(1), shape, 50)._replace(move=jnp.full(50, STEP))
    there = (data.observations_there + 1.0, data.values_there)
    data = data._replace(observations_there=there[0])
    online = np.asarray(predict(plan, shape, learned, learned.online, *there))
    target = np.asarray(predict(plan, shape, learned, learned.target, *there))
    chosen = (online if double else target).argmax(axis=1)
    goal = np.asarray(data.reward) + target[np.arange(50), chosen]
    q = predict(plan, shape, learned, learned.online, data.observations, data.values)
    wanted = np.mean((np.asarray(q)[np.arange(50), data.action] - goal) ** 2)
    assert float(
        update(plan, shape, learned, data, new_sums(1), jnp.int32(0)).loss
    ) == pytest.approx(float(wanted), rel=1e-4)


def test_sums_are_those_of_any_part_of_an_episode() -> None:
    rng, sums = np.random.default_rng(0), new_sums(2)
    rewards = rng.normal(size=(40, 2)).astype(np.float32)
    ends = rng.random((40, 2)) < 0.1
    parts, begin = [0.0], [0, 0]
    for i in range(40):
        sums = summed(sums, jnp.asarray(rewards[i]), jnp.ones(2, bool), jnp.asarray(ends[i]))
        for lane in range(2):
            parts += [rewards[j : i + 1, lane].sum() for j in range(begin[lane], i + 1)]
            begin[lane] = i + 1 if ends[i, lane] else begin[lane]
    np.testing.assert_allclose((sums.lowest, sums.highest), (min(parts), max(parts)), rtol=1e-4)
    goal, values = jnp.array([-1e3, 1e3, 0.5]), jnp.array([[0.0, 3.0]] * 3)
    clipped = attainable(sums, values, goal)
    wanted = [2 * min(parts), 2 * max(parts) + 3, 0.5]
    np.testing.assert_allclose(clipped, wanted, rtol=1e-4)
