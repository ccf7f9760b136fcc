"""Tests of the greedy policy against its exact value."""

from __future__ import annotations

import numpy as np

import recurl
from recurl.learn.deep.engine import DeepModelEngine
from recurl.learn.deep.extract import greedy_policy
from recurl.learn.deep.settings import DeepSettings


def test_many_episodes_have_the_mean_and_length_of_the_policy() -> None:
    settings = DeepSettings(hidden=(8,), batch=8, warm_up=20, evaluate_every=0)
    engine = DeepModelEngine(recurl.zoo.cloud(), settings, flat=False)
    engine.advance(200)
    exact = recurl.evaluate(greedy_policy(engine))
    returns, lengths, cut = engine.test(20_000, 10_000, 3)
    error = returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - exact.value) < 4 * error + 1e-6
    assert abs(lengths.mean() - exact.steps) < 4 * lengths.std() / np.sqrt(len(lengths)) + 1e-6
    assert not cut.any()


def test_episodes_are_cut_at_the_limit_and_by_a_full_stack() -> None:
    model = recurl.zoo.countdown(p=0.01)
    settings = DeepSettings(hidden=(4,), batch=4, evaluate_every=0, stack_limit=5)
    engine = DeepModelEngine(model, settings, flat=False)
    _, lengths, cut = engine.test(500, 1000, 0)
    # The sixth call does not fit, and 0.99^6 of the episodes get so far.
    assert abs(cut.mean() - 0.99**6) < 0.03
    assert set(lengths[cut].tolist()) == {6}
    _, lengths, cut = engine.test(500, 3, 0)
    assert set(lengths[cut].tolist()) == {3}
    assert abs(cut.mean() - 0.99**3) < 0.03
