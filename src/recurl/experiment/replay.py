"""An episode as data for the replay: frame by frame, with the call stack and the exit values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from recurl.model.tables import CALLS, EXITS
from recurl.simulation.rollout import simulate

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy
    from recurl.simulation.trace import Trace

CANDIDATES, LONGEST = 50, 120
"""Episodes to choose from, and steps of the longest one that is shown in full."""


def replay_data(policy: Policy, seed: int = 0) -> dict[str, Any]:
    """A telling episode of a policy: of those that are not too long, the one that goes deepest.

    Example:
        >>> import recurl
        >>> found = replay_data(recurl.solve(recurl.zoo.cloud()).policy)
        >>> found["frames"][0]["action"], found["frames"][0]["stack"]
        ('divide', [])
    """
    model = policy.model
    runs = simulate(model, policy, CANDIDATES, seed=seed, step_limit=LONGEST, traces=CANDIDATES)
    ended = [i for i in range(CANDIDATES) if not runs.truncated[i]] or [0]
    chosen = max(ended, key=lambda i: (runs.depths[i], -runs.lengths[i]))
    frames = list(_frames(policy, runs.traces[chosen]))
    shown = {frame["component"] for frame in frames}
    drawn = {name: component_data(model, name) for name in sorted(shown)}
    return {"model": model.name, "episode": chosen, "components": drawn, "frames": frames}


def component_data(model: RMDP, name: str) -> dict[str, Any]:
    """What the picture of a component shows: entries, exits and boxes with what they call."""
    t, c = model.tables, model.names.find_component(name)
    first, entries = int(t.component_start[c]), int(t.n_entries[c])
    exits = range(first + entries, first + entries + int(t.n_exits[c]))
    boxes = [b for b in range(t.n_boxes) if t.box_owner[b] == c]
    return {
        "entries": [model.local_name(v) for v in range(first, first + entries)],
        "exits": [model.local_name(v) for v in exits],
        "boxes": [
            {"name": model.names.boxes[b], "calls": model.names.components[t.box_component[b]]}
            for b in boxes
        ],
    }


def _frames(policy: Policy, trace: Trace) -> Any:
    model, t = policy.model, policy.model.tables
    first = int(t.component_start[t.start_component])
    contexts: list[int] = []
    total = 0.0
    for step in trace:
        contexts = contexts or [int(policy.start[step.vertex - first])]
        total += step.reward
        yield {
            **_place(policy, step.vertex, contexts[-1]),
            "stack": [_box(model, box) for box in step.stack],
            "action": model.action_name(step.action),
            "reward": step.reward,
            "total": round(total, 9),
            "event": _event(model, step.transition, step.landing),
        }
        _move(policy, step.transition, contexts)


def _place(policy: Policy, vertex: int, context: int) -> dict[str, Any]:
    model = policy.model
    component = int(model.tables.vertex_component[vertex])
    label = policy.labels[context] if policy.labels else ""
    return {
        "component": model.names.components[component],
        "vertex": model.local_name(vertex),
        "label": model.label(vertex),
        "actions": list(model.action_names(vertex)),
        "exits": exit_values(model, component, label),
        "context": label,
    }


def exit_values(model: RMDP, component: int, label: str) -> list[list[Any]]:
    """What each exit is worth in a context, read from its label; empty if that does not say.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> exit_values(model, 2, "H with u6 0, u7 0.25")
        [['u6', 0.0], ['u7', 0.25]]
    """
    t = model.tables
    first = int(t.component_start[component] + t.n_entries[component])
    names = [model.local_name(first + k) for k in range(int(t.n_exits[component]))]
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


def _event(model: RMDP, transition: int, landing: int | None) -> str:
    t = model.tables
    if landing is None:
        return "leaves: the run ends"
    if t.move[transition] == CALLS:
        return f"calls box {model.names.boxes[t.move_box[transition]]}"
    place = model.local_name(landing)
    return f"returns to {place}" if t.move[transition] == EXITS else f"moves to {place}"


def _move(policy: Policy, transition: int, contexts: list[int]) -> None:
    """The stack of contexts after a step."""
    t = policy.model.tables
    if t.move[transition] == CALLS:
        port = policy.slot(contexts[-1], int(t.target[transition]))
        contexts.append(int(policy.callees[port]))
    elif t.move[transition] == EXITS:
        contexts.pop()
