"""Solves flat models with loops under an allocator that aborts where memory is overwritten.

Rings and grids of states in which one can stay: every method, every question. First it is shown
that the allocator aborts where a single byte is written beyond a block. Ends with 1 if a question
is neither answered as narrowly as asked, nor with the reason why not; with 77 where no allocator
aborts.

    python scripts/check_memory.py [sample] [states ...]

A sample is a few of the questions, and takes a few seconds.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence

import numpy as np

import recurl

CHECKED = {"LD_PRELOAD": "libc_malloc_debug.so.0", "MALLOC_CHECK_": "3"}
"""Since glibc 2.34 the variable alone does nothing."""
MISSING = 77
EPSILON = 1e-6
METHODS = ("auto", "certified")
QUESTIONS = ("exit:win", "exit:lose", "steps", "reward")
ALL = tuple(itertools.product(METHODS, QUESTIONS, ("max", "min")))
SAMPLE = tuple(itertools.product(METHODS, ["exit:win", "exit:lose"], ["max"]))


def main(arguments: list[str]) -> int:
    """Run the checks in processes of their own, or be one of these."""
    if arguments[:1] == ["overflow"]:
        return overflow()
    if arguments[:1] == ["solve"]:
        sample = arguments[1] == "sample"
        return solve_all(SAMPLE if sample else ALL, map(int, arguments[1 + sample :]))
    if child("overflow") != -signal.SIGABRT:
        print("This system has no allocator that aborts where a byte is written beyond a block.")
        return MISSING
    return abs(child("solve", *(arguments or ["2000", "3000", "5000"])))


def child(*arguments: str) -> int:
    """The exit code of this script under the checking allocator; that of a signal is negative."""
    command = [sys.executable, __file__, *arguments]
    quiet = subprocess.DEVNULL if arguments == ("overflow",) else None
    return subprocess.run(command, env={**os.environ, **CHECKED}, stderr=quiet).returncode


def overflow() -> int:
    """Write one byte beyond the numbers of an array, and free them."""
    array = np.empty(4096, np.uint8)
    ctypes.memset(array.ctypes.data + array.nbytes, 7, 1)
    del array
    return 0


def solve_all(questions: Sequence[tuple[str, str, str]], sizes: Iterable[int]) -> int:
    """Ask questions about rings and grids; 1 if something is left open without a reason."""
    models = [model for size in sizes for model in (ring(size), grid(math.isqrt(size)))]
    return int(sum(solved_silently(m, *question) for m in models for question in questions) > 0)


def solved_silently(model: recurl.RMDP, method: str, of: str, objective: str) -> bool:
    """Whether the interval is wider than asked for, and nothing says why."""
    began = time.perf_counter()
    found = recurl.solve(model, method, EPSILON, of=of, objective=objective)
    seconds = time.perf_counter() - began
    silent = not found.gap <= EPSILON and "narrow" not in found.reason
    interval = f"[{found.lower:.9g}, {found.upper:.9g}]"
    print(
        f"{model.name:10} {method:10} {objective} {of:10} {interval:30} {seconds:6.2f} s",
        flush=True,
    )
    if silent:
        print(f"    wider than {EPSILON}: {found.reason}", flush=True)
    return silent


def ring(states: int) -> recurl.RMDP:
    """One can stay at every place of a ring, or go on; every seventh one may be left on the way."""
    builder = recurl.Builder(f"ring {states}").component("A", entries="in", exits=["win", "lose"])
    builder.at("in").action("go").to("n0")
    for i in range(states):
        builder.at(f"n{i}").action("stay").to(f"n{i}")
        other = "lose" if i % 7 == 0 else f"n{i}"
        builder.action("on").to(f"n{(i + 1) % states}", 0.9).to(other, 0.1)
    builder.at(f"n{states // 2}").action("try").to("win", 0.5).to("lose", 0.5)
    return builder.build()


def grid(side: int) -> recurl.RMDP:
    """Walls stop a move, one in ten moves does nothing, and the last corner may be left."""
    builder = recurl.Builder(f"grid {side}").component("A", entries="in", exits=["win", "lose"])
    builder.at("in").action("go").to("n0_0")
    for x in range(side):
        for y in range(side):
            here = builder.at(f"n{x}_{y}")
            for name, dx, dy in (("e", 1, 0), ("w", -1, 0), ("s", 0, 1), ("n", 0, -1)):
                next_ = f"n{min(max(x + dx, 0), side - 1)}_{min(max(y + dy, 0), side - 1)}"
                move = here.action(name)
                if next_ == f"n{x}_{y}":
                    move.to(next_)
                else:
                    move.to(next_, 0.9).to(f"n{x}_{y}", 0.1)
    builder.at(f"n{side - 1}_{side - 1}").action("try").to("win", 0.5).to("lose", 0.5)
    return builder.build()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
