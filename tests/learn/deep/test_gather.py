"""The network that reads exit values off where a state leads, and what it learns from."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recurl
from recurl.learn.deep import gather, loop, model_engine
from recurl.learn.deep.gather import GatherCodes, combine
from recurl.learn.deep.network import NetworkShape
from recurl.learn.deep.settings import DeepSettings, make_deep_settings

PLAN = DeepSettings(hidden=(8,), value_scale=0.5, network="gather")
SHAPE = NetworkShape((3,), 4, 2)
SMALL = {"preset": "gather", "hidden": (16,), "copies": 8, "rollout": 8, "warm_up": 64}

# Compiled as a whole, as in a run: operation by operation takes longer.
new_gather = jax.jit(gather.new_gather, static_argnums=(0, 1))
apply, encode = (jax.jit(f, static_argnums=0) for f in (gather.gather, gather.encode))


def codes(share: list[float], attained: list[float]) -> GatherCodes:
    """A state with one action that pays 1."""
    p = jnp.array([[share]])
    return GatherCodes(jnp.ones((1, 1)), p, jnp.array([[attained]]))


def test_an_action_is_worth_its_gain_and_what_follows() -> None:
    values = 0.5 * jnp.array([[0.0, 10.0, 4.0]])  # scaled by value_scale
    leaves = codes([0, 0, 1], [0, 0, 0])
    assert combine(PLAN, leaves, values).tolist() == [[5]]
    by_chance = codes([0.5, 0.5, 0], [0, 0, 0])
    assert combine(PLAN, by_chance, values).tolist() == [[6]]
    aims = codes([1, 0, 0], [1, 0.9, 1])
    assert combine(PLAN, aims, values).tolist() == [[10]]


def test_a_constant_added_to_exit_values_is_added_to_q() -> None:
    params = new_gather(PLAN, SHAPE, jax.random.key(0))
    seen, values = jax.random.normal(jax.random.key(1), (5, 3)), jnp.ones((5, 4))
    values = values.at[:, 2].set(7.0)
    q = apply(PLAN, params, seen, values)
    more = apply(PLAN, params, seen, values + 0.5 * 3)
    np.testing.assert_allclose(more, q + 3, rtol=1e-5)


def test_errors_of_exit_values_do_not_grow() -> None:
    params = new_gather(PLAN, SHAPE, jax.random.key(0))
    params = jax.tree.map(lambda x: 5 * x, params)
    a, b = jax.random.normal(jax.random.key(1), (2, 50, 4))
    seen = jax.random.normal(jax.random.key(2), (50, 3))
    far = jnp.abs(a - b).max(axis=1, keepdims=True) / PLAN.value_scale
    q = [apply(PLAN, params, seen, values) for values in (a, b)]
    assert (jnp.abs(q[0] - q[1]) <= far * (1 + 1e-5)).all()


def test_keys_begin_as_what_is_known_of_exits() -> None:
    known = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0))
    keys = new_gather(PLAN, SHAPE._replace(exit_rows=known), jax.random.key(0)).keys
    assert keys.shape == (4, 2 + gather.SPARE_KEYS)
    assert keys[:, :2].tolist() == [list(row) for row in known]
    assert new_gather(PLAN, SHAPE, jax.random.key(0)).keys.shape == (4, gather.KEYS)


def test_all_exits_are_alike_at_first_nearly() -> None:
    params = new_gather(PLAN, SHAPE, jax.random.key(0))
    found = encode(PLAN, params, jax.random.normal(jax.random.key(1), (5, 3)))
    assert float(found.share.max()) < 0.5
    assert float(found.attained.max()) < 0.2


def test_codes_of_one_action_are_among_those_of_all() -> None:
    params = new_gather(PLAN, SHAPE, jax.random.key(0))
    seen, actions = jax.random.normal(jax.random.key(1), (5, 3)), jnp.array([0, 1, 1, 0, 1])
    every, own = encode(PLAN, params, seen), encode(PLAN, params, seen, actions)
    for all_of_them, chosen in zip(every, own, strict=True):
        np.testing.assert_allclose(chosen[:, 0], all_of_them[jnp.arange(5), actions], rtol=1e-5)


def test_costs_of_rows_and_columns_add_up() -> None:
    # A state with a constant feature; the exits are the four pairs of a row and a column.
    keys = jnp.array([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    gain, offset, by_chance = [0.0], [1.0], [0.0] * 4
    costs = [-0.1, -0.3, 0.0, -0.2]
    last = gather.Layer(jnp.zeros((1, 10)), jnp.array(gain + offset + by_chance + costs))
    found = encode(PLAN, gather.Gather((last,), keys), jnp.ones((1, 1)))
    np.testing.assert_allclose(found.attained[0, 0], [0.8, 0.6, 0.6, 0.4], atol=0.02)
    far = gather.Gather((last._replace(biases=10 * last.biases),), keys)
    attained = encode(PLAN, far, jnp.ones((1, 1))).attained
    assert float(attained.min()) >= 0
    assert float(attained.max()) <= 1


def test_aims_are_q_values_with_a_value_at_one_exit() -> None:
    params = jax.tree.map(lambda x: 5 * x, new_gather(PLAN, SHAPE, jax.random.key(0)))
    seen = jax.random.normal(jax.random.key(1), (5, 3))
    gain, factor = gather.aims(encode(PLAN, params, seen))
    np.testing.assert_allclose(apply(PLAN, params, seen, jnp.zeros((5, 4))), gain, rtol=1e-5)
    for k in range(4):
        values = jnp.zeros((5, 4)).at[:, k].set(PLAN.value_scale * 7.0)
        q = apply(PLAN, params, seen, values)
        np.testing.assert_allclose(q, gain + 7 * factor[..., k], rtol=1e-4, atol=1e-5)


def test_impossible_exits_have_a_finite_loss() -> None:
    assert np.isfinite(gather.leaves(codes([1, 0, 0], [0, 0, 0]))).all()


def learner() -> recurl.DeepRecursiveQLearning:
    # The same for all, so that it is compiled once.
    settings = {**SMALL, "learning_rate": 0.01, "exploration": 0.9, "relabel": 1, "aim_loss": 0.0}
    return recurl.DeepRecursiveQLearning(
        recurl.zoo.palindrome(), seed=3, evaluate_every=0, **settings
    )


def test_steps_may_be_divided_among_calls() -> None:
    once, often = learner().learn(300), learner()
    for steps in (100, 37, 163):
        often.learn(steps)
    one, two = (x.engine.agent.learned.online.keys for x in (once, often))
    np.testing.assert_array_equal(one, two)


def test_exits_are_predicted() -> None:
    engine = learner().learn(2_048).engine
    steps, features = engine.stored, engine.model_arrays.features
    found = encode(engine.program.plan, engine.agent.learned.online, features[steps.here[:, 0]])
    left = np.asarray(steps.exit[:, 0] >= 0)
    share = found.share[np.arange(len(left)), steps.action, steps.exit[:, 0]]
    assert left.sum() > 5
    assert float(share[left].mean()) > 0.3  # by chance 1/18


def test_relabelled_steps_keep_what_happened() -> None:
    run = learner().learn(64)
    engine = run.engine
    view = model_engine.ModelView(engine.sizes, engine.model_arrays)
    relabelled = jax.jit(partial(loop._relabelled, engine.program, view))
    batch = relabelled(engine.agent, engine.agent.learned)
    steps = engine.stored
    np.testing.assert_array_equal(batch.action, steps.action)
    np.testing.assert_array_equal(batch.reward, steps.reward)
    exits = np.asarray(steps.exit[:, 0] >= 0)
    assert (np.asarray(steps.move)[exits] == model_engine.EXITS).all()
    worth = np.asarray(batch.values)[np.arange(64), np.asarray(steps.exit[:, 0])]
    np.testing.assert_array_equal(np.asarray(batch.other)[exits], worth[exits])
    ordinary = np.asarray(steps.move == model_engine.STEP)
    np.testing.assert_array_equal(batch.values_there[ordinary], batch.values[ordinary])
    component = engine.model.tables.vertex_component[np.asarray(steps.here)[:, 0]]
    assert not np.asarray(batch.values)[component == 0].any()  # nothing is called from there


def test_codes_of_ports_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # The last test of this learner, since what is compiled is thrown away.
    with_codes = learner().learn(192)
    monkeypatch.setattr(model_engine, "_is_encoded", lambda *_: False)
    model_engine.advance.clear_cache()
    without = learner().learn(192)
    model_engine.advance.clear_cache()
    for a, b in zip(
        jax.tree.leaves(with_codes.engine.agent.learned.online),
        jax.tree.leaves(without.engine.agent.learned.online),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_the_greatest_exit_value_goes_to_another_exit() -> None:
    values = jnp.array([[1.0, 9.0, 3.0], [5.0, 0.0, 0.0]])
    swapped = loop._swapped(values, jnp.array([2, 0]))
    assert swapped.tolist() == [[1, 3, 9], [5, 0, 0]]


def test_environments_learn_in_exit_values_of_others_too() -> None:
    import gymnasium

    envs = gymnasium.make_vec("recurl/StackMatters-v0", 4, vectorization_mode="sync")
    settings = {**SMALL, "copies": 1, "rollout": 16, "relabel": 1, "aim_loss": 0.0}
    run = recurl.DeepRecursiveQLearning(envs, evaluate_every=0, **settings).learn(256)
    assert np.isfinite(run.engine.loss)
    assert (np.asarray(run.engine.stored.exit) >= 0).any()


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="relabel"):
        DeepSettings(relabel=1)
    with pytest.raises(ValueError, match="exit_loss"):
        DeepSettings(exit_loss=-1.0)
    assert make_deep_settings("gather", {}).keeps_exits
    assert not make_deep_settings("parallel", {}).keeps_exits
