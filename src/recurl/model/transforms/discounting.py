"""Discounting as a change of the model: runs stop, or components are left, with 1 - λ a step.

Both add to every action one more way, taken with probability 1 - λ, and scale the others by λ. A
step that goes this way still pays: its expected reward Σ p r. So steps pay what they did, and
everything after a step counts λ times what it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.arguments import require_gamma
from recurl.errors import ModelError, Problem, UnknownNameError
from recurl.model.names import unused_name
from recurl.model.tables import CALL, CALLS, RETURN, Layout
from recurl.model.transforms.columns import Transitions, Words, model_of

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.spec import Number
    from recurl.model.tables import Ints, Tables


COUNTS = ("actions", "moves")
"""Ways to count the steps of a discount."""


def discount_steps(model: RMDP, discount: Number, *, count: str = "actions") -> RMDP:
    """Discount a model step by step: every step stops the whole run with probability 1 - λ.

    The value becomes E[Σ λᵗ rₜ] over the steps t = 0, 1, ... of a run. Every component gets one
    more exit, the *lane*. Each action leads to it with 1 - λ, and from the return port of a box's
    lane there is one way: on to the caller's lane, with reward 0. The result is proper, multi-exit.

    A run that was stopped leaves its pending boxes one by one, through their lanes. These are
    steps without reward: they do not count in the value, but they do in lengths.

    With ``count="moves"`` entering a box and leaving by an exit count as steps, too, as in the
    paper: x(v, call) = λ x(v', entry) and v'[exit] = λ x(v, return port). The end of the run does
    not count. So what happens in a call is worth less than the same actions without it.

    Args:
        model: The model.
        discount: λ, in (0, 1).
        count: What is discounted: ``"actions"``, or ``"moves"`` for those through ports as well.

    Example:
        >>> import recurl
        >>> model = discount_steps(recurl.zoo.gambler(), 0.9)
        >>> model
        <RMDP gambler: 1 component, 9 vertices, multi-exit, recursive>
        >>> model.exact.prob(2)
        Fraction(1, 10)
    """
    if count not in COUNTS:
        raise UnknownNameError("count", count, COUNTS)
    edges, t = Transitions.of(model), model.tables
    scaled, stops = _discounted(model, edges, discount, moves=count == "moves")
    lanes = ExitLanes.of(t)
    component = t.vertex_component[t.action_vertex]
    boxes = len(lanes.ports)
    number, full = edges.column.number, edges.column.full
    on = Transitions(
        lanes.action_start[lanes.ports],
        lanes.exit[lanes.layout.box_owner],
        full(boxes, number(1)),
        full(boxes, number(0)),
    )
    scaled = scaled._replace(action=lanes.actions[scaled.action], target=lanes.place[scaled.target])
    stops = stops._replace(action=lanes.actions, target=lanes.exit[component])
    return model_of(
        model.name,
        lanes.layout,
        scaled.join(stops, on),
        words=_words_with_lanes(model, lanes),
        action_start=lanes.action_start,
        start_component=t.start_component,
        start=edges.column.start(model),
    )


def places_with_lanes(tables: Tables) -> Ints:
    """Where `discount_steps` puts the vertices of a model: the new number of each."""
    return ExitLanes.of(tables).place


def discount_boxes(model: RMDP, discount: Number) -> RMDP:
    """Discount a 1-exit model box by box: every step leaves its component with probability 1 - λ.

    This includes steps that lead to a call: with 1 - λ nothing is called and the component is
    left. With x(exit) = 0, the value solves x(q) = max_a Σ p (r + λ x(q')), where x(q') of a call
    is x(entry) + x(return port). A run that has left a component goes on in its caller, so that
    this alone does not make a model proper. `solve`, `evaluate`, `simulate` and learners take the
    same λ as ``box_gamma``.

    Args:
        model: The model, each of its components with one exit.
        discount: λ, in (0, 1).

    Raises:
        ModelError: A component has several exits.

    Example:
        >>> import recurl
        >>> discount_boxes(recurl.zoo.gambler(), 0.99)
        <RMDP gambler: 1 component, 6 vertices, 1-exit, recursive>
    """
    require_one_exit(model)
    edges, t, names = Transitions.of(model), model.tables, model.names
    scaled, leaves = _discounted(model, edges, discount)
    exits = t.component_start[:-1] + t.n_entries
    leaves = leaves._replace(target=exits[t.vertex_component[t.action_vertex]])
    described = (model.features, model.feature_names, model.labels)
    return model_of(
        model.name,
        t.layout,
        scaled.join(leaves),
        words=Words(names.components, names.nodes, names.boxes, names.actions, *described),
        action_start=t.action_start,
        start_component=t.start_component,
        start=edges.column.start(model),
    )


def _discounted(
    model: RMDP, edges: Transitions, discount: Number, *, moves: bool = False
) -> tuple[Transitions, Transitions]:
    """The transitions scaled by λ, and the additional one of each action, still without target.

    Where moves count, what follows a return port is scaled a second time, its rewards included, and
    so is what follows a call.
    """
    factor = edges.column.number(discount)
    if not 0 < factor < 1:
        raise ValueError(f"the discount must lie strictly between 0 and 1, not {discount}")
    t = model.tables
    begin, actions = t.transition_start[:-1], np.arange(t.n_actions)
    if not moves:
        expected = np.add.reduceat(edges.prob * edges.reward, begin)
        rest = edges.column.full(t.n_actions, 1 - factor)
        scaled = edges._replace(prob=edges.prob * factor)
        return scaled, Transitions(actions, actions, rest, expected)
    one = edges.column.number(1)
    returned = (t.vertex_kind[t.action_vertex] == RETURN)[edges.action]
    paid = np.where(returned, factor, one)
    goes_on = factor * paid * np.where(t.move == CALLS, factor, one)
    rest = one - np.add.reduceat(edges.prob * goes_on, begin)
    expected = np.add.reduceat(edges.prob * edges.reward * (paid - goes_on), begin) / rest
    scaled = edges._replace(prob=edges.prob * goes_on)
    return scaled, Transitions(actions, actions, rest, expected)


def require_discounts(model: RMDP | None, gamma: float, box_gamma: float) -> None:
    """Refuse discounts outside (0, 1], two at once, and one by boxes of several exits.

    Args:
        model: The model; None if nothing is known of its exits.
        gamma: The discount of each step.
        box_gamma: The discount by boxes.

    Raises:
        ModelError: The discount is one by boxes, and a component has several exits.
    """
    require_gamma(gamma)
    require_gamma(box_gamma, "box_gamma")
    if gamma < 1 and box_gamma < 1:
        raise ValueError(
            "give gamma, a discount of each step, or box_gamma, one by boxes: not both"
        )
    if box_gamma < 1 and model is not None:
        require_one_exit(model)


def require_one_exit(model: RMDP) -> None:
    """Refuse a model whose components have several exits, which has no discount box by box.

    Raises:
        ModelError: A component has several exits.
    """
    several = np.flatnonzero(model.tables.n_exits > 1)
    fix = "box-wise discounting needs one exit per component: gamma, or discount_steps, does not"
    problems = [
        Problem(
            f"component {model.names.components[c]}", f"has {model.tables.n_exits[c]} exits", fix
        )
        for c in several.tolist()
    ]
    if problems:
        raise ModelError(problems, headline=f"model {model.name}: ")


class ExitLanes(NamedTuple):
    """The vertices and actions of a model in which every component has one more exit.

    Attributes:
        layout: Its layout.
        place: The new number of each old vertex.
        exit: The lane of each component.
        ports: The return port of each box's lane.
        action_start: First action of each new vertex.
        actions: The new number of each old action.
    """

    layout: Layout
    place: np.ndarray
    exit: np.ndarray
    ports: Ints
    action_start: np.ndarray
    actions: np.ndarray

    @classmethod
    def of(cls, t: Tables) -> ExitLanes:
        """Add the lanes to a model."""
        ports_of = np.bincount(t.vertex_component[t.vertex_box >= 0], minlength=t.n_components)
        nodes = np.diff(t.component_start) - t.n_entries - t.n_exits - ports_of
        owner, callee = t.box_owner, t.box_component
        exits = t.n_exits + 1
        new = Layout.of(t.n_entries, exits, nodes, box_owner=owner, box_component=callee)
        place = _places(t, new)
        ports = new.box_return + t.n_exits[callee]
        counts = np.zeros(new.n_vertices, np.int64)
        counts[place], counts[ports] = np.diff(t.action_start), 1
        action_start = np.concatenate([[0], np.cumsum(counts)])
        inside = np.arange(t.n_actions) - t.action_start[t.action_vertex]
        actions = action_start[place[t.action_vertex]] + inside
        lane = new.component_start[:-1] + t.n_entries + t.n_exits
        return cls(new, place, lane, ports, action_start, actions)


def _places(t: Tables, new: Layout) -> np.ndarray:
    """Where the vertices of a model lie in a layout with one more exit per component."""
    component, box = t.vertex_component, t.vertex_box
    local = np.arange(t.n_vertices) - t.component_start[component]
    behind_exits = local >= (t.n_entries + t.n_exits)[component]
    place = new.component_start[component] + local + behind_exits
    for kind, first in ((CALL, new.box_call), (RETURN, new.box_return)):
        ports = np.flatnonzero(t.vertex_kind == kind)
        place[ports] = first[box[ports]] + t.vertex_port[ports]
    return place


def _words_with_lanes(model: RMDP, lanes: ExitLanes) -> Words:
    names = model.names
    lane = unused_name("lane", {*names.nodes, *names.boxes})
    nodes = np.full(lanes.layout.n_vertices, lane, object)
    nodes[lanes.place] = list(names.nodes)
    actions = np.full(lanes.action_start[-1], lane, object)
    actions[lanes.actions] = list(names.actions)
    features = None
    if model.features is not None:
        features = np.zeros((lanes.layout.n_vertices, model.features.shape[1]))
        features[lanes.place] = model.features
    labels = {int(lanes.place[vertex]): text for vertex, text in model.labels.items()}
    described = (features, model.feature_names, labels)
    return Words(names.components, nodes.tolist(), names.boxes, actions.tolist(), *described)
