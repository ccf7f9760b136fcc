"""A stretch of learning in a model, as one compiled program: steps, then the test that is due."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from recurl.learn.deep.loop import Program, Run, one_step
from recurl.learn.deep.trial import Tested, no_trial, trial
from recurl.learn.deep.world import World


@partial(jax.jit, static_argnums=0)
def advance(
    program: Program, world: World, run: Run, steps: jax.Array, key: jax.Array
) -> tuple[Run, Tested]:
    """Take so many steps, learning, and test if that is due then.

    It ends early after a loss that is not finite.

    Returns:
        The run, and returns, lengths and cuts of the test; zeros if none was due.
    """
    plan, end = program.plan, run.step + steps

    def goes_on(run: Run) -> jax.Array:
        return (run.step < end) & jnp.isfinite(run.brain.loss)

    run = jax.lax.while_loop(goes_on, partial(one_step, program, world), run)
    if not plan.evaluate_every:
        return run, no_trial(plan.evaluate_episodes)
    mind, episodes, limit = run.brain, plan.evaluate_episodes, jnp.int32(plan.evaluate_limit)
    own_key = trial_key(key, 1 + run.step)
    tested = jax.lax.cond(
        run.step % plan.evaluate_every == 0,
        lambda: trial(program, world, mind, own_key, episodes, limit),
        lambda: no_trial(episodes),
    )
    return run, tested


def trial_key(key: jax.Array, stream: jax.Array) -> jax.Array:
    """Random key of a test: none of the numbers of training are used."""
    return jax.random.fold_in(key, stream)
