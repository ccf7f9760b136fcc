"""One run, step by step: what environments and plain Python policies stand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALLS, EXITS, STEP

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one step.

    Attributes:
        vertex: Where the action was taken.
        action: The action, counted within the vertex.
        transition: The transition that was drawn.
        reward: Its reward.
        event: ``"call"``, ``"return"`` or None.
        box: Box that was entered or left, else None.
        exit: Index of the exit that was left through, else None.
        ended: Whether the run is over.
    """

    vertex: int
    action: int
    transition: int
    reward: float
    event: str | None = None
    box: int | None = None
    exit: int | None = None
    ended: bool = False


class Walk:
    """A run of a model: a vertex, a stack of boxes, and the moves between them.

    Example:
        >>> import numpy as np, recurl
        >>> walk = Walk(recurl.zoo.cloud(), np.random.default_rng(0))
        >>> walk.step(1).event, walk.model.vertex_name(walk.vertex), walk.stack
        ('call', 'S.u3', [0])
    """

    def __init__(self, model: RMDP, random: np.random.Generator) -> None:
        self.model, self.random = model, random
        self.stack: list[int] = []
        self.restart()

    def restart(self, random: np.random.Generator | None = None) -> int:
        """Start again at a random entry; returns the vertex."""
        t = self.model.tables
        if random is not None:
            self.random = random
        self.stack.clear()
        entry = int(self.random.choice(len(t.start_prob), p=t.start_prob))
        self.vertex = int(t.component_start[t.start_component]) + entry
        self.ended = False
        return self.vertex

    @property
    def n_actions(self) -> int:
        """Number of actions at the current vertex."""
        begin = self.model.tables.action_start
        return int(begin[self.vertex + 1] - begin[self.vertex])

    @property
    def height(self) -> int:
        """Stack height: 1 for the empty stack, 0 when the run is over."""
        return 0 if self.ended else 1 + len(self.stack)

    def step(self, action: int) -> Step:
        """Take an action, counted within the vertex, and move on."""
        if self.ended:
            raise ValueError("the run is over: call restart()")
        if not 0 <= action < self.n_actions:
            name = self.model.vertex_name(self.vertex)
            raise ValueError(f"{name} has {self.n_actions} actions, and {action} is not among them")
        return self._move(action, self._draw(action))

    def _draw(self, action: int) -> int:
        t = self.model.tables
        row = int(t.action_start[self.vertex]) + action
        begin, end = int(t.transition_start[row]), int(t.transition_start[row + 1])
        if end - begin == 1:
            return begin
        below = self.model.outcomes.below[begin:end]
        return begin + int(np.searchsorted(below, self.random.random(), side="right"))

    def _move(self, action: int, transition: int) -> Step:
        t = self.model.tables
        vertex, landing = self.vertex, int(t.landing[transition])
        done = (vertex, action, transition, float(t.reward[transition]))
        if t.move[transition] == STEP:
            self.vertex = landing
            return Step(*done)
        if t.move[transition] == CALLS:
            box = int(t.move_box[transition])
            self.stack.append(box)
            self.vertex = landing
            return Step(*done, event="call", box=box)
        assert t.move[transition] == EXITS
        if not self.stack:
            self.ended = True
            return Step(*done, exit=landing, ended=True)
        box = self.stack.pop()
        self.vertex = int(t.box_return[box]) + landing
        return Step(*done, event="return", box=box, exit=landing)
