"""Nature as a player: the distributions of confidence sets become actions of a model.

The greatest value over all models in the sets, with a new choice of nature at every step, is the
optimum of one model: each pair is replaced by the corners of its set. So any solver bounds the
optimum of all models in the sets. With the choices of a policy fixed, the least value over the sets
is the least total of such a model, too; its components are the contexts of the policy.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL, EXIT, RETURN, Layout

if TYPE_CHECKING:
    from recurl.learn.pac.confidence import Sets
    from recurl.model.tables import Floats, Ints
    from recurl.policy import Policy

EXACT = 5
"""Most outcomes of a pair whose set is taken with all its corners."""


class Opened(NamedTuple):
    """A model in which nature's choices are actions.

    Attributes:
        model: The model; vertices are numbered as before.
        pair: Pair, in the model before, of each action. ``[A]``
    """

    model: RMDP
    pair: Ints


def corners(low: Floats, high: Floats, centre: Floats, radius: float) -> list[Floats]:
    """The corners of the set of one pair; beyond `EXACT` outcomes, of a simplex around it.

    Distributions between least and greatest probabilities, or, for a radius below 2, within this
    sum of differences from the centre. Filling up outcomes in every order finds all corners.

    Example:
        >>> low, high, centre = np.array([0.2, 0.5]), np.array([0.5, 0.8]), np.array([0.4, 0.6])
        >>> [p.round(3).tolist() for p in corners(low, high, centre, 2.0)]
        [[0.5, 0.5], [0.2, 0.8]]
        >>> [p.round(3).tolist() for p in corners(0 * low, 0 * low + 1, centre, 0.2)]
        [[0.5, 0.5], [0.3, 0.7]]
    """
    if len(low) > EXACT:
        low = low if radius >= 2 else np.maximum(centre - radius / 2, 0.0)
        rest = max(1.0 - float(low.sum()), 0.0)
        return list(low + rest * np.eye(len(low)))
    found: dict[tuple[float, ...], Floats] = {}
    for order in itertools.permutations(range(len(low))):
        filled = _filled(low, high, order) if radius >= 2 else _moved(centre, radius, order)
        found.setdefault(tuple(filled.round(13).tolist()), filled)
    return list(found.values())


def _filled(low: Floats, high: Floats, order: tuple[int, ...]) -> Floats:
    """All outcomes at their least, then each in turn as high as it may be."""
    p = low.copy()
    for k in order:
        p[k] = min(high[k], low[k] + max(1.0 - float(p.sum()), 0.0))
    p[order[-1]] += 1.0 - float(p.sum())
    return p


def _moved(centre: Floats, radius: float, order: tuple[int, ...]) -> Floats:
    """Half the radius moved to the first outcome, taken from the last ones."""
    p = centre.copy()
    more = min(radius / 2, 1.0 - float(p[order[0]]))
    p[order[0]] += more
    for k in order[:0:-1]:
        less = min(more, float(p[k]))
        p[k] -= less
        more -= less
    return p


class Choices(NamedTuple):
    """The choices of nature at a pair: distributions over outcomes, with targets and rewards."""

    corners: list[Floats]
    target: np.ndarray
    reward: np.ndarray


def choices_of(model: RMDP, sets: Sets, beyond: float = 0.0) -> list[Choices]:
    """The choices of nature at each pair.

    Args:
        model: The model.
        sets: The distributions that the data allow.
        beyond: Worth of an outcome that was never seen; it leaves by the last exit.
    """
    t = model.tables
    component = t.vertex_component[t.action_vertex]
    last = t.component_start[component] + t.n_entries[component] + t.n_exits[component] - 1
    found = []
    for a in range(t.n_actions):
        at = slice(t.transition_start[a], t.transition_start[a + 1])
        more = bool(sets.missing[a] > 0)
        low, high, centre = (
            np.append(part[at], [end] * more)
            for part, end in ((sets.low, 0.0), (sets.high, sets.missing[a]), (sets.centre, 0.0))
        )
        target = np.append(t.target[at], np.full(int(more), last[a]))
        reward = np.append(t.reward[at], [beyond] * more)
        found.append(Choices(corners(low, high, centre, float(sets.radius[a])), target, reward))
    return found


def opened(model: RMDP, sets: Sets, beyond: float = 0.0) -> Opened:
    """The model whose optimum is the greatest value over the sets.

    Args:
        model: The model.
        sets: The distributions that the data allow.
        beyond: Worth of an outcome that was never seen.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.confidence import Sets
        >>> model = recurl.zoo.gambler(p=0.25)
        >>> p, low, high = model.tables.prob, np.array([0.2, 0.7, 1, 1]), np.array([0.3, 0.8, 1, 1])
        >>> wide = opened(model, Sets(low, high, p, np.full(3, 2.0), np.zeros(3)))
        >>> wide.pair.tolist(), round(recurl.solve(wide.model).value, 6)
        ([0, 0, 1, 2], 4.0)
    """
    t, writer = model.tables, ActionWriter()
    pair: list[int] = []
    choices = choices_of(model, sets, beyond)
    for v in range(t.n_vertices):
        for a in range(t.action_start[v], t.action_start[v + 1]):
            writer.add(choices[a].corners, choices[a].target, choices[a].reward)
            pair += [a] * len(choices[a].corners)
        writer.end_vertex()
    made = writer.model(model.name, t.layout, t.start_component, t.start_prob)
    return Opened(made, np.array(pair, np.int32))


class ActionWriter:
    """Writes down actions and transitions, vertex by vertex."""

    def __init__(self) -> None:
        self._actions, self._transitions = [0], [0]
        self._target: list[np.ndarray] = []
        self._prob: list[np.ndarray] = []
        self._reward: list[np.ndarray] = []

    def add(self, choices: list[Floats], target: np.ndarray, reward: np.ndarray) -> None:
        """An action for each of some distributions over the same outcomes."""
        for prob in choices:
            can = prob > 0
            self._target.append(target[can])
            self._prob.append(prob[can])
            self._reward.append(reward[can])
            self._transitions.append(self._transitions[-1] + int(can.sum()))

    def end_vertex(self) -> None:
        """The actions of the next vertex follow."""
        self._actions.append(len(self._transitions) - 1)

    def model(self, name: str, layout: Layout, start: int, start_prob: Floats) -> RMDP:
        """The model of what was written down."""
        return RMDP.from_arrays(
            layout,
            action_start=np.array(self._actions),
            transition_start=np.array(self._transitions),
            target=np.concatenate(self._target),
            prob=np.concatenate(self._prob),
            reward=np.concatenate(self._reward),
            start_component=start,
            start_prob=start_prob,
            name=name,
        )


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


def worst_cases(policy: Policy, sets: Sets, beyond: float = 0.0) -> list[tuple[float, RMDP]]:
    """Models whose least totals, weighted, add up to the least value of a policy over the sets.

    Contexts become components, and nature chooses among the corners of the sets. There is one model
    for each context in which runs start, with the probability to start in it.

    Args:
        policy: The policy.
        sets: The distributions that the data allow.
        beyond: Worth of an outcome that was never seen.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.confidence import Sets
        >>> model = recurl.zoo.gambler(p=0.25)
        >>> p, low, high = model.tables.prob, np.array([0.2, 0.7, 1, 1]), np.array([0.3, 0.8, 1, 1])
        >>> sets = Sets(low, high, p, np.full(3, 2.0), np.zeros(3))
        >>> ((weight, model),) = worst_cases(recurl.Policy.uniform(model), sets)
        >>> weight, round(recurl.solve(model, objective="min").value, 6)
        (1.0, 2.333333)
    """
    t = policy.model.tables
    layout, boxes = _layout(policy)
    writer = _written(policy, choices_of(policy.model, sets, beyond), layout, boxes)
    found = []
    for context in np.unique(policy.start[t.start_prob > 0]).tolist():
        weights: Floats = np.where(policy.start == context, t.start_prob, 0.0)
        total = float(weights.sum())
        made = writer.model(policy.model.name, layout, context, weights / total)
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


def _written(
    policy: Policy, choices: list[Choices], layout: Layout, boxes: np.ndarray
) -> ActionWriter:
    """Nature's choices at every vertex of the new layout."""
    t, writer = policy.model.tables, ActionWriter()
    slot = _slots(policy, layout, boxes)
    for v, (at, x) in enumerate(zip(slot.tolist(), layout.vertex_component.tolist(), strict=True)):
        if layout.vertex_kind[v] not in (CALL, EXIT):
            shown = int(policy.slot_vertex[at])
            taken = _taken(policy, at)
            for a in range(t.action_start[shown] + taken.start, t.action_start[shown] + taken.stop):
                target = _targets(policy, layout, boxes, x, choices[a].target)
                writer.add(choices[a].corners, target, choices[a].reward)
        writer.end_vertex()
    return writer


def _taken(policy: Policy, slot: int) -> range:
    """The actions that a policy may take; where it takes any, the worst counts."""
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
