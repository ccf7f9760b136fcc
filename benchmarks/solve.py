"""1-exit models: recurl beside Storm on plain processes, and a large model with calls.

    python benchmarks/solve.py [states [vertices]]

Plain Markov decision processes of 3 actions with 4 successors each (near or uniformly random) that
stop with a probability of 0.05 or 0.001 a step: processor seconds to an interval of width 1e-6 that
is proved (recurl), and to what Storm's sound methods call precision 1e-6, models being built
beforehand, the shortest of a few runs. Then a random model with calls, in seconds and memory.
Compile time apart.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import storm

import recurl

EPSILON = 1e-6
RUNS, PATIENCE = 3, 20.0
GIGABYTE = 2**20  # in the kilobytes that the system counts memory in


def plain(states: int, stop: float, locality: Literal["uniform", "near"]) -> recurl.RMDP:
    return recurl.zoo.random_model(
        components=1,
        nodes=states,
        kind="one_exit",
        actions=3,
        successors=4,
        exit_probability=stop,
        call_fraction=0,
        locality=locality,
        reward_low=0,
    )


def shortest(run: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """Least time of a few runs, or of as many as patience allows; and what they say."""
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < RUNS and time.perf_counter() - began < PATIENCE:
        seconds, value = run()
        times.append(seconds)
    return min(times), value


def own_time(model: recurl.RMDP) -> tuple[float, float]:
    began = time.process_time()
    solution = recurl.solve(model, epsilon=EPSILON)
    seconds = time.process_time() - began
    assert solution.gap <= EPSILON, solution
    return seconds, solution.value


def compare(states: int, stop: float, locality: Literal["uniform", "near"]) -> None:
    model = plain(states, stop, locality)
    own, value = shortest(lambda: own_time(model))
    print(f"{stop:6} {locality:8} recurl {own:7.3f} s", end="", flush=True)
    if storm.available():
        compare_with_storm(model, own, value)
    print()


def compare_with_storm(model: recurl.RMDP, own: float, value: float) -> None:
    """The ratio is to the fastest method; in brackets, to the fastest that is as exact as asked."""
    process, start = storm.storm_model(model), int(model.tables.starts[0])
    times: dict[float, float] = {}
    for method, name in storm.SOUND.items():
        run = partial(storm.storm_time, process, method, start, EPSILON)
        seconds, other = shortest(run)
        times[seconds] = abs(other - value)
        print(f"  {name} {seconds:7.3f} s, off by {times[seconds]:.0e}", end="", flush=True)
    exact = min((s for s, off in times.items() if off <= 2 * EPSILON), default=math.nan)
    print(f"  ratio {min(times) / own:.1f} ({exact / own:.1f})", end="")


def large(vertices: int, **options: Any) -> None:
    """A random model with a number of vertices and calls."""
    model = recurl.zoo.random_model(
        components=vertices // 980, nodes=700, kind="one_exit", **options
    )
    seconds, _ = own_time(model)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIGABYTE
    settings = ", ".join(f"{k}={v}" for k, v in options.items()) or "as it comes"
    print(f"{model.tables.n_vertices} vertices, {settings}: {seconds:.1f} s, peak {memory:.1f} GB")


def main() -> None:
    given = list(map(int, sys.argv[1:]))
    states, vertices = given + [100_000, 1_000_000][len(given) :]
    for locality in ("near", "uniform"):
        recurl.solve(plain(3000, 0.001, locality))  # compiles
    large(vertices)
    large(vertices, exit_probability=0.02, load=0.98, locality="near")
    if not storm.available():
        print("Storm is not here to compare with: make install-bench")
    for stop in (0.05, 0.001):
        compare(states, stop, "near")
        compare(states, stop, "uniform")


if __name__ == "__main__":
    main()
