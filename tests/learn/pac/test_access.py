"""Draws of pairs."""

from __future__ import annotations

import numpy as np

import recurl
from recurl.learn.pac.access import ModelAccess, with_probabilities
from recurl.learn.pac.intervals import level_size


def test_draws_are_distributed_as_the_model_says() -> None:
    model = recurl.zoo.random_model(seed=1, components=2, nodes=3, kind="one_exit", successors=3)
    access = ModelAccess(model, seed=1)
    access.draw(np.full(model.tables.n_actions, 10**9))
    sizes = np.diff(model.tables.transition_start)
    assert (access.pair_samples() == 10**9).all()
    assert sizes.max() >= 3
    np.testing.assert_allclose(access.counts / 1e9, model.tables.prob, atol=5e-4)


def test_what_the_learner_sees_does_not_tell_the_probabilities() -> None:
    one, other = (ModelAccess(recurl.zoo.gambler(p=p)) for p in (0.1, 0.4))
    np.testing.assert_array_equal(one.model.tables.prob, other.model.tables.prob)
    assert one.model == with_probabilities(one.truth, other.model.tables.prob)


def test_levels_are_reached_exactly_and_repeatably() -> None:
    accesses = [ModelAccess(recurl.zoo.cloud(exits=1), seed=3) for _ in range(2)]
    for access in accesses:
        access.raise_levels(np.array([1, 2]))
        access.raise_levels(np.array([2]))
    np.testing.assert_array_equal(accesses[0].counts, accesses[1].counts)
    assert accesses[0].pair_samples()[:4].tolist() == [0, level_size(1), level_size(2), 0]
    assert accesses[0].samples == level_size(1) + level_size(2)


def test_shares_of_delta_add_up_to_one() -> None:
    access = ModelAccess(recurl.zoo.cloud(exits=1))
    view = access.view()
    random = access.support > 1
    assert view.share[random].sum() == 1
    levels = sum(view._replace(level=np.full_like(access.level, j)).failure for j in range(1, 500))
    assert (levels <= view.share).all()
