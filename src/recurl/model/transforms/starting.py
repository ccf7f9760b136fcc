"""Models whose runs start at any vertex, with boxes pending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import QuestionError, UnknownNameError
from recurl.model.names import unused_name
from recurl.model.rmdp import require_model
from recurl.model.tables import CALL, EXIT, NODE, RETURN, Layout
from recurl.model.transforms.columns import Transitions, Words, model_of

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

LEAVE = "leave"
"""The action at a start that is an exit."""


def start_at(model: RMDP, vertex: str, stack: Sequence[str] = ()) -> RMDP:
    """The same model, whose runs start at a vertex, with a stack of pending boxes.

    The exits of the model are those of the outermost component: that of the vertex, or with a stack
    that of its first box. At an entry and without a stack, only the start changes. Otherwise there
    is one more component, ``start``, in which all runs start, and which nothing calls: a copy of
    the component of the vertex and, for each pending box, of the one that it lies in. There the
    return ports of pending boxes are nodes. Runs and what they earn are the same.

    A start at an exit with nothing pending takes one action without reward, ``leave``.

    Args:
        model: The model.
        vertex: Full name of any vertex, such as ``"H.u5"`` or ``"T.b1.u4"``.
        stack: Full names of the pending boxes, outermost first, such as ``["T.b1", "S.b3"]``. Each
            lies in the component that the one before it calls, and the vertex in that of the last.

    Raises:
        UnknownNameError: A vertex or box is unknown; similar ones are listed.
        QuestionError: A box, or the vertex, does not lie in the component called before it.

    Example:
        >>> import recurl
        >>> model = start_at(recurl.zoo.cloud(), "H.u5", ["T.b1", "S.b4"])
        >>> model.vertex_name(model.tables.starts[0]), model.tables.n_boxes
        ('start.u5', 14)
    """
    require_model(model, "start_at")
    place, boxes = place_of(model, vertex, stack)
    t = model.tables
    component = int(t.vertex_component[place])
    if not boxes and place in t.entries_of(component):
        edges = Transitions.of(model)
        local = place - int(t.component_start[component])
        start = edges.column.full(int(t.n_entries[component]), 0)
        start[local] = edges.column.number(1)
        names = model.names
        described = (model.features, model.feature_names, model.labels)
        return model_of(
            model.name,
            t.layout,
            edges,
            words=Words(names.components, names.nodes, names.boxes, names.actions, *described),
            action_start=t.action_start,
            start_component=component,
            start=start,
        )
    return _with_start(model, place, boxes)


def place_of(model: RMDP, vertex: str, stack: Sequence[str] = ()) -> tuple[int, list[int]]:
    """The vertex and the pending boxes where a run from there first has a choice, or is over.

    Call ports, and exits with boxes pending, move on by themselves.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> model.vertex_name(place_of(model, "S.u4", ["T.b1"])[0])
        'T.b1.u4'
    """
    t, names = model.tables, model.names
    if isinstance(stack, str) or not all(isinstance(each, str) for each in (vertex, *stack)):
        given = f"{vertex!r} and {stack!r}"
        raise TypeError(f"a start is the name of a vertex, a stack a list of names, not {given}")
    place, component, boxes = model.find(vertex), -1, []
    known = [f"{names.components[c]}.{b}" for c, b in zip(t.box_owner, names.boxes, strict=True)]
    for name in stack:
        if name not in known:
            raise UnknownNameError("box", name, known)
        box = known.index(name)
        _require_inside(model, name, int(t.box_owner[box]), component)
        component = int(t.box_component[box])
        boxes.append(box)
    _require_inside(model, vertex, int(t.vertex_component[place]), component)
    if t.vertex_kind[place] == CALL:
        boxes.append(int(t.vertex_box[place]))
        place = int(t.entry_of_call(place))
    while t.vertex_kind[place] == EXIT and boxes:
        place = int(t.box_return[boxes.pop()] + t.vertex_port[place])
    return place, boxes


def _require_inside(model: RMDP, name: str, component: int, called: int) -> None:
    """Refuse a stack whose box calls another component than that of what follows."""
    if called not in (-1, component):
        where, names = model.names.components[called], model.names.components[component]
        raise QuestionError(
            f"{name} lies in component {names}, but the box before it calls {where}"
        )


def _with_start(model: RMDP, place: int, boxes: list[int]) -> RMDP:
    """The model with one more component, in which runs start at a vertex above pending boxes."""
    t, edges = model.tables, Transitions.of(model)
    components = [*t.box_owner[boxes].tolist(), int(t.vertex_component[place])]
    levels = list(reversed(list(enumerate(components))))
    exits = [(0, v) for v in t.exits_of(components[0])]
    nodes = [
        (level, v)
        for level, c in levels
        for v in t.vertices_of(c)[int(t.n_entries[c]) :]
        if t.vertex_kind[v] == NODE
        or (t.vertex_kind[v] == RETURN and t.vertex_box[v] in boxes[level : level + 1])
    ]
    copied = [(level, b) for level, c in levels for b in t.boxes_of(c)]
    callees = [int(t.box_component[b]) for _, b in copied]
    calls = [
        (level, int(t.box_call[b]) + k)
        for (level, b), c in zip(copied, callees, strict=True)
        for k in range(t.n_entries[c])
    ]
    returns = [(level, v) for level, b in copied for v in model.return_ports(b)]
    inner = np.bincount(t.vertex_component[t.vertex_kind == NODE], minlength=t.n_components)
    layout = Layout.of(
        [*t.n_entries, 1],
        [*t.n_exits, len(exits)],
        [*(inner - t.n_entries), len(nodes)],
        box_owner=[*t.box_owner, *(t.n_components for _ in copied)],
        box_component=[*t.box_component, *callees],
    )
    at = {each: v for v, each in enumerate([*exits, *nodes, *calls], t.n_vertices + 1)}
    for level, box in enumerate(boxes):
        ends = zip(t.exits_of(components[level + 1]), model.return_ports(box), strict=True)
        at |= {(level + 1, end): at[level, port] for end, port in ends}
    origin = [(len(boxes), place), *exits, *nodes, *calls, *returns]
    actions = [_copies(model, at, level, v) for level, v in origin]
    if t.vertex_kind[place] == EXIT:
        actions[0] = [(LEAVE, [(at[0, place], -1)])]
    every = [each for own in actions for each in own]
    ways = [(a, *way) for a, (_, own) in enumerate(every, t.n_actions) for way in own]
    action, target, copy = (np.array(each, np.int64) for each in zip(*ways, strict=True))
    one, zero = map(edges.column.number, (1, 0))
    added = Transitions(
        action, target, np.append(edges.prob, one)[copy], np.append(edges.reward, zero)[copy]
    )
    counts = np.cumsum([len(own) for own in actions])
    return model_of(
        model.name,
        layout,
        edges.join(added),
        words=_words(model, [v for _, v in origin], len(exits), copied, [a for a, _ in every]),
        action_start=np.concatenate([t.action_start, t.n_actions + counts]),
        start_component=t.n_components,
        start=edges.column.full(1, 1),
    )


def _copies(
    model: RMDP, at: Mapping[tuple[int, int], int], level: int, vertex: int
) -> list[tuple[str, list[tuple[int, int]]]]:
    """The actions of a vertex: name, and the new target and the number of each transition."""
    t, names = model.tables, model.names.actions
    return [
        (names[a], [(at[level, int(t.target[i])], i) for i in t.transitions_of(a)])
        for a in t.actions_of(vertex)
    ]


def _words(
    model: RMDP,
    source: list[int],
    n_exits: int,
    boxes: list[tuple[int, int]],
    actions: list[str],
) -> Words:
    """The names with those of the new component: exits keep theirs, the others where they can."""
    names, first = model.names, model.tables.n_vertices
    taken: set[str] = set()

    def own(word: str) -> str:
        taken.add(word := unused_name(word.replace(".", " "), taken))
        return word

    ends = [own(model.local_name(v)) for v in source[1 : n_exits + 1]]
    entry = own(model.local_name(source[0]))
    others = [own(model.local_name(v)) for v in source[n_exits + 1 :]]
    labels = model.labels
    labels |= {first + i: labels[v] for i, v in enumerate(source) if v in labels}
    features = model.features
    return Words(
        [*names.components, unused_name("start", names.components)],
        [*names.nodes, entry, *ends, *others],
        [*names.boxes, *(own(names.boxes[b]) for _, b in boxes)],
        [*names.actions, *actions],
        None if features is None else np.concatenate([features, features[source]]),
        model.feature_names,
        labels,
    )
