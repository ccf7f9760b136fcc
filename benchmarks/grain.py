"""The loss by rounding exit values on random multi-exit models, at equal numbers of steps.

    python benchmarks/grain.py [models] [steps]

A table for docs/results/learning.md: how far the learned policy is from the optimum, in percent of
what lies between the optimum and the uniform policy, beside exact contexts.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import recurl

VARIANTS: dict[str, dict[str, Any]] = {
    "exact": {"quantum": 0.0},
    "grain 64": {"grain": 64},
    "grain 32": {"grain": 32},
    "grain 16": {"grain": 16},
    "grain 8": {"grain": 8},
    "grain 4": {"grain": 4},
    "grain 8, quantum 1e-6": {"grain": 8, "quantum": 1e-6},
    "grain 8, quantum 0.01": {"grain": 8, "quantum": 0.01},
}


def random_model(seed: int) -> recurl.RMDP:
    """A small recursive model with two or three exits."""
    random = np.random.default_rng(seed)
    return recurl.zoo.random_model(
        5000 + seed,
        components=2,
        nodes=int(random.integers(4, 8)),
        exits=int(random.integers(2, 4)),
        exit_probability=0.5,
        call_fraction=0.4,
        load=0.7,
    )


def losses(seed: int, steps: int) -> dict[str, tuple[float, int]]:
    """Loss in percent, and contexts, of each variant on a model."""
    model = random_model(seed)
    best = recurl.solve(model, epsilon=1e-3).upper
    scale = best - recurl.evaluate(recurl.Policy.uniform(model)).value
    found = {}
    for name, settings in VARIANTS.items():
        learner = recurl.RecursiveQLearning(model, seed=seed, episode_limit=1000, **settings)
        worth = recurl.evaluate(learner.learn(steps).policy()).value
        found[name] = (100 * (best - worth) / scale, learner.engine.n_contexts)
    return found


def main() -> None:
    models = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    steps = int(float(sys.argv[2])) if len(sys.argv) > 2 else 200_000
    rows = [losses(seed, steps) for seed in range(models)]
    print("| rounding | mean | median | greatest | contexts, median |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in VARIANTS:
        loss, contexts = np.array([row[name] for row in rows]).T
        numbers = f"{loss.mean():.1f} % | {np.median(loss):.1f} % | {loss.max():.0f} %"
        print(f"| {name} | {numbers} | {np.median(contexts):,.0f} |")


if __name__ == "__main__":
    main()
