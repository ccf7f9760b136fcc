"""The loop: its claims hold at all times, it is thrifty, and it can be resumed to the digit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.pac.foreign import Gamble

import recurl
from recurl.learn.pac.bounds import RobustIteration
from recurl.learn.pac.confidence import FAMILIES
from recurl.learn.pac.criteria import TotalReward
from recurl.learn.pac.drift import Drift
from recurl.learn.pac.learner import PACLearner
from recurl.learn.pac.loop import Loop, PACTask
from recurl.learn.pac.model_access import ModelAccess
from recurl.model.rmdp import RMDP

DELTA, REPETITIONS = 0.1, 40  # 200 in benchmarks/pac.py hold
SMALL = {
    "cloud": (recurl.zoo.cloud(exits=1), 0.1),
    "gambler": (recurl.zoo.gambler(p=0.3), 0.5),
    "random": (recurl.zoo.random_model(seed=3, components=2, nodes=4, kind="one_exit"), 0.5),
    "spelunking": (recurl.zoo.spelunking(levels=("ox/or",), discount=0.7, start=(0, 0)), 2.0),
}


def looped(access: ModelAccess, epsilon: float, delta: float, **settings: Any) -> Loop:
    """A finished loop on a 1-exit model."""
    task = PACTask(epsilon, delta, **settings)
    loop = Loop(access, RobustIteration(task), task, TotalReward())
    loop.run()
    return loop


@pytest.mark.parametrize("name", SMALL)
def test_seeded_repetitions_hold_as_often_as_claimed(name: str) -> None:
    """Also that the claims held after every round on the way."""
    model, epsilon = SMALL[name]
    truth = recurl.solve(model, epsilon=1e-9).value
    held = 0
    for seed in range(REPETITIONS):
        rounds: list[bool] = []
        run = looped(
            ModelAccess(model, seed),
            epsilon,
            DELTA,
            callback=lambda low, high, _, rounds=rounds: rounds.append(low <= truth <= high),
        )
        assert run.reached
        assert run.upper - run.lower <= epsilon
        held += all(rounds)
    assert held >= (1 - DELTA) * REPETITIONS


def test_counts_merged_from_four_workers_hold_as_often_as_claimed() -> None:
    """Every worker has a stream of its own and a fixed share of every level."""
    model, truth, held = recurl.zoo.gambler(p=0.1), 1.5, 0
    for seed in range(200):
        rounds: list[bool] = []
        run = looped(
            ModelAccess(model, seed, streams=4),
            0.5,
            DELTA,
            callback=lambda low, high, _, rounds=rounds: rounds.append(low <= truth <= high),
        )
        assert run.reached
        held += all(rounds)
    assert held >= (1 - DELTA) * 200


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_reaches_its_goal(family: str) -> None:
    run = looped(ModelAccess(recurl.zoo.gambler(p=0.25), 1), 0.3, 0.1, intervals=family)
    assert run.reached
    assert run.lower <= 3 <= run.upper


def samples(model: RMDP, family: str) -> float:
    counts = []
    for seed in range(5):
        access = ModelAccess(model, seed)
        looped(access, 0.3, 0.1, intervals=family)
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
    looped(access, 0.05, 0.1)
    much, little = access.observed().totals[:2]
    assert much > 10 * little


def test_no_more_samples_than_allowed_by_about_one_round() -> None:
    access = ModelAccess(recurl.zoo.gambler(p=0.3), 1)
    run = looped(access, 1e-3, 0.1, most=5000)
    assert not run.reached
    assert 5000 <= access.samples <= 5000 * 1.5
    assert math.isfinite(run.gap)


BOUNDS: dict[str, Any] = {"steps": 6, "reward_bound": 1, "support": 2, "starts": 2}
DISCOUNTED: dict[str, Any] = {"gamma": 0.5, "reward_bound": 8, "support": 2, "starts": 1}
RESUMED: dict[str, tuple[Any, float, dict[str, Any]]] = {
    "one exit": (recurl.zoo.gambler(p=0.3), 0.5, {}),
    "two exits": (recurl.zoo.cloud(), 1.0, {}),
    "discounted": (recurl.zoo.cloud(), 0.3, {"gamma": 0.5}),
    "drift": (recurl.zoo.cloud(), 40.0, {"drift": Drift(4, 0.15, 9)}),
    "episodes": (Gamble(), 1.5, {"access": "episodes", **BOUNDS}),
    "generative": (Gamble(), 1.5, {"access": "generative", **BOUNDS}),
    "episodes, two exits": (recurl.ModelEnv(recurl.zoo.cloud()), 2.5, DISCOUNTED),
}


class StoppedError(Exception):
    """A run that is stopped."""


def learned(name: str, file: Path | None, rounds: int | None = None) -> Any:
    """All that is stated; with rounds, the run is killed after as many."""
    source, epsilon, settings = RESUMED[name]
    left = [rounds]

    def count(lower: float, upper: float, work: dict[str, float]) -> None:
        if left[0] is not None:
            left[0] -= 1
            if left[0] < 0:
                raise StoppedError

    found = PACLearner(epsilon, 0.1, seed=5, **settings).learn(
        source, checkpoint=file, callback=count
    )
    return found.statement, found.lower, found.upper, found.loss, found.value


@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_run_ends_with_the_digits_of_an_undisturbed_one(
    name: str, tmp_path: Path
) -> None:
    """Also if it is killed after every single round, and if it is only read again."""
    whole, file = learned(name, None), tmp_path / "counts"
    for _ in range(3):
        try:
            learned(name, file, rounds=1)
        except StoppedError:
            continue
        break
    assert learned(name, file) == whole
    assert learned(name, file) == whole


def test_bounds_are_not_taken_over_to_a_smaller_delta(tmp_path: Path) -> None:
    """An interval that holds with 1/2 says nothing of one that is to hold with 999/1000."""
    model, file = recurl.zoo.gambler(p=0.3), tmp_path / "counts"
    loose = PACLearner(0.5, 0.5, seed=1).learn(model, checkpoint=file)
    strict = PACLearner(0.5, 0.001, seed=1).learn(model, checkpoint=file, most=loose.samples)
    assert strict.samples == loose.samples
    assert strict.lower < loose.lower
    assert strict.upper > loose.upper
