"""Newton's method on many mutually recursive procedures.

Every procedure flips two or three coins, each of which may call a random procedure, and returns.
Where calls are likely, runs end with a probability below 1.

    python benchmarks/newton.py [--procedures 500] [--repeat 5]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import recurl
from recurl.solving.chains import Leaving, leave_probabilities
from recurl.solving.rows import Rows, rows_of_model


def procedures(count: int, seed: int, call: float) -> recurl.RMDP:
    """A model with a number of procedures: two or three flips, each followed by a call or not."""
    random = np.random.default_rng(seed)
    builder = recurl.Builder("procedures")
    for c in range(count):
        flips = int(random.integers(2, 4))
        builder.component(f"P{c}", entries="f0", exits="out")
        for i in range(flips):
            builder.box(f"b{i}", f"P{random.integers(count)}")
        for i in range(flips):
            after = f"f{i + 1}" if i + 1 < flips else "out"
            p = round(float(random.uniform(0.5, 1.5)) * call, 3)
            builder.at(f"f{i}").action("flip").to(f"b{i}", p).to(after, round(1 - p, 3))
            builder.at(f"b{i}.out").action("next").to(after)
    return builder.build("P0")


def timed(rows: Rows, repeat: int) -> tuple[float, Leaving]:
    """Best time of several runs, and the result."""
    best = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        found = leave_probabilities(rows)
        best = min(best, time.perf_counter() - begin)
    return best, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--procedures", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    for call in (0.3, 0.45, 0.6):
        rows = rows_of_model(procedures(args.procedures, 1, call).tables)
        leave_probabilities(rows)
        seconds, found = timed(rows, args.repeat)
        at = rows.start[0]
        width = found.upper[at, 0] - found.lower[at, 0]
        print(
            f"{args.procedures} procedures, call probability {call}: ends with "
            f"{found.value[at, 0]:.10f} (width {width:.1g}), {found.iterations} Newton steps, "
            f"{seconds * 1000:.1f} ms"
        )


if __name__ == "__main__":
    main()
