"""Random transitions for all actions of a model at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.model.tables import NODE, RETURN, Floats, Layout, Longs, Mask

Rng = np.random.Generator

# Probabilities are multiples of 1/UNITS, so that they sum to 1 exactly as binary floats.
UNITS = 2**30
# How far off, by number, a near successor may be.
NEAR = 10


class Ways(NamedTuple):
    """How actions behave: see `recurl.zoo.random_model`."""

    actions: int
    successors: int
    exit: float
    calls: float
    load: float
    near: bool


class Sketch(NamedTuple):
    """A model without actions; all components have equally many entries, exits and nodes.

    Attributes:
        layout: Its vertices.
        entries: Entries of each component.
        exits: Exits of each component.
        nodes: Nodes of each component that are neither.
        after: Number of the node that each box comes after; ascending within a component.
    """

    layout: Layout
    entries: int
    exits: int
    nodes: int
    after: Longs

    def rows(self, actions: int) -> EdgeRows:
        """A row for every action of every state."""
        layout = self.layout
        component = layout.vertex_component.astype(np.int64)
        own = layout.component_start[component]
        position = np.maximum(np.arange(layout.n_vertices) - own - self.entries - self.exits, -1)
        returns = layout.vertex_kind == RETURN
        position[returns] = self.after[layout.vertex_box[returns]]
        states = np.flatnonzero(returns | (layout.vertex_kind == NODE))
        vertex = np.repeat(states, actions)
        return EdgeRows(component[vertex], own[vertex].astype(np.int64), position[vertex])


class EdgeRows(NamedTuple):
    """All (state, action) pairs: the component, its first vertex, and the position in it."""

    component: Longs
    own: Longs
    position: Longs


class Edges(NamedTuple):
    """Transitions: how many each action has, and their targets and probabilities in a row."""

    sizes: Longs
    target: Longs
    prob: Floats


def stochastic_edges(rng: Rng, sketch: Sketch, ways: Ways) -> Edges:
    """An exit and some successors for each action, those that are calls bounded by the load."""
    rows = sketch.rows(ways.actions)
    shape = (len(rows.own), ways.successors)
    leave = int(np.clip(round(ways.exit * UNITS), 1, UNITS - ways.successors))
    units = _split(rng, UNITS - leave, shape)
    first, last = _boxes_from(sketch, rows, np.full(shape[0], -1))
    calls = (rng.random(shape) < ways.calls) & (last > first)[:, None]
    _bound_calls(units, calls, int(min(ways.load * leave, UNITS)))
    step = (
        rng.integers(-NEAR, NEAR + 1, shape) if ways.near else rng.integers(0, sketch.nodes, shape)
    )
    near = rows.position[:, None] if ways.near else 0
    target = _first_node(sketch, rows)[:, None] + (near + step) % sketch.nodes
    row, column = np.nonzero(calls)
    target[row, column] = _call_ports(rng, sketch, first[row], last[row])
    exits = _exit_vertices(rng, sketch, rows)
    return _merged(np.column_stack([exits, target]), np.insert(units, 0, leave, axis=1))


def deterministic_edges(rng: Rng, sketch: Sketch, ways: Ways) -> Edges:
    """One target for each action: an exit, a later node, or a call of a later box."""
    rows = sketch.rows(ways.actions)
    size = len(rows.own)
    left = sketch.nodes - 1 - rows.position
    first, last = _boxes_from(sketch, rows, rows.position)
    stays = (rng.random(size) >= ways.exit) & (left > 0)
    calls = (rng.random(size) < ways.calls) & stays & (last > first)
    ahead = 1 + _below(rng, np.minimum(left, NEAR) if ways.near else left)
    node = _first_node(sketch, rows) + rows.position + ahead
    target = np.where(stays, node, _exit_vertices(rng, sketch, rows))
    target[calls] = _call_ports(rng, sketch, first[calls], last[calls])
    return Edges(np.ones(size, np.int64), target, np.ones(size))


def _below(rng: Rng, bound: Longs) -> Longs:
    """A random number from 0 on, below each bound."""
    return (rng.random(len(bound)) * bound).astype(np.int64)


def _first_node(sketch: Sketch, rows: EdgeRows) -> Longs:
    return rows.own + sketch.entries + sketch.exits


def _exit_vertices(rng: Rng, sketch: Sketch, rows: EdgeRows) -> Longs:
    return rows.own + sketch.entries + rng.integers(0, sketch.exits, len(rows.own))


def _boxes_from(sketch: Sketch, rows: EdgeRows, position: Longs) -> tuple[Longs, Longs]:
    """The range of the component's boxes that come after a position."""
    owner = sketch.layout.box_owner.astype(np.int64)
    place = owner * (sketch.nodes + 1) + sketch.after
    first = np.searchsorted(place, rows.component * (sketch.nodes + 1) + position, side="right")
    return first, np.searchsorted(owner, rows.component, side="right")


def _call_ports(rng: Rng, sketch: Sketch, first: Longs, last: Longs) -> Longs:
    box = first + _below(rng, last - first)
    port: Longs = sketch.layout.box_call[box] + rng.integers(0, sketch.entries, len(box))
    return port


def _split(rng: Rng, total: int, shape: tuple[int, int]) -> Longs:
    """Each row: a random split of the total into whole parts, none of them 0."""
    weight = rng.random(shape) + 1e-3  # no row sums to 0
    part = weight / weight.sum(axis=1, keepdims=True) * (total - shape[1])
    units: Longs = part.astype(np.int64) + 1
    units[:, -1] = total - units[:, :-1].sum(axis=1)
    return units


def _bound_calls(units: Longs, calls: Mask, most: int) -> None:
    """Scale the calls of an action down to `most`; what is freed goes to its first node."""
    called = np.where(calls, units, 0).sum(axis=1)
    calls[(called > most) & calls.all(axis=1), 0] = False
    called = np.where(calls, units, 0).sum(axis=1)
    over = np.flatnonzero(called > most)
    scaled = units[over] * most // called[over, None]
    freed = np.where(calls[over], units[over] - scaled, 0)
    units[over] -= freed
    units[over, np.argmin(calls[over], axis=1)] += freed.sum(axis=1)


def _merged(target: Longs, units: Longs) -> Edges:
    """One transition per target of an action; none of probability 0."""
    order = np.argsort(target, axis=1, kind="stable")
    target = np.take_along_axis(target, order, axis=1)
    units = np.take_along_axis(units, order, axis=1)
    for column in range(1, target.shape[1]):
        same = target[:, column] == target[:, column - 1]
        units[same, column] += units[same, column - 1]
        units[same, column - 1] = 0
    kept = units > 0
    return Edges(kept.sum(axis=1), target[kept], units[kept] / UNITS)
