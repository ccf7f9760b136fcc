"""What each option is worth: steps until the greedy policy is within 1 % of the certified optimum.

    python benchmarks/presets.py [seeds]

Prints a table for docs/learning.md: for each model the median over seeds of the steps at which the
exact value of the greedy policy first comes within 1 % of the optimum, and in brackets of those
from which on it stays there until the end; "-" if more than half of the seeds never do.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import recurl
from recurl.learn.schedules import harmonic
from recurl.model.rmdp import RMDP
from recurl.policy import Policy

MODELS: dict[str, tuple[RMDP, float, int]] = {
    "cloud": (recurl.zoo.cloud(), 0.02, 50_000),
    "cloud, 1-exit": (recurl.zoo.cloud(exits=1), 0.02, 50_000),
    "spelunking": (recurl.zoo.spelunking(0.5, -2, -5), 0.2, 200_000),
    "stack_matters": (recurl.zoo.stack_matters(), 0.1, 200_000),
    "battery": (recurl.zoo.battery(), 0.1, 200_000),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "paper": {},
    "visit-count steps": {"step_size": harmonic(offset=10)},
    "replay": {"replay": 8},
    "inheritance": {"inherit": 50},
    "steps and replay": {"step_size": harmonic(offset=10), "replay": 8},
    "swift: all three": {"preset": "swift", "step_size": None},
}


def watch(model: RMDP, steps: int, every: int, settings: dict[str, Any]) -> np.ndarray:
    """Exact value of the greedy policy, every so many steps."""
    learner = recurl.RecursiveQLearning(model, **settings)
    known: dict[Policy, float] = {}
    found = []
    for _ in range(steps // every):
        policy = learner.learn(every).policy()
        if policy not in known:
            known[policy] = recurl.evaluate(policy).value
        found.append(known[policy])
    return np.array(found)


def first_and_last(good: np.ndarray, every: int) -> tuple[float, float]:
    """Steps of the first good value, and of the first from which on all are good."""
    first = every * (int(good.argmax()) + 1) if good.any() else np.inf
    bad = np.flatnonzero(~good)
    stays = every * (int(bad[-1]) + 2) if len(bad) else every
    return first, stays if good[-1] else np.inf


def cell(model: RMDP, optimum: float, steps: int, settings: dict[str, Any], seeds: int) -> str:
    every, both = steps // 100, []
    for seed in range(seeds):
        values = watch(model, steps, every, {**settings, "seed": seed})
        good = values >= optimum - 0.01 * abs(optimum)
        both.append(first_and_last(good, every))
    first, stays = np.median(np.array(both), axis=0)
    return f"{_text(first)} ({_text(stays)})"


def _text(steps: float) -> str:
    return f"{steps:,.0f}" if np.isfinite(steps) else "-"


def main(seeds: int = 10) -> None:
    print("| model | " + " | ".join(OPTIONS) + " |")
    print("| --- |" + " --- |" * len(OPTIONS))
    for name, (model, step_size, steps) in MODELS.items():
        optimum = recurl.solve(model, epsilon=1e-4).value
        base = {"step_size": step_size, "exploration": 0.1, "episode_limit": 200}
        cells = [
            cell(model, optimum, steps, {**base, **option}, seeds) for option in OPTIONS.values()
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
