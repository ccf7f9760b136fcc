"""Free loops as places to stop: a run that stays in one forever earns nothing more, nowhere.

A *free loop* is a set of nodes of one component in which a run can stay, coming from each to each,
by actions all of whose transitions pay exactly 0. In the model made here it is one place, which has
the actions that may leave the loop, and one more: to stop. It leads to one more exit of every
component, the *stop*, from whose return ports it goes on to the caller's; the stop of the start is
worth 0. Whatever a policy earns in one model, a policy earns in the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.model.graphs import strong_components
from recurl.model.names import unused_name
from recurl.model.rmdp import RMDP
from recurl.model.tables import NODE, Ints, Mask, Tables
from recurl.model.transforms.columns import Transitions, Words, model_of
from recurl.model.transforms.discounting import ExitLanes

MOVE, STOP, PASS = -1, -2, -3
"""Actions of our own: to the place of a loop, to the stop, from a stop to the caller's."""


class Stopping(NamedTuple):
    """A model in which runs may stop.

    Attributes:
        model: The model.
        loops: The nodes of each free loop of the given model; its place is the first one.
        place: The vertex that each vertex of the given model has become.
        source: Action of the given model behind each action, or one of ours.
        stays: Actions of the given model that stay in a free loop.
    """

    model: RMDP
    loops: list[list[int]]
    place: Ints
    source: Ints
    stays: Mask


def stop_in_free_loops(model: RMDP) -> Stopping | None:
    """The model in which runs may stop in free loops; None if there are none.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("m").component("A", entries="in", exits="out")
        >>> builder = builder.at("in").action("go").to("room").at("room").action("stay").to("room")
        >>> model = builder.action("leave", reward=-1).to("out").build()
        >>> stop_in_free_loops(model).model
        <RMDP m: 1 component, 4 vertices, multi-exit, deterministic, hierarchical>
    """
    t, edges = model.tables, Transitions.of(model)
    loops, stays = _free_loops(t, edges)
    if not loops:
        return None
    lanes, home = ExitLanes.of(t), np.arange(t.n_vertices)
    for nodes in loops:
        home[nodes] = nodes[0]
    places = np.array([nodes[0] for nodes in loops])
    others = np.flatnonzero(home != np.arange(t.n_vertices))
    kept = np.flatnonzero(~stays)
    old = np.concatenate([t.action_vertex[kept], others, places])
    owner = np.concatenate(
        [lanes.place[np.where(np.arange(len(old)) < len(kept), home[old], old)], lanes.ports]
    )
    ours = [(MOVE, len(others)), (STOP, len(places)), (PASS, len(lanes.ports))]
    source = np.concatenate([kept, *(np.full(count, kind) for kind, count in ours)])
    order = np.argsort(owner, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    new = np.full(t.n_actions, -1)
    new[kept] = number[: len(kept)]
    given = ~stays[edges.action]
    ends = lanes.exit[np.concatenate([t.vertex_component[places], lanes.layout.box_owner])]
    target = np.concatenate([lanes.place[home[others]], ends])
    own, column = number[len(kept) :], edges.column
    added = Transitions(own, target, column.full(len(own), 1), column.full(len(own), 0))
    moved = Transitions(
        new[edges.action[given]],
        lanes.place[edges.target[given]],
        edges.prob[given],
        edges.reward[given],
    )
    count = np.bincount(owner, minlength=lanes.layout.n_vertices)
    names = model.names
    stop = unused_name("stop", {*names.nodes, *names.boxes})
    words = np.full(lanes.layout.n_vertices, stop, object)
    words[lanes.place] = list(names.nodes)
    actions = [names.actions[a] if a >= 0 else stop for a in source[order].tolist()]
    made = model_of(
        model.name,
        lanes.layout,
        moved.join(added),
        words=Words(names.components, words.tolist(), names.boxes, actions),
        action_start=np.concatenate([[0], np.cumsum(count)]),
        start_component=t.start_component,
        start=column.start(model),
    )
    return Stopping(made, loops, lanes.place, source[order], stays)


def _free_loops(t: Tables, edges: Transitions) -> tuple[list[list[int]], Mask]:
    """The nodes of each free loop, and the actions that stay in one.

    Actions that may leave their strongly connected component are taken out until none does.
    """
    entries = np.zeros(t.n_vertices, np.bool_)
    for first, count in zip(t.component_start[:-1].tolist(), t.n_entries.tolist(), strict=True):
        entries[first : first + count] = True
    inside = (t.vertex_kind == NODE) & ~entries
    owner = t.action_vertex[edges.action]
    free = (edges.reward == 0) & inside[owner] & inside[edges.target]
    label = np.zeros(t.n_vertices, np.int32)
    stays = np.zeros(t.n_actions, np.bool_)
    while True:
        fits = (free & (label[owner] == label[edges.target])).astype(np.bool_)
        before, stays = stays, np.logical_and.reduceat(fits, t.transition_start[:-1])
        if np.array_equal(before, stays):
            break
        used = stays[edges.action]
        start = np.concatenate([[0], np.cumsum(np.bincount(owner[used], minlength=len(label)))])
        label, _ = strong_components(start.astype(np.int32), edges.target[used])
    loops: dict[int, list[int]] = {}
    for v in np.unique(t.action_vertex[stays]).tolist():
        loops.setdefault(int(label[v]), []).append(v)
    return list(loops.values()), stays
