"""The update rule of deep Recursive Q-learning: three cases, a target network, one step of Adam.

With Q the network that is trained and Q- its copy, a stored step (s, v, a, r, s', v') has target

- the step entered a box: ``r + g (m + max Q-(s', v', .))``, where v' holds what each return port
  was worth to the caller by Q when the step was made, less its minimum m;
- it left through exit k: ``r + g v[k]``;
- otherwise: ``r + g max Q-(s', v, .)``.

g is the discount gamma. With g = 1 a constant added to all exit values adds to all values, so that
the minimum may be taken off. With g < 1 it would be discounted on the way: then v' is kept as it
is, and m is 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

import recurl.learn.deep.gather  # noqa: F401, registers its network
from recurl.learn.deep.network import Codes, NetworkShape, Params, Parts, network_named
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.schedules import CONSTANT, LINEAR, Schedule
from recurl.model.tables import CALLS, EXITS

ADAM = optax.scale_by_adam()


class Sizes(NamedTuple):
    """Sizes of rewards: how many there were, and the sum of their squares."""

    number: jax.Array
    squares: jax.Array


class LearnedNetworks(NamedTuple):
    """Everything that is learned.

    Attributes:
        online: Weights that are trained.
        target: Their copy for targets, if there is one.
        average: Their average, if one is kept.
        adam: State of the optimiser.
        updates: Updates so far.
        loss: Loss of the latest update.
        rewards: Sizes of the rewards of the warm-up.
    """

    online: Params
    target: Params | None
    average: Params | None
    adam: Any
    updates: jax.Array
    loss: jax.Array
    rewards: Sizes

    @property
    def policy(self) -> Params:
        """Weights of the greedy policy: the average, or those that are trained."""
        return self.online if self.average is None else self.average


class Sums(NamedTuple):
    """Sums of rewards over parts of episodes.

    Attributes:
        sum: Reward of each lane's episode so far. ``[N]``
        least: The least that it was before. ``[N]``
        most: The most that it was before. ``[N]``
        lowest: The smallest sum over any part of any episode, at most 0.
        highest: The largest, at least 0.
    """

    sum: jax.Array
    least: jax.Array
    most: jax.Array
    lowest: jax.Array
    highest: jax.Array


def new_sums(lanes: int) -> Sums:
    """Sums before the first step."""
    none, zero = jnp.zeros(lanes), jnp.float32(0)
    return Sums(none, none, none, zero, zero)


def summed(sums: Sums, rewards: jax.Array, real: jax.Array, ends: jax.Array) -> Sums:
    """Sums after a step of every lane."""
    total = sums.sum + jnp.where(real, rewards, 0.0)
    lowest = jnp.minimum(sums.lowest, (total - sums.most).min())
    highest = jnp.maximum(sums.highest, (total - sums.least).max())
    least, most = jnp.minimum(sums.least, total), jnp.maximum(sums.most, total)
    goes_on = jnp.where(ends, 0.0, 1.0)
    return Sums(goes_on * total, goes_on * least, goes_on * most, lowest, highest)


class TrainingBatch(NamedTuple):
    """Sampled steps as the network sees them; see `Transition`.

    Attributes:
        discount: Factor of what follows the reward.
        exit: Number of the exit through which a step left; -1 if it did not.
    """

    observations: jax.Array
    values: jax.Array
    action: jax.Array
    reward: jax.Array
    move: jax.Array
    other: jax.Array
    observations_there: jax.Array
    values_there: jax.Array
    mask: jax.Array
    discount: jax.Array
    exit: jax.Array


class Aims(NamedTuple):
    """Targets of steps for aims, see `recurl.learn.deep.aims`; a row for each.

    Attributes:
        gain: What the step is worth where all exits are worth 0.
        factor: For each exit, what its value alone adds, as a factor. ``[N, K]``
        weight: Weights of the factors. ``[N, K]``
        share: Probabilities to leave through each exit where all are worth 0; all 0 where nothing
            is to be learned of them. ``[N, K]``
    """

    gain: jax.Array
    factor: jax.Array
    weight: jax.Array
    share: jax.Array


def new_learned(plan: DeepSettings, shape: NetworkShape, key: jax.Array) -> LearnedNetworks:
    """A network that knows nothing."""
    params = network_named(plan.network).init(plan, shape, key)
    zero, none = jnp.int32(0), jnp.float32(0)
    target = params if plan.target_every else None
    average = params if plan.averaging else None
    return LearnedNetworks(
        params, target, average, ADAM.init(params), zero, none, Sizes(none, none)
    )


def scheduled(schedule: Schedule, step: jax.Array) -> jax.Array:
    """Value of a schedule of steps."""
    schedule = schedule.without_budget
    if schedule.code == CONSTANT:
        return jnp.float32(schedule.first)
    if schedule.code == LINEAR:
        share = jnp.minimum(1.0, step / schedule.scale)
        return schedule.first + share * (schedule.last - schedule.first)
    return schedule.last + (schedule.first - schedule.last) * 2.0 ** (-step / schedule.scale)


def unit(plan: DeepSettings, learned: LearnedNetworks) -> jax.Array:
    """Factor from rewards to units of the network."""
    if plan.reward_scale != "warm_up":
        return jnp.float32(plan.reward_scale)
    number, squares = learned.rewards
    return jnp.where(squares > 0, jnp.sqrt(number / jnp.where(squares > 0, squares, 1.0)), 1.0)


def measured(
    plan: DeepSettings, learned: LearnedNetworks, rewards: jax.Array, real: jax.Array
) -> LearnedNetworks:
    """Note sizes of rewards, until the first update; longer if all of them were 0."""
    if plan.reward_scale != "warm_up":
        return learned
    sizes = learned.rewards
    counts = real & ((learned.updates == 0) | (sizes.squares == 0))
    squares = jnp.where(counts, rewards, 0.0) ** 2
    new = Sizes(sizes.number + counts.sum(), sizes.squares + squares.sum())
    return learned._replace(rewards=new)


def predict(
    plan: DeepSettings,
    shape: NetworkShape,
    learned: LearnedNetworks,
    params: Params,
    observations: jax.Array | Codes,
    values: jax.Array,
) -> jax.Array:
    """Q-values by action, in units of the rewards, for any number of leading dimensions.

    Raises:
        ValueError: The network does not give a value for each action.
    """
    network, size, lead = network_named(plan.network), unit(plan, learned), values.shape[:-1]
    inputs = (plan.value_scale * size * values).reshape(math.prod(lead), shape.exits)
    if isinstance(observations, Codes):
        assert network.parts is not None
        tree = jax.tree.map(lambda x: x.reshape(-1, *x.shape[len(lead) :]), observations.tree)
        q = network.parts.combine(plan, tree, inputs)
    else:
        q = network.apply(plan, params, observations.reshape(-1, *shape.observation), inputs)
    if q.shape != (wanted := (len(inputs), shape.actions)):
        raise ValueError(
            f"network {plan.network!r} must give values of shape {wanted}, not {q.shape}"
        )
    return q.reshape(*lead, shape.actions) / size


def best(q: jax.Array, mask: jax.Array) -> jax.Array:
    """Greatest value among the actions that exist."""
    return jnp.where(mask, q, -jnp.inf).max(axis=-1)


def greedy(q: jax.Array, mask: jax.Array) -> jax.Array:
    """First action of greatest value among those that exist."""
    return jnp.where(mask, q, -jnp.inf).argmax(axis=-1)


def targets(
    move: jax.Array, reward: jax.Array, ahead: jax.Array, other: jax.Array, discount: jax.Array
) -> jax.Array:
    """The three cases; ``other`` is m for a call and v[k] for an exit.

    Example:
        >>> three = jnp.array([0, 1, 2]), jnp.ones(3), jnp.full(3, 10.0), jnp.full(3, 4.0)
        >>> targets(*three, jnp.ones(3)).tolist(), targets(*three, jnp.full(3, 0.5)).tolist()
        ([11.0, 15.0, 5.0], [6.0, 8.0, 3.0])
    """
    on = jnp.where(move == EXITS, 0.0, ahead)
    return reward + discount * (on + jnp.where((move == CALLS) | (move == EXITS), other, 0.0))


def exit_values(
    plan: DeepSettings, hopes: jax.Array, exits: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Exit values of a call, and the minimum that was taken off; exits that do not exist are 0.

    Args:
        plan: The settings.
        hopes: What the return ports are worth to the caller.
        exits: Which of them exist.
    """
    least = jnp.where(exits, hopes, jnp.inf).min(axis=-1)
    # With a discount values are not shifted; without an exit there is nothing to shift.
    least = jnp.where(jnp.isfinite(least) & (plan.gamma == 1.0), least, 0.0)
    return jnp.where(exits, hopes - least[..., None], 0.0), least


MARGIN = 2.0
"""How far targets may go beyond the sums of rewards that were seen, as a factor."""


def attainable(sums: Sums, values: jax.Array, goal: jax.Array) -> jax.Array:
    """Targets cut off at what parts of episodes were worth, and what their exits are worth."""
    above = values.max(axis=-1, initial=0.0)
    return jnp.clip(goal, MARGIN * sums.lowest, MARGIN * sums.highest + above)


def update(
    plan: DeepSettings,
    shape: NetworkShape,
    learned: LearnedNetworks,
    batch: TrainingBatch,
    sums: Sums,
    step: jax.Array,
) -> LearnedNetworks:
    """One step of Adam on the mean squared distance to the targets."""
    goal = one_step_targets(plan, shape, learned, batch)
    return descend(plan, shape, learned, batch, clipped(plan, sums, batch, goal), step)


def one_step_targets(
    plan: DeepSettings, shape: NetworkShape, learned: LearnedNetworks, batch: TrainingBatch
) -> jax.Array:
    """Targets of steps by what the network hopes for after them."""
    ahead = _ahead(plan, shape, learned, batch)
    return targets(batch.move, batch.reward, ahead, batch.other, batch.discount)


def traced(
    plan: DeepSettings,
    shape: NetworkShape,
    learned: LearnedNetworks,
    batch: TrainingBatch,
    then: jax.Array,
) -> jax.Array:
    """Targets of the steps of a rollout that also learn from the steps after them.

    What a step is followed by is worth ``ahead`` by the network, and ``goal`` by the step that was
    taken there. The difference counts by `trace`, if that step was greedy or came to more.

    Args:
        plan: The settings.
        shape: Sizes of the network.
        learned: What is learned.
        batch: The steps.
        then: Row of the step after each; -1 if there is none.
    """
    there = (batch.observations_there, batch.values_there)
    q = predict(plan, shape, learned, learned.online, *there)
    ahead = best(q, batch.mask)
    first = targets(batch.move, batch.reward, ahead, batch.other, batch.discount)
    follows = (then >= 0) & (batch.move != EXITS)
    is_greedy = greedy(q, batch.mask) == batch.action[then]

    def back(_: int, goal: jax.Array) -> jax.Array:
        more = goal[then] - ahead
        counts = follows & (is_greedy | (more > 0))
        return first + jnp.where(counts, plan.trace * batch.discount * more, 0.0)

    return jax.lax.fori_loop(0, plan.rollout - 1, back, first)


def clipped(plan: DeepSettings, sums: Sums, batch: TrainingBatch, goal: jax.Array) -> jax.Array:
    """Targets within what was attained, if that is asked for."""
    if plan.clip_targets and plan.gamma == 1.0:
        return attainable(sums, batch.values, goal)
    return goal


def descend(
    plan: DeepSettings,
    shape: NetworkShape,
    learned: LearnedNetworks,
    batch: TrainingBatch,
    goal: jax.Array,
    step: jax.Array,
    aims: Aims | None = None,
) -> LearnedNetworks:
    """One step of Adam on the mean squared distance to given targets, and on other losses."""
    size = unit(plan, learned)

    def loss(params: Params) -> jax.Array:
        parts = network_named(plan.network).parts
        if parts is None:
            q = predict(plan, shape, learned, params, batch.observations, batch.values)
            chosen = size * jnp.take_along_axis(q, batch.action[:, None], axis=1)[:, 0]
            return jnp.mean((chosen - size * goal) ** 2)
        codes = parts.encode(plan, params, batch.observations, batch.action)
        chosen = parts.combine(plan, codes, plan.value_scale * size * batch.values)[:, 0]
        error = jnp.mean((chosen - size * goal) ** 2)
        if aims is not None:
            return error + _aim_loss(plan, parts, codes, size, aims)
        if not (plan.exit_loss and shape.exits):
            return error
        return error + plan.exit_loss * _exit_loss(parts, codes, batch)

    value, slope = jax.value_and_grad(loss)(learned.online)
    steps, adam = ADAM.update(slope, learned.adam)
    rate = scheduled(plan.learning_rate, step)
    online = jax.tree.map(lambda p, s: p - rate * s, learned.online, steps)
    return _after(plan, learned, online, adam, value)


def _exit_loss(parts: Parts, codes: Any, batch: TrainingBatch) -> jax.Array:
    """Mean logarithmic loss of the exits that steps left through, by codes of their actions."""
    rows = jnp.arange(len(batch.exit))
    logs = parts.leaves(codes)[rows, 0, jnp.maximum(batch.exit, 0)]
    return -jnp.where(batch.exit >= 0, logs, 0.0).mean()


LEAST_FACTOR = 1e-6
"""Factors of aims that are nearer to 0 or 1 have the loss of this one."""


def _aim_loss(
    plan: DeepSettings, parts: Parts, codes: Any, size: jax.Array, aims: Aims
) -> jax.Array:
    """Losses of gains, of factors and of exits, by codes of the actions of steps.

    The logarithmic loss of a factor is least at the mean of its targets, as the squared error is,
    but its slope does not vanish where a factor near 0 should be large.
    """
    gain, factor = (x[:, 0] for x in parts.aims(codes))
    factor = jnp.clip(factor, LEAST_FACTOR, 1 - LEAST_FACTOR)
    lost = -aims.factor * jnp.log(factor) - (1 - aims.factor) * jnp.log(1 - factor)
    missed = -(aims.share * parts.leaves(codes)[:, 0]).sum(axis=-1)
    return (
        jnp.mean((gain - size * aims.gain) ** 2)
        + plan.aim_loss * (aims.weight * lost).sum(axis=-1).mean()
        + plan.exit_loss * missed.mean()
    )


def _ahead(
    plan: DeepSettings, shape: NetworkShape, learned: LearnedNetworks, batch: TrainingBatch
) -> jax.Array:
    """Values of the next states, by the target network if there is one."""
    there = (batch.observations_there, batch.values_there)
    params = learned.online if learned.target is None else learned.target
    q = predict(plan, shape, learned, params, *there)
    if not plan.double:
        return best(q, batch.mask)
    own = predict(plan, shape, learned, learned.online, *there)
    return jnp.take_along_axis(q, greedy(own, batch.mask)[:, None], axis=1)[:, 0]


def _after(
    plan: DeepSettings, learned: LearnedNetworks, online: Params, adam: Any, loss: jax.Array
) -> LearnedNetworks:
    updates = learned.updates + 1
    target = average = None
    if plan.target_every:
        copies = updates % plan.target_every == 0
        target = jax.tree.map(lambda new, old: jnp.where(copies, new, old), online, learned.target)
    if plan.averaging:
        # Early on a shorter memory, so that the first weights do not linger.
        decay = jnp.minimum(plan.averaging, updates / (updates + 10.0))
        average = jax.tree.map(lambda a, p: decay * a + (1 - decay) * p, learned.average, online)
    return learned._replace(
        online=online, target=target, average=average, adam=adam, updates=updates, loss=loss
    )


@jax.jit
def health(learned: LearnedNetworks) -> jax.Array:
    """The loss; nan if the weights are no longer finite, which the next loss would tell."""
    fine = jnp.stack([jnp.isfinite(x).all() for x in jax.tree.leaves(learned.online)])
    return jnp.where(fine.all(), learned.loss, jnp.nan)
