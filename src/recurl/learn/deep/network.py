"""Networks: Q-values of all actions from what shows a state and from its exit values.

A network is two functions, `Init` and `Apply`. ``"mlp"`` and ``"cnn"`` are here, ``"gather"`` is in
`recurl.learn.deep.gather`; any other is added by `register_network` and chosen by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from recurl.arguments import with_known_names
from recurl.errors import UnknownNameError

if TYPE_CHECKING:
    from recurl.learn.deep.settings import DeepSettings


class NetworkShape(NamedTuple):
    """Sizes of what enters and leaves a network.

    Attributes:
        observation: Shape of what shows a state: that of a Box with several dimensions, else the
            number of features.
        exits: Exit values: those of the widest component; 0 for a flat learner.
        actions: Most actions of a state.
        exit_rows: A row of numbers for each exit that tells how exits differ, if that is known.
    """

    observation: tuple[int, ...]
    exits: int
    actions: int
    exit_rows: tuple[tuple[float, ...], ...] = ()

    @property
    def features(self) -> int:
        """Numbers that show a state."""
        return math.prod(self.observation)


Params = Any
"""All weights of a network: any tree of arrays."""

Init = Callable[["DeepSettings", NetworkShape, jax.Array], Params]
"""``init(settings, shape, key)`` gives first weights, drawn with a random key of jax."""

Apply = Callable[["DeepSettings", Params, jax.Array, jax.Array], jax.Array]
"""``apply(settings, params, observations, values)`` gives Q-values.

Observations have shape ``[N, *shape.observation]`` and keep their type (``uint8`` for images), exit
values ``[N, shape.exits]``; the result has shape ``[N, shape.actions]``. Exit values come scaled,
and Q-values are in units of the network: see `DeepSettings.reward_scale`.
"""


class Parts(NamedTuple):
    """A network in two parts: codes of states alone, and Q-values from codes and exit values.

    Where the same states are seen in many exit values, codes are computed once.

    Attributes:
        encode: ``encode(settings, params, observations, actions)`` gives a tree of arrays of
            shape ``[N, ...]``. If actions are None they are about all of them, else about one
            action of each state, as if there were no other.
        combine: ``combine(settings, codes, values)`` gives Q-values of shape ``[N, actions]``.
        leaves: ``leaves(codes)`` gives logarithms of probabilities to leave through each exit, of
            shape ``[N, actions, exits]``; see `DeepSettings.exit_loss`.
        aims: ``aims(codes)`` gives two arrays: Q-values where all exits are worth 0, of shape
            ``[N, actions]``, and for each exit the factor in [0, 1] of its value that is added if
            it alone is worth something, ``[N, actions, exits]``; see `DeepSettings.aim_loss`.
    """

    encode: Callable[[DeepSettings, Params, jax.Array, jax.Array | None], Any]
    combine: Callable[[DeepSettings, Any, jax.Array], jax.Array]
    leaves: Callable[[Any], jax.Array]
    aims: Callable[[Any], tuple[jax.Array, jax.Array]]


class Network(NamedTuple):
    """A network: how its weights begin, what it computes, and its parts if it has any."""

    init: Init
    apply: Apply
    parts: Parts | None = None


class Codes(NamedTuple):
    """Codes of states, by `Parts.encode`."""

    tree: Any


@with_known_names
def register_network(name: str, init: Init, apply: Apply, parts: Parts | None = None) -> None:
    """Add a network that learners can be given by name, as in ``DQN(env, network=name)``.

    A checkpoint holds the name: register the network before a learner is loaded.

    Args:
        name: Its name; a network of this name is replaced, for learners that exist as well.
        init: Gives its first weights, see `Init`.
        apply: Gives Q-values, see `Apply`.
        parts: The two parts of ``apply``, if it has them.

    Example:
        >>> def init(settings, shape, key):
        ...     return jax.random.normal(key, (shape.features + shape.exits, shape.actions))
        >>> def apply(settings, weights, observations, values):
        ...     return jnp.concatenate([observations, values], axis=-1) @ weights
        >>> register_network("linear", init, apply)
        >>> import recurl
        >>> recurl.DeepRecursiveQLearning(recurl.zoo.cloud(), network="linear").learn(10)
        <DeepRecursiveQLearning: 10 steps, ...>
    """
    if name in _NETWORKS:
        # Compiled programs know a network by its name.
        jax.clear_caches()  # type: ignore[no-untyped-call]
    _NETWORKS[name] = Network(init, apply, parts)


def network_named(name: str) -> Network:
    """A registered network.

    Raises:
        UnknownNameError: There is none of this name.
    """
    if name not in _NETWORKS:
        raise UnknownNameError("network", name, _NETWORKS)
    return _NETWORKS[name]


ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "elu": jax.nn.elu,
    "silu": jax.nn.silu,
}


class Layer(NamedTuple):
    """Weights and biases of a layer."""

    weights: jax.Array
    biases: jax.Array


class Mlp(NamedTuple):
    """Weights of ``"mlp"``.

    Attributes:
        layers: From the input, features before exit values, to the actions.
        gate: How features turn exit values up and down in each unit of the first layer; None if
            they do not. ``[features, units]``
    """

    layers: tuple[Layer, ...]
    gate: jax.Array | None


def new_layers(widths: Sequence[int], key: jax.Array) -> tuple[Layer, ...]:
    """Fully connected layers: weights and biases uniform in +-1/sqrt(inputs), as is usual."""
    layers = []
    for i, (m, n) in enumerate(pairwise(widths)):
        draws = jax.random.uniform(jax.random.fold_in(key, i), (m + 1, n), minval=-1.0)
        draws = draws / math.sqrt(m)
        layers.append(Layer(draws[:m], draws[m]))
    return tuple(layers)


def new_mlp(settings: DeepSettings, shape: NetworkShape, key: jax.Array) -> Mlp:
    """Weights of `new_layers`, and those of a gate in +-1."""
    return _new_mlp(settings, shape.features, shape, key)


def _new_mlp(settings: DeepSettings, features: int, shape: NetworkShape, key: jax.Array) -> Mlp:
    layers = new_layers((features + shape.exits, *settings.hidden, shape.actions), key)
    if not (settings.gated and shape.exits):
        return Mlp(layers, None)
    own = jax.random.fold_in(key, len(layers))
    return Mlp(layers, jax.random.uniform(own, (features, settings.hidden[0]), minval=-1.0))


def mlp(
    settings: DeepSettings, params: Mlp, observations: jax.Array, values: jax.Array
) -> jax.Array:
    """Fully connected layers; observations are laid flat."""
    flat = observations.reshape(len(observations), -1).astype(jnp.float32)
    activation = ACTIVATIONS[settings.activation]
    x = _first(params, flat, values)
    for i, layer in enumerate(params.layers[1:]):
        # Not the first layer: there the size of exit values would be lost.
        x = _normalised(x) if settings.normalised and i else x
        x = affine(activation(x), layer)
    return x


def _normalised(x: jax.Array) -> jax.Array:
    """Rows with mean 0 and variance 1."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


def _first(params: Mlp, features: jax.Array, values: jax.Array) -> jax.Array:
    """The first layer, whose inputs are of two kinds."""
    layer = params.layers[0]
    if params.gate is None:
        return affine(jnp.concatenate([features, values], axis=-1), layer)
    count = features.shape[-1]
    turn = 1.0 + jnp.tanh(_product(features, params.gate))
    own = _product(features, layer.weights[:count]) + layer.biases
    return own + turn * _product(values, layer.weights[count:])


def affine(x: jax.Array, layer: Layer) -> jax.Array:
    """A layer without its activation."""
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

CHANNELS = (16, 32)
"""Channels of the two convolutions of ``"cnn"``."""
KERNEL, STRIDE = 3, 2


class Cnn(NamedTuple):
    """Weights of ``"cnn"``: its convolutions, and the layers that follow."""

    convolutions: tuple[Layer, ...]
    head: Mlp


def new_cnn(settings: DeepSettings, shape: NetworkShape, key: jax.Array) -> Cnn:
    """Weights for images of shape (rows, columns) or (rows, columns, channels).

    Raises:
        ValueError: Observations are not images.
    """
    if len(shape.observation) not in (2, 3):
        raise ValueError(
            f"network 'cnn' needs observations of shape (rows, columns) or (rows, columns, "
            f"channels), not {shape.observation}: choose network='mlp'"
        )
    own, key = jax.random.split(key)
    rows, columns = shape.observation[:2]
    depth = shape.observation[2] if len(shape.observation) == 3 else 1
    layers = []
    for i, channels in enumerate(CHANNELS):
        inputs = KERNEL * KERNEL * depth
        draws = jax.random.uniform(jax.random.fold_in(own, i), (inputs + 1, channels))
        draws = (2.0 * draws - 1.0) / math.sqrt(inputs)
        layers.append(Layer(draws[:inputs].reshape(KERNEL, KERNEL, depth, channels), draws[inputs]))
        rows, columns, depth = -(-rows // STRIDE), -(-columns // STRIDE), channels
    return Cnn(tuple(layers), _new_mlp(settings, rows * columns * depth, shape, key))


def cnn(
    settings: DeepSettings, params: Cnn, observations: jax.Array, values: jax.Array
) -> jax.Array:
    """Two convolutions with 3x3 kernels and stride 2, then the layers of `mlp`.

    Bytes are divided by 255.
    """
    x = observations.astype(jnp.float32)
    if observations.dtype == jnp.uint8:
        x = x / 255.0
    x = x[..., None] if x.ndim == 3 else x
    activation = ACTIVATIONS[settings.activation]
    for layer in params.convolutions:
        x = jax.lax.conv_general_dilated(
            x, layer.weights, (STRIDE, STRIDE), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = activation(x + layer.biases)
    return mlp(settings, params.head, x, values)


_NETWORKS = {"mlp": Network(new_mlp, mlp), "cnn": Network(new_cnn, cnn)}
