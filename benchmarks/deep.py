"""Deep learning on palindrome with the paper's settings: its speed beside stable-baselines3.

    python benchmarks/deep.py
    python benchmarks/deep.py cores

The first uses one core and counts processor time: all take turns, and ratios are of the best turns.
stable-baselines3 takes part if it is installed (`make install-bench`). The second learns with ten
seeds, one after another and then with a thread per core.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import gymnasium as gym

import recurl

PAPER: dict[str, Any] = {"preset": "paper", "evaluate_every": 0, "warm_up": 100}
TURN, TURNS = 2_000, 4


def palindrome_env() -> gym.Env[Any, Any]:
    return gym.make("recurl/Palindrome-v0", observation="features")


def ours(subject: Any, name: str) -> Callable[[int], object]:
    begin = time.perf_counter(), time.process_time()
    learner = recurl.DeepRecursiveQLearning(subject, **PAPER)
    learner.learn(1)
    wall, own = time.perf_counter() - begin[0], time.process_time() - begin[1]
    print(f"{name}: compiled in {wall:.1f} s ({own:.1f} s of processor time)")
    return lambda steps: learner.learn(steps)


def theirs() -> Callable[[int], object]:
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
    learner.learn(200)
    # A new call of learn would wait for the first steps again.
    learner.learning_starts = 0
    return lambda steps: learner.learn(steps, reset_num_timesteps=False)


def rate(run: Callable[[int], object]) -> float:
    """Steps per second of processor time."""
    begin = time.process_time()
    run(TURN)
    return TURN / (time.process_time() - begin)


def speed() -> None:
    runs = {
        "compiled loop": ours(recurl.zoo.palindrome(), "compiled loop"),
        "Gymnasium loop": ours(palindrome_env(), "Gymnasium loop"),
    }
    if find_spec("stable_baselines3"):
        runs["stable-baselines3"] = theirs()
    for run in runs.values():
        run(1_000)
    rates = dict.fromkeys(runs, 0.0)
    for _ in range(TURNS):
        rates = {name: max(rates[name], rate(run)) for name, run in runs.items()}
    unit = rates.get("stable-baselines3")
    for name, found in rates.items():
        ratio = "" if unit is None else f"  {found / unit:.2f}x"
        print(f"{name:20s} {found:8,.0f} steps/s{ratio}")


def cores(seeds: int = 10, steps: int = 3_000) -> None:
    kind, model = recurl.DeepRecursiveQLearning, recurl.zoo.palindrome()
    kind(model, **PAPER).learn(1)
    for threads in (1, os.cpu_count()):
        begin = time.perf_counter(), time.process_time()
        recurl.learn_many(model, seeds, steps, algorithm=kind, threads=threads, **PAPER)
        wall, own = time.perf_counter() - begin[0], time.process_time() - begin[1]
        rate = f"{seeds * steps / wall:,.0f} steps/s in all"
        print(f"{seeds} seeds, {threads} at a time: {rate}, {own / wall:.2f} cores busy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["speed", "cores"], nargs="?", default="speed")
    if parser.parse_args().what == "cores":
        return cores()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return speed()


if __name__ == "__main__":
    main()
