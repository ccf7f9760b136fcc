"""The loops: against plain Python, against each other, and greedy runs of what is known."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from tests.learn.shared_env import SharedEnv

import recurl
from recurl.learn.engine import ModelEngine
from recurl.learn.env_engine import EnvEngine
from recurl.learn.schedules import linear
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
    one.advance(3)  # go, either exit, on: nothing is known of any exit, so B runs in context 1
    assert one.store.exit_values(1).tolist() == [0.0, 0.0]
    assert q_of(one, "A.in", 0) == [-1.0]
    inside, ports = q_of(one, "B.in", 1), q_of(one, "A.b.low", 0) + q_of(one, "A.b.high", 0)
    assert (inside, ports) in [([0.0, 0.0], [3.0, 0.0]), ([0.0, -2.0], [0.0, 10.0])]
    one.advance(1)  # now one exit is worth more than the other: a new context, offset 0
    assert one.store.exit_values(2).tolist() == ports
    assert q_of(one, "A.in", 0) == [-1.0]
    assert (one.steps, one.episodes) == (4, 1)


def test_it_finds_what_each_exit_is_worth() -> None:
    one = engine(tree(), learning_rate=1.0, exploration=0.5)
    one.advance(1000)
    context = one.n_contexts - 1
    assert one.store.exit_values(context).tolist() == [0.0, 7.0]
    assert q_of(one, "B.in", context) == [0.0, 5.0]
    assert q_of(one, "A.in", 0) == [-1 + 3 + 5]


def test_the_run_stops_between_steps_and_counts_them() -> None:
    one = engine(recurl.zoo.cloud(), episode_limit=20)
    one.advance(12_345)
    assert one.steps == one.store.visits.sum() == 12_345
    assert 0 < one.cut < one.episodes


def test_sums_of_rewards_are_those_of_the_episodes() -> None:
    one = engine(tree(), exploration=0.0, learning_rate=0.0)
    one.advance(300)
    returns = one.tally[1]
    low, high = (one.visits(one.model.find(f"A.b.{exit}"), 0) for exit in ("low", "high"))
    assert low + high == one.episodes == 100
    assert returns == pytest.approx(2 * low + 7 * high)
    one.begin_tally()
    assert one.tally == (0, 0)


def test_outcomes_are_as_frequent_as_the_model_says() -> None:
    """S calls itself with probability 0.4 by its second action, counted by what calls visit."""
    one = engine(recurl.zoo.cloud(), exploration=1.0, learning_rate=0.0)
    one.advance(200_000)
    again = one.visits(one.model.find("S.b5.u4"), 1)
    first = one.model.tables.action_start[one.model.find("S.u3")]
    fast = one.store.visits[one.store.arrays["block"][1] + first + 1]
    assert again / fast == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(("name", "box_gamma"), [("stack_matters", 1.0), ("gambler", 0.9)])
def test_rates_and_grain_are_those_of_plain_python_to_the_bit(name: str, box_gamma: float) -> None:
    model = recurl.zoo.make(name)
    given = {"inherit": 0, "replay": 0, "episode_limit": 30, "seed": 5, "box_gamma": box_gamma}
    settings = make_settings("swift", {**given, "exploration": linear(0.3, 0.1, 2000)})
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
        if self.uniform() < self.s.exploration(self.count):
            return int(draw_below(self.random, len(row)))
        ties = [action for action, value in enumerate(row) if value == max(row)]
        return ties[0] if len(ties) == 1 else ties[int(draw_below(self.random, len(ties)))]

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
            return reward + self.s.box_gamma * max(self.row(self.context, landing)), False
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
        within = self.s.box_gamma
        return reward + within * max(self.row(self.context, landing)) + within * least, False


def solved(name: str) -> ModelEngine:
    """An engine whose store holds the values of the solution."""
    model = recurl.zoo.make(name)
    learner = recurl.RecursiveQLearning(model).warm_start(recurl.solve(model))
    assert isinstance(learner.engine, ModelEngine)
    return learner.engine


def test_episodes_of_the_best_policy_earn_the_optimum() -> None:
    returns, _, cut = solved("stack_matters").test(40_000, 1000, 1)
    assert not cut.any()
    # Returns lie in [0, 1]: five standard errors are below 0.0125.
    assert returns.mean() == pytest.approx(43 / 55, abs=0.0125)


def test_episodes_are_as_long_as_the_policy_says() -> None:
    engine = solved("epidemic")
    _, lengths, _ = engine.test(20_000, 100_000, 1)
    learner = recurl.RecursiveQLearning(engine.model).warm_start(recurl.solve(engine.model))
    expected = recurl.evaluate(learner.policy()).steps
    assert lengths.mean() == pytest.approx(expected, abs=5 * lengths.std() / np.sqrt(20_000))


def test_a_store_of_nothing_takes_the_first_action() -> None:
    engine = ModelEngine(recurl.zoo.cloud(), make_settings("paper", {}), False)
    returns, lengths, cut = engine.test(10, 100, 1)
    assert set(returns) == {-8.0}
    assert set(lengths) == {1}
    assert not cut.any()


def test_episodes_stop_at_the_limit() -> None:
    engine = solved("countdown")
    _, lengths, cut = engine.test(200, 5, 1)
    assert lengths.max() == 5
    assert (cut == (lengths == 5)).mean() > 0.9
    assert cut.any()


def test_streams_are_told_apart_and_repeat() -> None:
    engine = solved("stack_matters")
    first, again, other = (engine.test(50, 100, stream)[0] for stream in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


STEPS = 8000


def both(
    model: recurl.RMDP, flat: bool, coding: str = "index", **given: Any
) -> tuple[ModelEngine, EnvEngine]:
    settings = make_settings(
        given.pop("preset", "paper"), {"episode_limit": 100, "seed": 3, **given}
    )
    kernel = ModelEngine(model, settings, flat)
    kernel.advance(STEPS)
    random = new_stream(3)
    loop = EnvEngine(SharedEnv(model, random, coding), settings, flat, random=random)
    loop.advance(STEPS)
    return kernel, loop


def compare(kernel: ModelEngine, loop: EnvEngine, vertex_of: dict[int, int]) -> int:
    """Compares every row that both have; returns how many these are."""
    t, n = kernel.model.tables, loop.store.arrays
    compared = 0
    for row in range(loop.store.n_rows):
        number, context = int(n["row_vertex"][row]), int(n["row_context"][row])
        values = loop.store.exit_values(context)
        vertex = vertex_of[number]
        component = 0 if kernel.flat else int(t.vertex_component[vertex])
        found = kernel.store.find(component, values)
        if found < 0:
            continue
        begin, width = n["row_begin"][row], n["vertices"]["count"][number]
        first = kernel.store.arrays["block"][found] + t.action_start[vertex]
        for name in ("q", "visits"):
            own = kernel.store.arrays[name][first : first + width]
            np.testing.assert_array_equal(own, n[name][begin : begin + width])
        compared += 1
    return compared


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"learning_rate": 0.02, "exploration": recurl.schedules.power(0.5)},
        {"preset": "swift", "inherit": 0},
        {"initial_value": 5.0, "learning_rate": recurl.schedules.exponential(0.5, 1000, 0.1)},
        {"gamma": 0.9, "grain": 32},
    ],
)
@pytest.mark.parametrize("name", ["cloud", "gambler", "stack_matters", "spelunking", "and_or"])
def test_kernel_and_loop_agree_to_the_bit(name: str, given: dict[str, Any], flat: bool) -> None:
    kernel, loop = both(recurl.zoo.make(name), flat, **given)
    assert (kernel.episodes, kernel.cut) == (loop.episodes, loop.cut)
    vertex_of = {number: int(key) for key, number in loop.numbering.vertices.items()}  # type: ignore[call-overload]
    assert compare(kernel, loop, vertex_of) == loop.store.n_rows
    assert kernel.store.visits.sum() == loop.store.visits.sum()


def test_kernel_and_loop_agree_on_a_discount_by_boxes() -> None:
    kernel, loop = both(recurl.zoo.gambler(), False, box_gamma=0.9, preset="swift", inherit=0)
    vertex_of = {number: int(key) for key, number in loop.numbering.vertices.items()}  # type: ignore[call-overload]
    assert compare(kernel, loop, vertex_of) == loop.store.n_rows > 0
    _, plain = both(recurl.zoo.gambler(), False, preset="swift", inherit=0)
    assert (plain.store.q != loop.store.q).any()


def test_contexts_inherit_in_environments_too() -> None:
    """The same rule, up to which of equally near contexts is taken."""
    _, loop = both(recurl.zoo.cloud(), False, preset="swift")
    arrays, rows = loop.store.arrays, loop.store.n_rows
    deep = np.flatnonzero(arrays["row_context"][:rows] > 0)
    assert len(deep) > 50
    assert (loop.store.visits[arrays["row_begin"][deep]] > 0).mean() > 0.9


def test_observations_may_be_arrays() -> None:
    kernel, loop = both(recurl.zoo.cloud(), False, coding="onehot")
    keys = {np.eye(24)[v].tobytes(): v for v in range(24)}
    vertex_of = {number: keys[key] for key, number in loop.numbering.vertices.items()}  # type: ignore[index]
    assert compare(kernel, loop, vertex_of) == loop.store.n_rows
