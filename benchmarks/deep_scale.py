"""Deep Recursive Q-learning in models too large to be toys, beside their certified optimum.

    python benchmarks/deep_scale.py [palindrome-5 | parallel-5 | spelunking-8 ...] [--seed 0]

At regular intervals the greedy policy is made a table and evaluated exactly. Seconds are processor
time of learning alone, compiling included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import recurl
from recurl.learn.schedules import exponential, linear

CAVE = "ooxoooxo/oxoooxoo/ooooxooo/xooxoooo/ooxooxox/oooooooo/oxooxoox/"
LEVELS = (CAVE + "ooxoooxo", CAVE + "rxxoooxo")


class Case(NamedTuple):
    """A model, settings, how long to learn, and how finely to solve the model."""

    model: Callable[[], recurl.RMDP]
    settings: dict[str, Any]
    steps: int
    epsilon: float


def _longer(steps: int) -> dict[str, Any]:
    """Schedules and a buffer for a number of steps."""
    return {
        "exploration": exponential(1.0, half_life=steps // 10, last=0.2),
        "learning_rate": linear(0.001, 0.00005, steps),
        "buffer": 200_000,
    }


def _wide(size: int, steps: int) -> Case:
    """Palindrome with many copies, and exploration that crosses the grid."""
    settings = {
        "preset": "parallel",
        "activation": "tanh",
        "exploration": exponential(1.0, half_life=steps // 10, last=0.1),
        "exploration_repeat": size + 1,
        "learning_rate": linear(0.002, 0.00005, steps),
    }
    return Case(lambda: recurl.zoo.palindrome(size=size), settings, steps, 1e-3)


def _spelunking() -> recurl.RMDP:
    return recurl.zoo.spelunking(0.5, -2, -5, levels=LEVELS)


CASES = {
    "parallel-5": _wide(5, 500_000),
    "parallel-7": _wide(7, 2_000_000),
    "parallel-8": Case(
        _spelunking,
        {
            "preset": "parallel",
            "exploration": linear(0.5, 0.1, 400_000),
            "learning_rate": linear(0.002, 0.00005, 1_500_000),
            "episode_limit": 200,
            "trace": 0.0,
        },
        1_500_000,
        1e-3,
    ),
    "palindrome-5": Case(
        lambda: recurl.zoo.palindrome(size=5), _longer(1_000_000), 1_000_000, 1e-3
    ),
    "palindrome-7": Case(lambda: recurl.zoo.palindrome(size=7), _longer(600_000), 600_000, 1e-3),
    "spelunking-8": Case(
        _spelunking,
        {
            "exploration": linear(0.5, 0.1, 300_000),
            "learning_rate": linear(0.001, 0.00005, 1_200_000),
            "reward_scale": 0.1,
            "episode_limit": 200,
        },
        1_200_000,
        1e-3,
    ),
}


def show(name: str, seed: int) -> None:
    """Learn one case, and print what its greedy policy is worth on the way."""
    case = CASES[name]
    model = case.model()
    print(f"\n{model}", flush=True)
    began = time.perf_counter()
    best = recurl.solve(model, epsilon=case.epsilon)
    seconds = time.perf_counter() - began
    print(f"optimum in [{best.lower:.4f}, {best.upper:.4f}], {seconds:.0f} s", flush=True)
    learner = recurl.DeepRecursiveQLearning(model, seed=seed, evaluate_every=0, **case.settings)
    spent = 0.0
    for _ in range(10):
        clock = time.process_time()
        learner.learn(case.steps // 10)
        spent += time.process_time() - clock
        worth = recurl.evaluate(learner.policy(1_000)).value
        print(f"{learner.steps:9,} steps {spent:7.1f} s   worth {worth:9.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.names:
        show(name, given.seed)


if __name__ == "__main__":
    main()
