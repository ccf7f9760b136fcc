"""What an engine makes of a model, and how it goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recurl
from recurl.learn import kernel
from recurl.learn.engine import LOGGED, ModelEngine, new_run, rule_of, world_of
from recurl.learn.settings import make_settings
from recurl.model.tables import CALLS, EXITS


def engine(model: recurl.RMDP, preset: str = "paper", **given: Any) -> ModelEngine:
    return ModelEngine(model, make_settings(preset, given), False)


def test_outcomes_are_running_sums_that_end_with_one() -> None:
    model = recurl.zoo.spelunking()
    t = model.tables
    world = world_of(t, t.action_start[:-1])
    below, last = world.outcomes["below"], t.transition_start[1:] - 1
    assert (below[last] == 1.0).all()
    for a in range(0, t.n_actions, 97):
        rows = slice(t.transition_start[a], t.transition_start[a + 1])
        np.testing.assert_allclose(below[rows], np.cumsum(t.prob[rows]), atol=1e-12)
    np.testing.assert_array_equal(world.outcomes["landing"], t.landing)
    assert set(world.outcomes["box"][t.move == CALLS]) == set(range(t.n_boxes))
    assert (world.outcomes["box"][t.move == EXITS] == -1).all()


def test_starts_are_drawn_as_the_model_says() -> None:
    builder = recurl.Builder("two").component("A", entries=("a", "b"), exits="out")
    builder.at("a").action("go", reward=1).to("out").at("b").action("go", reward=5).to("out")
    one = engine(builder.build({"A.a": "1/4", "A.b": "3/4"}))
    one.advance(40_000)
    # Four standard errors are 0.035.
    assert one.training_mean() == pytest.approx(4.0, abs=0.035)


def test_settings_reach_the_kernel() -> None:
    rule = rule_of(make_settings("swift", {"initial_value": 2, "episode_limit": 7}), flat=True)
    assert (rule.initial, rule.episode_limit, rule.flat) == (2.0, 7, True)
    assert (rule.replay, rule.inherit, rule.grain, rule.quantum) == (8, 50, 32, 0.001)
    assert rule_of(make_settings("paper", {}), flat=False).episode_limit == -1


def test_a_run_begins_with_nothing() -> None:
    run = new_run(3, 2, 5)
    assert run.place.tolist() == [0] * kernel.PLACES
    assert (run.log.shape, run.vector.shape) == ((5, 4), (2,))
    assert (run.random != new_run(4, 2, 5).random).any()


def test_only_replay_keeps_a_log() -> None:
    assert len(engine(recurl.zoo.cloud()).run.log) == 1
    assert len(engine(recurl.zoo.cloud(), "swift").run.log) == LOGGED


def test_a_restored_engine_stands_where_the_first_one_stood() -> None:
    model = recurl.zoo.cloud()
    one, two = engine(model, "swift"), engine(model, "swift")
    one.advance(3001)
    arrays = {name: array.copy() for name, array in one.arrays().items()}
    two.restore(one.header_fields(), arrays)
    assert (two.steps, two.episodes, two.n_contexts) == (3001, one.episodes, one.n_contexts)
    for other in (one, two):
        other.advance(2000)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, two.arrays()[name], name)


def test_rows_that_were_never_met_hold_the_initial_value() -> None:
    one = engine(recurl.zoo.cloud(), initial_value=-3.0)
    entry = one.model.find("S.u3")
    assert one.q_values(entry, -1).tolist() == [-3.0, -3.0]
    assert one.legal(entry, None) == [0, 1]
    assert one.greedy(0, one.model.find("T.u1"), None) == 0


def test_greedy_calls_enter_the_contexts_that_learning_made() -> None:
    one = engine(recurl.zoo.cloud(), "swift", episode_limit=200)
    one.advance(20_000)
    ports = [one.model.find("S.b4.u6"), one.model.find("S.b4.u7")]
    home = int(one.table.contexts.zero[1])
    entered = one.enter(home, ports, one.model.find("H.u5"))
    hopes = np.array([one.q_values(port, home).max() for port in ports])
    expected = one.table.find(2, hopes, one.rule.quantum, one.rule.grain)
    # Values move on after the last call: then the nearest context that was met is taken.
    assert entered == expected or expected == -1
    assert one.table.component[entered] == 2
