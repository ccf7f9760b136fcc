"""Learning in an environment: what follows a step, in one compiled program per step."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from recurl.learn.deep.loop import OWN_DRAWS, step_draws
from recurl.learn.deep.network import Params, Shape
from recurl.learn.deep.refresh import refresh_draws, refreshed
from recurl.learn.deep.replay import Kind, Transition, new_buffer, sample, store_rows
from recurl.learn.deep.rule import (
    Batch,
    Brain,
    best,
    greedy,
    new_brain,
    normalised,
    predict,
    scheduled,
    seen,
    update,
)
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.deep.sheet import Seen, read
from recurl.model.tables import CALLS, EXITS

Setting = tuple[DeepSettings, Shape]


class Mind(NamedTuple):
    """What is on the device: random key, steps, all that is learned, and the last steps.

    The key is the numbers behind it: they are handed over faster.
    """

    key: jax.Array
    step: jax.Array
    brain: Brain
    buffer: jax.Array


def kept(setting: Setting) -> Kind:
    """What the buffer holds of a step: what was observed."""
    plan, shape = setting
    return Kind(*shape, bool(plan.refresh and shape.exits))


@partial(jax.jit, static_argnums=0)
def new_mind(setting: Setting, seed: jax.Array) -> Mind:
    """A mind that knows nothing."""
    plan, shape = setting
    first, key = jax.random.split(jax.random.key(seed))
    buffer = new_buffer(kept(setting), plan.buffer)
    return Mind(jax.random.key_data(key), jnp.int32(0), new_brain(plan, shape, first), buffer)


def _key(mind: Mind) -> jax.Array:
    return jax.random.wrap_key_data(mind.key)


@partial(jax.jit, static_argnums=0)
def first_actions(
    setting: Setting, mind: Mind, features: jax.Array, values: jax.Array, mask: jax.Array
) -> jax.Array:
    """Actions with which lanes begin."""
    return _choose(setting, mind, features, values, mask)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def take_in(setting: Setting, mind: Mind, sheet: jax.Array) -> tuple[Mind, jax.Array]:
    """Store what was seen, learn, and choose the next actions.

    Returns:
        The mind, and what the host needs of each lane: the next action, the exit values in which it
        goes on, and the loss.
    """
    plan, shape = setting
    seen = read(shape, jnp.asarray(sheet))
    entered, least = _enter(setting, mind.brain, seen)
    calls, exits = (seen.move == CALLS)[:, None], (seen.move == EXITS)[:, None]
    after = jnp.where(calls, entered, jnp.where(exits, seen.popped, seen.values))
    worth = jnp.zeros(len(seen.exit))
    if shape.exits:
        worth = jnp.take_along_axis(seen.values, seen.exit[:, None], axis=1)[:, 0]
    rows = Transition(
        seen.here, seen.values, seen.action, seen.reward, seen.move,
        jnp.where(seen.move == EXITS, worth, least), seen.there, after, seen.mask,
        *_ports(setting, seen),
    )  # fmt: skip
    mind = _learn_all(setting, _noted(plan, mind, seen, entered), rows, seen.real)
    values = jnp.where(seen.begins[:, None], 0.0, after)
    actions = _choose(setting, mind, seen.next, values, seen.next_mask).astype(jnp.float32)
    loss = jnp.broadcast_to(mind.brain.loss, actions.shape)
    return mind, jnp.column_stack([actions, loss, values])


def _ports(setting: Setting, seen: Seen) -> tuple[jax.Array, jax.Array]:
    """What is stored of the return ports."""
    if kept(setting).ports:
        return seen.ports, seen.ports_mask
    none = jnp.zeros((len(seen.move), 0))
    return none, none


def _enter(setting: Setting, brain: Brain, seen: Seen) -> tuple[jax.Array, jax.Array]:
    """Exit values of what each lane called, if any did."""
    shape, lanes = setting[1], len(seen.move)
    nothing = (jnp.zeros((lanes, shape.exits)), jnp.zeros(lanes))
    if not shape.exits:
        return nothing
    return jax.lax.cond(
        jnp.any(seen.move == CALLS),
        lambda: entered_values(
            setting, (brain, brain.online), seen.values, seen.ports, seen.ports_mask
        ),
        lambda: nothing,
    )


def entered_values(
    setting: Setting,
    mind: tuple[Brain, Params],
    values: jax.Array,
    ports: jax.Array,
    ports_mask: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """What each return port is worth to the caller, relative to the worst, and the worst."""
    plan, shape = setting
    same = jnp.broadcast_to(values[..., None, :], (*ports.shape[:-1], shape.exits))
    q = predict(plan, *mind, ports, same)
    there = jnp.any(ports_mask, axis=-1)
    # A lane that calls nothing has no exits at all: its numbers are not used, but must be finite.
    hopes = jnp.where(there, best(q, ports_mask), 0.0)
    return normalised(hopes, there | ~there.any(axis=-1, keepdims=True))


def _noted(plan: DeepSettings, mind: Mind, rows: Seen, entered: jax.Array) -> Mind:
    brain, real = mind.brain, rows.real.astype(jnp.float32)
    if plan.reward_scale == "running":
        size = seen(brain.reward_size, rows.reward * real, real.sum())
        brain = brain._replace(reward_size=size)
    if plan.value_scale == "running" and entered.shape[1]:
        there = jnp.any(rows.ports_mask, axis=-1) & (rows.move == CALLS)[:, None]
        size = seen(brain.value_size, jnp.where(there, entered, 0.0), there.sum())
        brain = brain._replace(value_size=size)
    return mind._replace(brain=brain)


def _learn_all(setting: Setting, mind: Mind, rows: Transition, real: jax.Array) -> Mind:
    """Store the steps of all lanes, then learn as often as they were steps."""
    plan, _ = setting
    number = mind.step + jnp.cumsum(real, dtype=jnp.int32) - real
    buffer = store_rows(mind.buffer, number, rows, real)
    after = mind.step + real.sum(dtype=jnp.int32)

    def learn(step: jax.Array, brain: Brain) -> Brain:
        draws = step_draws(_key(mind), step, plan.batch)[OWN_DRAWS:]
        steps = sample(kept(setting), buffer, after, draws)
        # What is observed is what the network sees; return ports are not part of a batch.
        return update(plan, brain, Batch(*steps[: len(Batch._fields)]), step)

    due = real & (number >= plan.warm_up) & (number % plan.train_every == 0)

    def one(lane: jax.Array, brain: Brain) -> Brain:
        return jax.lax.cond(due[lane], partial(learn, number[lane]), lambda brain: brain, brain)

    brain = mind.brain
    # A loop copies what it carries: not for a single lane.
    brain = (
        one(jnp.int32(0), brain) if len(real) == 1 else jax.lax.fori_loop(0, len(real), one, brain)
    )
    buffer = _refreshed(setting, mind._replace(step=after, brain=brain, buffer=buffer), due)
    return Mind(mind.key, after, brain, buffer)


def _refreshed(setting: Setting, mind: Mind, due: jax.Array) -> jax.Array:
    """The buffer with some calls entered anew, if that is wanted: more if there are more lanes."""
    plan, kind = setting[0], kept(setting)
    if not kind.ports:
        return mind.buffer
    draws = refresh_draws(_key(mind), mind.step, plan.refresh * len(due))

    def again(calls: Transition) -> tuple[jax.Array, jax.Array]:
        online = (mind.brain, mind.brain.online)
        return entered_values(setting, online, calls.values, calls.ports, calls.ports_mask)

    return refreshed(kind, mind.buffer, mind.step, due.any(), draws, again)


def _choose(
    setting: Setting, mind: Mind, features: jax.Array, values: jax.Array, mask: jax.Array
) -> jax.Array:
    """Any action with the probability of exploration, else the greedy one, in each lane."""
    plan, _ = setting
    lanes = len(mask)
    draws = jax.random.uniform(jax.random.fold_in(_key(mind), -1 - mind.step), (2, lanes))
    q = predict(plan, mind.brain, mind.brain.online, features, values)
    explores = draws[0] < scheduled(plan.exploration, mind.step)
    number = jnp.floor(draws[1] * mask.sum(axis=-1)).astype(jnp.int32)
    # The number-th of the actions that there are.
    counted = jnp.cumsum(mask, axis=-1) - 1
    any_action = jnp.argmax((counted == number[:, None]) & mask, axis=-1)
    return jnp.where(explores, any_action, greedy(q, mask)).astype(jnp.int32)


@partial(jax.jit, static_argnums=0)
def policy_action(
    setting: Setting, brain: Brain, features: jax.Array, values: jax.Array, mask: jax.Array
) -> jax.Array:
    """Greedy action of a single state, by the weights of the policy."""
    plan, _ = setting
    return greedy(predict(plan, brain, brain.settled, features, values), mask)


@partial(jax.jit, static_argnums=0)
def policy_values(
    setting: Setting, brain: Brain, values: jax.Array, ports: jax.Array, ports_mask: jax.Array
) -> jax.Array:
    """Exit values with which a greedy run enters a call, by the weights of the policy."""
    return entered_values(setting, (brain, brain.settled), values, ports, ports_mask)[0]
