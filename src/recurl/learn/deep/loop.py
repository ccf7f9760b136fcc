"""The loop of deep learning: choose actions, and learn from the steps that they lead to.

It is the same for models and environments. Steps come from one or several lanes, each with its own
episodes; a model is a single lane, whose steps are simulated by the same compiled program.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from recurl.learn.deep.aims import aim_targets, has_aims
from recurl.learn.deep.network import Codes, NetworkShape, Params
from recurl.learn.deep.replay import (
    Buffer,
    ReplayRecord,
    Transition,
    chains,
    choose_rows,
    link,
    new_buffer,
    places,
    refresh_draws,
    refreshed,
    rows_at,
    steps_of,
    store,
)
from recurl.learn.deep.rule import (
    LearnedNetworks,
    Sums,
    TrainingBatch,
    best,
    clipped,
    descend,
    exit_values,
    greedy,
    measured,
    new_learned,
    new_sums,
    one_step_targets,
    predict,
    scheduled,
    summed,
    traced,
    update,
)
from recurl.learn.deep.settings import DeepSettings
from recurl.model.tables import CALLS, EXITS


class LoopProgram(NamedTuple):
    """Everything that a loop is compiled for."""

    plan: DeepSettings
    shape: NetworkShape
    record: ReplayRecord


class View(Protocol):
    """How the network sees what is stored of states."""

    def observations(self, shown: jax.Array) -> jax.Array:
        """Inputs of the network for states, with shape ``[..., F]``."""

    def mask(self, shown: jax.Array, mask: jax.Array) -> jax.Array:
        """Actions that states have, with shape ``[..., A]``."""

    encoded: bool
    """Whether return ports come as `Codes`."""

    def group(self, shown: jax.Array) -> jax.Array:
        """Numbers of states; where they are the same, exit values mean the same."""

    def exits(self, shown: jax.Array) -> jax.Array:
        """How many exits there are in states."""

    def ports(self, shown: jax.Array, mask: jax.Array) -> tuple[jax.Array | Codes, jax.Array]:
        """Inputs (or codes) for the return ports of calls, and their actions; none without a port.

        Shapes are ``[..., K, F]`` and ``[..., K, A]``.
        """


class Kept(NamedTuple):
    """The latest action of each lane, and for how many steps more it is to be repeated."""

    action: jax.Array
    left: jax.Array


class DeepAgent(NamedTuple):
    """Everything that learning depends on.

    Attributes:
        key: The numbers behind the random key of the seed; they are handed over faster than a key.
        step: Steps so far.
        learned: Everything that is learned.
        buffer: The last steps.
        last: Row of the step before in each lane's episode; -1 if there is none.
        sums: Sums of rewards over parts of episodes.
        kept: Actions that are repeated, if exploration does so.
    """

    key: jax.Array
    step: jax.Array
    learned: LearnedNetworks
    buffer: Buffer
    last: jax.Array
    sums: Sums
    kept: Kept | None


class LoopStep(NamedTuple):
    """A step in every lane.

    Attributes:
        here: What shows the state before the step. ``[N, S]``
        there: What shows the state after it. ``[N, S]``
        ports: With a call, what shows its return ports.
        values: Exit values before the step. ``[N, K]``
        action: The actions.
        reward: The rewards.
        move: STEP, CALLS or EXITS; the end of a run is an EXITS.
        worth: With an exit, what it is worth; 0 at the end of a run.
        exit: With an exit, its number; -1 without one and at the end of a run.
        mask: Actions that exist after the step. ``[N, A]``
        popped: With a return, the exit values of the caller. ``[N, K]``
        ports_mask: With a call, actions that its return ports have. ``[N, K, A]``
        real: Whether there was a step at all.
        ends: Whether the lane begins an episode after it.
    """

    here: jax.Array
    there: jax.Array
    ports: jax.Array
    values: jax.Array
    action: jax.Array
    reward: jax.Array
    move: jax.Array
    worth: jax.Array
    exit: jax.Array
    mask: jax.Array
    popped: jax.Array
    ports_mask: jax.Array
    real: jax.Array
    ends: jax.Array


def new_agent(program: LoopProgram, seed: jax.Array, lanes: int) -> DeepAgent:
    """An agent that knows nothing."""
    plan, shape, record = program
    first, key = jax.random.split(jax.random.key(seed))
    none = jnp.zeros(lanes, jnp.int32)
    return DeepAgent(
        jax.random.key_data(key),
        jnp.int32(0),
        new_learned(plan, shape, first),
        new_buffer(record, plan.rollout * lanes or plan.buffer * record.per_step),
        none - 1,
        new_sums(lanes),
        Kept(none, none) if plan.exploration_repeat > 1 else None,
    )


def at_start(agent: DeepAgent, lanes: int) -> DeepAgent:
    """The same agent where all lanes begin an episode."""
    none = jnp.zeros((3, lanes))
    sums = agent.sums._replace(sum=none[0], least=none[1], most=none[2])
    kept = jax.tree.map(jnp.zeros_like, agent.kept)
    return agent._replace(last=jnp.full(lanes, -1, jnp.int32), sums=sums, kept=kept)


def step_draws(agent: DeepAgent, lanes: int) -> jax.Array:
    """Four random numbers in [0, 1) for the next step of each lane.

    The first says whether to explore, the second the action then; a model uses the third for the
    outcome and the fourth for the next start.
    """
    key = jax.random.fold_in(_key(agent), -1 - agent.step)
    return jax.random.uniform(key, (4, lanes))


def batch_draws(agent: DeepAgent, step: jax.Array, batch: int) -> jax.Array:
    """Random numbers in [0, 1) that sample the batch of a step."""
    key = jax.random.fold_in(_key(agent), step)
    return jax.random.uniform(key, (batch,))


def rollout_batches(plan: DeepSettings, agent: DeepAgent, size: int) -> jax.Array:
    """The rows of a rollout in random order, in each epoch another, cut into batches."""
    batch = min(plan.batch, size)
    keys = jax.random.split(jax.random.fold_in(_key(agent), agent.step), plan.epochs)
    orders = jax.vmap(lambda key: jax.random.permutation(key, size))(keys)
    return orders[:, : size // batch * batch].reshape(-1, batch)


def choose(
    program: LoopProgram,
    agent: DeepAgent,
    observations: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    draws: jax.Array,
) -> tuple[jax.Array, Kept | None]:
    """Any action with the probability of exploration, else the greedy one, in each lane.

    Returns:
        The actions, and which of them are to be repeated.
    """
    plan, shape, _ = program
    q = predict(plan, shape, agent.learned, agent.learned.online, observations, values)
    rate = scheduled(plan.exploration, agent.step)
    explores = draws[0] < rate
    number = jnp.floor(draws[1] * mask.sum(axis=-1)).astype(jnp.int32)
    # The number-th of the actions that exist.
    counted = jnp.cumsum(mask, axis=-1) - 1
    any_action = jnp.argmax((counted == number[:, None]) & mask, axis=-1)
    action = jnp.where(explores, any_action, greedy(q, mask)).astype(jnp.int32)
    if agent.kept is None:
        return action, None
    # Where a lane explores, draws / rate is uniform: k steps or more have probability 1/k.
    length = jnp.clip(rate / jnp.maximum(draws[0], 1e-9), 1, plan.exploration_repeat)
    left = jnp.where(explores, length.astype(jnp.int32) - 1, 0)
    exists = jnp.take_along_axis(mask, agent.kept.action[:, None], axis=1)[:, 0]
    repeats = (agent.kept.left > 0) & exists
    action = jnp.where(repeats, agent.kept.action, action)
    return action, Kept(action, jnp.where(repeats, agent.kept.left - 1, left))


def enter(
    program: LoopProgram,
    learned: LearnedNetworks,
    params: Params,
    values: jax.Array,
    ports: tuple[jax.Array | Codes, jax.Array],
) -> tuple[jax.Array, jax.Array]:
    """Exit values with which calls are entered, and the minimum that was taken off them.

    Args:
        program: What the loop is compiled for.
        learned: What is learned.
        params: The weights to ask.
        values: Exit values of the callers.
        ports: What the network sees of the return ports, and their actions.
    """
    plan, shape, _ = program
    observations, mask = ports
    same = jnp.broadcast_to(values[..., None, :], (*mask.shape[:-1], shape.exits))
    q = predict(plan, shape, learned, params, observations, same)
    there = mask.any(axis=-1)
    hopes = jnp.where(there, best(q, mask), 0.0)
    if plan.reward_scale == "warm_up":
        # Before the first update the unit of the network is not known: nothing is hoped for.
        hopes = jnp.where(learned.updates > 0, hopes, 0.0)
    return exit_values(plan, hopes, there)


def learn_from(
    program: LoopProgram,
    view: View,
    agent: DeepAgent,
    step: LoopStep,
    others: LoopStep | None = None,
) -> tuple[DeepAgent, jax.Array]:
    """Store a step of every lane, and learn as often as there were steps.

    Args:
        program: What the loop is compiled for.
        view: How the network sees what is stored.
        agent: Everything that learning depends on.
        step: The steps.
        others: Counterfactual steps, ``record.per_step - 1`` for each lane; ``real`` says which
            exist.

    Returns:
        The agent, and the exit values in which each lane goes on; they do not count where a lane
        begins an episode.
    """
    plan = program.plan
    rows, after = _rows(program, view, agent.learned, step)
    number = agent.step + jnp.cumsum(step.real, dtype=jnp.int32) - step.real
    if others is not None:
        more = _rows(program, view, agent.learned, others)[0]
        agent = _counterfactuals_stored(program, agent, (rows, more), step, others.real, number)
    agent = _stored(program, agent, rows, step, number)
    agent = agent._replace(sums=summed(agent.sums, step.reward, step.real, step.ends))
    if agent.kept is not None:
        left = jnp.where(step.ends, 0, agent.kept.left)
        agent = agent._replace(kept=agent.kept._replace(left=left))
    if plan.rollout:
        return _rollout_learned(program, view, agent, step.real.sum()), after
    learned = measured(plan, agent.learned, step.reward, step.real)
    return _updated(program, view, agent._replace(learned=learned), step.real, number), after


def _rows(
    program: LoopProgram, view: View, learned: LearnedNetworks, step: LoopStep
) -> tuple[Transition, jax.Array]:
    """Steps as they are stored, and the exit values in which runs go on after them."""
    entered, least = _entered(program, view, learned, step)
    calls, exits = (step.move == CALLS)[:, None], (step.move == EXITS)[:, None]
    after = jnp.where(calls, entered, jnp.where(exits, step.popped, step.values))
    other = jnp.where(step.move == EXITS, step.worth, least)
    none, exit = jnp.full(len(step.action), -1), step.exit[:, None][:, : program.record.exit]
    rows = Transition(
        step.here, step.there, step.ports, step.values, step.action, step.reward, step.move, other,
        exit, after, step.mask, step.ports_mask, none,
    )  # fmt: skip
    if not program.record.ports:
        empty = jnp.zeros((len(step.action), 0))
        rows = rows._replace(ports=empty, ports_mask=empty)
    return rows, after


def _entered(
    program: LoopProgram, view: View, learned: LearnedNetworks, step: LoopStep
) -> tuple[jax.Array, jax.Array]:
    """Exit values of what each lane called, if any did."""
    if not program.shape.exits:
        return jnp.zeros_like(step.values), jnp.zeros(len(step.move))
    rows = (step.values, step.ports, step.ports_mask)
    return enter_calls(program, view, learned, step.move == CALLS, rows)


def enter_calls(
    program: LoopProgram,
    view: View,
    learned: LearnedNetworks,
    calls: jax.Array,
    rows: tuple[jax.Array, jax.Array, jax.Array],
) -> tuple[jax.Array, jax.Array]:
    """`enter` for those steps that are calls, given exit values and ports; zeros for others."""

    def work(calls: jax.Array, rows: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        values, ports, mask = rows

        def some() -> tuple[jax.Array, jax.Array]:
            return enter(program, learned, learned.online, values, view.ports(ports, mask))

        nothing = (jnp.zeros_like(values), jnp.zeros(values.shape[:-1]))
        return jax.lax.cond(jnp.any(calls), some, lambda: nothing)

    if not view.encoded:
        return work(calls, rows)
    # One after the other: what is looked up for a call then stays in the cache.
    return jax.lax.map(lambda each: work(*each), (calls, rows))


def _stored(
    program: LoopProgram, agent: DeepAgent, rows: Transition, step: LoopStep, number: jax.Array
) -> DeepAgent:
    """The agent with the steps of all lanes stored."""
    size = len(agent.buffer.numbers)
    where = (number * program.record.per_step) % size
    buffer = store(program.record, agent.buffer, jnp.where(step.real, where, size), rows)
    last = agent.last
    if program.plan.n_step > 1 or program.plan.rollout:
        buffer = link(buffer, jnp.where(step.real, last, -1), where)
        last = jnp.where(step.ends | ~step.real, -1, where)
    total = agent.step + step.real.sum(dtype=jnp.int32)
    return agent._replace(step=total, buffer=buffer, last=last)


def _counterfactuals_stored(
    program: LoopProgram,
    agent: DeepAgent,
    rows: tuple[Transition, Transition],
    step: LoopStep,
    exist: jax.Array,
    number: jax.Array,
) -> DeepAgent:
    """The agent with the counterfactual steps of all lanes stored.

    Every step takes as many rows: where a counterfactual step does not exist, the step of the lane
    is stored again.
    """
    record, size = program.record, len(agent.buffer.numbers)
    count = record.per_step - 1
    where = (number[:, None] * record.per_step + 1 + jnp.arange(count)) % size
    where = jnp.where(step.real[:, None], where, size).reshape(-1)
    again = jax.tree.map(lambda x: jnp.repeat(x, count, axis=0), rows[0])
    chosen = jax.tree.map(partial(choose_rows, exist), rows[1], again)
    return agent._replace(buffer=store(record, agent.buffer, where, chosen))


def _updated(
    program: LoopProgram, view: View, agent: DeepAgent, real: jax.Array, number: jax.Array
) -> DeepAgent:
    """The agent after the updates that are due, and with some stored calls refreshed."""
    plan, record = program.plan, program.record
    due = real & (number >= plan.warm_up) & (number % plan.train_every == 0)

    def learn(lane: jax.Array, learned: LearnedNetworks) -> LearnedNetworks:
        draws = batch_draws(agent, number[lane], plan.batch * record.per_step)
        rows = places(agent.buffer, _count_rows(agent, record), draws)
        return _learn(program, view, agent, rows, number[lane], learned)

    def one(lane: jax.Array, learned: LearnedNetworks) -> LearnedNetworks:
        return jax.lax.cond(due[lane], partial(learn, lane), lambda same: same, learned)

    learned = agent.learned
    # A loop copies what it carries: not for a single lane.
    if len(real) == 1:
        learned = one(jnp.int32(0), learned)
    else:
        learned = jax.lax.fori_loop(0, len(real), one, learned)
    if not record.ports:
        return agent._replace(learned=learned)
    key = _key(agent)
    draws = refresh_draws(key, number[0], plan.refresh * len(due))

    def again(calls: Transition) -> tuple[jax.Array, jax.Array]:
        ports = view.ports(calls.ports, calls.ports_mask)
        return enter(program, learned, learned.online, calls.values, ports)

    buffer = refreshed(record, agent.buffer, _count_rows(agent, record), due.any(), draws, again)
    return agent._replace(learned=learned, buffer=buffer)


def _rollout_learned(
    program: LoopProgram, view: View, agent: DeepAgent, steps: jax.Array
) -> DeepAgent:
    """The agent after the updates from a rollout, if the latest steps complete one."""
    plan, shape, size = program.plan, program.shape, len(agent.buffer.numbers)
    rows = _count_rows(agent, program.record)
    full = rows // size > (rows - steps * program.record.per_step) // size

    def work(learned: LearnedNetworks) -> LearnedNetworks:
        rewards = steps_of(program.record, agent.buffer).reward
        learned = measured(plan, learned, rewards, jnp.ones(size, bool))
        times = plan.relabel if shape.exits else 0
        order = rollout_batches(plan, agent, size * (1 + times))
        batch, then = _batch(program, view, agent, jnp.arange(size))
        goal = traced(plan, shape, learned, batch, then)
        if times:
            more = _relabelled(program, view, agent, learned)
            aims = one_step_targets(plan, shape, learned, more)
            batch = jax.tree.map(lambda *x: jnp.concatenate(x), batch, more)
            goal = jnp.concatenate([goal, aims])
        goal = clipped(plan, agent.sums, batch, goal)
        aimed = None
        if has_aims(plan, shape):
            stored = steps_of(program.record, agent.buffer)
            ports = (stored.ports, stored.ports_mask)
            aimed = aim_targets(program, view, learned, agent.sums, batch, ports)

        def one(i: jax.Array, learned: LearnedNetworks) -> LearnedNetworks:
            some, aims = jax.tree.map(lambda x: x[order[i]], (batch, aimed))
            return descend(plan, shape, learned, some, goal[order[i]], agent.step, aims)

        return jax.lax.fori_loop(0, len(order), one, learned)

    due = full & (agent.step >= plan.warm_up)
    return agent._replace(learned=jax.lax.cond(due, work, lambda same: same, agent.learned))


def _relabelled(
    program: LoopProgram, view: View, agent: DeepAgent, learned: LearnedNetworks
) -> TrainingBatch:
    """The steps of a rollout as if they had been taken in exit values of other steps.

    Q(s, v, a) has its meaning for every v, not only for those in which s was met. What v a step is
    learned from in does not depend on its outcome: that would be a bias.
    """
    size, times = len(agent.buffer.numbers), program.plan.relabel
    rows = jnp.tile(jnp.arange(size), times)
    steps = steps_of(program.record, rows_at(agent.buffer, rows))
    key = jax.random.fold_in(jax.random.fold_in(_key(agent), agent.step), 1)
    group = view.group(steps.here)
    # Side by side in this order, steps have the same exits.
    order = jnp.lexsort((jax.random.uniform(key, (len(rows),)), group))
    after = jnp.roll(order, -1)
    other = jnp.where(group[order] == group[after], after, order)
    values = steps.values.at[order].set(steps.values[other])
    draws = jax.random.uniform(jax.random.fold_in(key, 1), (2, len(rows)))
    drawn = jnp.floor(draws[0] * view.exits(steps.here)).astype(jnp.int32)
    values = jnp.where((draws[1] < SWAPS)[:, None], _swapped(values, drawn), values)
    calls = steps.move == CALLS
    entered, least = enter_calls(
        program, view, learned, calls, (values, steps.ports, steps.ports_mask)
    )
    gained = jnp.where(steps.move == EXITS, _worth(values, steps.exit[:, 0]), least)
    there = jnp.where(calls[:, None], entered, values)
    return TrainingBatch(
        view.observations(steps.here), values, steps.action, steps.reward, steps.move, gained,
        view.observations(steps.there), there, view.mask(steps.there, steps.mask),
        jnp.full(len(rows), program.plan.gamma), jnp.full(len(rows), -1),
    )  # fmt: skip


SWAPS = 0.5
"""Share of steps that are learned from with the greatest exit value at any of the exits."""


def _swapped(values: jax.Array, chosen: jax.Array) -> jax.Array:
    """Exit values in which the best one and a chosen one are exchanged."""
    rows, top = jnp.arange(len(values)), values.argmax(axis=1)
    best, there = values[rows, top], values[rows, chosen]
    return values.at[rows, top].set(there).at[rows, chosen].set(best)


def _worth(values: jax.Array, exits: jax.Array) -> jax.Array:
    """Values of exits by their number; 0 at the end of a run."""
    found = jnp.take_along_axis(values, jnp.maximum(exits, 0)[:, None], axis=1)[:, 0]
    return jnp.where(exits < 0, 0.0, found)


def _key(agent: DeepAgent) -> jax.Array:
    return jax.random.wrap_key_data(agent.key)


def _learn(
    program: LoopProgram,
    view: View,
    agent: DeepAgent,
    rows: jax.Array,
    number: jax.Array,
    learned: LearnedNetworks,
) -> LearnedNetworks:
    """One update, from a batch of stored steps."""
    batch, _ = _batch(program, view, agent, rows)
    return update(program.plan, program.shape, learned, batch, agent.sums, number)


def _batch(
    program: LoopProgram, view: View, agent: DeepAgent, rows: jax.Array
) -> tuple[TrainingBatch, jax.Array]:
    """Stored steps as the network sees them, and the rows of the steps that follow them."""
    plan, record = program.plan, program.record
    steps, discount = chains(record, agent.buffer, rows, plan.n_step, plan.gamma)
    return TrainingBatch(
        view.observations(steps.here), steps.values, steps.action, steps.reward, steps.move,
        steps.other, view.observations(steps.there), steps.values_there,
        view.mask(steps.there, steps.mask), discount,
        _exit_of(steps),
    ), steps.next  # fmt: skip


def _exit_of(steps: Transition) -> jax.Array:
    """Numbers of exits; -1 where they are not stored."""
    return steps.exit[:, 0] if steps.exit.shape[1] else jnp.full(len(steps.move), -1)


def _count_rows(agent: DeepAgent, record: ReplayRecord) -> jax.Array:
    """Rows that were ever stored."""
    return agent.step * record.per_step
