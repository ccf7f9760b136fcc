"""Recursive Q-learning as one would write it in plain Python, next to the paper.

Names for vertices, dictionaries for the model and for Q, lists for stacks; nothing precomputed.
"""

from __future__ import annotations

import random
from collections import defaultdict

from recurl.model.rmdp import RMDP

Context = tuple[float, ...]


class PlainLearner:
    """The paper's algorithm 1."""

    def __init__(
        self, model: RMDP, *, learning_rate: float, exploration: float, quantum: float
    ) -> None:
        self.learning_rate, self.exploration, self.quantum = learning_rate, exploration, quantum
        self.q: dict[tuple[str, Context, str], float] = defaultdict(float)
        self.random = random.Random(0)
        self._read(model)

    def _read(self, model: RMDP) -> None:
        t, name = model.tables, model.vertex_name
        self.actions: dict[str, list[str]] = {}
        self.transitions: dict[tuple[str, str], list[tuple[float, str, float]]] = {}
        for vertex in range(t.n_vertices):
            self.actions[name(vertex)] = list(model.action_names(vertex))
        for a in range(t.n_actions):
            rows = range(t.transition_start[a], t.transition_start[a + 1])
            self.transitions[name(t.action_vertex[a]), model.action_name(a)] = [
                (float(t.prob[i]), name(t.target[i]), float(t.reward[i])) for i in rows
            ]
        calls = [v for v in range(t.n_vertices) if t.vertex_kind[v] == 2]
        self.entry = {name(v): name(int(t.entry_of_call(v))) for v in calls}
        self.returns = {
            name(v): [
                name(int(t.box_return[t.vertex_box[v]]) + k)
                for k in range(t.n_exits[t.box_component[t.vertex_box[v]]])
            ]
            for v in calls
        }
        exits = [v for v in range(t.n_vertices) if t.vertex_kind[v] == 1]
        self.exit = {name(v): int(t.vertex_port[v]) for v in exits}
        self.start = name(int(t.starts[0]))
        self.bottom = (0.0,) * int(t.n_exits[t.start_component])

    def best(self, state: str, context: Context) -> float:
        return max(self.q[state, context, action] for action in self.actions[state])

    def choose(self, state: str, context: Context) -> str:
        if self.random.random() < self.exploration:
            return self.random.choice(self.actions[state])
        return max(self.actions[state], key=lambda action: self.q[state, context, action])

    def sample(self, state: str, action: str) -> tuple[str, float]:
        outcomes = self.transitions[state, action]
        weights = [probability for probability, _, _ in outcomes]
        _, target, reward = self.random.choices(outcomes, weights)[0]
        return target, reward

    def learn(self, steps: int, limit: int) -> None:
        state, context, length = self.start, self.bottom, 0
        stack: list[tuple[Context, list[str]]] = []
        for _ in range(steps):
            action = self.choose(state, context)
            vertex, reward = self.sample(state, action)
            key = (state, context, action)
            length += 1
            ended = False
            if vertex in self.entry:
                ports = self.returns[vertex]
                hopes = [self.best(port, context) for port in ports]
                least = min(hopes)
                stack.append((context, ports))
                context = tuple(round((h - least) / self.quantum) * self.quantum for h in hopes)
                state = self.entry[vertex]
                target = reward + self.best(state, context) + least
            elif vertex in self.exit:
                k = self.exit[vertex]
                target = reward + context[k]
                ended = not stack
                if stack:
                    context, ports = stack.pop()
                    state = ports[k]
            else:
                state = vertex
                target = reward + self.best(state, context)
            self.q[key] += self.learning_rate * (target - self.q[key])
            if ended or length == limit:
                state, context, length = self.start, self.bottom, 0
                stack.clear()
