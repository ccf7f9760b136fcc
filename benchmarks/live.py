"""The time that a live program adds to each decision, and how fast programs are explored.

python benchmarks/live.py
"""

from __future__ import annotations

import time

from recurl.programs.decorator import Program, program
from recurl.programs.language import choose, flip, reward


@program(observe=("n",))
def decide(n: int) -> None:
    while n:
        n -= 1
        reward(-choose(1, 2))


@program(observe=("n",), returns=(True, False))
def recurse(n: int) -> bool:
    if n == 0:
        return True
    reward(-choose(1, 2))
    return not recurse(n - 1)


@program
def walk(n: int) -> None:
    x = y = 0
    while x < n and y < n:
        side = choose("left", "right")
        if flip(0.5 if side == "left" else 0.25):
            x += 1
        else:
            y += 1
        if flip(0.1):
            rest(x)
        reward(-1)


@program
def rest(x: int) -> None:
    if x > 3 and choose(True, False):
        rest(x - 1)


def live_microseconds(function: Program, n: int = 200, runs: int = 100) -> float:
    live = function.live()
    live(n)
    start = time.process_time()
    for _ in range(runs):
        live(n)
    return (time.process_time() - start) / (n * runs) * 1e6


def main() -> None:
    print(f"a decision in a loop:       {live_microseconds(decide):.2f} us")
    print(f"a decision, call and return: {live_microseconds(recurse):.2f} us")
    start = time.process_time()
    unfolded = walk.unfold(130)
    seconds = time.process_time() - start
    states = len(unfolded.exploration.states)
    print(f"{states} states explored and assembled: {seconds:.1f} s of processor time")


if __name__ == "__main__":
    main()
