"""An episode as data for the replay: frame by frame, with the call stack and the exit values."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.model.cells import Cells
from recurl.model.tables import CALL, CALLS, EXIT, EXITS, RETURN
from recurl.policy import Policy
from recurl.simulation.rollout import simulate
from recurl.simulation.trace import Trace

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.simulation.trace import TraceStep


CANDIDATES, LONGEST = 50, 120
"""Episodes to choose from, and steps of the longest one that is shown in full."""


def replay_data(policy: Policy) -> dict[str, Any]:
    """A telling episode of a policy: of those that are not too long, the one that goes deepest.

    Example:
        >>> import recurl
        >>> found = replay_data(recurl.solve(recurl.zoo.cloud()).policy)
        >>> found["frames"][0]["action"], found["frames"][0]["stack"]
        ('divide', [])
    """
    model = policy.model
    runs = simulate(model, policy, CANDIDATES, step_limit=LONGEST, traces=CANDIDATES)
    ended = [i for i in range(CANDIDATES) if not runs.truncated[i]]
    chosen = max(ended or [0], key=lambda i: (runs.depths[i], -runs.lengths[i]))
    return _data(model, list(_frames(policy, runs.traces[chosen])), ended=bool(ended))


def trace_data(trace: Trace, *, ended: bool) -> dict[str, Any]:
    """A given episode, of which no policy is known: there are no exit values to show.

    Args:
        trace: The episode.
        ended: Whether it came to its end.

    Example:
        >>> import recurl
        >>> runs = recurl.simulate(recurl.zoo.cloud(), episodes=1, traces=1)
        >>> trace_data(runs.traces[0], ended=True)["frames"][0]["component"]
        'T'
    """
    shown = Trace(trace.model, trace.transitions[:LONGEST])
    frames = list(_frames(Policy.uniform(trace.model), shown))
    return _data(trace.model, frames, ended=ended and len(shown) == len(trace))


def _data(model: RMDP, frames: list[dict[str, Any]], *, ended: bool) -> dict[str, Any]:
    touched: dict[str, set[tuple[str, str]]] = {}
    for frame in frames:
        spots = {frame["from"][:2], frame["to"][:2]}
        touched.setdefault(frame["component"], set()).update(spots)
    drawn = {name: component_data(model, name, spots) for name, spots in sorted(touched.items())}
    return {"model": model.name, "ended": ended, "components": drawn, "frames": frames}


def _frames(policy: Policy, trace: Trace) -> Iterator[dict[str, Any]]:
    model, t = policy.model, policy.model.tables
    first = int(t.component_start[t.start_component])
    contexts: list[int] = []
    total = 0.0
    for step in trace:
        contexts = contexts or [int(policy.start[step.vertex - first])]
        total += step.reward
        yield {
            **_place(policy, step.vertex, contexts[-1]),
            "to": spot(model, int(t.target[step.transition])),
            "stack": [_box(model, box) for box in step.stack],
            "action": model.action_name(step.action),
            "reward": step.reward,
            "total": round(total, 9),
            "event": _event(model, step),
        }
        _move(policy, step.transition, contexts)


def _place(policy: Policy, vertex: int, context: int) -> dict[str, Any]:
    model = policy.model
    component = int(model.tables.vertex_component[vertex])
    label = policy.labels[context] if policy.labels else ""
    return {
        "component": model.names.components[component],
        "vertex": model.local_name(vertex),
        "where": where(model, Cells.of(model), vertex),
        "from": spot(model, vertex),
        "actions": list(model.action_names(vertex)),
        "exits": exit_values(model, component, label),
        "context": label or _calls_around(policy, context),
    }


def _calls_around(policy: Policy, context: int) -> str:
    """The name of a context, if the policy has several of its component."""
    same = policy.context_component == policy.context_component[context]
    return policy.context_names[context] if np.count_nonzero(same) > 1 else ""


def where(model: RMDP, cells: Cells | None, vertex: int) -> str:
    """Where a vertex is in its component: by its label, on a grid by row and column, or by name.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.battery()
        >>> where(model, Cells.of(model), model.find("unit.more.r2c0"))
        'in row 2, column 0'
    """
    if vertex in model.labels:
        return f"at {model.label(vertex)}"
    return f"at {model.local_name(vertex)}" if cells is None else cells.words(vertex)


def exit_values(model: RMDP, component: int, label: str) -> list[list[Any]]:
    """The worth of each exit in a context, read from its label; empty if the label does not say.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> exit_values(model, 2, "H with u6 0, u7 0.25")
        [['u6', 0.0], ['u7', 0.25]]
    """
    names = [model.local_name(vertex) for vertex in model.tables.exits_of(component)]
    pattern = ", ".join(rf"{re.escape(name)} (\S+)" for name in names)
    found = re.fullmatch(rf".* with {pattern}", label, re.DOTALL)
    if found is None:
        return []
    return [[name, float(text)] for name, text in zip(names, found.groups(), strict=True)]


def _box(model: RMDP, box: int) -> dict[str, str]:
    t = model.tables
    return {
        "box": model.names.boxes[box],
        "component": model.names.components[t.box_owner[box]],
        "calls": model.names.components[t.box_component[box]],
    }


def _event(model: RMDP, step: TraceStep) -> str:
    """The outcome of a step, in words."""
    t, move = model.tables, model.tables.move[step.transition]
    target = model.local_name(int(t.target[step.transition]))
    if move == CALLS:
        box = int(t.move_box[step.transition])
        callee = model.names.components[t.box_component[box]]
        return f"calls {callee} through box {model.names.boxes[box]}"
    if step.landing is None:
        return f"leaves through exit {target}: the run ends"
    if move == EXITS:
        return f"leaves through exit {target} and returns to {model.vertex_name(step.landing)}"
    cells = Cells.of(model)
    place = None if cells is None else cells.place(step.landing)
    if place is not None:
        target = f"row {place[0]}, column {place[1]}"
    return f"stays at {target}" if step.landing == step.vertex else f"moves to {target}"


def _move(policy: Policy, transition: int, contexts: list[int]) -> None:
    """The stack of contexts after a step."""
    t = policy.model.tables
    if t.move[transition] == CALLS:
        port = policy.slot(contexts[-1], int(t.target[transition]))
        contexts.append(int(policy.callees[port]))
    elif t.move[transition] == EXITS:
        contexts.pop()


DRAWN = {"entries": 12, "exits": 20, "boxes": 12, "nodes": 18}
"""How many of each are drawn at most."""


class Spot(NamedTuple):
    """Where a vertex is drawn.

    Attributes:
        part: ``"entries"``, ``"exits"``, ``"nodes"`` or ``"boxes"``.
        name: Its name, or that of its box.
        side: At a box, ``"call"`` or ``"return"``.
    """

    part: str
    name: str
    side: str = ""


def spot(model: RMDP, vertex: int) -> Spot:
    """Where a vertex is drawn in the picture of its component.

    Example:
        >>> import recurl
        >>> cloud = recurl.zoo.cloud()
        >>> spot(cloud, cloud.find("S.b4.u6"))
        Spot(part='boxes', name='b4', side='return')
    """
    t = model.tables
    kind, component = int(t.vertex_kind[vertex]), int(t.vertex_component[vertex])
    if kind in (CALL, RETURN):
        box = model.names.boxes[t.vertex_box[vertex]]
        return Spot("boxes", box, "call" if kind == CALL else "return")
    if kind == EXIT:
        return Spot("exits", model.local_name(vertex))
    is_entry = vertex in t.entries_of(component)
    return Spot("entries" if is_entry else "nodes", model.local_name(vertex))


def component_data(model: RMDP, name: str, touched: Container[tuple[str, str]]) -> dict[str, Any]:
    """The picture of a component, in which an episode touches some parts and names.

    Of the inner nodes only those touched are drawn; of anything else all, or where there are more
    than `DRAWN`, only what is touched. ``more`` says how many are left out.
    """
    t, c = model.tables, model.names.find_component(name)
    calls = {
        model.names.boxes[b]: model.names.components[t.box_component[b]] for b in t.boxes_of(c)
    }
    parts: dict[str, list[str]] = {"entries": [], "exits": [], "nodes": [], "boxes": list(calls)}
    for vertex in t.vertices_of(c):
        here = spot(model, vertex)
        if here.part in ("entries", "exits") or (here.part == "nodes" and here[:2] in touched):
            parts[here.part].append(here.name)
    drawn = {
        part: _some(names, [(part, one) in touched for one in names], DRAWN[part])
        for part, names in parts.items()
    }
    return {
        **drawn,
        "boxes": [{"name": box, "calls": calls[box]} for box in drawn["boxes"]],
        "more": {part: len(names) - len(drawn[part]) for part, names in parts.items()},
    }


def _some(names: Sequence[str], wanted: Sequence[bool], most: int) -> list[str]:
    """All names if they are not too many, else the wanted ones, or at least the first few."""
    if len(names) <= most:
        return list(names)
    chosen = [name for name, is_wanted in zip(names, wanted, strict=True) if is_wanted]
    return (chosen or list(names[: most // 4]))[:most]
