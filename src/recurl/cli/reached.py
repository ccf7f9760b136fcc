"""Where runs under a policy come: to which vertices, and in which contexts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recurl.model.tables import CALLS, EXITS

if TYPE_CHECKING:
    from recurl.policy import Policy


class Reached:
    """A search through the vertices that runs under a policy come to.

    The stack has no bound, so calls are summarised: per context, who calls it and by which exits
    it is left.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy, self.tables = policy, policy.model.tables
        self.seen: set[tuple[int, int]] = set()
        self.todo: list[tuple[int, int]] = []
        self.callers: dict[int, set[tuple[int, int]]] = {}  # context -> (context, box)
        self.exits: dict[int, set[int]] = {}  # context -> exits that runs leave it by

    def situations(self) -> Iterator[tuple[int, int]]:
        """Pairs (context, vertex with actions), each once."""
        for vertex in self.tables.starts.tolist():
            first = int(self.tables.component_start[self.tables.start_component])
            self._visit(int(self.policy.start[vertex - first]), vertex)
        while self.todo:
            context, vertex = self.todo.pop()
            yield context, vertex
            self._follow(context, vertex)

    def _visit(self, context: int, vertex: int) -> None:
        if (context, vertex) not in self.seen:
            self.seen.add((context, vertex))
            self.todo.append((context, vertex))

    def _follow(self, context: int, vertex: int) -> None:
        t = self.tables
        actions = range(int(t.action_start[vertex]), int(t.action_start[vertex + 1]))
        chosen = self.policy.action(vertex, context)
        for action in actions if chosen < 0 else actions[chosen : chosen + 1]:
            for i in range(int(t.transition_start[action]), int(t.transition_start[action + 1])):
                self._move(context, int(t.target[i]), int(t.move[i]), int(t.landing[i]))

    def _move(self, context: int, target: int, move: int, landing: int) -> None:
        if move == EXITS:
            self.exits.setdefault(context, set()).add(landing)
            for caller, box in self.callers.get(context, ()):
                self._visit(caller, int(self.tables.box_return[box]) + landing)
        elif move == CALLS:
            box = int(self.tables.vertex_box[target])
            callee = int(self.policy.callees[self.policy.slot(context, target)])
            self.callers.setdefault(callee, set()).add((context, box))
            self._visit(callee, landing)
            for left_by in self.exits.get(callee, ()):
                self._visit(context, int(self.tables.box_return[box]) + left_by)
        else:
            self._visit(context, landing)
