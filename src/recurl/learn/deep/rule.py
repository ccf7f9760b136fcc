"""The update rule of deep Recursive Q-learning: three cases, a target network, one step of Adam.

With Q the network that is trained and Q- its copy, a stored step (s, v, a, r, s', v') has target

- the step entered a box: ``r + m + max Q-(s', v', .)``, where v' holds what each return port was
  worth to the caller by Q when the step was made, less its minimum m;
- it left through exit k: ``r + v[k]``;
- otherwise: ``r + max Q-(s', v, .)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from recurl.learn.deep.network import Params, Shape, new_params, q_values
from recurl.learn.deep.settings import DeepSettings, Scale
from recurl.learn.schedules import CONSTANT, LINEAR, Schedule
from recurl.model.tables import CALLS, EXITS

ADAM = optax.scale_by_adam()


class Sizes(NamedTuple):
    """Running sizes: how many numbers were seen, and the sum of their squares."""

    number: jax.Array
    squares: jax.Array


class Brain(NamedTuple):
    """All that is learned.

    Attributes:
        online: Weights that are trained.
        target: Their copy for targets.
        average: Their average, if one is kept.
        adam: State of the optimiser.
        updates: Updates so far.
        loss: Loss of the latest update.
        value_size: Sizes of the exit values that calls were entered with.
        reward_size: Sizes of the rewards.
    """

    online: Params
    target: Params
    average: Params | None
    adam: Any
    updates: jax.Array
    loss: jax.Array
    value_size: Sizes
    reward_size: Sizes

    @property
    def settled(self) -> Params:
        """Weights of the greedy policy: the average, or those that are trained."""
        return self.online if self.average is None else self.average


class Batch(NamedTuple):
    """Sampled steps as the network sees them; see `Transition`."""

    features: jax.Array
    values: jax.Array
    action: jax.Array
    reward: jax.Array
    move: jax.Array
    other: jax.Array
    features_there: jax.Array
    values_there: jax.Array
    mask: jax.Array


def new_brain(plan: DeepSettings, shape: Shape, key: jax.Array) -> Brain:
    """A network that knows nothing."""
    params = new_params(plan, shape, key)
    # Numbers as of one that was seen, so that a scale is never without a size.
    unit = Sizes(jnp.float32(1), jnp.float32(1))
    zero, average = jnp.int32(0), params if plan.averaging else None
    return Brain(params, params, average, ADAM.init(params), zero, jnp.float32(0), unit, unit)


def scheduled(schedule: Schedule, step: jax.Array) -> jax.Array:
    """Value of a schedule of steps."""
    if schedule.code == CONSTANT:
        return jnp.float32(schedule.first)
    if schedule.code == LINEAR:
        share = jnp.minimum(1.0, step / schedule.scale)
        return schedule.first + share * (schedule.last - schedule.first)
    return schedule.last + (schedule.first - schedule.last) * 2.0 ** (-step / schedule.scale)


def factor(scale: Scale, size: Sizes) -> jax.Array:
    """A scale as a number: the given one, or one over the running root mean square."""
    if scale == "running":
        return jnp.sqrt(size.number / size.squares)
    return jnp.float32(scale)


def seen(size: Sizes, numbers: jax.Array, count: jax.Array) -> Sizes:
    """Sizes after some more numbers; those that do not count are 0."""
    return Sizes(size.number + count, size.squares + jnp.sum(numbers**2))


def predict(
    plan: DeepSettings, brain: Brain, params: Params, features: jax.Array, values: jax.Array
) -> jax.Array:
    """Q-values by action, in units of the rewards."""
    unit = factor(plan.reward_scale, brain.reward_size)
    scale = factor(plan.value_scale, brain.value_size)
    return q_values(params, features, scale * values) / unit


def best(q: jax.Array, mask: jax.Array) -> jax.Array:
    """Greatest value among the actions that there are."""
    return jnp.where(mask, q, -jnp.inf).max(axis=-1)


def greedy(q: jax.Array, mask: jax.Array) -> jax.Array:
    """First action of greatest value among those that there are."""
    return jnp.where(mask, q, -jnp.inf).argmax(axis=-1)


def targets(move: jax.Array, reward: jax.Array, ahead: jax.Array, other: jax.Array) -> jax.Array:
    """The three cases; ``other`` is m for a call and v[k] for an exit.

    Example:
        >>> targets(jnp.array([0, 1, 2]), jnp.ones(3), jnp.full(3, 10.0), jnp.full(3, 5.0)).tolist()
        [11.0, 16.0, 6.0]
    """
    on = jnp.where(move == EXITS, 0.0, ahead)
    return reward + on + jnp.where((move == CALLS) | (move == EXITS), other, 0.0)


def normalised(hopes: jax.Array, exits: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Exit values relative to their minimum, and the minimum; exits that do not exist are 0."""
    least = jnp.where(exits, hopes, jnp.inf).min(axis=-1)
    return jnp.where(exits, hopes - least[..., None], 0.0), least


def update(plan: DeepSettings, brain: Brain, batch: Batch, step: jax.Array) -> Brain:
    """One step of Adam on the mean squared distance to the targets."""
    there = predict(plan, brain, brain.target, batch.features_there, batch.values_there)
    goal = targets(batch.move, batch.reward, best(there, batch.mask), batch.other)
    unit = factor(plan.reward_scale, brain.reward_size)

    def loss(params: Params) -> jax.Array:
        q = predict(plan, brain, params, batch.features, batch.values)
        chosen = jnp.take_along_axis(q, batch.action[:, None], axis=1)[:, 0]
        return jnp.mean((unit * (chosen - goal)) ** 2)

    value, slope = jax.value_and_grad(loss)(brain.online)
    steps, adam = ADAM.update(slope, brain.adam)
    rate = scheduled(plan.learning_rate, step)
    online = jax.tree.map(lambda p, s: p - rate * s, brain.online, steps)
    return _after(plan, brain, online, adam, value)


def _after(plan: DeepSettings, brain: Brain, online: Params, adam: Any, loss: jax.Array) -> Brain:
    updates = brain.updates + 1
    copies = updates % plan.target_every == 0
    target = jax.tree.map(lambda new, old: jnp.where(copies, new, old), online, brain.target)
    average = None
    if plan.averaging:
        # Early on a shorter memory, so that the first weights do not linger.
        decay = jnp.minimum(plan.averaging, updates / (updates + 10.0))
        average = jax.tree.map(lambda a, p: decay * a + (1 - decay) * p, brain.average, online)
    return brain._replace(
        online=online, target=target, average=average, adam=adam, updates=updates, loss=loss
    )


@jax.jit
def health(brain: Brain) -> jax.Array:
    """The loss; nan if the weights are no longer finite, which the next loss would tell."""
    fine = jnp.stack([jnp.isfinite(x).all() for x in jax.tree.leaves(brain.online)])
    return jnp.where(fine.all(), brain.loss, jnp.nan)
