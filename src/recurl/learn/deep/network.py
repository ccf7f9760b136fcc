"""The network: Q-values of all actions from the features of a state and its exit values."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp

from recurl.learn.deep.settings import DeepSettings


class Layer(NamedTuple):
    """Weights and biases of a layer."""

    weights: jax.Array
    biases: jax.Array


class Params(NamedTuple):
    """All weights of a network.

    Attributes:
        layers: From the input, features before exit values, to the actions.
        gate: How features turn exit values up and down in each unit of the first layer; None if
            they do not. ``[features, units]``
    """

    layers: tuple[Layer, ...]
    gate: jax.Array | None


class Shape(NamedTuple):
    """How large the parts of a network are.

    Attributes:
        features: Inputs that show the state.
        exits: Inputs for exit values: those of the widest component; 0 for a flat learner.
        actions: Most actions of a state.
    """

    features: int
    exits: int
    actions: int


def sizes(plan: DeepSettings, shape: Shape) -> tuple[int, ...]:
    """Sizes of the layers, input and output included.

    Example:
        >>> sizes(DeepSettings(), Shape(7, 18, 5))
        (25, 128, 128, 5)
    """
    return (shape.features + shape.exits, *plan.hidden, shape.actions)


def new_params(plan: DeepSettings, shape: Shape, key: jax.Array) -> Params:
    """Weights and biases uniform in +-1/sqrt(inputs), as is usual; those of a gate in +-1."""
    layers = []
    widths = sizes(plan, shape)
    for i, (m, n) in enumerate(pairwise(widths)):
        bound = 1 / math.sqrt(m)
        draws = jax.random.uniform(jax.random.fold_in(key, i), (m + 1, n), minval=-1.0)
        layers.append(Layer(bound * draws[:m], bound * draws[m]))
    gate = None
    if plan.gated and shape.exits:
        own = jax.random.fold_in(key, len(layers))
        gate = jax.random.uniform(own, (shape.features, widths[1]), minval=-1.0)
    return Params(tuple(layers), gate)


def q_values(params: Params, features: jax.Array, values: jax.Array) -> jax.Array:
    """Q-values by action, in units of the network, for exit values that are scaled already."""
    x = _first(params, features, values)
    for layer in params.layers[1:]:
        x = _affine(jnp.tanh(x), layer)
    return x


def _first(params: Params, features: jax.Array, values: jax.Array) -> jax.Array:
    """The first layer, whose inputs are of two kinds."""
    layer = params.layers[0]
    if params.gate is None:
        return _affine(jnp.concatenate([features, values], axis=-1), layer)
    count = features.shape[-1]
    turn = 1.0 + jnp.tanh(_product(features, params.gate))
    own = _product(features, layer.weights[:count]) + layer.biases
    return own + turn * _product(values, layer.weights[count:])


def _affine(x: jax.Array, layer: Layer) -> jax.Array:
    return _product(x, layer.weights) + layer.biases


@jax.custom_vjp
def _product(x: jax.Array, weights: jax.Array) -> jax.Array:
    return x @ weights


def _forwards(x: jax.Array, weights: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return x @ weights, (x, weights)


def _backwards(saved: tuple[jax.Array, jax.Array], slope: jax.Array) -> tuple[jax.Array, jax.Array]:
    x, weights = saved
    # Left to itself, the compiler merges the transpose into a product that takes twice as long.
    turned = jax.lax.optimization_barrier(x.T)  # type: ignore[no-untyped-call]
    return slope @ weights.T, turned @ slope


_product.defvjp(_forwards, _backwards)
