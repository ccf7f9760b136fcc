"""Recursive Q-learning as one would write it in plain Python: dictionaries and lists."""

from __future__ import annotations

import random
from typing import Any

from recurl.model.rmdp import RMDP


class PlainLearner:
    """The paper's algorithm with a dictionary from (vertex, exit values) to a list of Q-values."""

    def __init__(self, model: RMDP, *, step_size: float, exploration: float, quantum: float) -> None:
        t = model.tables
        self.rows = [
            [self._outcomes(t, a) for a in range(t.action_start[v], t.action_start[v + 1])]
            for v in range(t.n_vertices)
        ]
        self.start = int(t.component_start[t.start_component])
        self.exits = int(t.n_exits[t.start_component])
        self.step_size, self.exploration, self.quantum = step_size, exploration, quantum
        self.q: dict[Any, list[float]] = {}
        self.random = random.Random(0)  # noqa: S311

    def _outcomes(self, t: Any, action: int) -> list[tuple[Any, ...]]:
        found, total = [], 0.0
        for i in range(t.transition_start[action], t.transition_start[action + 1]):
            total += float(t.prob[i])
            box, ports = int(t.move_box[i]), []
            if box >= 0:
                first = int(t.box_return[box])
                ports = [first + k for k in range(int(t.n_exits[t.box_component[box]]))]
            found.append((total, float(t.reward[i]), int(t.move[i]), int(t.landing[i]), ports))
        return found

    def row(self, vertex: int, context: tuple[float, ...]) -> list[float]:
        key = (vertex, context)
        if key not in self.q:
            self.q[key] = [0.0] * len(self.rows[vertex])
        return self.q[key]

    def choose(self, row: list[float]) -> int:
        if len(row) > 1 and self.random.random() < self.exploration:
            return self.random.randrange(len(row))
        return row.index(max(row))

    def draw(self, outcomes: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        u = self.random.random()
        for outcome in outcomes:
            if u < outcome[0]:
                return outcome
        return outcomes[-1]

    def learn(self, steps: int, limit: int) -> None:
        vertex, context, length = self.start, (0.0,) * self.exits, 0
        stack: list[tuple[tuple[float, ...], list[int]]] = []
        for _ in range(steps):
            row = self.row(vertex, context)
            action = self.choose(row)
            _, reward, move, landing, ports = self.draw(self.rows[vertex][action])
            length += 1
            ended = False
            if move == 0:
                vertex = landing
                target = reward + max(self.row(vertex, context))
            elif move == 1:
                hopes = [max(self.row(port, context)) for port in ports]
                least = min(hopes)
                stack.append((context, ports))
                context = tuple(round((h - least) / self.quantum) * self.quantum for h in hopes)
                vertex = landing
                target = reward + max(self.row(vertex, context)) + least
            else:
                target = reward + context[landing]
                if stack:
                    context, ports = stack.pop()
                    vertex = ports[landing]
                else:
                    ended = True
            row[action] += self.step_size * (target - row[action])
            if ended or length == limit:
                vertex, context, length = self.start, (0.0,) * self.exits, 0
                stack.clear()
