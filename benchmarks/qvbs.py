"""Instances of the Quantitative Verification Benchmark Set: recurl beside Storm.

    python benchmarks/qvbs.py [FOLDER] [WORD ...]

FOLDER holds `index.json` and one `.npz` per instance (../shared/data/qvbs if not given). For every
instance: processor seconds of recurl to an interval of width 1e-6 and its certificate, whether the
interval holds the published value, whether `recurl.verify` accepts the certificate; and those of
the fastest of Storm's sound methods to precision 1e-6. Models are built beforehand, their
fingerprints and Storm's formulas as well; the shortest run counts. With WORDs, only instances whose
names contain one.
"""

from __future__ import annotations

import json
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import storm

import recurl
from recurl.model.tables import Layout

EPSILON, RUNS, PATIENCE = 1e-6, 15, 5.0
FOLDER = Path("../shared/data/qvbs")


class Instance(NamedTuple):
    """A process and what is asked of it.

    Attributes:
        model: One entry, one exit (the goal), and a node per other state.
        objective: ``"max"`` or ``"min"``.
        probability: Whether the probability to reach the goal is asked for, or the reward.
        value: The published value.
    """

    model: recurl.RMDP
    objective: str
    probability: bool
    value: Fraction


def load(folder: Path, entry: dict[str, Any]) -> Instance:
    """Read an instance; goal states become the exit."""
    arrays = np.load(folder / f"{entry['instance']}.npz", allow_pickle=False)
    rows, first = arrays["rows"], arrays["rp"]
    goal = np.zeros(len(rows) - 1, np.bool_)
    goal[arrays["goal"]] = True
    vertex = np.where(goal, 1, 1 + np.cumsum(~goal))
    kept = ~goal[np.repeat(np.arange(len(goal)), np.diff(rows))]
    count = np.diff(first)
    taken = np.repeat(kept, count)
    model = recurl.RMDP.from_arrays(
        Layout.of([1], [1], [int((~goal).sum())]),
        action_start=np.concatenate([[0, 1, 1], 1 + np.cumsum(np.diff(rows)[~goal])]),
        transition_start=np.concatenate([[0, 1], 1 + np.cumsum(count[kept])]),
        target=np.concatenate([vertex[arrays["init"][:1]], vertex[arrays["tgt"][taken]]]),
        prob=np.concatenate([[1.0], arrays["pr"][taken]]),
        reward=np.concatenate([[0.0], np.repeat(arrays["rew"][kept], count[kept])]),
        name=entry["instance"],
    )
    value = Fraction(entry["value"])
    return Instance(model, entry["objective"], entry["total"] == "probability", value)


def own_time(instance: Instance) -> tuple[float, recurl.Solution]:
    """Seconds to a solution with its certificate."""
    goal = f"exit:{instance.model.local_name(1)}"
    began = time.process_time()
    solution = recurl.solve(
        instance.model,
        epsilon=EPSILON,
        objective=instance.objective,
        of=goal if instance.probability else "reward",
        endless=None if instance.probability else "inf",
    )
    _ = solution.certificate
    return time.process_time() - began, solution


def shortest(run: Any) -> tuple[float, Any]:
    """Least time of a few runs, or of as many as patience allows; and what the last one says."""
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 2 or (len(times) < RUNS and time.perf_counter() - began < PATIENCE):
        seconds, answer = run()
        times.append(seconds)
    return min(times), answer


def storm_times(instance: Instance) -> tuple[float, str]:
    """Seconds of the fastest sound method of Storm that is right, and its name."""
    process, start = storm.storm_model(instance.model), int(instance.model.tables.starts[0])
    kind = "P" if instance.probability else 'R{"r"}'
    formula = f'{kind}{instance.objective}=? [F "done"]'
    times: list[tuple[float, str]] = []
    for method, name in storm.SOUND.items():

        def run(method: str = method) -> tuple[float, float]:
            return storm.storm_time(process, method, start, EPSILON, formula)

        seconds, value = shortest(run)
        if abs(value - float(instance.value)) <= 2 * EPSILON * max(1.0, float(instance.value)):
            times.append((seconds, name))
    return min(times)


def main() -> None:
    given = sys.argv[1:]
    folder = Path(given.pop(0)) if given and Path(given[0]).is_dir() else FOLDER
    index = json.loads((folder / "index.json").read_text())
    chosen = [e for e in index if not given or any(word in e["instance"] for word in given)]
    shortest(lambda: own_time(load(folder, chosen[0])))  # imports
    total = other = worst = 0.0
    slow = 0
    wrong: list[str] = []
    for entry in chosen:
        instance = load(folder, entry)
        seconds, solution = shortest(lambda instance=instance: own_time(instance))
        proved = recurl.verify(instance.model, solution.certificate)
        holds = (
            solution.lower <= instance.value <= solution.upper
            and solution.gap <= EPSILON
            and (proved.lower, proved.upper) == (solution.lower, solution.upper)
        )
        wrong += [] if holds else [entry["instance"]]
        total += seconds
        line = f"{entry['instance']:16} {entry['states']:7} states {seconds:8.4f} s"
        line += ", right and certified" if holds else ", WRONG"
        if storm.available():
            theirs, name = storm_times(instance)
            other += theirs
            worst = max(worst, seconds / theirs)
            slow += seconds > 3 * theirs
            line += f"  {name} {theirs:8.4f} s, ratio {seconds / theirs:.2f}"
        print(line, flush=True)
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} right and certified in {total:.2f} s")
    if storm.available():
        print(f"Storm {other:.2f} s; greatest ratio of an instance {worst:.2f}, {slow} above 3")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
