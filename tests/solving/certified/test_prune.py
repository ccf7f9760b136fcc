"""Bounds say the same of all exit values after pruning, and stay sound."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.certified import policy_kernel
from recurl.solving.certified.first import first_bounds
from recurl.solving.certified.prune import better_pieces, needed_points, prune
from recurl.solving.certified.solver import problem_of
from recurl.solving.certified.trials import Trials
from recurl.solving.question import Question


@pytest.mark.parametrize("seed", range(10))
def test_points_that_are_needed_bound_as_all_of_them_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.random((40, 3)).round(1)
    # A value for the exits that no other point beats by much, so that some are needed.
    above = (vectors @ rng.random((3, 2))) + 0.2 * rng.random((40, 2))
    kept = needed_points(vectors, above)
    assert 0 < len(kept) < 40
    for v in rng.random((50, 3)):
        bounds = above + (v - vectors).max(axis=1)[:, None]
        assert bounds[kept].min(axis=0) == pytest.approx(bounds.min(axis=0), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_each_piece_has_a_better_one_that_is_needed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards, reach = rng.integers(0, 3, (30, 2)), rng.integers(0, 2, (30, 2, 2)) / 2
    better = better_pieces(rewards.astype(float), reach)
    kept = np.unique(better)
    assert 0 < len(kept) < 30
    assert (better[kept] == kept).all()
    assert (rewards[better] >= rewards).all()
    assert (reach[better] >= reach).all()
    for i in kept:  # none of them is dominated by another one
        others = kept[kept != i]
        worse = (rewards[others] < rewards[i]).any(axis=1)
        assert (worse | (reach[others] < reach[i]).any(axis=(1, 2))).all()


def trials_of(model: recurl.RMDP, count: int) -> Trials:
    problem = problem_of(model, Question())
    trials = Trials(problem, *first_bounds(problem), tolerance=1e-5)
    trials.run(count)
    return trials


@pytest.mark.parametrize(
    "model",
    [recurl.zoo.stack_matters(), recurl.zoo.random_model(components=4, nodes=10, exits=5)],
    ids=["stack_matters", "random"],
)
def test_the_bounds_of_trials_stay(model: recurl.RMDP) -> None:
    trials = trials_of(model, 60)
    before, points = trials.bounds(), int(trials.store.points.sum())
    prune(model.tables, trials.store)
    assert trials.bounds() == pytest.approx(before, abs=1e-12)
    assert int(trials.store.points.sum()) < points
    problem, lower, upper = trials.problem, trials.lower(), trials.upper()
    excess = policy_kernel.lower_excess(
        problem.tables, lower.points, problem.gain, lower.action, lower.callee, lower.reach,
        lower.rewards, lower.entry_reach, lower.entry_rewards,
    )  # fmt: skip
    assert max(excess) < 0.0
    assert upper.excess < 1e-9
    low, high = trials.bounds()
    optimum = recurl.solve(model).value
    assert low <= optimum + 1e-6
    assert optimum <= high + 1e-6
    trials.run(20)
    assert trials.bounds()[0] >= low - 1e-12
    assert trials.bounds()[1] <= high + 1e-12
