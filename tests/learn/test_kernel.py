"""The learning kernel, against the rule written out in plain Python."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import recurl
from recurl.learn.engine import ModelEngine
from recurl.learn.settings import make_settings
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.simulation.random import new_stream, next_below, next_float


@numba.njit
def draw_float(random: np.ndarray) -> float:
    return next_float(random)


@numba.njit
def draw_below(random: np.ndarray, count: int) -> int:
    return next_below(random, count)


def engine(model: recurl.RMDP, flat: bool = False, **given: Any) -> ModelEngine:
    return ModelEngine(model, make_settings("paper", given), flat)


def tree() -> recurl.RMDP:
    """Call a component that leaves through one of two exits, worth 3 and 10 to the caller."""
    builder = recurl.Builder("tree").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("go", reward=-1).to("b")
    builder.at("b.low").action("on", reward=3).to("out")
    builder.at("b.high").action("on", reward=10).to("out")
    builder.component("B", entries="in", exits=("low", "high"))
    builder.at("in").action("cheap", reward=0).to("low").action("dear", reward=-2).to("high")
    return builder.build("A")


def q_of(one: ModelEngine, vertex: str, context: int) -> list[float]:
    found: list[float] = one.q_values(one.model.find(vertex), context).tolist()
    return found


def test_the_rule_by_hand() -> None:
    one = engine(tree(), learning_rate=1.0, exploration=0.0)
    one.advance(3)  # go, cheap, on: nothing is known of any exit, so B runs in context 1
    assert one.table.exit_values(1).tolist() == [0.0, 0.0]
    assert q_of(one, "A.in", 0) == [-1.0]
    assert q_of(one, "B.in", 1) == [0.0, 0.0]
    assert q_of(one, "A.b.low", 0) == [3.0]
    one.advance(2)  # now low is worth 3 more than high: a new context, offset 0
    assert one.table.exit_values(2).tolist() == [3.0, 0.0]
    assert q_of(one, "A.in", 0) == [-1.0]
    assert q_of(one, "B.in", 2) == [3.0, 0.0]
    assert (one.steps, one.episodes) == (5, 1)


def test_it_finds_what_each_exit_is_worth() -> None:
    one = engine(tree(), learning_rate=1.0, exploration=0.5)
    one.advance(1000)
    context = one.n_contexts - 1
    assert one.table.exit_values(context).tolist() == [0.0, 7.0]
    assert q_of(one, "B.in", context) == [0.0, 5.0]
    assert q_of(one, "A.in", 0) == [-1 + 3 + 5]


def test_the_run_stops_between_steps_and_counts_them() -> None:
    one = engine(recurl.zoo.cloud(), episode_limit=20)
    one.advance(12_345)
    assert one.steps == one.table.visits.sum() == 12_345
    assert 0 < one.cut < one.episodes


def test_sums_of_rewards_are_those_of_the_episodes() -> None:
    """Without luck every episode of this policy pays -8."""
    one = engine(recurl.zoo.cloud(), exploration=0.0, learning_rate=0.0)
    one.advance(50)
    assert one.training_mean() == -8.0
    assert np.isnan(one.training_mean())


def test_outcomes_are_as_frequent_as_the_model_says() -> None:
    """S calls itself with probability 0.4 by its second action, counted by what calls visit."""
    one = engine(recurl.zoo.cloud(), exploration=1.0, learning_rate=0.0)
    one.advance(200_000)
    again = one.visits(one.model.find("S.b5.u4"), 1)
    fast = one.table.contexts.visits[
        one.table.contexts.block[1] + one.model.tables.action_start[one.model.find("S.u3")] + 1
    ]
    assert again / fast == pytest.approx(0.4, abs=0.01)


def test_schedules_and_grain_are_those_of_plain_python_to_the_bit() -> None:
    model = recurl.zoo.stack_matters()
    settings = make_settings("swift", {"inherit": 0, "replay": 0, "episode_limit": 30, "seed": 5})
    one = ModelEngine(model, settings, False)
    one.advance(4000)
    other = Plain(model, settings)
    for _ in range(4000):
        other.step()
    assert len(other.q) == one.n_contexts
    for number, rows in enumerate(other.q.values()):
        for vertex, values in rows.items():
            assert one.q_values(vertex, number).tolist() == values


class Plain:
    """Algorithm 1 with dictionaries, drawing random numbers in the kernel's order."""

    def __init__(self, model: recurl.RMDP, settings: Any) -> None:
        self.t, self.s, self.random = model.tables, settings, new_stream(settings.seed)
        self.q: dict[Any, dict[int, list[float]]] = {}
        self.visits: dict[Any, int] = {}
        self.count = 0
        self.begin()

    def begin(self) -> None:
        self.vertex, self.length = int(self.t.starts[0]), 0
        self.context: Any = self.known((self.t.start_component, (0.0,)))
        self.stack: list[Any] = []

    def known(self, context: Any) -> Any:
        self.q.setdefault(context, {})
        return context

    def row(self, context: Any, vertex: int) -> list[float]:
        count = int(self.t.action_start[vertex + 1] - self.t.action_start[vertex])
        return self.q[context].setdefault(vertex, [0.0] * count)

    def uniform(self) -> float:
        return float(draw_float(self.random))

    def choose(self, row: list[float]) -> int:
        if len(row) == 1:
            return 0
        if self.uniform() < self.s.exploration():
            return int(draw_below(self.random, len(row)))
        return row.index(max(row))

    def step(self) -> None:
        t, row = self.t, self.row(self.context, self.vertex)
        action = self.choose(row)
        number = int(t.action_start[self.vertex]) + action
        i, total = int(t.transition_start[number]), 0.0
        if t.transition_start[number + 1] - i > 1:
            u, total = self.uniform(), float(t.prob[i])
            while u >= total and i + 1 < t.transition_start[number + 1]:
                i += 1
                total += float(t.prob[i])
        key = (self.context, self.vertex, action)
        goal, ended = self.goal(i)
        self.visits[key] = self.visits.get(key, 0) + 1
        row[action] += self.s.learning_rate(self.count, self.visits[key]) * (goal - row[action])
        self.count += 1
        self.length += 1
        if ended or self.length == self.s.episode_limit:
            self.begin()

    def goal(self, i: int) -> tuple[float, bool]:
        t, reward, landing = self.t, float(self.t.reward[i]), int(self.t.landing[i])
        if t.move[i] == STEP:
            self.vertex = landing
            return reward + max(self.row(self.context, landing)), False
        if t.move[i] == EXITS:
            worth = self.context[1][landing]
            if not self.stack:
                return reward + worth, True
            self.context, box = self.stack.pop()
            self.vertex = int(t.box_return[box]) + landing
            return reward + worth, False
        assert t.move[i] == CALLS
        box = int(t.move_box[i])
        callee = int(t.box_component[box])
        hopes = [
            max(self.row(self.context, int(t.box_return[box]) + k))
            for k in range(int(t.n_exits[callee]))
        ]
        least, step = min(hopes), self.s.quantum
        while self.s.grain and self.s.grain * step < max(hopes) - least:
            step *= 2
        self.stack.append((self.context, box))
        values = tuple(float(np.rint((h - least) / step) * step) for h in hopes)
        self.context = self.known((callee, values))
        self.vertex = landing
        return reward + max(self.row(self.context, landing)) + least, False
