"""Traces: an episode step by step, as text and for replays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALLS, STEP

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of an episode.

    Attributes:
        vertex: Where the action was taken.
        action: The action, as a number among all (vertex, action) pairs.
        transition: The transition that was drawn.
        reward: Its reward.
        stack: Boxes that were pending when the action was taken, outermost first.
        landing: Vertex that the step led to, or None if it ended the run.
    """

    vertex: int
    action: int
    transition: int
    reward: float
    stack: tuple[int, ...]
    landing: int | None


@dataclass(frozen=True, slots=True)
class Trace:
    """An episode, step by step. ``str()`` shows it indented by depth."""

    model: RMDP
    transitions: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.transitions)

    def __iter__(self) -> Iterator[TraceStep]:
        """The steps, with the stack before each."""
        t = self.model.tables
        actions = np.searchsorted(t.transition_start, self.transitions, side="right") - 1
        stack: list[int] = []
        for transition, action in zip(self.transitions, actions.tolist(), strict=True):
            before = tuple(stack)
            landing = _advance(self.model, stack, transition)
            vertex, reward = int(t.action_vertex[action]), float(t.reward[transition])
            yield TraceStep(vertex, action, transition, reward, before, landing)

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * len(step.stack)}{self.line(step)}" for step in self)

    def line(self, step: TraceStep) -> str:
        """A step as text: vertex, action and reward."""
        place, action = self.model.vertex_name(step.vertex), self.model.action_name(step.action)
        return f"{place}: {action} ({step.reward:+g})"


def _advance(model: RMDP, stack: list[int], transition: int) -> int | None:
    """Move a stack of boxes along a transition; returns where control lands."""
    t = model.tables
    landing = int(t.landing[transition])
    if t.move[transition] == STEP:
        return landing
    if t.move[transition] == CALLS:
        stack.append(int(t.move_box[transition]))
        return landing
    return int(t.box_return[stack.pop()]) + landing if stack else None
