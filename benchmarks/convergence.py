"""Robbins-Monro steps in the paper's cave: the distance to the exact Q-values, ten seeds.

    python benchmarks/convergence.py [seeds] [steps]

The greatest error over all reachable pairs, relative to the greatest Q-value. Pairs that are met
once in 300,000 steps decide it, so that it takes many steps.
"""

from __future__ import annotations

import sys

import numpy as np

import recurl
from recurl.learn.engine import ModelEngine
from recurl.model.rmdp import RMDP


def exact_q(model: RMDP) -> np.ndarray:
    t = model.tables
    values = recurl.solve(model, epsilon=1e-9).values_lower
    assert values is not None
    return np.add.reduceat(t.prob * (t.reward + values[t.target]), t.transition_start[:-1])


def distance(learner: recurl.RecursiveQLearning, exact: np.ndarray) -> float:
    engine = learner.engine
    assert isinstance(engine, ModelEngine)
    t, x = engine.model.tables, engine.table.contexts
    blocks = x.block[x.zero[t.vertex_component[t.action_vertex]]]
    seen = engine.model.reach.reachable[t.action_vertex]
    error = np.abs(x.q[blocks + np.arange(t.n_actions)] - exact)[seen]
    return float(error.max() / np.abs(exact[seen]).max())


def main(seeds: int = 10, steps: float = 1.6e9) -> None:
    for name, model in (
        ("1-exit cloud", recurl.zoo.cloud(exits=1)),
        ("spelunking", recurl.zoo.spelunking(0.5, -2, -5)),
    ):
        exact = exact_q(model)
        omega = recurl.schedules.power(0.85)
        for seed in range(seeds):
            learner = recurl.RecursiveQLearning(
                model, seed=seed, step_size=omega, exploration=1.0, episode_limit=10_000
            )
            gaps = [f"{distance(learner.learn(steps / 8), exact):.3%}" for _ in range(8)]
            print(f"{name}, seed {seed}, every {steps / 8:.3g} steps: {' '.join(gaps)}", flush=True)


if __name__ == "__main__":
    main(*(int(float(argument)) for argument in sys.argv[1:]))
