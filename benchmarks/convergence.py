"""Robbins-Monro steps on 1-exit models: the distance to the exact Q-values, ten seeds.

    python benchmarks/convergence.py [seeds]

A table for docs/results/learning.md: the greatest error over all pairs, relative to the greatest
Q-value.
Steps 3 / (n + 2) per visited pair; every action is tried with the same probability, and episodes
are short, so that rare pairs are met more often; values start below all true ones, as then a state
is right as soon as its best action is.
"""

from __future__ import annotations

import sys

import numpy as np

import recurl
from recurl.learn.engine import ModelEngine
from recurl.model.rmdp import RMDP

MODELS = {
    "1-exit cloud": (recurl.zoo.cloud(exits=1), (62_500, 250_000, 1_000_000, 4_000_000)),
    "spelunking": (
        recurl.zoo.spelunking(0.5, -2, -5),
        (50_000_000, 100_000_000, 200_000_000, 400_000_000),
    ),
}


def exact_q(model: RMDP) -> np.ndarray:
    t = model.tables
    values = recurl.solve(model, epsilon=1e-9).values_lower
    assert values is not None
    return np.add.reduceat(t.prob * (t.reward + values[t.target]), t.transition_start[:-1])


def distance(learner: recurl.RecursiveQLearning, exact: np.ndarray) -> float:
    engine = learner.engine
    assert isinstance(engine, ModelEngine)
    t, arrays = engine.model.tables, engine.store.arrays
    blocks = arrays["block"][arrays["zero"][t.vertex_component[t.action_vertex]]]
    error = np.abs(arrays["q"][blocks + np.arange(t.n_actions)] - exact)
    return float(error.max() / np.abs(exact).max())


def gaps(model: RMDP, exact: np.ndarray, seed: int, marks: tuple[int, ...]) -> list[float]:
    """Distances after a number of steps."""
    learner = recurl.RecursiveQLearning(
        model,
        seed=seed,
        preset="paper",
        learning_rate=recurl.schedules.harmonic(offset=2),
        exploration=1.0,
        initial_value=-20.0,
        episode_limit=50,
    )
    return [distance(learner.learn(mark - learner.steps), exact) for mark in marks]


def main(seeds: int = 10) -> None:
    print("| model | steps | least | median | greatest | below 1 % | fell |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (model, marks) in MODELS.items():
        exact = exact_q(model)
        found = np.array([gaps(model, exact, seed, marks) for seed in range(seeds)])
        for i, mark in enumerate(marks):
            column, before = found[:, i], found[:, max(0, i - 1)]
            print(
                f"| {name} | {mark:,} | {column.min():.2%} | {np.median(column):.2%} | "
                f"{column.max():.2%} | {(column < 0.01).sum()} of {seeds} | "
                f"{(column < before).sum() if i else '-'} |",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
