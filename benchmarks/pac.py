"""Learning with a guarantee: what it claims, what it costs, and a large model.

    python benchmarks/pac.py [large | hold | samples] [vertices]

Three parts, all of them if none is named; compile time apart.

- ``large``: the robust bounds of one large random model from the counts of a number of draws of
  each pair, in seconds and memory.
- ``hold``: 200 seeded repetitions on small models, delta 0.1: how often the optimum lay in the
  interval after every round, and the samples it took beside those of a plan.
- ``samples``: the samples that an interval of a given width takes, adaptively, by family of
  confidence sets, and what a plan made beforehand would take: means of a few seeds, delta 0.05.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np

import recurl
from recurl.learn.pac.confidence import FAMILIES, level_size, sets_of
from recurl.learn.pac.model_access import ModelAccess
from recurl.learn.pac.robust import RobustBounds

SEEDS, DELTA, LEVEL = 5, 0.05, 20
REPETITIONS, OFTEN = 200, 0.1
GIGABYTE = 2**20  # in the kilobytes that the system counts memory in
RANDOM = recurl.zoo.random_model(seed=3, components=2, nodes=4, kind="one_exit")
MANY = recurl.zoo.random_model(seed=3, components=2, nodes=8, kind="one_exit", successors=5)
MAP = recurl.zoo.spelunking(levels=("ox/or",), discount=0.7, start=(0, 0))
SEEN: dict[str, Any] = {"steps": 6, "reward_bound": 1, "support": 2, "starts": 1}

SMALL: dict[str, tuple[recurl.RMDP, float, dict[str, Any]]] = {
    "cloud, 1 exit, 0.1": (recurl.zoo.cloud(exits=1), 0.1, {}),
    "gambler p=0.3, 0.3": (recurl.zoo.gambler(p=0.3), 0.3, {}),
    "random model, 0.3": (RANDOM, 0.3, {}),
    "random model, 0.1": (RANDOM, 0.1, {}),
    "random model of 6 outcomes, 0.3": (MANY, 0.3, {}),
    "cloud, 2 exits, 0.1": (recurl.zoo.cloud(), 0.1, {}),
    "cloud, 2 exits, discounted, 0.05": (recurl.zoo.cloud(), 0.05, {"gamma": 0.9}),
}
REPEATED: dict[str, tuple[recurl.RMDP, float, dict[str, Any]]] = {
    "cloud, 1 exit, 0.1": (recurl.zoo.cloud(exits=1), 0.1, {}),
    "spelunking on a 2 x 2 map, 2": (MAP, 2.0, {}),
    "gambler p=0.3, 0.5": (recurl.zoo.gambler(p=0.3), 0.5, {}),
    "random model, 0.5": (RANDOM, 0.5, {}),
    "random model of 6 outcomes, 0.5": (MANY, 0.5, {}),
    "cloud, 2 exits, 0.5": (recurl.zoo.cloud(), 0.5, {}),
    "cloud, 2 exits, discounted, 0.2": (recurl.zoo.cloud(), 0.2, {"gamma": 0.9}),
    "gambler p=0.25, any state, 1.5": (
        recurl.zoo.gambler(p=0.25), 1.5, {**SEEN, "access": "generative"},
    ),
    "gambler p=0.25, episodes, 1.5": (
        recurl.zoo.gambler(p=0.25), 1.5, {**SEEN, "access": "episodes"},
    ),
}  # fmt: skip


def compare(name: str, model: recurl.RMDP, epsilon: float, options: dict[str, Any]) -> None:
    """Mean samples of each family, and the plan."""
    print(f"{name:34}", end="", flush=True)
    for family in FAMILIES:
        found = [
            recurl.PACLearner(epsilon, DELTA, intervals=family, seed=seed, **options).learn(model)
            for seed in range(SEEDS)
        ]
        assert all(one.reached for one in found)
        print(f"{np.mean([one.samples for one in found]):16,.0f}", end="", flush=True)
    plan = found[0].planned
    print(f"{'none' if plan is None else format(plan, ','):>22}")


def repeat(name: str, model: recurl.RMDP, epsilon: float, options: dict[str, Any]) -> None:
    """How often the claim held after every round of a run."""
    gamma = options.get("gamma")
    asked = model if gamma is None else recurl.discount_steps(model, gamma)
    truth = recurl.solve(asked, epsilon=1e-7)
    held, samples = 0, []
    for seed in range(REPETITIONS):
        rounds: list[bool] = []

        def check(lower: float, upper: float, work: Any, rounds: list[bool] = rounds) -> None:
            rounds.append(lower <= truth.upper and truth.lower <= upper)

        source = recurl.ModelEnv(model) if "access" in options else model
        learner = recurl.PACLearner(epsilon, OFTEN, seed=seed, **options)
        found = learner.learn(source, callback=check)
        assert found.reached
        held += all(rounds)
        samples.append(found.samples)
    mean, plan = np.mean(samples), found.planned
    part = "" if plan is None else f"{plan:>16,}{mean / plan:>12.2g}"
    print(f"{name:34}{held / REPETITIONS:>10.3f}{mean:>14,.0f}{part}", flush=True)


def bounds_of(model: recurl.RMDP) -> tuple[float, RobustBounds]:
    """Seconds from counts to bounds."""
    access = ModelAccess(model)
    random = access.support > 1
    access.draw(np.where(random, level_size(LEVEL), 0))
    access.level[random] = LEVEL
    began = time.perf_counter()
    bounds = RobustBounds(access.model)
    bounds.tighten(sets_of(access.observed(), "clopper-pearson", DELTA), tolerance=1e-6)
    return time.perf_counter() - began, bounds


def large(vertices: int) -> None:
    """Robust bounds of a random model with a number of vertices."""
    bounds_of(recurl.zoo.random_model(components=2, nodes=20, kind="one_exit"))  # compiles
    model = recurl.zoo.random_model(components=vertices // 98, nodes=70, kind="one_exit")
    seconds, bounds = bounds_of(model)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIGABYTE
    value = recurl.solve(model).value
    assert bounds.lower <= value <= bounds.upper
    print(
        f"{model.tables.n_vertices:,} vertices, {model.tables.n_transitions:,} transitions, "
        f"{level_size(LEVEL):,} draws of each pair: [{bounds.lower:.6f}, {bounds.upper:.6f}] "
        f"holds {value:.6f}; {seconds:.1f} s, peak {memory:.1f} GB"
    )


def hold() -> None:
    """All repetitions."""
    print(f"{REPETITIONS} repetitions, delta {OFTEN}", end="")
    print(f"{'held':>17}{'samples':>14}{'plan':>16}{'part of it':>12}")
    for name, (model, epsilon, options) in REPEATED.items():
        repeat(name, model, epsilon, options)


def samples() -> None:
    """All families."""
    print(f"{'samples to a width of':34}", *(f"{family:>15}" for family in FAMILIES), end="")
    print(f"{'plan':>22}")
    for name, (model, epsilon, options) in SMALL.items():
        compare(name, model, epsilon, options)


def main() -> None:
    named = [word for word in sys.argv[1:] if not word.isdigit()]
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    if not named or "large" in named:
        large(numbers[0] if numbers else 100_000)
    if not named or "hold" in named:
        hold()
    if not named or "samples" in named:
        samples()


if __name__ == "__main__":
    main()
