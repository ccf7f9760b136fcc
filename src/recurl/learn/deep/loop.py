"""A step of learning in a model: simulate, store, sample, update; all of it compiled."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from recurl.learn.deep.network import Params, Shape
from recurl.learn.deep.refresh import refresh_draws, refreshed
from recurl.learn.deep.replay import Kind, Transition, new_buffer, sample, store
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
from recurl.learn.deep.world import (
    Outcome,
    Place,
    Static,
    World,
    action_mask,
    begin,
    follow,
    is_over,
    outcome,
    overflows,
    restart,
    return_ports,
)
from recurl.model.tables import CALLS, EXITS, STEP

OWN_DRAWS = 4
"""Random numbers of a step beside those that sample the batch: see `one_step`."""


class Program(NamedTuple):
    """What a program is compiled for."""

    plan: DeepSettings
    static: Static
    shape: Shape


class Tally(NamedTuple):
    """What happened to the episodes.

    Attributes:
        length: Steps of the running episode.
        gain: Its reward so far.
        ended: Episodes ended, those cut included.
        cut: Episodes cut, at the limit of steps or of the stack.
        overflowed: Episodes cut at the limit of the stack.
        recent: Episodes ended since this was last reported.
        returns: Sum of their returns.
    """

    length: jax.Array
    gain: jax.Array
    ended: jax.Array
    cut: jax.Array
    overflowed: jax.Array
    recent: jax.Array
    returns: jax.Array


class Run(NamedTuple):
    """All that a run depends on.

    Attributes:
        key: Random key of the seed; a step's numbers depend on it and on the step.
        step: Steps so far.
        brain: What is learned.
        buffer: The last steps.
        place: Where the episode stands.
        tally: What happened to the episodes.
    """

    key: jax.Array
    step: jax.Array
    brain: Brain
    buffer: jax.Array
    place: Place
    tally: Tally


def kept(plan: DeepSettings, static: Static) -> Kind:
    """What the buffer holds of a step: vertices and boxes, of which all else is known."""
    return Kind(0, static.exits, 0, bool(plan.refresh) and not static.flat)


def step_draws(key: jax.Array, step: jax.Array, batch: int) -> jax.Array:
    """The random numbers of a step, in [0, 1)."""
    return jax.random.uniform(jax.random.fold_in(key, step), (OWN_DRAWS + batch,))


@partial(jax.jit, static_argnums=0)
def new_run(program: Program, world: World, seed: jax.Array) -> Run:
    """The beginning of a run."""
    plan, static, shape = program
    first, second, key = jax.random.split(jax.random.key(seed), 3)
    place = begin(static, world, jax.random.uniform(first), plan.stack_limit)
    zero = jnp.int32(0)
    none = jnp.float32(0)
    tally = Tally(zero, none, zero, zero, zero, zero, none)
    buffer = new_buffer(kept(plan, static), plan.buffer)
    return Run(key, zero, new_brain(plan, shape, second), buffer, place, tally)


def one_step(program: Program, world: World, run: Run) -> Run:
    """One step of the environment, one of learning.

    Of its random numbers the first picks the outcome, the second whether to explore, the third the
    action then, the fourth the next start; the others sample the batch.
    """
    plan, static, _ = program
    draws = step_draws(run.key, run.step, plan.batch)
    place, brain = run.place, run.brain
    action = _choose(program, world, run, draws[1], draws[2])
    out = outcome(static, world, place.vertex, action, draws[0])
    entered, least = _entered(program, world, brain, place, out)
    after = follow(world, place, out, entered)
    known = _transition(program, place, action, out, after, least)
    buffer = store(run.buffer, run.step, known)
    brain = _note_sizes(plan, static, world, brain, out, entered)
    due = (run.step >= plan.warm_up) & (run.step % plan.train_every == 0)
    brain = jax.lax.cond(
        due, partial(_learn, program, world, buffer, run.step, draws[OWN_DRAWS:]), _same, brain
    )
    buffer = _refreshed(program, world, run, brain, buffer, due)
    place, tally = _close(plan, world, run, out, after, draws[3])
    return Run(run.key, run.step + 1, brain, buffer, place, tally)


def _same(brain: Brain) -> Brain:
    return brain


def _entered(
    program: Program, world: World, brain: Brain, place: Place, out: Outcome
) -> tuple[jax.Array, jax.Array]:
    """What `enter` gives if a step calls; zeros else."""
    nothing = (jnp.zeros_like(place.values), jnp.float32(0))
    if program.static.flat:
        return nothing
    return jax.lax.cond(
        out.move == CALLS,
        lambda: enter(program, world, (brain, brain.online), place.values, out.box),
        lambda: nothing,
    )


def _choose(
    program: Program, world: World, run: Run, whether: jax.Array, which: jax.Array
) -> jax.Array:
    """Any action with the probability of exploration, else the greedy one."""
    plan, static, _ = program
    place = run.place
    mask = action_mask(static, world, place.vertex)
    features = world.features[place.vertex]
    q = predict(plan, run.brain, run.brain.online, features, place.values)
    explores = whether < scheduled(plan.exploration, run.step)
    any_action = (which * mask.sum()).astype(jnp.int32)
    return jnp.where(explores, any_action, greedy(q, mask).astype(jnp.int32))


def enter(
    program: Program,
    world: World,
    mind: tuple[Brain, Params],
    values: jax.Array,
    box: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Exit values with which boxes are entered, relative to their minimum, and the minimum."""
    plan, static, _ = program
    ports, there = return_ports(static, world, box)
    same = jnp.broadcast_to(values[..., None, :], (*ports.shape, static.exits))
    q = predict(plan, *mind, world.features[ports], same)
    return normalised(best(q, action_mask(static, world, ports)), there)


def _transition(
    program: Program, place: Place, action: jax.Array, out: Outcome, after: Place, least: jax.Array
) -> Transition:
    """The step as it is stored: a flat learner knows ordinary steps and the end."""
    plan, static, _ = program
    over = is_over(place, out)
    if static.flat:
        move = jnp.where(over, EXITS, STEP)
        other = jnp.float32(0)
    else:
        move = out.move
        worth = place.values[jnp.minimum(out.landing, static.exits - 1)]
        other = jnp.where(move == EXITS, worth, least)
    none = jnp.zeros(0, bool)
    return Transition(
        place.vertex, place.values, action, out.reward, move.astype(jnp.uint8), other,
        jnp.where(over, place.vertex, after.vertex), after.values, none,
        out.box if kept(plan, static).ports else none, none,
    )  # fmt: skip


def _refreshed(
    program: Program, world: World, run: Run, brain: Brain, buffer: jax.Array, due: jax.Array
) -> jax.Array:
    """The buffer with some calls entered anew, if that is wanted."""
    plan, static, _ = program
    kind = kept(plan, static)
    if not kind.ports:
        return buffer
    draws = refresh_draws(run.key, run.step, plan.refresh)

    def again(calls: Transition) -> tuple[jax.Array, jax.Array]:
        return enter(program, world, (brain, brain.online), calls.values, calls.ports)

    return refreshed(kind, buffer, run.step + 1, due, draws, again)


def _note_sizes(
    plan: DeepSettings, static: Static, world: World, brain: Brain, out: Outcome, entered: jax.Array
) -> Brain:
    if plan.reward_scale == "running":
        size = seen(brain.reward_size, out.reward, jnp.float32(1))
        brain = brain._replace(reward_size=size)
    if plan.value_scale == "running" and not static.flat:
        count = jnp.where(out.move == CALLS, world.box_exits[out.box], 0).astype(jnp.float32)
        brain = brain._replace(value_size=seen(brain.value_size, entered, count))
    return brain


def _learn(
    program: Program,
    world: World,
    buffer: jax.Array,
    step: jax.Array,
    draws: jax.Array,
    brain: Brain,
) -> Brain:
    plan, static, _ = program
    rows = sample(kept(plan, static), buffer, step + 1, draws)
    batch = Batch(
        world.features[rows.here], rows.values, rows.action, rows.reward, rows.move, rows.other,
        world.features[rows.there], rows.values_there, action_mask(static, world, rows.there),
    )  # fmt: skip
    return update(plan, brain, batch, step)


def _close(
    plan: DeepSettings, world: World, run: Run, out: Outcome, after: Place, draw: jax.Array
) -> tuple[Place, Tally]:
    """Go on, or begin a new episode if this one is over or cut."""
    tally = run.tally
    length, gain = tally.length + 1, tally.gain + out.reward
    over, full = is_over(run.place, out), overflows(run.place, out)
    long = jnp.bool_(False) if plan.episode_limit is None else length >= plan.episode_limit
    ends = over | full | long
    one = ends.astype(jnp.int32)
    tally = Tally(
        jnp.where(ends, 0, length),
        jnp.where(ends, 0.0, gain),
        tally.ended + one,
        tally.cut + (ends & ~over),
        tally.overflowed + full,
        tally.recent + one,
        tally.returns + jnp.where(ends, gain, 0.0),
    )
    fresh = restart(after, world, draw)
    place = after._replace(
        vertex=jnp.where(ends, fresh.vertex, after.vertex),
        values=jnp.where(ends, fresh.values, after.values),
        height=jnp.where(ends, fresh.height, after.height),
    )
    return place, tally
