"""How fast the presets of deep learning learn palindrome, how well they hold, and what parts do.

    taskset -c 1 python benchmarks/deep_presets.py rows.jsonl swift paper flat --seeds 900 910
    python benchmarks/deep_presets.py rows.jsonl --table

The first learns on one core, without stopping early, and appends a row to the file for each run;
runs that are in the file already are left out. The second prints what the file holds as the table
of docs/results/deep.md. After every 1,000 steps from 10,000 on the greedy policy is made a table
(of up to 200 contexts) and evaluated exactly; seconds are processor time of learning alone, with
neither tests nor compiling.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import recurl
from recurl.learn.schedules import constant, linear
from recurl.policy import Policy

FIRST, EVERY, CONTEXTS = 10_000, 1_000, 200
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {"preset": "paper"},
    "swift": {"preset": "swift"},
    "parallel": {"preset": "parallel"},
    "gather": {"preset": "gather", "stack_limit": 60},
    "no call refreshed": {"preset": "swift", "refresh": 0},
    "no gate": {"preset": "swift", "gated": False},
    "features as they are": {"preset": "swift", "observation": "features"},
    "exit values as they are": {"preset": "swift", "value_scale": 1.0},
    "no averaging": {"preset": "swift", "averaging": 0.0},
    "constant learning rate": {"preset": "swift", "learning_rate": constant(0.002)},
    "exploration as in the paper": {"preset": "swift", "exploration": linear(1.0, 0.1, 30_000)},
    "buffer of 20,000": {"preset": "swift", "buffer": 20_000},
    "batch of 256": {"preset": "swift", "batch": 256},
    "batch of 128 every second step": {"preset": "swift", "batch": 128, "train_every": 2},
}
"""Presets, and `swift` with one setting changed."""


class Watch:
    """Exact values of a learner's greedy policy, as it learns, and the time that learning took."""

    def __init__(self) -> None:
        self.row: dict[str, list[float]] = {"steps": [], "values": [], "seconds": []}
        self._known: dict[Policy, float] = {}
        self._spent, self._clock = 0.0, time.process_time()

    def __call__(self, learner: Any) -> None:
        self._spent += time.process_time() - self._clock
        if learner.steps >= FIRST and learner.steps % EVERY == 0:
            self.row["steps"].append(learner.steps)
            self.row["values"].append(self._value(learner.policy(CONTEXTS)))
            self.row["seconds"].append(round(self._spent, 3))
        self._clock = time.process_time()

    def _value(self, policy: Policy) -> float:
        if policy not in self._known:
            self._known[policy] = float(recurl.evaluate(policy).value)
        return self._known[policy]


def run(name: str, seed: int, steps: int) -> dict[str, Any]:
    """Learn with one seed."""
    flat = name == "flat"
    kind = recurl.DQN if flat else recurl.DeepRecursiveQLearning
    settings = VARIANTS["paper" if flat else name]
    learner = kind(recurl.zoo.palindrome(), seed=seed, evaluate_every=0, **settings)
    learner.learn(1, budget=steps)  # compiles
    watch = Watch()
    learner.learn(steps - 1, watch)
    return {"name": name, "seed": seed, **watch.row}


def table(rows: list[dict[str, Any]]) -> None:
    """Print what runs came to: a line for each name."""
    print("| settings | seeds | steps to 40 | steps to 40.5 | seconds to 40.5 | ", end="")
    print("above 40.5 from 80,000 on | at the end |\n|" + " --- |" * 7)
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name]
        cells = [_reached(some, 40.0, "steps"), _reached(some, 40.5, "steps")]
        cells += [_reached(some, 40.5, "seconds"), _held(some)]
        cells.append(_range([row["values"][-1] for row in some]))
        print(f"| {name} | {len(some)} | " + " | ".join(cells) + " |")


def _reached(rows: list[dict[str, Any]], limit: float, what: str) -> str:
    """Median and most over the seeds, and how many get there."""
    firsts = []
    for row in rows:
        good = np.array(row["values"]) > limit
        firsts.append(row[what][good.argmax()] if good.any() else np.inf)
    middle, most = float(np.median(firsts)), max(firsts)
    missing = sum(map(np.isinf, firsts))
    last = f"{missing} never" if missing else f"{most:,.0f}"
    return f"{middle:,.0f} ({last})" if np.isfinite(middle) else f"- ({last})"


def _held(rows: list[dict[str, Any]]) -> str:
    """How many runs stay above 40.5 from 80,000 on, and in how many of the tests there they are."""
    late = [np.array(r["values"])[np.array(r["steps"]) >= 80_000] for r in rows]
    if not all(map(len, late)):
        return ""
    whole = sum(bool((values > 40.5).all()) for values in late)
    return f"{whole} of {len(rows)} ({np.mean(np.concatenate(late) > 40.5):.1%} of tests)"


def _range(values: list[float]) -> str:
    return f"{np.min(values):.2f} to {np.max(values):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", help=", ".join(["flat", *VARIANTS]))
    parser.add_argument("--seeds", type=int, nargs=2, default=[900, 910])
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    text = given.file.read_text() if given.file.exists() else ""
    rows = [json.loads(line) for line in text.splitlines()]
    done = {(row["name"], row["seed"]) for row in rows}
    for name in given.names:
        for seed in range(*given.seeds):
            if (name, seed) not in done:
                rows.append(run(name, seed, given.steps))
                with given.file.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
                table(rows[-1:])
    if given.table:
        table(rows)


if __name__ == "__main__":
    main()
