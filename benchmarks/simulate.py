"""Compiled rollouts of cloud on one core, beside a hand-written C loop of the same walk.

    python benchmarks/simulate.py [episodes]

Prints steps per second, the ratio to C (both run the same episodes, which is checked to the bit),
and the cold start: from the launch of a fresh process to a simulated cloud. Needs a C compiler.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import recurl
from recurl.model.outcomes import Outcomes
from recurl.policy.outcomes import outcomes_of_policy

ROUNDS = 5
STEP_LIMIT = 1_000_000
COLD_START = "import recurl; recurl.simulate(recurl.zoo.cloud(), episodes=1000)"

Arrays = tuple[np.ndarray, ...]


def compiled_c(folder: str) -> ctypes.CDLL:
    library = Path(folder) / "walk.so"
    source = Path(__file__).with_name("walk.c")
    subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library))


def run_c(library: ctypes.CDLL, outcomes: Outcomes, seed: int, episodes: int) -> Arrays:
    out = tuple(np.empty(episodes, kind) for kind in (np.float64, np.int64, np.int64, np.bool_))
    names = ("row_start", "below", "reward", "move", "landing", "push", "start", "start_below")
    rows = [getattr(outcomes, name) for name in names]
    numbers = [ctypes.c_uint64(seed), ctypes.c_int64(episodes), ctypes.c_int64(STEP_LIMIT)]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*rows, *out)]
    library.run_episodes(*pointers[: len(rows)], *numbers, *pointers[len(rows) :])
    return out


def best_time(run: Callable[[], Arrays]) -> tuple[float, Arrays]:
    """Shortest processor time of a few runs, and what the last one gave."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        result = run()
        times.append(time.process_time() - began)
    return min(times), result


def compare(name: str, policy: recurl.Policy, library: ctypes.CDLL, episodes: int) -> None:
    model, outcomes, seed = policy.model, outcomes_of_policy(policy), 1

    def ours() -> Arrays:
        r = recurl.simulate(model, policy, episodes, seed=seed, step_limit=STEP_LIMIT, threads=1)
        return r.returns, r.lengths, r.depths, r.truncated

    ours()  # compiles
    own_time, own = best_time(ours)
    c_time, c = best_time(lambda: run_c(library, outcomes, seed, episodes))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(own, c, strict=True)), "results differ"
    steps = int(own[1].sum())
    print(
        f"{name:10} {steps / own_time / 1e6:8.1f} million steps/s, "
        f"C {steps / c_time / 1e6:8.1f}, ratio {c_time / own_time:.2f}"
    )


def cold_start() -> float:
    """Shortest time from launch to a simulated cloud, compiled code being cached."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", COLD_START], check=True)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    model = recurl.zoo.cloud()
    best = recurl.Policy.stackless(model, {"T.u1": "divide", "S.u3": "reliable"})
    print(f"cloud, {episodes} episodes on one core (asked: 15 million steps/s, ratio 0.4)")
    with tempfile.TemporaryDirectory() as folder:
        library = compiled_c(folder)
        compare("uniform", recurl.Policy.uniform(model), library, episodes)
        compare("stackless", best, library, episodes)
    print(f"cold start {cold_start():.2f} s to a simulated cloud (asked: 1.5 s)")


if __name__ == "__main__":
    main()
