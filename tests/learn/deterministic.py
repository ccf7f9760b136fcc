"""Recursive Q-learning on random deterministic models: the longest path is learned exactly.

The tests take a few of the models. All of them, and the same with rounded exit values:

    python -m tests.learn.deterministic --models 300
    python -m tests.learn.deterministic --models 300 --preset swift --learning-rate 1
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import recurl

STEPS = 50_000


def random_deterministic(seed: int) -> recurl.RMDP:
    """A model with one to five exits; the sizes of its rewards spread over six orders."""
    random = np.random.default_rng(seed)
    model = recurl.zoo.random_model(
        seed,
        components=int(random.integers(2, 5)),
        nodes=int(random.integers(4, 10)),
        kind="deterministic",
        exits=1 + seed % 5,
        actions=int(random.integers(2, 4)),
        exit_probability=float(random.uniform(0.2, 0.4)),
        call_fraction=float(random.uniform(0.25, 0.6)),
    )
    t = model.tables
    signs = random.choice([-1.0, 1.0], len(t.reward))
    return recurl.RMDP.from_arrays(
        t.layout,
        action_start=t.action_start,
        transition_start=t.transition_start,
        target=t.target,
        prob=t.prob,
        reward=signs * 10.0 ** random.uniform(-3, 3, len(t.reward)),
        name=f"deterministic-{seed}",
    )


def falls_short(model: recurl.RMDP, steps: int = STEPS, **settings: Any) -> float:
    """How far what is learned stays below the longest path, in units of the largest reward."""
    learner = recurl.RecursiveQLearning(model, **settings).learn(steps)
    learned = recurl.evaluate(learner.policy()).value
    return float((recurl.solve(model).value - learned) / np.abs(model.tables.reward).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--preset", default="deterministic")
    parser.add_argument("--learning-rate", type=float)
    given = parser.parse_args()
    settings = {"preset": given.preset, "learning_rate": given.learning_rate}
    missed = 0
    for seed in range(given.models):
        short = falls_short(random_deterministic(seed), given.steps, **settings)
        if abs(short) > 1e-12:
            missed += 1
            print(f"seed {seed}: {short:.3g} of the largest reward below the longest path")
    print(f"{given.models - missed} of {given.models} exact")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
