"""Model-based learning: steps to within 1 % of the certified optimum, and the time of planning.

    python benchmarks/model_based.py [model ...] [--first 300] [--seeds 10] [--steps N] [--looks 40]

Prints a line for each run, then a table for docs/results/learning.md with medians over seeds: the
steps at which the exact value of the kept policy first comes within 1 % of the optimum, those from
which on it stays there, how far it is from the optimum at the end, and the share of planning in the
processor time of learning. Beside it, with the same seeds and looks, the first two for Recursive
Q-learning with the preset `swift` (exploration 0.1 throughout), and the ratio of the steps to come
within 1 %. Models are those of `benchmarks/presets.py`. Policies are looked at after numbers of
steps that grow geometrically, up to N.
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


def run_model_based(
    model: RMDP, optimum: float, marks: np.ndarray, seed: int, watches: tuple[Stopwatch, ...]
) -> list[float]:
    """First, held, distance at the end and share of planning of a run."""
    before = [own.spent for own in watches]
    learner = recurl.ModelBasedRecursiveLearning(model, episode_limit=200, seed=seed)
    off = (optimum - watch(learner, marks)) / abs(optimum)
    planning, learning = (own.spent - b for own, b in zip(watches, before, strict=True))
    return [*first_and_last(off <= 0.01, marks), off[-1], planning / learning]


def run_swift(model: RMDP, optimum: float, marks: np.ndarray, seed: int) -> list[float]:
    """First and held of a run of Recursive Q-learning."""
    learner = recurl.RecursiveQLearning(
        model, preset="swift", exploration=0.1, episode_limit=200, seed=seed
    )
    off = (optimum - watch(learner, marks)) / abs(optimum)
    return list(first_and_last(off <= 0.01, marks))


def steps(number: float) -> str:
    """A number of steps; a dash for never."""
    return f"{number:,.0f}" if np.isfinite(number) else "-"


def written(numbers: np.ndarray) -> str:
    """Numbers of a run or medians, as cells."""
    first, held, off, planning, swift_first, swift_held = numbers
    ratio = f"{first / swift_first:.2f}" if np.isfinite([first, swift_first]).all() else "-"
    swift = f"{steps(swift_first)} | {steps(swift_held)}"
    off = max(off, 0.0)  # the optimum is known to 1e-4
    return f"{steps(first)} | {steps(held)} | {off:.1%} | {planning:.0%} | {swift} | {ratio}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(MODELS))
    for name, value in (("first", 300), ("seeds", 10), ("steps", 200_000), ("looks", 40)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    watches = Stopwatch(ModelBasedEngine, "_plan"), Stopwatch(ModelBasedEngine, "advance")
    rows = []
    for name in given.models:
        model, _, _ = MODELS[name]
        marks = np.unique(np.geomspace(10, given.steps, given.looks).astype(int))
        optimum = recurl.solve(model, epsilon=1e-4).value
        found = []
        for seed in range(given.first, given.first + given.seeds):
            found.append(
                run_model_based(model, optimum, marks, seed, watches)
                + run_swift(model, optimum, marks, seed)
            )
            print(f"{name}, seed {seed}: {written(np.array(found[-1]))}", flush=True)
        median = written(np.median(found, axis=0))
        rows.append(f"| {name} | {optimum:.4g} | {given.seeds} | {marks[-1]:,} | {median} |")
    print(
        "| model | optimum | seeds | steps | first within 1 % | held from | at the end | planning "
        "| swift: first | swift: held | ratio |"
    )
    print("| --- |" + " ---: |" * 10, *rows, sep="\n")


if __name__ == "__main__":
    main()
