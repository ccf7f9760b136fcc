"""The results of default settings: ten seeds each, no tuning, in environments that others wrote.

    python benchmarks/defaults.py [--first SEED] [--seeds N] [--stop] [--tested N] [--ours]
                                  [WORDS ...]

With WORDS, only the rows whose name contains one of them; --first is the first of the seeds. Each
row names the learner, the environment, the steps of training, and what is asked of the kept
policy's mean return over test episodes: how many of the seeds reach it is counted. Deep learners
are tested every 5,000 steps by 100 episodes, or as many as --tested says; the policy of the best
test is the one that is kept, and it plays other episodes in the end. By --stop their runs end with
the first test that reaches what is asked. Where stable-baselines3 is installed, its DQN is trained
beside ours, with its own defaults and the same tests, except by --ours. The result of each seed is
printed to standard error when it is known.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import math
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

import recurl


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        learner: What makes a learner from an environment and a seed.
        env: Gymnasium id.
        steps: Steps of training.
        asked: Least mean return.
        of_ten: How many of ten seeds are asked to reach it.
        episodes: Episodes of the last test.
    """

    learner: Callable[..., Any]
    env: str
    steps: int
    asked: float
    of_ten: int
    episodes: int


ROWS = [
    Row(recurl.QLearning, "FrozenLake-v1", 200_000, 0.70, 8, 1000),
    Row(recurl.QLearning, "Taxi-v4", 200_000, 7.5, 10, 200),
    Row(recurl.QLearning, "CliffWalking-v1", 100_000, -13.0, 10, 10),
    Row(recurl.DQN, "CartPole-v1", 200_000, 475.0, 8, 100),
    Row(recurl.DQN, "Acrobot-v1", 100_000, -100.0, 0, 100),
    Row(recurl.DQN, "MountainCar-v0", 100_000, -110.0, 0, 100),
]
"""The table; add rows for other learners here."""

EVERY = 5_000
"""Steps between tests of deep learners."""


class Tests(NamedTuple):
    """Episodes of a test, and whether a run ends with the first that reaches what is asked."""

    episodes: int
    stop: bool


Reached = Callable[[Row, int, Tests], float]
"""Mean return of the policy that a run keeps, given the row, the seed and how it is tested."""


def ours(row: Row, seed: int, tests: Tests) -> float:
    """The same for a learner of this library."""
    if row.learner is not recurl.DQN:
        learner = row.learner(gym.make(row.env), seed=seed).learn(row.steps)
        return float(learner.test(row.episodes).mean)
    learner = recurl.DQN(
        gym.make(row.env), seed=seed, evaluate_every=EVERY, evaluate_episodes=tests.episodes
    )
    callback = recurl.callbacks.StopAtReward(row.asked) if tests.stop else None
    best = learner.learn(row.steps, callback).best
    assert best is not None
    kept = best.learner
    returns, _, _ = kept.engine.test(row.episodes, kept.settings.test_limit, 1_000_003)
    return float(returns.mean())


def theirs(row: Row, seed: int, tests: Tests) -> float:
    """The same for the DQN of stable-baselines3, with the best of its tests kept.

    It learns in one call: its exploration falls within a fraction of the steps of a call, so that
    many short ones would explore next to nothing.
    """
    from stable_baselines3 import DQN
    from stable_baselines3.common.evaluation import evaluate_policy

    model = DQN("MlpPolicy", row.env, seed=seed, device="cpu")
    env, best, kept = gym.make(row.env), -math.inf, model.policy.state_dict()
    env.reset(seed=seed)

    def goes_on(*_: object) -> bool:
        nonlocal best, kept
        if model.num_timesteps % EVERY == 0:
            mean, _ = evaluate_policy(model, env, tests.episodes, warn=False)
            if mean > best:
                best, kept = mean, copy.deepcopy(model.policy.state_dict())
        return not (tests.stop and best >= row.asked)

    model.learn(row.steps, callback=goes_on)
    model.policy.load_state_dict(kept)
    return float(evaluate_policy(model, env, row.episodes, warn=False)[0])


def show(row: Row, name: str, seeds: range, reached: Reached, tests: Tests) -> None:
    """Run a row and print it."""
    began, means = time.process_time(), []
    for seed in seeds:
        means.append(reached(row, seed, tests))
        print(f"{name}, seed {seed}: {means[-1]:.3f}", file=sys.stderr, flush=True)
    found = np.array(means)
    hits = int((found >= row.asked).sum())
    print(
        f"{name:32} {row.steps:>8,} {row.asked:>8g} {hits:>3} of {len(seeds):<2} "
        f"{found.min():>8.3f} {np.median(found):>8.3f} {found.max():>8.3f} "
        f"{(time.process_time() - began) / len(seeds):6.1f} s",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--stop", action="store_true")
    parser.add_argument("--tested", type=int, default=100)
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    tests, seeds = Tests(given.tested, given.stop), range(given.first, given.first + given.seeds)
    beside = not given.ours and importlib.util.find_spec("stable_baselines3") is not None
    print(
        f"{'':32} {'steps':>8} {'asked':>8} {'reached':>9} {'least':>8} {'median':>8} {'most':>8}"
    )
    for row in ROWS:
        name = f"{row.learner.__name__} on {row.env}"
        if not given.words or any(word in name for word in given.words):
            show(row, name, seeds, ours, tests)
            if beside and row.learner is recurl.DQN:
                show(row, f"SB3's DQN on {row.env}", seeds, theirs, tests)


if __name__ == "__main__":
    main()
