"""The worth of each option: steps until the greedy policy is within 1 % of the certified optimum.

    python benchmarks/presets.py [seeds] [model ...]

Prints a table for docs/results/learning.md: for each model the median over seeds of the steps at
which the exact value of the greedy policy first comes within 1 % of the optimum, and in brackets of
those from which on it stays there until the end; "-" if more than half of the seeds never do, and
then the median of the best values that they came to. The greedy policy is looked at a hundred
times, that of model-based learning after twenty numbers of steps that grow geometrically.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import recurl
from recurl.learn.schedules import harmonic, power
from recurl.model.rmdp import RMDP
from recurl.policy import Policy

MODELS: dict[str, tuple[RMDP, float, int]] = {
    "cloud": (recurl.zoo.cloud(), 0.02, 50_000),
    "cloud, 1-exit": (recurl.zoo.cloud(exits=1), 0.02, 50_000),
    "gambler": (recurl.zoo.gambler(), 0.1, 50_000),
    "epidemic": (recurl.zoo.epidemic(), 0.1, 50_000),
    "and_or": (recurl.zoo.and_or(), 0.1, 50_000),
    "spelunking": (recurl.zoo.spelunking(0.5, -2, -5), 0.2, 200_000),
    "letter_world": (recurl.zoo.letter_world(), 0.1, 200_000),
    "stack_matters": (recurl.zoo.stack_matters(), 0.1, 200_000),
    "leaky_pfa": (recurl.zoo.leaky_pfa(), 0.1, 200_000),
    "office": (recurl.zoo.office(), 0.1, 200_000),
    "taxi": (recurl.zoo.taxi(), 0.1, 200_000),
    "random, 2 exits": (recurl.zoo.random_model(1, 4, 20), 0.1, 200_000),
    "brackets": (recurl.zoo.brackets(), 0.1, 200_000),
    "frozen_lake": (recurl.zoo.frozen_lake(), 0.1, 200_000),
    "battery, C.T/S..": (recurl.zoo.battery("C.T/S..", 1), 0.1, 200_000),
    "battery": (recurl.zoo.battery(), 0.1, 200_000),
    "palindrome": (recurl.zoo.palindrome(), 0.1, 200_000),
}
"""Models, with the constant step size of the paper's version and the steps that are watched."""

MODEL_BASED = "model-based"
OPTIONS: dict[str, dict[str, Any]] = {
    "paper": {},
    "visit-count steps": {"learning_rate": harmonic(offset=10)},
    "replay": {"replay": 8},
    "inheritance": {"inherit": 50},
    "grain": {"grain": 32},
    "swift: all four": {"preset": "swift", "learning_rate": None},
    "swift, exploring n^-1/4": {
        "preset": "swift",
        "learning_rate": None,
        "exploration": power(0.25, last=0.1),
    },
    MODEL_BASED: {},
}


def watch(learner: Any, marks: np.ndarray) -> np.ndarray:
    """Exact value of the greedy policy after some numbers of steps."""
    known: dict[Policy, float] = {}
    found = []
    for mark in marks.tolist():
        policy = learner.learn(mark - learner.steps).policy()
        if policy not in known:
            known[policy] = recurl.evaluate(policy).value
        found.append(known[policy])
    return np.array(found)


def first_and_last(good: np.ndarray, marks: np.ndarray) -> tuple[float, float]:
    """Steps of the first good value, and of the first from which on all are good."""
    first = float(marks[good.argmax()]) if good.any() else np.inf
    bad = np.flatnonzero(~good)
    stays = float(marks[bad[-1] + 1 if len(bad) else 0]) if good[-1] else np.inf
    return first, stays


def cell(
    model: RMDP, optimum: float, steps: int, settings: dict[str, Any] | None, seeds: int
) -> str:
    """One cell of the table; model-based learning has no settings."""
    marks = np.arange(1, 101) * (steps // 100)
    if settings is None:
        marks = np.geomspace(50, steps, 20).astype(int)
    both, best = [], []
    for seed in range(seeds):
        learner: Any = (
            recurl.ModelBasedRecursiveLearning(model, episode_limit=200, seed=seed)
            if settings is None
            else recurl.RecursiveQLearning(model, **settings, seed=seed)
        )
        values = watch(learner, marks)
        good = values >= optimum - 0.01 * abs(optimum)
        both.append(first_and_last(good, marks))
        best.append(values.max())
    first, stays = np.median(np.array(both), axis=0)
    if not np.isfinite(first):
        return f"- ({np.median(best):.4g})"
    return f"{first:,.0f} ({stays:,.0f})" if np.isfinite(stays) else f"{first:,.0f} (-)"


def main(seeds: int = 10, *names: str) -> None:
    print("| model | optimum | " + " | ".join(OPTIONS) + " |")
    print("| --- | --- |" + " --- |" * len(OPTIONS))
    for name in names or MODELS:
        model, learning_rate, steps = MODELS[name]
        optimum = recurl.solve(model, epsilon=1e-4).value
        base = {"preset": "paper", "learning_rate": learning_rate, "episode_limit": 200}
        cells = [
            cell(model, optimum, steps, None if own == MODEL_BASED else {**base, **option}, seeds)
            for own, option in OPTIONS.items()
        ]
        print(f"| {name} | {optimum:.4g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10, *sys.argv[2:])
