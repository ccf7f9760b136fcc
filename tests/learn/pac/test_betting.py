"""Bets: what they state holds at all times, and they save samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recurl
from recurl.learn.pac.betting import PairBets, Side
from recurl.learn.pac.confidence import mixture
from recurl.learn.pac.learner import PACLearner

GAMBLER = recurl.zoo.gambler(p=0.3)


def test_the_tangent_never_states_more_than_the_capital() -> None:
    """p . E is at least minus the logarithm of the capital, for every p, not only the true one."""
    side, random = Side(GAMBLER, 1.0), np.random.default_rng(1)
    grid = np.linspace(0.01, 0.99, 50)
    capital, seen = np.zeros(50), np.zeros(4)
    for _ in range(10):
        side.tilt[0] = random.uniform(-0.5, 1.0)
        side.worth[:2] = random.normal(size=2)
        hits = random.binomial(20, 0.3)
        drawn = np.array([hits, 20 - hits, 0, 0])
        seen += drawn
        side.settle(drawn, np.array([*seen[:2] / seen[:2].sum(), 1.0, 1.0]))
        gain = np.exp(-side.tilt[0] * side.worth[:2])
        capital += drawn[:2] @ np.log(gain) - 20 * np.log(grid * gain[0] + (1 - grid) * gain[1])
    stated = grid * side.gained[0] + (1 - grid) * side.gained[1]
    assert (stated >= -capital).all()
    assert np.min(stated + capital) < 0.5


def test_the_capital_rarely_exceeds_its_bound_at_any_time() -> None:
    """Tilts depend on the past, and the worst time counts."""
    alpha, over = 0.1, 0
    for seed in range(300):
        side, random = Side(GAMBLER, 1.0), np.random.default_rng(seed)
        side.worth[:2] = 1.0, 0.0
        seen, worst = np.zeros(2), 0.0
        for _ in range(30):
            mean = (seen[0] + 1) / (seen.sum() + 2)
            side.tilt[0] = 0.3 if mean < 0.3 else 0.1
            hits = random.binomial(10, 0.3)
            seen += hits, 10 - hits
            side.settle(np.array([hits, 10 - hits, 0, 0]), np.array([0.3, 0.7, 1.0, 1.0]))
            worst = max(worst, -float(side.gained[:2] @ [0.3, 0.7]))
        over += worst > np.log(1 / alpha)
    assert over <= alpha * 300


@pytest.mark.parametrize("p", [0.02, 0.4])
def test_mixtures_hold_at_all_times(p: float) -> None:
    random, runs, n = np.random.default_rng(1), 500, np.arange(1, 301)
    counts = (random.random((runs, 300)) < p).cumsum(axis=1)
    low, high = mixture(counts.ravel(), np.tile(n, runs), np.full(runs * 300, 0.1))
    out = ((p < low) | (p > high)).reshape(runs, 300).any(axis=1)
    assert out.mean() <= 0.1


def test_bets_take_half_the_samples_of_levels() -> None:
    def samples(family: str) -> float:
        learners = (PACLearner(0.3, intervals=family, seed=seed) for seed in range(3))
        return float(np.mean([learner.learn(GAMBLER).samples for learner in learners]))

    assert samples("martingale") <= 0.5 * samples("clopper-pearson")


def test_bets_are_the_default_where_they_apply() -> None:
    found = PACLearner(0.5, seed=1).learn(GAMBLER)
    assert "martingale" in found.numbers["Confidence sets"]
    assert found.lower <= 4 <= found.upper
    assert recurl.evaluate(found.policy).value >= found.upper - found.loss
    other = PACLearner(2, 0.1, gamma=0.5).learn(recurl.zoo.cloud())
    assert "clopper-pearson" in other.numbers["Confidence sets"]


def test_pairs_with_one_successor_cost_nothing_where_a_model_says_so() -> None:
    found = PACLearner(0.5, seed=1).learn(GAMBLER)
    assert found.samples == found.numbers["Most samples of a pair"]


def test_a_resumed_run_ends_with_the_same_digits(tmp_path: Path) -> None:
    whole = PACLearner(1.0, seed=3).learn(GAMBLER)
    PACLearner(1.0, seed=3).learn(GAMBLER, most=500, checkpoint=tmp_path / "counts")
    rest = PACLearner(1.0, seed=3).learn(GAMBLER, checkpoint=tmp_path / "counts")
    assert (rest.lower, rest.upper, rest.samples) == (whole.lower, whole.upper, whole.samples)


def test_a_state_of_another_model_is_refused() -> None:
    other = PairBets(recurl.zoo.cloud(exits=1), 0.1, 0.1).state()
    with pytest.raises(ValueError, match="another size"):
        PairBets(GAMBLER, 0.1, 0.1).restore(other)
