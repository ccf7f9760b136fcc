"""A policy with contexts as a model of its own, to ask what it is worth at worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.pac.corners import Rows, choices_of
from recurl.model.tables import CALL, EXIT, RETURN, Layout
from recurl.policy import Policy

if TYPE_CHECKING:
    from recurl.learn.pac.corners import Choices
    from recurl.learn.pac.kernel import Sets
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats


def without_lanes(policy: Policy, model: RMDP) -> Policy:
    """A policy for a model that `discount_steps` made, for the model that it was made from.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> solution = recurl.solve(recurl.discount_steps(model, 0.9))
        >>> without_lanes(solution.policy, model)
        <Policy for cloud: ...>
    """
    t, inner = model.tables, policy.model.tables
    if t.n_vertices == inner.n_vertices:
        place = np.arange(t.n_vertices)
    else:
        place = np.array([policy.model.find(model.vertex_name(v)) for v in range(t.n_vertices)])
    slots = [
        policy.context_start[x]
        + place[t.component_start[c] : t.component_start[c + 1]]
        - inner.component_start[c]
        for x, c in enumerate(policy.context_component.tolist())
    ]
    kept = np.concatenate(slots)
    return policy.changed(model, actions=policy.actions[kept], callees=policy.callees[kept])


def of_pairs(policy: Policy, model: RMDP, pair: np.ndarray) -> Policy:
    """A policy that also chooses for nature, as a policy that only chooses pairs."""
    vertex = policy.slot_vertex
    states = np.diff(policy.model.tables.action_start)[vertex] > 0
    first = policy.model.tables.action_start[vertex] + np.maximum(policy.actions, 0)
    chosen = pair[np.where(states, first, 0)] - model.tables.action_start[vertex]
    return policy.changed(model, actions=np.where(states, chosen, 0))


def for_model(policy: Policy, model: RMDP) -> Policy:
    """The same policy for another model with the same vertices."""
    return policy.changed(model)


def worst_cases(policy: Policy, sets: Sets, beyond: float = 0.0) -> list[tuple[float, RMDP]]:
    """Models whose least totals, so weighted, add up to the least value of a policy over the sets.

    Contexts become components, and nature chooses among the corners of the sets. There is one model
    for each context in which runs start, with the probability to start in it.

    Args:
        policy: The policy.
        sets: The distributions that the data allow.
        beyond: What an outcome that was never seen may be worth.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.kernel import Sets
        >>> model = recurl.zoo.gambler(p=0.25)
        >>> p, low, high = model.tables.prob, np.array([0.2, 0.7, 1, 1]), np.array([0.3, 0.8, 1, 1])
        >>> sets = Sets(low, high, p, np.full(3, 2.0), np.zeros(3))
        >>> ((weight, model),) = worst_cases(recurl.Policy.uniform(model), sets)
        >>> weight, round(recurl.solve(model, objective="min").value, 6)
        (1.0, 2.333333)
    """
    t = policy.model.tables
    layout, boxes = _layout(policy)
    rows = _rows(policy, choices_of(policy.model, sets, beyond), layout, boxes)
    found = []
    for context in np.unique(policy.start[t.start_prob > 0]).tolist():
        weights: Floats = np.where(policy.start == context, t.start_prob, 0.0)
        total = float(weights.sum())
        made = rows.model(policy.model.name, layout, context, weights / total)
        found.append((total, made))
    return found


def _layout(policy: Policy) -> tuple[Layout, np.ndarray]:
    """Contexts as components, with one box per call port, and that box by slot.

    The entries of one box may be called in different contexts.
    """
    t, component = policy.model.tables, policy.context_component
    vertex = policy.slot_vertex
    calls = np.flatnonzero(t.vertex_kind[vertex] == CALL)
    owner = np.searchsorted(policy.context_start, calls, side="right") - 1
    ports = np.bincount(t.vertex_component[t.vertex_box >= 0], minlength=t.n_components)
    nodes = np.diff(t.component_start) - t.n_entries - t.n_exits - ports
    layout = Layout.of(
        t.n_entries[component],
        t.n_exits[component],
        nodes[component],
        box_owner=owner,
        box_component=policy.callees[calls],
    )
    boxes = np.full(len(vertex), -1)
    boxes[calls] = np.arange(len(calls))
    return layout, boxes


def _rows(policy: Policy, choices: list[Choices], layout: Layout, boxes: np.ndarray) -> Rows:
    """Nature's choices at every vertex of the new layout."""
    t, rows = policy.model.tables, Rows()
    slot = _slots(policy, layout, boxes)
    for v, (at, x) in enumerate(zip(slot.tolist(), layout.vertex_component.tolist(), strict=True)):
        if layout.vertex_kind[v] not in (CALL, EXIT):
            shown = int(policy.slot_vertex[at])
            taken = _taken(policy, at)
            for a in range(t.action_start[shown] + taken.start, t.action_start[shown] + taken.stop):
                target = _targets(policy, layout, boxes, x, choices[a].target)
                rows.add(choices[a].corners, target, choices[a].reward)
        rows.end_vertex()
    return rows


def _taken(policy: Policy, slot: int) -> range:
    """The actions that a policy may take; where it takes any, the worst is feared."""
    action, vertex = int(policy.actions[slot]), int(policy.slot_vertex[slot])
    if action >= 0:
        return range(action, action + 1)
    return range(len(policy.model.action_names(vertex)))


def _slots(policy: Policy, layout: Layout, boxes: np.ndarray) -> np.ndarray:
    """The slot that each vertex of the new layout shows; -1 at call ports."""
    t = policy.model.tables
    first = layout.component_start[layout.vertex_component]
    local = np.arange(layout.n_vertices) - first
    slot = policy.context_start[layout.vertex_component] + local
    slot = np.where(layout.vertex_kind == CALL, -1, slot)
    calls = np.flatnonzero(boxes >= 0)
    vertex = policy.slot_vertex
    returns = np.flatnonzero(layout.vertex_kind == RETURN)
    call = calls[layout.vertex_box[returns]]
    port = t.box_return[t.vertex_box[vertex[call]]] + layout.vertex_port[returns]
    slot[returns] = call + port - vertex[call]
    return slot


def _targets(
    policy: Policy, layout: Layout, boxes: np.ndarray, context: int, target: np.ndarray
) -> np.ndarray:
    """Vertices of the new layout for targets of transitions taken in a context."""
    t = policy.model.tables
    local = target - t.component_start[policy.context_component[context]]
    box = boxes[policy.context_start[context] + local]
    calls = box >= 0
    new: np.ndarray = layout.component_start[context] + local
    new[calls] = layout.box_call[box[calls]] + t.vertex_port[target[calls]]
    return new
