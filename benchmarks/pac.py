"""Learning with a guarantee: samples beside the plan, families of intervals, and a large model.

    python benchmarks/pac.py [vertices]

First the robust bounds of one large random model from the counts of a number of draws of each pair,
in seconds and memory. Then the samples that an interval of a given width takes, adaptively, by
family of confidence sets, and what a plan made beforehand would take: means of a few seeds, delta
0.05. Compile time apart.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import recurl
from recurl.learn.pac.access import ModelAccess
from recurl.learn.pac.adaptive import sets_of
from recurl.learn.pac.intervals import FAMILIES, level_size
from recurl.learn.pac.robust import RobustBounds

SEEDS, DELTA, LEVEL = 5, 0.05, 20
GIGABYTE = 2**20  # in the kilobytes that the system counts memory in
SMALL = {
    "cloud, 0.1": (recurl.zoo.cloud(exits=1), 0.1),
    "gambler p=0.3, 0.3": (recurl.zoo.gambler(p=0.3), 0.3),
    "random model, 0.3": (
        recurl.zoo.random_model(seed=3, components=2, nodes=4, kind="one_exit"),
        0.3,
    ),
    "random model of 6 outcomes, 0.3": (
        recurl.zoo.random_model(seed=3, components=2, nodes=8, kind="one_exit", successors=5),
        0.3,
    ),
}


def compare(name: str, model: recurl.RMDP, epsilon: float) -> None:
    """Mean samples of each family, and the plan."""
    print(f"{name:32}", end="", flush=True)
    for family in FAMILIES:
        found = [
            recurl.PACLearner(epsilon, DELTA, intervals=family, seed=seed).learn(model)
            for seed in range(SEEDS)
        ]
        assert all(one.reached for one in found)
        print(f"{np.mean([one.samples for one in found]):16,.0f}", end="", flush=True)
    print(f"{found[0].planned:22,}")


def bounds_of(model: recurl.RMDP) -> tuple[float, RobustBounds]:
    """Seconds from counts to bounds."""
    access = ModelAccess(model)
    random = access.support > 1
    access.draw(np.where(random, level_size(LEVEL), 0))
    access.level[random] = LEVEL
    began = time.perf_counter()
    bounds = RobustBounds(access.model)
    bounds.tighten(sets_of(access.view(), "clopper-pearson", DELTA), tolerance=1e-6)
    return time.perf_counter() - began, bounds


def large(vertices: int) -> None:
    """Robust bounds of a random model of so many vertices."""
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


def main() -> None:
    large(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
    print(f"{'samples to a width of':32}", *(f"{family:>15}" for family in FAMILIES), end="")
    print(f"{'plan':>22}")
    for name, (model, epsilon) in SMALL.items():
        compare(name, model, epsilon)


if __name__ == "__main__":
    main()
