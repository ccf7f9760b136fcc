"""Model-based learning: steps to within 1 % of the certified optimum, and the time of planning.

    python benchmarks/model_based.py [model ...] [--first 300] [--seeds 10] [--steps N] [--looks 20]

Prints a line for each run, then a table for docs/results/learning.md with medians over seeds: the
steps at which the exact value of the kept policy first comes within 1 % of the optimum, those from
which on it stays there, how far it is from the optimum at the end, and the share of planning in the
processor time of learning. Models are those of `benchmarks/presets.py`. Policies are looked at
after numbers of steps that grow geometrically, up to N.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from presets import MODELS, first_and_last, watch

import recurl
from recurl.learn.model_based.engine import ModelBasedEngine
from recurl.model.rmdp import RMDP


class Stopwatch:
    """Processor time in a method of a class."""

    def __init__(self, owner: type, name: str) -> None:
        self.spent, self._method = 0.0, getattr(owner, name)
        setattr(owner, name, lambda *given: self._timed(*given))

    def _timed(self, *given: object) -> object:
        begin = time.process_time()
        try:
            return self._method(*given)
        finally:
            self.spent += time.process_time() - begin


def run(
    model: RMDP, optimum: float, marks: np.ndarray, seed: int, watches: tuple[Stopwatch, ...]
) -> list[float]:
    """First, held, distance at the end and share of planning of a run."""
    before = [own.spent for own in watches]
    learner = recurl.ModelBasedRecursiveLearning(model, episode_limit=200, seed=seed)
    off = (optimum - watch(learner, marks)) / abs(optimum)
    planning, learning = (own.spent - b for own, b in zip(watches, before, strict=True))
    return [*first_and_last(off <= 0.01, marks), off[-1], planning / learning]


def written(numbers: np.ndarray) -> str:
    """Numbers of a run or medians, as cells."""
    first, held = (f"{n:,.0f}" if np.isfinite(n) else "-" for n in numbers[:2])
    return f"{first} | {held} | {numbers[2]:.1%} | {numbers[3]:.0%}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(MODELS))
    for name, value in (("first", 300), ("seeds", 10), ("steps", 200_000), ("looks", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    watches = Stopwatch(ModelBasedEngine, "_plan"), Stopwatch(ModelBasedEngine, "advance")
    rows = []
    for name in given.models:
        model, _, _ = MODELS[name]
        marks = np.geomspace(50, given.steps, given.looks).astype(int)
        optimum = recurl.solve(model, epsilon=1e-4).value
        found = []
        for seed in range(given.first, given.first + given.seeds):
            found.append(run(model, optimum, marks, seed, watches))
            print(f"{name}, seed {seed}: {written(np.array(found[-1]))}", flush=True)
        median = written(np.median(found, axis=0))
        rows.append(f"| {name} | {optimum:.4g} | {given.seeds} | {marks[-1]:,} | {median} |")
    print(
        "| model | optimum | seeds | steps | first within 1 % | held from | at the end | planning |"
    )
    print("| --- |" + " ---: |" * 7, *rows, sep="\n")


if __name__ == "__main__":
    main()
