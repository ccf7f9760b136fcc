from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learn.deep.reference import forward

from recurl.errors import UnknownNameError
from recurl.learn.deep import network
from recurl.learn.deep.learner import DQN
from recurl.learn.deep.network import (
    ACTIVATIONS,
    Mlp,
    NetworkShape,
    network_named,
    new_layers,
    register_network,
)
from recurl.learn.deep.settings import ACTIVATION_NAMES, DeepSettings

PLAN, SHAPE = DeepSettings(hidden=(6, 5)), NetworkShape((3,), 2, 4)
GATED = DeepSettings(hidden=(6, 5), gated=True)
# Compiled as a whole, as in a run: operation by operation takes longer.
new_cnn, new_mlp = (jax.jit(f, static_argnums=(0, 1)) for f in (network.new_cnn, network.new_mlp))
cnn, mlp = (jax.jit(f, static_argnums=0) for f in (network.cnn, network.mlp))


def test_weights_are_uniform_within_the_usual_bounds() -> None:
    [layer] = new_layers((400, 300), jax.random.key(0))
    weights = np.asarray(layer.weights)
    assert weights.shape == (400, 300)
    assert 0.0499 < weights.max() <= 0.05
    assert -0.05 <= weights.min() < -0.0499
    np.testing.assert_allclose(weights.std(), 0.1 / np.sqrt(12), rtol=0.01)
    assert np.abs(layer.biases).max() <= 0.05


def some_inputs() -> tuple[np.ndarray, jax.Array, jax.Array]:
    """Rows of three features and two exit values, and the two apart."""
    x = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    return x, jnp.asarray(x[:, :3]), jnp.asarray(x[:, 3:])


def test_values_and_slopes_are_those_of_plain_layers() -> None:
    params = new_mlp(PLAN, SHAPE, jax.random.key(1))
    x, features, values = some_inputs()
    layers = [[np.asarray(part) for part in layer] for layer in params.layers]
    out, _ = forward(layers, x)
    np.testing.assert_allclose(mlp(PLAN, params, features, values), out, rtol=1e-5, atol=1e-6)

    def plain(params: list[list[jax.Array]]) -> jax.Array:
        y = jnp.asarray(x)
        for w, b in params[:-1]:
            y = jnp.tanh(y @ w + b)
        return jnp.sum((y @ params[-1][0] + params[-1][1]) ** 2)

    mine = jax.jit(jax.grad(lambda p: jnp.sum(mlp(PLAN, p, features, values) ** 2)))(params)
    his = jax.jit(jax.grad(plain))([[jnp.asarray(part) for part in layer] for layer in layers])
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(his), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_gate_turns_exit_values_up_and_down_by_the_state() -> None:
    params = new_mlp(GATED, SHAPE, jax.random.key(1))
    _, features, values = some_inputs()

    def plain(params: Mlp) -> jax.Array:
        first, second, last = params.layers
        own = features @ first.weights[:3] + first.biases
        x = own + (1 + jnp.tanh(features @ params.gate)) * (values @ first.weights[3:])
        x = jnp.tanh(jnp.tanh(x) @ second.weights + second.biases)
        return x @ last.weights + last.biases

    np.testing.assert_allclose(mlp(PLAN, params, features, values), plain(params), rtol=1e-5)
    mine = jax.jit(jax.grad(lambda p: jnp.sum(mlp(PLAN, p, features, values) ** 2)))(params)
    his = jax.jit(jax.grad(lambda p: jnp.sum(plain(p) ** 2)))(params)
    assert mine.gate.shape == (3, 6)
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(his), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_without_exits_there_is_nothing_to_turn() -> None:
    assert new_mlp(GATED, NetworkShape((3,), 0, 4), jax.random.key(1)).gate is None
    assert new_mlp(PLAN, SHAPE, jax.random.key(1)).gate is None


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_activations_are_those_of_the_hidden_layers(name: str) -> None:
    plan = DeepSettings(hidden=(6,), activation=name)
    params = new_mlp(plan, SHAPE, jax.random.key(1))
    x, features, values = some_inputs()
    first, last = params.layers
    inner = ACTIVATIONS[name](x @ first.weights + first.biases)
    wanted = inner @ last.weights + last.biases
    np.testing.assert_allclose(mlp(plan, params, features, values), wanted, rtol=1e-4, atol=1e-5)
    assert name in ACTIVATION_NAMES
    assert len(ACTIVATIONS) == len(ACTIVATION_NAMES)


def test_images_are_folded_and_bytes_are_shares_of_255() -> None:
    shape = NetworkShape((5, 4, 2), 3, 2)
    params = new_cnn(PLAN, shape, jax.random.key(0))
    bytes_ = np.random.default_rng(0).integers(0, 256, (6, 5, 4, 2), np.uint8)
    values = jnp.zeros((6, 3))
    found = cnn(PLAN, params, jnp.asarray(bytes_), values)
    assert found.shape == (6, 2)
    shares = cnn(PLAN, params, jnp.asarray(bytes_ / np.float32(255)), values)
    np.testing.assert_allclose(found, shares, rtol=1e-5)
    # Each unit of the second convolution sees a part of the picture only.
    assert params.head.layers[0].weights.shape == (2 * 1 * 32 + 3, 6)
    flat = new_cnn(PLAN, NetworkShape((5, 4), 0, 2), jax.random.key(0))
    assert cnn(PLAN, flat, jnp.ones((6, 5, 4)), jnp.zeros((6, 0))).shape == (6, 2)


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not \(4,\): choose network='mlp'"):
        DQN("CartPole-v1", network="cnn")


def test_a_network_of_ones_own() -> None:
    def init(settings: DeepSettings, shape: NetworkShape, key: jax.Array) -> jax.Array:
        return jax.random.normal(key, (shape.features, shape.actions))

    def apply(
        settings: DeepSettings, weights: jax.Array, seen: jax.Array, values: jax.Array
    ) -> jax.Array:
        return seen @ weights

    register_network("own", init, apply)
    learner = DQN("CartPole-v1", network="own", warm_up=10, batch=8, evaluate_every=0).learn(30)
    assert learner.engine.agent.learned.online.shape == (4, 2)
    with pytest.raises(UnknownNameError, match=r"'owm'.*Did you mean 'own'"):
        network_named("owm")


def test_normalised_layers_forget_the_size_of_their_inputs_but_not_the_first() -> None:
    plan = DeepSettings(hidden=(6, 5), normalised=True)
    params = new_mlp(plan, SHAPE, jax.random.key(1))
    _, features, values = some_inputs()
    first, second, last = params.layers
    larger = second._replace(weights=100 * second.weights, biases=100 * second.biases)
    one = mlp(plan, params, features, values)
    np.testing.assert_allclose(
        mlp(plan, Mlp((first, larger, last), None), features, values), one, rtol=1e-2, atol=1e-3
    )
    assert np.abs(mlp(plan, params, features, 3 * values) - one).max() > 0.01
    assert np.abs(mlp(PLAN, params, features, values) - one).max() > 0.01


def test_a_network_that_is_replaced_is_not_used_again() -> None:
    def register(more: int, factor: float) -> None:
        def init(settings: object, shape: NetworkShape, key: jax.Array) -> jax.Array:
            return factor * jnp.ones((shape.features, shape.actions + more))

        register_network("own", init, lambda settings, w, observations, values: observations @ w)

    settings = {"preset": "paper", "network": "own", "batch": 4, "warm_up": 2, "evaluate_every": 0}
    for factor in (1.0, 2.0):
        register(0, factor)
        learner = DQN("CartPole-v1", **settings)  # type: ignore[arg-type]
        assert float(learner.engine.agent.learned.online[0, 0]) == factor
        learner.learn(5)
    register(1, 1.0)
    with pytest.raises(ValueError, match=r"network 'own' must give values of shape \(.*, 2\), not"):
        DQN("CartPole-v1", **settings).learn(5)  # type: ignore[arg-type]
