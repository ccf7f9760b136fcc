"""Targets of a step for all exits at once: the worth of each if that exit alone has a value.

Q(s, v, a) has its meaning for every v. Here v is 0, or a prize h at one exit k and 0 at all others:

    Q(s, 0, a) = gain        Q(s, h e_k, a) = gain + h factor[k]

Since Q is monotone and its errors do not grow with those of v, factors are in [0, 1]. Each step has
the usual three targets for each of these v: it left through an exit, and kept the whole prize or
nothing; it called, with exit values of the return ports for that v; or it went on. So every step
tells for every exit what it takes to get there. Which v are asked about does not depend on the
outcome of the step, which would be a bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from recurl.learn.deep.network import Codes, NetworkShape, Parts, network_named
from recurl.learn.deep.rule import (
    MARGIN,
    Aims,
    LearnedNetworks,
    Sums,
    TrainingBatch,
    best,
    exit_values,
    greedy,
    unit,
)
from recurl.model.tables import CALLS, EXITS

if TYPE_CHECKING:
    from recurl.learn.deep.loop import LoopProgram, View
    from recurl.learn.deep.settings import DeepSettings

SPREAD = 0.2
"""Share of the weight of factors that all exits have alike; the rest goes by their exit values."""


class _Ahead(NamedTuple):
    """The future of a step for each v: its values, and where it leads if exits are worth nothing.

    Attributes:
        values: For a prize at each exit, and without one. ``[K + 1]``
        share: Probabilities of exits. ``[K]``
    """

    values: jax.Array
    share: jax.Array


def has_aims(plan: DeepSettings, shape: NetworkShape) -> bool:
    """Whether aims are learned."""
    return bool(plan.aim_loss and shape.exits) and network_named(plan.network).parts is not None


def aim_targets(
    program: LoopProgram,
    view: View,
    learned: LearnedNetworks,
    sums: Sums,
    batch: TrainingBatch,
    ports: tuple[jax.Array, jax.Array],
) -> Aims:
    """Targets of steps. The prize of each is the greatest of its exit values.

    Args:
        program: What the loop is compiled for.
        view: How the network sees what is stored.
        learned: What is learned.
        sums: Sums of rewards over parts of episodes.
        batch: The steps.
        ports: What shows the return ports of calls, and their actions.
    """
    plan, exits = program.plan, program.shape.exits
    parts = network_named(plan.network).parts
    assert parts is not None
    prize, is_call = batch.values.max(axis=-1), batch.move == CALLS
    codes = parts.encode(plan, learned.online, batch.observations_there, None)

    def ahead(row: tuple[Any, ...]) -> _Ahead:
        calls, prize, codes, mask, ports = row

        def called() -> _Ahead:
            return _called(program, view, learned, (prize, codes, mask, ports))

        def went_on() -> _Ahead:
            one = jax.tree.map(lambda x: x[None], codes)
            values, share = _asked(parts, learned, plan, one, mask[None], prize)
            return _Ahead(values[0], share[0])

        return jax.lax.cond(calls, called, went_on)

    # One after the other: what is looked up for a call then stays in the cache.
    then = jax.lax.map(ahead, (is_call, prize, codes, batch.mask, ports))
    left = jnp.arange(exits + 1) == batch.exit[:, None]
    has_left = (batch.move == EXITS)[:, None]
    values = jnp.where(has_left, prize[:, None] * left, then.values)
    goal = batch.reward[:, None] + batch.discount[:, None] * values
    some = (prize > 0)[:, None]
    size = jnp.where(some, prize[:, None], 1.0)
    factor = jnp.clip((goal[:, :-1] - goal[:, -1:]) / size, 0.0, 1.0)
    gain = jnp.clip(goal[:, -1], MARGIN * sums.lowest, MARGIN * sums.highest)
    share = jnp.where(has_left, left[:, :-1], then.share)
    weight = _weights(jnp.where(some, batch.values / size, 0.0))
    return Aims(gain, factor, jnp.where(some, weight, 0.0), jnp.where(some, share, 0.0))


def _weights(values: jax.Array) -> jax.Array:
    """Weights of exits: those that are worth most in the steps of a rollout matter most."""
    mean = values.mean(axis=0)
    own = mean / jnp.maximum(mean.sum(), 1e-9) * len(mean)
    return (1 - SPREAD) * own + SPREAD


def _asked(
    parts: Parts,
    learned: LearnedNetworks,
    plan: DeepSettings,
    codes: Any,
    mask: jax.Array,
    prize: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Values of states for a prize at each exit and without one, and where they lead without."""
    gain, factor = parts.aims(codes)
    gain = gain / unit(plan, learned)
    values = gain[..., None] + prize * jnp.pad(factor, [(0, 0), (0, 0), (0, 1)])
    chosen = greedy(gain, mask)
    share = jnp.exp(parts.leaves(codes))[jnp.arange(len(chosen)), chosen]
    return best(jnp.moveaxis(values, 1, -1), mask[:, None]), share


def _called(
    program: LoopProgram,
    view: View,
    learned: LearnedNetworks,
    row: tuple[jax.Array, Any, jax.Array, tuple[jax.Array, jax.Array]],
) -> _Ahead:
    """The future of a call: its exit values are those of the return ports."""
    plan, _, _ = program
    prize, codes, mask, shown = row
    parts, size = network_named(plan.network).parts, unit(plan, learned)
    assert parts is not None
    ports, actions = view.ports(*shown)
    tree = (
        ports.tree if isinstance(ports, Codes) else parts.encode(plan, learned.online, ports, None)
    )
    hopes, leads = _asked(parts, learned, plan, tree, actions, prize)
    there = actions.any(axis=-1)
    values, least = exit_values(plan, jnp.where(there, hopes.T, 0.0), there)
    one = jax.tree.map(lambda x: x[None], codes)
    q = parts.combine(plan, one, plan.value_scale * size * values) / size
    inner = jnp.exp(parts.leaves(one))[0, greedy(q[-1], mask)]
    return _Ahead(best(q, mask) + least, inner @ jnp.where(there[:, None], leads, 0.0))
