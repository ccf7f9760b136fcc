"""The update rule, case by case, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurl.learn import rule_kernel as rule
from recurl.learn import store_kernel as k
from recurl.learn.env_engine import env_store
from recurl.learn.schedules import constant, exponential, harmonic, linear, power
from recurl.learn.settings import make_settings
from recurl.learn.store import ContextStore
from recurl.simulation.jit import compiled
from recurl.simulation.random import new_stream


@compiled
def _choose(h: np.ndarray, row: int, count: int) -> int:
    return rule.choose(h, row, count, 0)


@compiled
def _normalise(h: np.ndarray, kind: int) -> float:
    return rule.normalise(h, kind)


@compiled
def _learn_from(h: np.ndarray, box: int, landing: int, reward: float, taken: bool = True) -> int:
    return rule.learn_from(h, 0, 0, box, landing, reward, 7, taken)


def store(**settings: Any) -> ContextStore:
    """A store with six vertices of two actions each, all with a row in the first context."""
    one = env_store(make_settings("paper", settings), flat=False, random=new_stream(3))
    one.arrays["vertices"]["count"][:6] = 2
    one.arrays["boxes"][0], one.arrays["ports"][:2] = (0, 2), (4, 5)
    one.fill(
        np.array([0], np.int32), np.zeros(8), np.zeros(12), np.zeros(12, np.int64),
        np.arange(6, dtype=np.int32), np.zeros(6, np.int32),
    )  # fmt: skip
    return one


def normalised(given: list[float], **settings: Any) -> tuple[float, np.ndarray]:
    one = env_store(make_settings("paper", settings), flat=False)
    one.arrays["vector"][: len(given)] = given
    least = float(_normalise(one.header, len(given)))
    return least, one.arrays["vector"][: len(given)]


def learned(box: int, landing: int, reward: float, **settings: Any) -> tuple[float, ContextStore]:
    """Q of the first pair after a step, where the exits of the box are worth 3 and 10."""
    one = store(learning_rate=1.0, quantum=0.5, **settings)
    one.arrays["q"][[4, 8, 10]] = 5.0, 3.0, 10.0
    assert _learn_from(one.header, box, landing, reward) >= 0
    return float(one.q[0]), one


def test_the_three_targets() -> None:
    assert learned(rule.STEPPED, 2, -1.0)[0] == 4.0
    assert learned(rule.LEFT, 0, -1.0)[0] == -1.0
    value, one = learned(0, 1, -1.0)
    assert one.exit_values(1).tolist() == [0.0, 7.0]
    assert value == -1 + 0 + 3  # nothing is known inside, and the worst exit is worth 3


def test_the_targets_with_a_discount() -> None:
    assert learned(rule.STEPPED, 2, -1.0, gamma=0.5)[0] == -1 + 0.5 * 5
    value, one = learned(0, 1, -1.0, gamma=0.5, initial_value=2.0)
    assert one.exit_values(1).tolist() == [3.0, 10.0]
    assert value == -1 + 0.5 * 2


def test_values_move_towards_the_target_by_the_step_size() -> None:
    one = store(learning_rate=harmonic())
    one.arrays["q"][0], one.arrays["visits"][0] = 10.0, 3
    _learn_from(one.header, rule.LEFT, 0, 20.0)
    assert (one.q[0], one.visits[0]) == (12.5, 4)  # the fourth visit: a quarter of the way


def test_values_that_are_not_finite_stop_the_run() -> None:
    one = store()
    one.arrays["q"][8] = np.inf
    assert _learn_from(one.header, 0, 1, -1.0) == rule.DIVERGED
    assert (one.visits[0], one.n_contexts) == (0, 1)


def test_replay_repeats_steps_of_the_log_with_values_of_today() -> None:
    one = store(learning_rate=0.5, replay=3)
    one.arrays["q"][4] = 8.0
    _learn_from(one.header, rule.STEPPED, 2, 0.0)
    assert one.arrays["place"][k.LOGGED] == 1
    assert (one.visits[0], one.q[0]) == (4, 8 * (1 - 0.5**4))


def test_an_empty_log_repeats_nothing() -> None:
    one = store(replay=3)
    one.arrays["boxes"][1], one.arrays["ports"][2:4] = (2, 2), (2, 3)
    one.arrays["q"][4] = 3.0
    _learn_from(one.header, 1, 1, 1.0, False)  # a call into a context that was never met
    assert one.arrays["place"][k.LOGGED] == 0
    assert not one.visits.any()


def test_steps_of_the_log_are_repeated_beside_one_that_teaches_nothing() -> None:
    one = store(replay=3)
    one.arrays["q"][8] = 3.0
    _learn_from(one.header, rule.LEFT, 0, 1.0)
    before = one.arrays["random"].copy()
    _learn_from(one.header, 0, 1, 1.0, False)
    assert one.visits.tolist() == [4 + 3, *[0] * 11]
    assert (one.arrays["random"] != before).any()


def test_schedules_by_their_formulas() -> None:
    assert constant(0.3)(10, 10) == 0.3
    assert linear(1.0, 0.5, 100)(50, 1) == 0.75
    assert linear(1.0, 0.5, 100)(500, 1) == 0.5
    assert exponential(1.0, 10, 0.2)(10, 1) == pytest.approx(0.6)
    assert power(0.5, first=0.8)(0, 16) == pytest.approx(0.2)
    assert power(0.5, last=0.4)(0, 16) == 0.4


def choices(values: list[float], times: int, **settings: Any) -> np.ndarray:
    one = store(**settings)
    one.arrays["q"][: len(values)] = values
    chosen = [int(_choose(one.header, 0, len(values))) for _ in range(times)]
    return np.bincount(chosen, minlength=len(values)) / times


def test_ties_are_broken_at_random() -> None:
    share = choices([1.0, 3.0, 3.0, 2.0, 3.0], 6000, exploration=0.0)
    assert share == pytest.approx([0, 1 / 3, 1 / 3, 0, 1 / 3], abs=0.025)


def test_greedy_runs_take_the_first_of_equal_actions() -> None:
    one = store()
    one.arrays["q"][:2] = 3.0
    assert rule.greedy_action(one.header, 0, 0) == 0
    one.arrays["q"][1] = 4.0
    assert rule.greedy_action(one.header, 0, 0) == 1


def test_one_action_needs_no_random_number() -> None:
    one = store(exploration=1.0)
    before = one.arrays["random"].copy()
    assert _choose(one.header, 0, 1) == 0
    np.testing.assert_array_equal(one.arrays["random"], before)


def test_exploring_is_as_frequent_as_asked() -> None:
    share = choices([1.0, 0.0, 0.0, 0.0], 20_000, exploration=0.4)
    # 60 % greedy and a quarter of the rest; four standard deviations are 0.013.
    assert share == pytest.approx([0.7, 0.1, 0.1, 0.1], abs=0.013)


def test_exploration_counts_the_visits_of_the_state() -> None:
    one = store(exploration=power(0.5))
    one.arrays["q"][0], one.arrays["visits"][:3] = 1.0, (1, 2, 0)
    chosen = [int(_choose(one.header, 0, 3)) for _ in range(20_000)]
    # n = 1 + 2 + 0 + 1: half of the time any action.
    assert np.mean(np.array(chosen) != 0) == pytest.approx(0.5 * 2 / 3, abs=0.014)


VECTORS = st.lists(st.floats(-1000, 1000), min_size=2, max_size=6)


@given(VECTORS, st.sampled_from([0.001, 0.5, 3.0]))
def test_exit_values_are_relative_to_the_least_and_rounded(given: list[float], q: float) -> None:
    least, vector = normalised(given, quantum=q)
    assert least == min(given)
    assert vector.min() == 0.0
    assert np.abs(vector - (np.array(given) - least)).max() <= q / 2 + 1e-9
    assert np.abs(vector / q - np.rint(vector / q)).max() < 1e-6


@given(VECTORS, st.integers(1, 40))
def test_a_grain_bounds_the_steps_and_the_relative_error(given: list[float], grain: int) -> None:
    _, vector = normalised(given, quantum=0.001, grain=grain)
    spread = max(given) - min(given)
    step = 0.001
    while grain * step < spread:
        step *= 2
    assert np.rint(vector / step).max() <= grain
    assert np.abs(vector - (np.array(given) - min(given))).max() <= step / 2 + 1e-9
    assert step <= max(0.001, 2 * spread / grain)


@given(VECTORS, st.integers(1, 40))
def test_with_a_discount_exit_values_are_rounded_where_they_are(
    given: list[float], grain: int
) -> None:
    least, vector = normalised(given, quantum=0.001, grain=grain, gamma=0.9)
    spread, size = max(given) - min(given), max(map(abs, given))
    step, level = max(0.001, 2 * spread / grain), max(0.001, 2 * size / 64)
    assert least == 0.0
    assert np.abs(vector - np.array(given)).max() <= (step + level) / 2 + 1e-9
    differences = np.array(given) - min(given)
    assert np.abs(vector - vector.min() - differences).max() <= step / 2 + 1e-9
    assert not np.signbit(vector[vector == 0]).any()


def test_without_a_quantum_nothing_is_rounded() -> None:
    least, vector = normalised([0.1, 0.3, 1.7], quantum=0.0, grain=32)
    assert least == 0.1
    assert vector.tolist() == [0.0, 0.3 - 0.1, 1.7 - 0.1]


def test_one_exit_is_worth_nothing_relative_to_itself() -> None:
    least, vector = normalised([-7.5])
    assert (least, vector.tolist()) == (-7.5, [0.0])


def test_exit_values_that_are_not_finite_are_reported() -> None:
    assert np.isnan(normalised([0.0, np.inf], grain=32)[0])
    assert np.isnan(normalised([0.0, np.nan])[0])
