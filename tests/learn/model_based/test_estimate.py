"""Frequencies are estimated from all rows."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from recurl.learn.model_based.counts import END, STEP, OutcomeCounts
from recurl.learn.model_based.estimate import estimate

PAIRS = 40


def breakdowns():
    """Pairs that break down once in a hundred times; one was unlucky, one has not been so yet."""
    counts = OutcomeCounts(spaces.Discrete(PAIRS + 1), spaces.Discrete(1))
    for state in range(PAIRS):
        counts.begin(counts.visit(state, None))
    for pair in range(PAIRS - 2):
        counts.add(pair, STEP, (pair + 1) % PAIRS, -1, 0.0, 198)
        counts.add(pair, END, 0, -1, 0.0, 2)
    counts.add(PAIRS - 2, STEP, 0, -1, 0.0, 9)
    counts.add(PAIRS - 2, END, 0, -1, 0.0, 1)
    counts.add(PAIRS - 1, STEP, 0, -1, 0.0, 10)
    return counts


def test_an_unlucky_pair_is_like_the_others():
    counts = breakdowns()
    made = estimate(counts, 1.0)
    unlucky = counts.outcomes[PAIRS - 2]
    times = [made.weight[o] * counts.count[o] for o in unlucky]
    assert times == pytest.approx([9.9, 0.1], abs=0.05)
    assert made.hope == [0.0] * PAIRS


def test_an_outcome_that_others_have_is_expected():
    counts = breakdowns()
    made = estimate(counts, 1.0)
    like, times = made.more[PAIRS - 1]
    assert counts.kind[like] == END
    assert times == pytest.approx(0.1, abs=0.03)
    assert set(made.more) == {PAIRS - 1}


def test_pairs_keep_some_hope_while_acting():
    counts = breakdowns()
    made = estimate(counts, 1.0, np.random.default_rng(0))
    assert made.hope[0] == pytest.approx(1.0, abs=0.1)


def seldom_tried(visits):
    """A state with an action that paid and one that did not in its only two tries."""
    counts = OutcomeCounts(spaces.Discrete(1), spaces.Discrete(2))
    counts.begin(counts.visit(0, None))
    counts.add(0, END, 0, -1, 1.0, visits)
    counts.add(1, END, 0, -1, 0.0, 2)
    return counts


def test_hope_grows_while_an_action_is_not_tried():
    draws = [estimate(seldom_tried(n), 1.0, np.random.default_rng(0)).hope for n in (10, 10_000)]
    assert draws[0] == pytest.approx([1.0, 1.0], rel=0.01)
    assert draws[1] == pytest.approx([1.0, np.log(10_002 / 40)], rel=0.01)


def test_different_rewards_are_different_outcomes():
    counts = OutcomeCounts(spaces.Discrete(3), spaces.Discrete(1))
    counts.begin(counts.visit(0, None))
    for reward in (10.0, 0.0, 10.0):
        counts.add(0, END, 0, -1, reward)
    assert (counts.count, counts.reward) == ([2, 1], [20.0, 0.0])
    for reward in range(100, 200):
        counts.add(0, END, 0, -1, float(reward))
    assert len(counts.count) == 8
    assert sum(counts.reward) == 20.0 + sum(range(100, 200))
    assert counts.tried == [103]
