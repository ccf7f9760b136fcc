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


Params = tuple[Layer, ...]


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


def new_params(key: jax.Array, widths: tuple[int, ...]) -> Params:
    """Weights and biases uniform in +-1/sqrt(inputs), as is usual."""
    layers = []
    for i, (m, n) in enumerate(pairwise(widths)):
        bound = 1 / math.sqrt(m)
        draws = jax.random.uniform(jax.random.fold_in(key, i), (m + 1, n), minval=-1.0)
        layers.append(Layer(bound * draws[:m], bound * draws[m]))
    return tuple(layers)


def q_values(params: Params, features: jax.Array, values: jax.Array) -> jax.Array:
    """Q-values by action, in units of the network, for exit values that are scaled already."""
    x = jnp.concatenate([features, values], axis=-1)
    for layer in params[:-1]:
        x = jnp.tanh(_affine(x, layer))
    return _affine(x, params[-1])


@jax.custom_vjp
def _affine(x: jax.Array, layer: Layer) -> jax.Array:
    return x @ layer.weights + layer.biases


def _forwards(x: jax.Array, layer: Layer) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return _affine(x, layer), (x, layer.weights)


def _backwards(saved: tuple[jax.Array, jax.Array], slope: jax.Array) -> tuple[jax.Array, Layer]:
    x, weights = saved
    # Left to itself, the compiler merges the transpose into a product that takes twice as long.
    turned = jax.lax.optimization_barrier(x.T)  # type: ignore[no-untyped-call]
    return slope @ weights.T, Layer(turned @ slope, slope.sum(axis=0))


_affine.defvjp(_forwards, _backwards)
