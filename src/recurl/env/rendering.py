"""A run as text: the call stack, where the run stands, and what it did last."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.simulation.walk import Step, Walk

_SHOWN = 12


def render_walk(walk: Walk, last: Step | None) -> str:
    """The call stack of a walk, outermost first, and its last step.

    A deep stack is shown by its innermost calls only.

    Example:
        >>> import numpy as np, recurl
        >>> walk = recurl.Walk(recurl.zoo.cloud(), np.random.default_rng(0))
        >>> print(render_walk(walk, walk.step(1)))
        T.u1: divide, reward -0.5, calls b1
        T  in b1
          S  at u3: reliable | fast
    """
    model = walk.model
    lines = [step_line(model, last)] if last is not None else []
    if walk.ended:
        return "\n".join([*lines, "the run is over"])
    hidden = max(0, len(walk.stack) - _SHOWN)
    if hidden:
        lines.append(f"... {hidden} calls further out")
    shown = [frame_line(model, box) for box in walk.stack[hidden:]]
    lines += [f"{'  ' * i}{line}" for i, line in enumerate([*shown, place_line(walk)])]
    return "\n".join(lines)


def frame_line(model: RMDP, box: int) -> str:
    """A pending call: the component that waits, and its box."""
    component = model.names.components[model.tables.box_owner[box]]
    return f"{component}  in {model.names.boxes[box]}"


def place_line(walk: Walk) -> str:
    """Where a walk stands, and what can be done there."""
    model, vertex = walk.model, walk.vertex
    component = model.names.components[model.tables.vertex_component[vertex]]
    label = model.labels.get(vertex)
    note = f" ({label})" if label else ""
    actions = " | ".join(model.action_names(vertex))
    return f"{component}  at {model.local_name(vertex)}{note}: {actions}"


def step_line(model: RMDP, step: Step) -> str:
    """The line that describes a step."""
    action = model.action_names(step.vertex)[step.action]
    text = f"{model.vertex_name(step.vertex)}: {action}, reward {step.reward:g}"
    if step.box is None:
        return text
    verb = "calls" if step.event == "call" else "returns from"
    return f"{text}, {verb} {model.names.boxes[step.box]}"
