"""The network ``"gather"``: states say which exits they lead to, exit values are read off there.

Q(s, v, a) is the greatest R + P . v over all strategies, where P is a distribution of exits. Here
the state alone gives, for each action a, a number R, a distribution P and attainabilities g:

    Q(s, v, a) = R + P . v + max over exits k of g[k] max(0, v[k] - P . v)

The first two terms are what an action is worth by chance: an action that leaves through exit k has
P[k] = 1. The third is the option to aim for an exit: with g = 1 for those that can be attained, it
makes Q the best of them. A constant that is added to all of v is added to Q, and errors of v do
not grow. P is the softmax, and g a line that is bent to stay within (0, 1), of products of a query
of (s, a) and a key of each exit, with a query for each; keys begin as the rows that tell exits
apart, if they are known. Where every step on the way to an exit has a cost, g falls by as much with
each: a line adds up such costs, for instance those of rows and columns, as a sigmoid cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

from recurl.learn.deep.network import (
    ACTIVATIONS,
    Layer,
    NetworkShape,
    Parts,
    affine,
    new_layers,
    register_network,
)

if TYPE_CHECKING:
    from recurl.learn.deep.settings import DeepSettings

KEYS = 16
"""Numbers in the key of an exit, if nothing is known of exits."""
SPARE_KEYS = 4
"""Numbers in the key of an exit beside those that are known."""
BEND = 0.1
"""How near to 0 and 1 the line of attainabilities bends."""
FIRST = -BEND
"""Where that line begins: little hope, but a slope that does not vanish."""


class Gather(NamedTuple):
    """Weights of ``"gather"``.

    Attributes:
        layers: From the features to R, an offset and two queries for each action.
        keys: Keys of the exits. ``[exits, keys]``
    """

    layers: tuple[Layer, ...]
    keys: jax.Array


class GatherCodes(NamedTuple):
    """Codes of states: gains, distributions of exits, attainabilities.

    Attributes:
        gain: R. ``[N, actions]``
        share: P. ``[N, actions, exits]``
        attained: g.
    """

    gain: jax.Array
    share: jax.Array
    attained: jax.Array


def new_gather(settings: DeepSettings, shape: NetworkShape, key: jax.Array) -> Gather:
    """First weights: all exits alike, small attainabilities."""
    known = jnp.asarray(shape.exit_rows, jnp.float32).reshape(shape.exits, -1)
    more = SPARE_KEYS if known.shape[1] else KEYS
    own, key = jax.random.split(key)
    keys = jnp.concatenate([known, jax.random.normal(own, (shape.exits, more))], axis=1)
    outputs = shape.actions * (2 + 2 * keys.shape[1])
    *layers, last = new_layers((shape.features, *settings.hidden, outputs), key)
    last = Layer(0.1 * last.weights, jnp.zeros_like(last.biases))
    return Gather((*layers, last), keys)


def encode(
    settings: DeepSettings,
    params: Gather,
    observations: jax.Array,
    actions: jax.Array | None = None,
) -> GatherCodes:
    """R, P and g of states, for all actions or for one action each."""
    x = observations.reshape(len(observations), -1).astype(jnp.float32)
    for layer in params.layers[:-1]:
        x = ACTIVATIONS[settings.activation](affine(x, layer))
    size = params.keys.shape[1]
    out = affine(x, params.layers[-1]).reshape(len(x), -1, 2 + 2 * size)
    if actions is not None:
        out = jnp.take_along_axis(out, actions[:, None, None], axis=1)
    gain, offset, queries = out[..., 0], out[..., 1:2], out[..., 2:]
    share = jax.nn.softmax(queries[..., :size] @ params.keys.T)
    line = (queries[..., size:] @ params.keys.T + offset + FIRST) / BEND
    attained = BEND * (jax.nn.softplus(line) - jax.nn.softplus(line - 1 / BEND))
    return GatherCodes(gain, share, attained)


def combine(settings: DeepSettings, codes: GatherCodes, values: jax.Array) -> jax.Array:
    """Q-values of states in exit values."""
    v = values[:, None, :] / settings.value_scale
    mean = (codes.share * v).sum(axis=-1)
    more = codes.attained * jax.nn.relu(v - mean[..., None])
    return codes.gain + mean + more.max(axis=-1, initial=0.0)


def gather(
    settings: DeepSettings, params: Gather, observations: jax.Array, values: jax.Array
) -> jax.Array:
    """Q-values of states in exit values, from their observations."""
    return combine(settings, encode(settings, params, observations), values)


def leaves(codes: GatherCodes) -> jax.Array:
    """The logarithm of P; what is added matters only where P would be 0."""
    return jnp.log(codes.share + 1e-30)


def aims(codes: GatherCodes) -> tuple[jax.Array, jax.Array]:
    """Q-values where exits are worth 0, and what a value of one exit alone adds, as a factor."""
    return codes.gain, codes.share + (1.0 - codes.share) * codes.attained


register_network("gather", new_gather, gather, Parts(encode, combine, leaves, aims))
