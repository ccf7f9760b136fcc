"""Deep learning on palindrome: its speed beside stable-baselines3, and how fast presets learn.

    python benchmarks/deep.py speed
    python benchmarks/deep.py cores
    python benchmarks/deep.py preset swift --seeds 400 410 --steps 150000
    python benchmarks/deep.py preset paper --flat --seeds 400 410

`speed` uses one core and counts processor time, in one run; stable-baselines3 takes part if it is
installed (`make install-bench`). `cores` learns with as many seeds as cores at once, in threads.
`preset` evaluates the greedy policy exactly after every 1,000 steps from 10,000 on.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np

import recurl

LIMITS = (40.0, 40.5)


def palindrome_env() -> gym.Env[Any, Any]:
    return gym.make("recurl/Palindrome-v0", observation="features")


def rate(run: Callable[[int], object], steps: int, times: int = 3) -> float:
    """Steps per second of processor time, the best of some."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        run(steps)
        found.append(steps / (time.process_time() - begin))
    return max(found)


def ours(subject: Any, name: str) -> float:
    begin = time.perf_counter()
    learner = recurl.DeepRecursiveQLearning(subject, evaluate_every=0, warm_up=100).learn(1)
    print(f"{name}: compiled in {time.perf_counter() - begin:.1f} s")
    learner.learn(1_000)
    return rate(learner.learn, 2_000)


def theirs() -> float:
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    learner = DQN(
        "MlpPolicy",
        recurl.FlatView(palindrome_env()),
        learning_rate=0.0005,
        buffer_size=20_000,
        learning_starts=100,
        batch_size=256,
        gamma=1.0,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=500,
        policy_kwargs={"net_arch": [128, 128], "activation_fn": torch.nn.Tanh},
        seed=0,
    )
    learner.learn(1_000)
    # A new call of learn would wait for the first steps again.
    learner.learning_starts = 0
    return rate(lambda steps: learner.learn(steps, reset_num_timesteps=False), 2_000)


def speed() -> None:
    model, env = recurl.zoo.palindrome(), palindrome_env()
    rates = {
        "compiled loop": ours(model, "compiled loop"),
        "Gymnasium loop": ours(env, "Gymnasium loop"),
    }
    if find_spec("stable_baselines3"):
        rates["stable-baselines3"] = theirs()
    slowest = rates.get("stable-baselines3")
    for name, found in rates.items():
        ratio = "" if slowest is None else f"  {found / slowest:.2f}x"
        print(f"{name:20s} {found:8,.0f} steps/s{ratio}")


def cores() -> None:
    model, count, steps = recurl.zoo.palindrome(), os.cpu_count() or 1, 5_000
    settings = {"evaluate_every": 0, "warm_up": 100}
    seconds = []
    for seeds in (1, count):
        begin = time.perf_counter()
        kind = recurl.DeepRecursiveQLearning
        learners = recurl.learn_many(model, seeds, 1_000, algorithm=kind, **settings)
        begin = time.perf_counter()
        recurl.learn_many(model, seeds, steps, algorithm=kind, **settings)
        seconds.append(time.perf_counter() - begin)
        print(f"{len(learners)} at once: {seeds * steps / seconds[-1]:,.0f} steps/s in all")
    print(f"{count} cores are worth {count * seconds[0] / seconds[1]:.2f} of one")


def preset(name: str, seeds: range, steps: int, flat: bool) -> None:
    kind = recurl.DQN if flat else recurl.DeepRecursiveQLearning
    print("seed    > 40    > 40.5   from 80,000 on: share > 40.5, least   end   seconds to 40.5")
    for seed in seeds:
        run = Watched(kind(recurl.zoo.palindrome(), preset=name, seed=seed))
        run.learner.learn(steps, run)
        print(f"{seed:4d}  {run.line()}", flush=True)


class Watched:
    """The exact values of a learner's greedy policy, as it learns."""

    def __init__(self, learner: Any) -> None:
        self.learner, self.known = learner, {}  # type: Any, dict[Any, float]
        self.steps: list[int] = []
        self.values: list[float] = []
        self.seconds: list[float] = []
        self._clock, self._spent = time.process_time(), 0.0

    def __call__(self, learner: Any) -> None:
        self._spent += time.process_time() - self._clock
        if learner.steps >= 10_000 and learner.steps % 1_000 == 0:
            policy = learner.policy(2_000)
            if policy not in self.known:
                self.known[policy] = recurl.evaluate(policy).value
            self.steps.append(learner.steps)
            self.values.append(self.known[policy])
            self.seconds.append(self._spent)
        self._clock = time.process_time()

    def line(self) -> str:
        values, steps = np.array(self.values), np.array(self.steps)
        first = [
            int((values > limit).argmax()) if (values > limit).any() else -1 for limit in LIMITS
        ]
        reached = [f"{steps[i]:7,d}" if i >= 0 else "      -" for i in first]
        late = values[steps >= 80_000]
        held = f"{(late > 40.5).mean():.3f} {late.min():8.3f}" if len(late) else "-"
        took = f"{self.seconds[first[1]]:.1f}" if first[1] >= 0 else "-"
        return f"{reached[0]} {reached[1]}   {held}   {values[-1]:.3f}   {took}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "cores", "preset"])
    parser.add_argument("name", nargs="?", default="swift")
    parser.add_argument("--seeds", type=int, nargs=2, default=[400, 410])
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--flat", action="store_true")
    given = parser.parse_args()
    if given.what != "cores":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if given.what == "preset":
        preset(given.name, range(*given.seeds), given.steps, given.flat)
    else:
        {"speed": speed, "cores": cores}[given.what]()


if __name__ == "__main__":
    main()
