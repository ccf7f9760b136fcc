"""The anytime version: its claims hold, and it is thrifty."""

from __future__ import annotations

import math

import numpy as np
import pytest

import recurl
from recurl.learn.pac.access import ModelAccess
from recurl.learn.pac.adaptive import Adaptive
from recurl.learn.pac.intervals import FAMILIES
from recurl.model.rmdp import RMDP

DELTA, REPETITIONS = 0.1, 200
SMALL = {
    "cloud": (recurl.zoo.cloud(exits=1), 0.1),
    "gambler": (recurl.zoo.gambler(p=0.3), 0.5),
    "random": (recurl.zoo.random_model(seed=3, components=2, nodes=4, kind="one_exit"), 0.5),
    "spelunking": (recurl.zoo.spelunking(levels=("ox/or",), discount=0.7, start=(0, 0)), 2.0),
}


@pytest.mark.parametrize("name", SMALL)
def test_200_seeded_repetitions_hold_as_often_as_claimed(name: str) -> None:
    """Also that the claims held at every look on the way: they are anytime."""
    model, epsilon = SMALL[name]
    truth = recurl.solve(model, epsilon=1e-9).value
    held = 0
    for seed in range(REPETITIONS):
        looks: list[bool] = []
        run = Adaptive(ModelAccess(model, seed), epsilon, DELTA)
        run.run(callback=lambda low, high, _, looks=looks: looks.append(low <= truth <= high))  # type: ignore[misc]
        assert run.reached
        assert run.bounds.upper - run.bounds.lower <= epsilon
        held += all(looks)
    assert held >= (1 - DELTA) * REPETITIONS


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_reaches_its_goal(family: str) -> None:
    run = Adaptive(ModelAccess(recurl.zoo.gambler(p=0.25), 1), 0.3, 0.1, family=family)
    run.run()
    assert run.reached
    assert run.bounds.lower <= 3 <= run.bounds.upper


def samples(model: RMDP, family: str) -> float:
    counts = []
    for seed in range(5):
        access = ModelAccess(model, seed)
        Adaptive(access, 0.3, 0.1, family=family).run()
        counts.append(access.samples)
    return float(np.mean(counts))


def test_clopper_pearson_needs_the_fewest_samples() -> None:
    for model in (recurl.zoo.gambler(p=0.3), SMALL["random"][0]):
        own = samples(model, "clopper-pearson")
        assert all(own < samples(model, other) for other in ("bernstein", "weissman"))


def test_samples_go_where_the_gap_comes_from() -> None:
    """Of two gambles, one hardly matters: it pays a thousandth."""
    model = (
        recurl.Builder("two")
        .component("A", entries="in", exits="out")
        .at("in").action("go").to("out", 0.5, reward=1).to("x", 0.5, reward=-1)
        .at("x").action("toss").to("out", 0.5, reward=0.001).to("y", 0.5, reward=0)
        .at("y").action("up").to("out")
        .build()
    )  # fmt: skip
    access = ModelAccess(model, 1)
    Adaptive(access, 0.05, 0.1).run()
    much, little = access.pair_samples()[:2]
    assert much > 10 * little


def test_no_more_samples_than_allowed_by_about_one_round() -> None:
    access = ModelAccess(recurl.zoo.gambler(p=0.3), 1)
    run = Adaptive(access, 1e-3, 0.1)
    run.run(most=5000)
    assert not run.reached
    assert 5000 <= access.samples <= 5000 * 1.5
    assert math.isfinite(run.gap)
