"""A model for compiled programs: its tables on the device, and a run with a bounded stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recurl.model.tables import CALLS, EXITS

if TYPE_CHECKING:
    from recurl.learn.deep.encoding import Rows
    from recurl.model.tables import Tables


class World(NamedTuple):
    """What programs need of a model; see `Tables`, and ``below`` is the cumulated ``prob``."""

    features: jax.Array
    action_start: jax.Array
    transition_start: jax.Array
    below: jax.Array
    reward: jax.Array
    move: jax.Array
    landing: jax.Array
    move_box: jax.Array
    box_return: jax.Array
    box_exits: jax.Array
    start: jax.Array
    start_below: jax.Array


class Static(NamedTuple):
    """Sizes that programs are compiled for.

    Attributes:
        exits: Exits of the widest component.
        actions: Most actions of a vertex.
        halvings: Halvings that find any outcome among those of an action.
        flat: Take calls and returns for ordinary steps.
    """

    exits: int
    actions: int
    halvings: int
    flat: bool


class Place(NamedTuple):
    """Where a run stands: the vertex, its exit values, and the pending calls."""

    vertex: jax.Array
    values: jax.Array
    height: jax.Array
    boxes: jax.Array
    vectors: jax.Array


class Outcome(NamedTuple):
    """What an action led to; ``landing`` is an exit's index if the move is EXITS."""

    reward: jax.Array
    move: jax.Array
    landing: jax.Array
    box: jax.Array


def world_of(t: Tables, features: Rows) -> World:
    """The tables of a model on the device."""
    rows = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    total = np.concatenate([[0.0], np.cumsum(t.prob)])
    below = total[1:] - total[t.transition_start[rows]]
    below[t.transition_start[1:] - 1] = 1.0
    start_below = np.cumsum(t.start_prob)
    start_below[-1] = 1.0
    first = t.component_start[t.start_component]
    # A model without boxes still needs something to look up.
    no_box = np.zeros(1, np.int32)
    return World(
        jnp.asarray(features),
        jnp.asarray(t.action_start),
        jnp.asarray(t.transition_start),
        jnp.asarray(below, jnp.float32),
        jnp.asarray(t.reward, jnp.float32),
        jnp.asarray(t.move),
        jnp.asarray(t.landing),
        jnp.asarray(t.move_box),
        jnp.asarray(t.box_return if t.n_boxes else no_box),
        jnp.asarray(t.n_exits[t.box_component] if t.n_boxes else no_box),
        jnp.asarray(first + np.arange(len(t.start_prob), dtype=np.int32)),
        jnp.asarray(start_below, jnp.float32),
    )


def static_of(t: Tables, flat: bool) -> Static:
    """The sizes of a model."""
    widest = int(np.diff(t.transition_start).max())
    exits = 0 if flat else t.max_exits
    return Static(exits, t.max_actions, max(0, widest - 1).bit_length(), flat)


def action_mask(static: Static, world: World, vertex: jax.Array) -> jax.Array:
    """Which actions vertices have."""
    count = world.action_start[vertex + 1] - world.action_start[vertex]
    return jnp.arange(static.actions) < count[..., None]


def begin(static: Static, world: World, draw: jax.Array, stack_limit: int) -> Place:
    """A run at a random start, with nothing pending."""
    number = jnp.searchsorted(world.start_below, draw, side="right")
    return Place(
        world.start[number],
        jnp.zeros(static.exits, jnp.float32),
        jnp.int32(0),
        jnp.zeros(stack_limit, jnp.int32),
        jnp.zeros((stack_limit, static.exits), jnp.float32),
    )


def restart(place: Place, world: World, draw: jax.Array) -> Place:
    """The same run at a random start; what is left of its stack is below notice."""
    number = jnp.searchsorted(world.start_below, draw, side="right")
    zero = jnp.zeros_like(place.values)
    return place._replace(vertex=world.start[number], values=zero, height=jnp.int32(0))


def outcome(
    static: Static, world: World, vertex: jax.Array, action: jax.Array, draw: jax.Array
) -> Outcome:
    """What an action leads to: the first outcome whose ``below`` is above the number drawn."""
    number = world.action_start[vertex] + action
    low, high = world.transition_start[number], world.transition_start[number + 1] - 1

    def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = (low + high) // 2
        lower = draw < world.below[middle]
        return jnp.where(lower, low, jnp.minimum(middle + 1, high)), jnp.where(lower, middle, high)

    i, _ = jax.lax.fori_loop(0, static.halvings, halve, (low, high))
    return Outcome(world.reward[i], world.move[i], world.landing[i], world.move_box[i])


def return_ports(static: Static, world: World, box: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return ports of boxes, as many as the widest component has exits, and which are there."""
    count, first = jnp.arange(static.exits), world.box_return[box][..., None]
    there = count < world.box_exits[box][..., None]
    return jnp.where(there, first + count, first), there


def follow(world: World, place: Place, out: Outcome, entered: jax.Array) -> Place:
    """Where a run goes on.

    A call beyond the limit of the stack is not kept: who calls this must cut the episode, as it
    must when `is_over`.

    Args:
        world: The model.
        place: Where the run stood.
        out: What its step led to.
        entered: Exit values of the component called, if it was a call.
    """
    calls, exits = out.move == CALLS, out.move == EXITS
    level = jnp.where(calls, place.height, place.height - 1)
    below = jnp.maximum(level, 0)
    # One row is written whatever happens: a branch would copy the whole stack.
    boxes = place.boxes.at[below].set(jnp.where(calls, out.box, place.boxes[below]))
    vectors = place.vectors.at[below].set(jnp.where(calls, place.values, place.vectors[below]))
    back = world.box_return[place.boxes[below]] + out.landing
    height = jnp.where(calls, place.height + 1, jnp.where(exits, level, place.height))
    values = jnp.where(calls, entered, jnp.where(exits, place.vectors[below], place.values))
    vertex = jnp.where(exits, back, out.landing)
    return Place(vertex, values, height, boxes, vectors)


def is_over(place: Place, out: Outcome) -> jax.Array:
    """Whether a step ends the run: it leaves the component in which it began."""
    return (out.move == EXITS) & (place.height == 0)


def overflows(place: Place, out: Outcome) -> jax.Array:
    """Whether a step calls with a full stack."""
    return (out.move == CALLS) & (place.height == place.boxes.shape[-1])
