from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from tests.learn.deep.reference import forward

from recurl.learn.deep.network import Params, Shape, new_params, q_values, sizes
from recurl.learn.deep.settings import DeepSettings

PLAN, SHAPE = DeepSettings(hidden=(6, 5)), Shape(3, 2, 4)
GATED = DeepSettings(hidden=(6, 5), gated=True)


def test_sizes_count_features_and_exits() -> None:
    assert sizes(PLAN, SHAPE) == (5, 6, 5, 4)


def test_weights_are_uniform_within_the_usual_bounds() -> None:
    layer = new_params(DeepSettings(hidden=()), Shape(400, 0, 300), jax.random.key(0)).layers[0]
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
    params = new_params(PLAN, SHAPE, jax.random.key(1))
    x, features, values = some_inputs()
    layers = [[np.asarray(part) for part in layer] for layer in params.layers]
    out, _ = forward(layers, x)
    np.testing.assert_allclose(q_values(params, features, values), out, rtol=1e-5, atol=1e-6)

    def plain(params: list[list[jax.Array]]) -> jax.Array:
        y = jnp.asarray(x)
        for w, b in params[:-1]:
            y = jnp.tanh(y @ w + b)
        return jnp.sum((y @ params[-1][0] + params[-1][1]) ** 2)

    mine = jax.grad(lambda p: jnp.sum(q_values(p, features, values) ** 2))(params)
    his = jax.grad(plain)([[jnp.asarray(part) for part in layer] for layer in layers])
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(his), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_gate_turns_exit_values_up_and_down_by_the_state() -> None:
    params = new_params(GATED, SHAPE, jax.random.key(1))
    _, features, values = some_inputs()

    def plain(params: Params) -> jax.Array:
        first, second, last = params.layers
        own = features @ first.weights[:3] + first.biases
        x = own + (1 + jnp.tanh(features @ params.gate)) * (values @ first.weights[3:])
        x = jnp.tanh(jnp.tanh(x) @ second.weights + second.biases)
        return x @ last.weights + last.biases

    np.testing.assert_allclose(q_values(params, features, values), plain(params), rtol=1e-5)
    mine = jax.grad(lambda p: jnp.sum(q_values(p, features, values) ** 2))(params)
    his = jax.grad(lambda p: jnp.sum(plain(p) ** 2))(params)
    assert mine.gate.shape == (3, 6)
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(his), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_without_exits_there_is_nothing_to_turn() -> None:
    assert new_params(GATED, Shape(3, 0, 4), jax.random.key(1)).gate is None
    assert new_params(PLAN, SHAPE, jax.random.key(1)).gate is None
