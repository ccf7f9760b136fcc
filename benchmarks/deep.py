"""Deep learning on palindrome: the speed of presets beside stable-baselines3 and a plain DQN.

    python benchmarks/deep.py [--size 5]
    python benchmarks/deep.py cores

The first uses one core and counts processor time: all take turns, and ratios are of the best turns.
With the paper's settings the compiled loop, the Gymnasium loop, the DQN of stable-baselines3 and a
plain loop in the manner of CleanRL make one update per step; `swift`, `parallel` and `gather` are
presets in the compiled loop. The two that need PyTorch take part if it is installed (`make
install-bench`).
The second learns with ten seeds, one after another and then with a thread per core.
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

PAPER: dict[str, Any] = {"preset": "paper", "evaluate_every": 0, "warm_up": 100}
# Presets with many copies learn after every 1,024 steps: turns have the same number of updates.
TURN, TURNS = 2_048, 4


def palindrome_env(size: int) -> gym.Env[Any, Any]:
    return gym.make("recurl/Palindrome-v0", size=size, observation="features")


def ours(subject: Any, name: str, settings: dict[str, Any]) -> Callable[[int], object]:
    begin = time.perf_counter(), time.process_time()
    learner = recurl.DeepRecursiveQLearning(subject, **settings)
    learner.learn(1, budget=10**6)
    wall, own = time.perf_counter() - begin[0], time.process_time() - begin[1]
    print(f"{name}: compiled in {wall:.1f} s ({own:.1f} s of processor time)")
    return lambda steps: learner.learn(steps)


def theirs(size: int) -> Callable[[int], object]:
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    learner = DQN(
        "MlpPolicy",
        recurl.FlatView(palindrome_env(size)),
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


def plain(size: int) -> Callable[[int], object]:
    """A DQN in a single loop, in the manner of CleanRL: PyTorch, and arrays as the buffer."""
    import torch
    from torch.nn import Linear, Sequential, Tanh

    torch.set_num_threads(1)
    env, draws = recurl.FlatView(palindrome_env(size)), np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    wide, actions = len(seen), gym.spaces.flatdim(env.action_space)

    def network() -> Any:
        return Sequential(Linear(wide, 128), Tanh(), Linear(128, 128), Tanh(), Linear(128, actions))

    online, target = network(), network()
    adam = torch.optim.Adam(online.parameters(), lr=0.0005)
    looks = np.zeros((2, 20_000, wide), np.float32)
    numbers = np.zeros((3, 20_000), np.float32)
    at, now = 0, seen

    def learn() -> None:
        rows = draws.integers(min(at, 20_000), size=256)
        here, there = torch.as_tensor(looks[0, rows]), torch.as_tensor(looks[1, rows])
        action, reward, over = (torch.as_tensor(column[rows]) for column in numbers)
        with torch.no_grad():
            goal = reward + (1 - over) * target(there).max(dim=1).values
        chosen = online(here).gather(1, action.long()[:, None])[:, 0]
        loss = torch.nn.functional.mse_loss(goal, chosen)
        adam.zero_grad()
        torch.autograd.backward(loss)
        adam.step()

    def run(steps: int) -> None:
        nonlocal at, now
        for _ in range(steps):
            if draws.random() < 0.1:
                action = int(draws.integers(actions))
            else:
                with torch.no_grad():
                    action = int(online(torch.as_tensor(now, dtype=torch.float32)).argmax())
            then, reward, terminated, truncated, _ = env.step(action)
            row, at = at % 20_000, at + 1
            looks[:, row], numbers[:, row] = (now, then), (action, reward, terminated)
            now = env.reset()[0] if terminated or truncated else then
            learn()
            if at % 500 == 0:
                target.load_state_dict(online.state_dict())

    return run


def rate(run: Callable[[int], object]) -> float:
    """Steps per second of processor time."""
    begin = time.process_time()
    run(TURN)
    return TURN / (time.process_time() - begin)


def speed(size: int) -> None:
    model = recurl.zoo.palindrome(size=size)
    paper = "compiled loop, paper"
    runs = {
        paper: ours(model, paper, PAPER),
        "Gymnasium loop, paper": ours(palindrome_env(size), "Gymnasium loop", PAPER),
    }
    for preset in ("swift", "parallel", "gather"):
        name = f"compiled loop, {preset}"
        runs[name] = ours(model, name, {"preset": preset, "evaluate_every": 0})
    if find_spec("stable_baselines3"):
        runs["stable-baselines3"] = theirs(size)
    if find_spec("torch"):
        runs["plain DQN in PyTorch"] = plain(size)
    for run in runs.values():
        run(1_100)
    rates = dict.fromkeys(runs, 0.0)
    for _ in range(TURNS):
        rates = {name: max(rates[name], rate(run)) for name, run in runs.items()}
    for name, found in rates.items():
        print(f"{name:24s} {found:8,.0f} steps/s  {found / rates[paper]:.2f}x")


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
    parser.add_argument("--size", type=int, default=3, help="Size of the grid.")
    given = parser.parse_args()
    if given.what == "cores":
        return cores()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return speed(given.size)


if __name__ == "__main__":
    main()
