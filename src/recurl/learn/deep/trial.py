"""Tests of the greedy policy in a model: many episodes side by side, compiled."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from recurl.learn.deep.loop import Program, enter
from recurl.learn.deep.rule import Brain, greedy, predict
from recurl.learn.deep.world import (
    Place,
    World,
    action_mask,
    begin,
    follow,
    is_over,
    outcome,
    overflows,
)
from recurl.model.tables import CALLS


class Trial(NamedTuple):
    """Episodes of a test: where each stands, its return and length, whether it ended or was cut."""

    step: jax.Array
    place: Place
    returns: jax.Array
    lengths: jax.Array
    running: jax.Array
    cut: jax.Array


Tested = tuple[jax.Array, jax.Array, jax.Array]
"""Returns and lengths of episodes, and whether they were cut."""


def no_trial(episodes: int) -> Tested:
    """What `trial` gives, empty."""
    return jnp.zeros(episodes), jnp.zeros(episodes, jnp.int32), jnp.zeros(episodes, bool)


@partial(jax.jit, static_argnums=(0, 4))
def trial(
    program: Program, world: World, brain: Brain, key: jax.Array, episodes: int, limit: jax.Array
) -> Tested:
    """Greedy episodes, by the average of the weights if there is one."""
    plan, static, _ = program
    start = jax.random.uniform(jax.random.fold_in(key, 0), (episodes,))
    place = jax.vmap(lambda draw: begin(static, world, draw, plan.stack_limit))(start)
    yes = jnp.ones(episodes, bool)
    none = jnp.zeros(episodes, jnp.float32)
    first = Trial(jnp.int32(0), place, none, none.astype(jnp.int32), yes, ~yes)

    def goes_on(t: Trial) -> jax.Array:
        return t.running.any() & (t.step < limit)

    done = jax.lax.while_loop(goes_on, partial(_step, program, world, brain, key), first)
    return done.returns, done.lengths, done.cut | done.running


def _step(program: Program, world: World, brain: Brain, key: jax.Array, t: Trial) -> Trial:
    plan, static, _ = program
    mind = (brain, brain.settled)
    draws = jax.random.uniform(jax.random.fold_in(key, t.step + 1), t.returns.shape)
    vertex, values = t.place.vertex, t.place.values
    q = predict(plan, *mind, world.features[vertex], values)
    action = greedy(q, action_mask(static, world, vertex)).astype(jnp.int32)
    out = jax.vmap(partial(outcome, static, world))(vertex, action, draws)
    calls = (out.move == CALLS) & t.running
    entered = values
    if not static.flat:
        enters = jax.vmap(lambda v, box: enter(program, world, mind, v, box)[0])
        entered = jax.lax.cond(calls.any(), enters, lambda v, _: v, values, out.box)
    over = jax.vmap(is_over)(t.place, out) & t.running
    full = jax.vmap(overflows)(t.place, out) & t.running
    place = jax.vmap(partial(follow, world))(t.place, out, entered)
    return Trial(
        t.step + 1,
        place,
        t.returns + jnp.where(t.running, out.reward, 0.0),
        t.lengths + t.running,
        t.running & ~over & ~full,
        t.cut | full,
    )
