"""Targets for a value at each exit alone."""

from __future__ import annotations

from functools import partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recurl
from recurl.learn.deep import aims, gather, loop, rule
from recurl.learn.deep.aims import has_aims
from recurl.learn.deep.model_engine import DeepModelEngine
from recurl.learn.deep.network import NetworkShape
from recurl.learn.deep.replay import steps_of
from recurl.learn.deep.rule import Aims, TrainingBatch
from recurl.learn.deep.settings import DeepSettings, make_deep_settings
from recurl.learn.deep.simulator import ModelView
from recurl.learn.schedules import constant
from recurl.model.tables import CALLS, EXITS, STEP

SMALL = {"preset": "gather", "hidden": (16,), "copies": 8, "rollout": 8, "warm_up": 64}


@pytest.fixture(scope="module")
def engine() -> DeepModelEngine:
    settings = {**SMALL, "learning_rate": 0.01}
    run = recurl.DeepRecursiveQLearning(
        recurl.zoo.palindrome(), seed=3, evaluate_every=0, **settings
    )
    return run.learn(1_024).engine


def parts_of(
    engine: DeepModelEngine,
) -> tuple[ModelView, TrainingBatch, tuple[jax.Array, jax.Array]]:
    """The view, the steps of the latest rollout, and what shows the ports of their calls."""
    view = ModelView(engine.sizes, engine.model_arrays)
    steps = steps_of(engine.program.record, engine.agent.buffer)
    rows = jnp.arange(len(steps.move))
    batch, _ = loop._batch(engine.program, view, engine.agent, rows)
    return view, batch, (steps.ports, steps.ports_mask)


def found(engine: DeepModelEngine) -> Aims:
    view, batch, ports = parts_of(engine)
    work = jax.jit(partial(aims.aim_targets, engine.program, view))
    return work(engine.agent.learned, engine.agent.sums, batch, ports)


def test_targets_are_those_of_steps_in_such_exit_values(engine: DeepModelEngine) -> None:
    program, learned = engine.program, engine.agent.learned
    view, batch, ports = parts_of(engine)
    prize, calls = batch.values.max(axis=1), batch.move == CALLS

    @jax.jit
    def goals(values: jax.Array) -> jax.Array:
        entered, least = loop.enter_calls(program, view, learned, calls, (values, *ports))
        left = jnp.take_along_axis(values, jnp.maximum(batch.exit, 0)[:, None], axis=1)[:, 0]
        left = jnp.where(batch.exit < 0, 0.0, left)
        other = batch._replace(
            values=values,
            other=jnp.where(batch.move == EXITS, left, least),
            values_there=jnp.where(calls[:, None], entered, values),
        )
        return rule.one_step_targets(program.plan, program.shape, learned, other)

    aimed = found(engine)
    without = goals(jnp.zeros_like(batch.values))
    some = np.asarray(prize > 0)
    moves = set(np.asarray(batch.move)[some].tolist())
    assert moves == {STEP, CALLS, EXITS}
    np.testing.assert_allclose(aimed.gain, without, rtol=1e-3, atol=1e-3)
    for k in range(program.shape.exits):
        only = goals(jnp.zeros_like(batch.values).at[:, k].set(prize))
        wanted = (np.asarray(only - without)[some]) / np.asarray(prize)[some]
        np.testing.assert_allclose(aimed.factor[some, k], wanted, atol=1e-3)


def test_steps_that_leave_keep_the_whole_prize_at_one_exit(engine: DeepModelEngine) -> None:
    _, batch, _ = parts_of(engine)
    aimed = found(engine)
    left = np.asarray((batch.exit >= 0) & (batch.values.max(axis=1) > 0))
    assert left.sum() > 3
    rows = np.eye(engine.program.shape.exits)[np.asarray(batch.exit)[left]]
    np.testing.assert_allclose(aimed.factor[left], rows, atol=1e-5)
    np.testing.assert_array_equal(aimed.share[left], rows)
    np.testing.assert_allclose(aimed.gain[left], batch.reward[left], rtol=1e-5)


def test_shares_are_distributions_and_nothing_is_asked_without_a_prize(
    engine: DeepModelEngine,
) -> None:
    _, batch, _ = parts_of(engine)
    aimed, some = found(engine), np.asarray(batch.values.max(axis=1) > 0)
    assert 0 < some.sum() < len(some)
    np.testing.assert_allclose(aimed.share[some].sum(axis=1), 1.0, rtol=1e-4)
    assert not np.asarray(aimed.share)[~some].any()
    assert not np.asarray(aimed.weight)[~some].any()
    np.testing.assert_allclose(aimed.weight[some].mean(axis=1), 1.0, rtol=1e-4)


def test_factors_become_the_mean_of_their_targets() -> None:
    shape = NetworkShape((1,), 3, 2)
    plan = DeepSettings(
        network="gather", hidden=(), rollout=1, exit_loss=1.0, aim_loss=1.0, target_every=0,
        learning_rate=constant(0.01),
    )  # fmt: skip
    learned = rule.new_learned(plan, shape, jax.random.key(0))
    none = jnp.zeros((2, 3))
    batch = TrainingBatch(
        jnp.ones((2, 1)), none, jnp.zeros(2, int), jnp.zeros(2), jnp.zeros(2, int), jnp.zeros(2),
        jnp.ones((2, 1)), none, jnp.ones((2, 2), bool), jnp.ones(2), jnp.full(2, -1),
    )  # fmt: skip
    factor = jnp.array([[0.0, 0.9, 0.4], [1.0, 0.9, 0.0]])
    share = jnp.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    aimed = Aims(jnp.array([2.0, 4.0]), factor, jnp.ones((2, 3)), share)

    @jax.jit
    def trained(learned: rule.LearnedNetworks) -> rule.LearnedNetworks:
        one = partial(rule.descend, plan, shape)
        goal = jnp.full(2, 3.0)
        return jax.lax.fori_loop(
            0, 3_000, lambda _, x: one(x, batch, goal, jnp.int32(0), aimed), learned
        )

    codes = gather.encode(plan, trained(learned).online, jnp.ones((1, 1)))
    gain, factors = gather.aims(codes)
    assert float(gain[0, 0]) == pytest.approx(3.0, abs=0.05)
    np.testing.assert_allclose(factors[0, 0], [0.5, 0.9, 0.2], atol=0.05)
    assert float(codes.share[0, 0, 2]) < 0.05


def test_exits_that_are_worth_more_have_more_weight() -> None:
    weights = aims._weights(jnp.array([[1.0, 0.0, 0.5, 0.0], [1.0, 0.0, 0.5, 0.0]]))
    assert weights.argsort().tolist()[2:] == [2, 0]
    assert float(weights.min()) == pytest.approx(aims.SPREAD)
    assert float(weights.mean()) == pytest.approx(1.0)


def test_environments_have_aims_too() -> None:
    envs = gymnasium.make_vec("recurl/StackMatters-v0", 4, vectorization_mode="sync")
    settings = {**SMALL, "copies": 1, "rollout": 16}
    run = recurl.DeepRecursiveQLearning(envs, evaluate_every=0, **settings).learn(256)
    assert np.isfinite(run.engine.loss)


def test_networks_that_predict_no_exits_have_no_aims() -> None:
    shape = NetworkShape((3,), 4, 2)
    assert has_aims(make_deep_settings("gather", {}), shape)
    assert not has_aims(make_deep_settings("gather", {"network": "mlp"}), shape)
    assert not has_aims(make_deep_settings("gather", {}), shape._replace(exits=0))
    assert not has_aims(make_deep_settings("parallel", {}), shape)


def test_settings_that_do_not_fit_are_refused() -> None:
    for wrong in ({"relabel": 1}, {"aim_loss": -1.0}, {"aim_loss": float("nan")}):
        with pytest.raises(ValueError, match="aim_loss"):
            make_deep_settings("gather", wrong)
    with pytest.raises(ValueError, match="aim_loss"):
        DeepSettings(aim_loss=1.0)
