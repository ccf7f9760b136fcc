"""The results of default settings: ten seeds each, no tuning, in environments that others wrote.

    python benchmarks/defaults.py [--seeds N] [WORDS ...]

With WORDS, only the rows whose name contains one of them. Each row names the learner, the
environment, the steps of training, and what is asked of the kept policy's mean return over test
episodes: how many of the seeds reach it is counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

import recurl


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        learner: What makes a learner from an environment and a seed.
        env: Gymnasium id.
        steps: Steps of training.
        asked: Least mean return.
        of_ten: How many of ten seeds are asked to reach it.
        episodes: Episodes of the last test.
    """

    learner: Callable[..., Any]
    env: str
    steps: int
    asked: float
    of_ten: int
    episodes: int


ROWS = [
    Row(recurl.QLearning, "FrozenLake-v1", 200_000, 0.70, 8, 1000),
    Row(recurl.QLearning, "Taxi-v4", 200_000, 7.5, 10, 200),
    Row(recurl.QLearning, "CliffWalking-v1", 100_000, -13.0, 10, 10),
]
"""The table; add rows for other learners here."""


def reached(row: Row, seed: int) -> float:
    """Mean return of the policy that a run of default settings keeps."""
    learner = row.learner(gym.make(row.env), seed=seed).learn(row.steps)
    return float(learner.test(row.episodes).mean)


def show(row: Row, seeds: int) -> None:
    """Run a row and print it."""
    began = time.process_time()
    found = np.array([reached(row, seed) for seed in range(seeds)])
    hits = int((found >= row.asked).sum())
    name = f"{row.learner.__name__} on {row.env}"
    print(
        f"{name:32} {row.steps:>8,} {row.asked:>8g} {hits:>3} of {seeds:<2} "
        f"{found.min():>8.3f} {np.median(found):>8.3f} {found.max():>8.3f} "
        f"{(time.process_time() - began) / seeds:6.1f} s",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    print(
        f"{'':32} {'steps':>8} {'asked':>8} {'reached':>9} {'least':>8} {'median':>8} {'most':>8}"
    )
    for row in ROWS:
        name = f"{row.learner.__name__} on {row.env}"
        if not given.words or any(word in name for word in given.words):
            show(row, given.seeds)


if __name__ == "__main__":
    main()
