"""Deep Recursive Q-learning in models too large to be toys, beside their certified optimum.

    python benchmarks/deep_scale.py [palindrome-5 | gather-5 | spelunking-8 ...] [--seeds 0 1]

At regular intervals the greedy policy is made a table and evaluated exactly, unless some of its
episodes do not end: then their mean return is printed. Seconds are processor
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
EPISODES, LIMIT = 200, 100
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


def _gathered(size: int, steps: int) -> Case:
    """Palindrome with the network that reads exit values off, and exploration that falls slowly.

    On larger grids the learning rate falls by halves, to 0.00001 at the end.
    """
    halves = exponential(0.002, half_life=steps / 7.64)
    settings = {
        "preset": "gather",
        "exploration": linear(1.0, 0.1, 7 * steps // 8),
        "learning_rate": halves if size > 3 else linear(0.002, 0.00005, steps),
        "stack_limit": 60,
    }
    return Case(lambda: recurl.zoo.palindrome(size=size), settings, steps, 1e-3)


def _spelunking() -> recurl.RMDP:
    return recurl.zoo.spelunking(0.5, -2, -5, levels=LEVELS)


CASES = {
    "gather-3": _gathered(3, 250_000),
    "gather-5": _gathered(5, 500_000),
    "gather-7": _gathered(7, 2_000_000),
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


def worth(learner: recurl.DeepRecursiveQLearning) -> str:
    """Value of the greedy policy, or the mean of episodes if some of them do not end."""
    returns, _, cut = learner.engine.test(EPISODES, LIMIT, learner.steps)
    if cut.any():
        return f"{returns.mean():9.4f} in episodes, {cut.mean():.0%} of them cut"
    return f"{recurl.evaluate(learner.policy(1_000)).value:9.4f}"


def show(name: str, seeds: range) -> None:
    """Learn one case, and print what its greedy policy is worth on the way."""
    case = CASES[name]
    model = case.model()
    print(f"\n{model}", flush=True)
    began = time.perf_counter()
    best = recurl.solve(model, epsilon=case.epsilon)
    seconds = time.perf_counter() - began
    print(f"optimum in [{best.lower:.4f}, {best.upper:.4f}], {seconds:.0f} s", flush=True)
    for seed in seeds:
        learner = recurl.DeepRecursiveQLearning(model, seed=seed, evaluate_every=0, **case.settings)
        spent = 0.0
        for _ in range(10):
            clock = time.process_time()
            learner.learn(case.steps // 10, budget=case.steps)
            spent += time.process_time() - clock
            about = f"seed {seed} {learner.steps:9,} steps {spent:7.1f} s"
            print(f"{about}   worth {worth(learner)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 1])
    given = parser.parse_args()
    for name in given.names:
        show(name, range(*given.seeds))


if __name__ == "__main__":
    main()
