"""How long certified intervals take on multi-exit models, and how that grows.

    python benchmarks/certified.py [table | zoo | exits | nodes | length | epsilon]

Making and checking certificates is timed apart. `zoo` has every named model with its own
parameters, whatever method solves it. `exits` counts processor time, and solves 10 models of each
kind, or as many as the environment variable MODELS says.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections.abc import Iterator

import msgspec

import recurl

MODELS = int(os.environ.get("MODELS", "10"))
"""Models of each kind in `exits`."""


def proper_random(exits: int, components: int, longest: float, count: int) -> Iterator[recurl.RMDP]:
    """Random models with calls on a quarter of the edges, kept if proper and not too long."""
    seed = 0
    while count:
        model = recurl.zoo.random_model(
            seed=seed, components=components, exits=exits, load=math.inf
        )
        seed += 1
        if recurl.analyse(model).bound <= longest:
            count -= 1
            yield model


def timed(model: recurl.RMDP, epsilon: float) -> tuple[recurl.Solution, float]:
    """The interval of a model, and the seconds it took."""
    began = time.perf_counter()
    solution = recurl.solve(model, epsilon=epsilon)
    return solution, time.perf_counter() - began


def row(name: str, model: recurl.RMDP, epsilon: float, asked: str = "") -> None:
    """Solve, certify, verify, and print what each took."""
    solution, seconds = timed(model, epsilon)
    began = time.perf_counter()
    certificate = solution.certificate
    making = time.perf_counter() - began
    began = time.perf_counter()
    recurl.verify(model, certificate)
    checking = time.perf_counter() - began
    kilobytes = len(msgspec.json.encode(certificate)) / 1e3
    steps = recurl.analyse(model).bound
    print(
        f"{name:34} {epsilon:7.0e} {solution.gap:8.1e} {seconds:8.3f} {making:8.3f} "
        f"{checking:8.3f} {kilobytes:8.0f} {steps:8.0f}  {asked}",
        flush=True,
    )


def head() -> None:
    names = ("gap", "solve", "certify", "verify", "kB", "steps")
    columns = " ".join(f"{name:>8}" for name in names)
    print(f"{'model':34} {'epsilon':>7} {columns}")


def table() -> None:
    """The models with a time to keep."""
    head()
    row("palindrome 3 x 3", recurl.zoo.palindrome(), 1e-6, "< 0.2 s")
    row("palindrome 5 x 5", recurl.zoo.palindrome(size=5), 1e-6, "< 5 s")
    row("cloud", recurl.zoo.cloud(), 1e-9, "< 0.1 s")
    row("spelunking", recurl.zoo.spelunking(), 1e-6, "< 0.1 s")
    for i, model in enumerate(proper_random(2, 10, 300, 5)):
        row(f"random {i}, 2 exits, 500 nodes", model, 1e-6, "< 5 s")
    for i, model in enumerate(proper_random(3, 20, 300, 4)):
        row(f"random {i}, 3 exits, 1000 nodes", model, 1e-4, "< 60 s")


def zoo() -> None:
    """Every model of the zoo, greatest and least reward and steps: seconds of each."""
    questions = [(of, objective) for of in ("reward", "steps") for objective in ("max", "min")]
    columns = " ".join(f"{objective + ' ' + of:>10}" for of, objective in questions)
    print(f"{'model':20} {'vertices':>8} {'exits':>5} {columns} {'widest':>8}")
    for name in recurl.zoo.names():
        model = recurl.zoo.make(name)
        times, gaps = [], []
        for of, objective in questions:
            began = time.perf_counter()
            gaps.append(recurl.solve(model, of=of, objective=objective).gap)
            times.append(time.perf_counter() - began)
        t, seconds = model.tables, " ".join(f"{s:10.2f}" for s in times)
        print(f"{name:20} {t.n_vertices:8} {t.max_exits:5} {seconds} {max(gaps):8.1e}", flush=True)


def exits() -> None:
    """Random models of 60 nodes with many exits: how many close to 1e-3 within 30 s."""
    print(
        f"{'exits':>5} {'models':>6} {'closed':>6} {'widest':>8} {'median s':>8} {'longest s':>9}"
    )
    for exits in (6, 8, 12):
        gaps, times = [], []
        for seed in range(MODELS):
            model = recurl.zoo.random_model(seed=seed, components=3, nodes=20, exits=exits)
            began = time.process_time()
            gaps.append(recurl.solve(model, epsilon=1e-3).gap)
            times.append(time.process_time() - began)
        closed = sum(g <= 1e-3 and s <= 30 for g, s in zip(gaps, times, strict=True))
        middle = statistics.median(times)
        print(
            f"{exits:5} {MODELS:6} {closed:6} {max(gaps):8.1e} {middle:8.2f} {max(times):9.2f}",
            flush=True,
        )


def nodes() -> None:
    """Growth with the number of nodes."""
    head()
    for components in (2, 4, 8, 16):
        model = recurl.zoo.random_model(components=components, nodes=50)
        row(f"{50 * components} nodes", model, 1e-5)


def length() -> None:
    """Growth with the expected length."""
    head()
    for load in (0.5, 0.9, 0.95, 0.98):
        model = recurl.zoo.random_model(components=5, nodes=20, load=load)
        row(f"load {load}", model, 1e-5)


def epsilon() -> None:
    """Growth with the precision."""
    head()
    model = recurl.zoo.random_model(components=5, nodes=20)
    for digits in range(2, 9):
        row(f"random, {digits} digits", model, 10.0**-digits)


def main() -> None:
    parts = {
        "table": table,
        "zoo": zoo,
        "exits": exits,
        "nodes": nodes,
        "length": length,
        "epsilon": epsilon,
    }
    recurl.solve(recurl.zoo.palindrome(), epsilon=1.0)
    recurl.solve(recurl.zoo.spelunking())
    recurl.solve(recurl.zoo.random_model(components=2, nodes=6), epsilon=1e-6)
    recurl.solve(recurl.zoo.stack_matters(), epsilon=1e-3)
    for name in sys.argv[1:] or parts:
        print(f"\n{name}")
        parts[name]()


if __name__ == "__main__":
    main()
