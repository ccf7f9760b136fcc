"""Greedy runs: what they earn and what they meet, for a table that is known."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.learn.engine import ModelEngine
from recurl.learn.settings import make_settings


def solved(name: str) -> ModelEngine:
    """An engine whose table holds the values of the solution."""
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


def test_a_table_of_nothing_takes_the_first_action() -> None:
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
