"""Runs of a model on the device: its tables there, steps with a bounded stack, greedy episodes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recurl.learn.deep.loop import LoopProgram, enter
from recurl.learn.deep.network import Codes, Params, Parts
from recurl.learn.deep.rule import LearnedNetworks, greedy, predict
from recurl.model.outcomes import outcomes_of_model
from recurl.model.tables import CALLS, EXITS

if TYPE_CHECKING:
    from recurl.learn.deep.settings import DeepSettings
    from recurl.model.tables import Tables


class ModelArrays(NamedTuple):
    """A model as arrays of the device; see `Outcomes` and `Tables`.

    ``features`` are rows, or places of one-hot rows: read them with `features_of`. ``kinds`` has
    one box for each way that return ports look, and ``alike`` the way of each box.
    """

    features: jax.Array
    component: jax.Array
    exits: jax.Array
    action_start: jax.Array
    row_start: jax.Array
    below: jax.Array
    reward: jax.Array
    move: jax.Array
    landing: jax.Array
    box: jax.Array
    box_return: jax.Array
    box_exits: jax.Array
    alike: jax.Array
    kinds: jax.Array
    start: jax.Array
    start_below: jax.Array


class ModelSizes(NamedTuple):
    """Sizes that programs are compiled for.

    Attributes:
        exits: Exits of the widest component; 0 for a flat learner.
        actions: Most actions of a vertex.
        halvings: Halvings that find any outcome among those of an action.
    """

    exits: int
    actions: int
    halvings: int


class Place(NamedTuple):
    """Where a run stands: the vertex, its exit values, and the pending calls."""

    vertex: jax.Array
    values: jax.Array
    height: jax.Array
    boxes: jax.Array
    vectors: jax.Array


class SimulatedOutcome(NamedTuple):
    """The result of an action; ``landing`` is an exit's index if the move is EXITS."""

    reward: jax.Array
    move: jax.Array
    landing: jax.Array
    box: jax.Array


_MOST_COMPARED = 1_000
"""Most boxes whose return ports are compared."""


def model_arrays(t: Tables, features: np.ndarray) -> ModelArrays:
    """The tables of a model on the device."""
    outcomes = outcomes_of_model(t)
    # A model without boxes still needs something to look up.
    no_box = np.zeros(1, np.int32)
    alike, kinds = _alike(t, features) if t.n_boxes else (no_box, no_box)
    return ModelArrays(
        jnp.asarray(features),
        jnp.asarray(t.vertex_component),
        jnp.asarray(t.n_exits),
        jnp.asarray(t.action_start),
        jnp.asarray(outcomes.row_start),
        jnp.asarray(outcomes.below, jnp.float32),
        jnp.asarray(outcomes.reward, jnp.float32),
        jnp.asarray(outcomes.move),
        jnp.asarray(outcomes.landing),
        jnp.asarray(outcomes.box),
        jnp.asarray(t.box_return if t.n_boxes else no_box),
        jnp.asarray(t.n_exits[t.box_component] if t.n_boxes else no_box),
        jnp.asarray(alike),
        jnp.asarray(kinds),
        jnp.asarray(outcomes.start),
        jnp.asarray(outcomes.start_below, jnp.float32),
    )


def _alike(t: Tables, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The way that the return ports of each box look, and a box for each way.

    Many boxes are not compared: each is a way of its own.
    """
    if t.n_boxes > _MOST_COMPARED:
        return np.arange(t.n_boxes), np.arange(t.n_boxes)
    exits, first = np.arange(t.max_exits), t.box_return[:, None]
    ports = np.where(exits < t.n_exits[t.box_component][:, None], first + exits, first)
    rows = np.unique(features[ports.reshape(-1)], axis=0, return_inverse=True)[1]
    seen = rows.reshape(ports.shape)
    _, kinds, alike = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    return alike.reshape(-1), kinds


def features_of(arrays: ModelArrays, vertex: jax.Array) -> jax.Array:
    """The rows that show vertices to a network."""
    rows = arrays.features[vertex]
    if arrays.features.ndim == 1:
        return jax.nn.one_hot(rows, len(arrays.features))
    return rows


def model_sizes(t: Tables, flat: bool) -> ModelSizes:
    """The sizes of a model."""
    widest = int(np.diff(t.transition_start).max())
    return ModelSizes(0 if flat else t.max_exits, t.max_actions, max(0, widest - 1).bit_length())


class ModelView:
    """How the network sees a model: states are shown by their vertices, return ports by boxes."""

    def __init__(self, sizes: ModelSizes, arrays: ModelArrays, codes: Codes | None = None) -> None:
        self._sizes, self._arrays, self._codes = sizes, arrays, codes
        self.encoded = codes is not None

    def observations(self, shown: jax.Array) -> jax.Array:
        """Features of vertices."""
        return features_of(self._arrays, shown[..., 0])

    def mask(self, shown: jax.Array, mask: jax.Array) -> jax.Array:
        """Actions that vertices have."""
        return action_mask(self._sizes, self._arrays, shown[..., 0])

    def group(self, shown: jax.Array) -> jax.Array:
        """Components of vertices."""
        return self._arrays.component[shown[..., 0]]

    def exits(self, shown: jax.Array) -> jax.Array:
        """Numbers of exits of the components of vertices."""
        return self._arrays.exits[self.group(shown)]

    def ports(self, shown: jax.Array, mask: jax.Array) -> tuple[jax.Array | Codes, jax.Array]:
        """Features (or codes) and actions of the return ports of boxes."""
        ports, there = return_ports(self._sizes, self._arrays, shown[..., 0])
        actions = action_mask(self._sizes, self._arrays, ports)
        mask = actions & there[..., None]
        if self._codes is not None:
            kind = self._arrays.alike[shown[..., 0]]
            return Codes(jax.tree.map(lambda x: x[kind], self._codes.tree)), mask
        return features_of(self._arrays, ports), mask


def action_mask(sizes: ModelSizes, arrays: ModelArrays, vertex: jax.Array) -> jax.Array:
    """Which actions vertices have."""
    count = arrays.action_start[vertex + 1] - arrays.action_start[vertex]
    return jnp.arange(sizes.actions) < count[..., None]


def begin(sizes: ModelSizes, arrays: ModelArrays, draw: jax.Array, stack_limit: int) -> Place:
    """A run at a random start, with nothing pending."""
    number = jnp.searchsorted(arrays.start_below, draw, side="right")
    return Place(
        arrays.start[number],
        jnp.zeros(sizes.exits, jnp.float32),
        jnp.int32(0),
        jnp.zeros(stack_limit, jnp.int32),
        jnp.zeros((stack_limit, sizes.exits), jnp.float32),
    )


def restart(place: Place, arrays: ModelArrays, draw: jax.Array) -> Place:
    """The same run at a random start; what is left of its stack does not matter."""
    number = jnp.searchsorted(arrays.start_below, draw, side="right")
    zero = jnp.zeros_like(place.values)
    return place._replace(vertex=arrays.start[number], values=zero, height=jnp.int32(0))


def outcome(
    sizes: ModelSizes, arrays: ModelArrays, vertex: jax.Array, action: jax.Array, draw: jax.Array
) -> SimulatedOutcome:
    """The result of an action: the first outcome whose ``below`` is above the number drawn."""
    number = arrays.action_start[vertex] + action
    low, high = arrays.row_start[number], arrays.row_start[number + 1] - 1

    def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = (low + high) // 2
        lower = draw < arrays.below[middle]
        return jnp.where(lower, low, jnp.minimum(middle + 1, high)), jnp.where(lower, middle, high)

    i, _ = jax.lax.fori_loop(0, sizes.halvings, halve, (low, high))
    return SimulatedOutcome(arrays.reward[i], arrays.move[i], arrays.landing[i], arrays.box[i])


def return_ports(
    sizes: ModelSizes, arrays: ModelArrays, box: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return ports of boxes, as many as the widest component has exits, and which exist."""
    count, first = jnp.arange(sizes.exits), arrays.box_return[box][..., None]
    there = count < arrays.box_exits[box][..., None]
    return jnp.where(there, first + count, first), there


def codes_of_ports(
    plan: DeepSettings, parts: Parts, sizes: ModelSizes, arrays: ModelArrays, params: Params
) -> Codes:
    """Codes of the return ports of boxes, a row for each way that they look."""
    ports, _ = return_ports(sizes, arrays, arrays.kinds)
    codes = parts.encode(plan, params, features_of(arrays, ports.reshape(-1)), None)
    return Codes(jax.tree.map(lambda x: x.reshape(*ports.shape, *x.shape[1:]), codes))


def top(place: Place, out: SimulatedOutcome) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The level of the stack that a step writes or returns to, its box and its exit values.

    After a call the level is that above the stack; the box and the values are anything then, and
    also if no call is pending. Whatever is read of a stack is read here: a second reader would
    make the program copy it before it is written to.
    """
    level = jnp.maximum(jnp.where(out.move == CALLS, place.height, place.height - 1), 0)
    return level, place.boxes[level], place.vectors[level]


def follow(arrays: ModelArrays, place: Place, out: SimulatedOutcome, values: jax.Array) -> Place:
    """Where a run goes on.

    A call beyond the limit of the stack is not kept: the caller must cut the episode then, and end
    it when `is_over`.

    Args:
        arrays: The model.
        place: Where the run stood.
        out: What its step led to.
        values: Exit values in which it goes on.
    """
    calls, exits = out.move == CALLS, out.move == EXITS
    level, box, vector = top(place, out)
    back = arrays.box_return[box] + out.landing
    # One row is written whatever happens: a branch would copy the whole stack.
    boxes = place.boxes.at[level].set(jnp.where(calls, out.box, box))
    vectors = place.vectors.at[level].set(jnp.where(calls, place.values, vector))
    change = calls.astype(jnp.int32) - exits.astype(jnp.int32)
    height = jnp.maximum(place.height + change, 0)
    return Place(jnp.where(exits, back, out.landing), values, height, boxes, vectors)


def is_over(place: Place, out: SimulatedOutcome) -> jax.Array:
    """Whether a step ends the run: it leaves the component in which it began."""
    return (out.move == EXITS) & (place.height == 0)


def overflows(place: Place, out: SimulatedOutcome) -> jax.Array:
    """Whether a step calls with a full stack."""
    return (out.move == CALLS) & (place.height == place.boxes.shape[-1])


class Episodes(NamedTuple):
    """Greedy episodes: where each stands, its return and length, whether it goes on or was cut."""

    step: jax.Array
    place: Place
    returns: jax.Array
    lengths: jax.Array
    running: jax.Array
    cut: jax.Array


Tested = tuple[jax.Array, jax.Array, jax.Array]
"""Returns and lengths of episodes, and whether they were cut."""


def no_episodes(count: int) -> Tested:
    """The result of `greedy_episodes` with all numbers 0."""
    return jnp.zeros(count), jnp.zeros(count, jnp.int32), jnp.zeros(count, bool)


@partial(jax.jit, static_argnums=(0, 1, 5))
def greedy_episodes(
    program: LoopProgram,
    sizes: ModelSizes,
    arrays: ModelArrays,
    learned: LearnedNetworks,
    key: jax.Array,
    count: int,
    limit: jax.Array,
) -> Tested:
    """Greedy episodes side by side, by the weights of the policy; returns are discounted."""
    start = jax.random.uniform(jax.random.fold_in(key, 0), (count,))
    new = partial(begin, sizes, arrays, stack_limit=program.plan.stack_limit)
    place = jax.vmap(lambda draw: new(draw))(start)
    yes = jnp.ones(count, bool)
    none = jnp.zeros(count, jnp.float32)
    first = Episodes(jnp.int32(0), place, none, none.astype(jnp.int32), yes, ~yes)

    def goes_on(t: Episodes) -> jax.Array:
        return t.running.any() & (t.step < limit)

    step = partial(_greedy_step, program, sizes, arrays, learned, key)
    done = jax.lax.while_loop(goes_on, step, first)
    return done.returns, done.lengths, done.cut | done.running


def _greedy_step(
    program: LoopProgram,
    sizes: ModelSizes,
    arrays: ModelArrays,
    learned: LearnedNetworks,
    key: jax.Array,
    t: Episodes,
) -> Episodes:
    plan, shape, _ = program
    draws = jax.random.uniform(jax.random.fold_in(key, t.step + 1), t.returns.shape)
    vertex, values = t.place.vertex, t.place.values
    q = predict(plan, shape, learned, learned.policy, features_of(arrays, vertex), values)
    action = greedy(q, action_mask(sizes, arrays, vertex)).astype(jnp.int32)
    out = jax.vmap(partial(outcome, sizes, arrays))(vertex, action, draws)
    after = values
    if sizes.exits:
        calls = (out.move == CALLS) & t.running
        ports = ModelView(sizes, arrays).ports
        after = jax.lax.cond(
            calls.any(),
            lambda: enter(
                program, learned, learned.policy, values, ports(out.box[:, None], values)
            )[0],
            lambda: values,
        )
        popped = jax.vmap(top)(t.place, out)[2]
        moves = out.move[:, None]
        after = jnp.where(moves == CALLS, after, jnp.where(moves == EXITS, popped, values))
    over = jax.vmap(is_over)(t.place, out) & t.running
    full = jax.vmap(overflows)(t.place, out) & t.running
    reward = plan.gamma**t.step * out.reward
    return Episodes(
        t.step + 1,
        jax.vmap(partial(follow, arrays))(t.place, out, after),
        t.returns + jnp.where(t.running, reward, 0.0),
        t.lengths + t.running,
        t.running & ~over & ~full,
        t.cut | full,
    )
