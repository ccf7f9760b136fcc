"""Flat Q-learning with a discount beside twenty lines of plain Q-learning, on craft-style grids.

    python benchmarks/discounted.py [--seeds N]

A reward machine pays 1 at the end of its task: fetch wood and bring it to the workbench, or fetch
wood and iron, in any order, and bring both to the factory. Both learners have the published
settings of Q-learning on such tasks: gamma 0.9, learning rate 0.5, first values 2, exploration 0.1.
A line shows the median and the greatest number of steps after which the greedy policy is optimal,
looked at every thousand steps, and how many seeds came to that within half a million.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import recurl
from recurl.automaton import Machine, gridworld, product, rule

GAMMA, RATE, FIRST, EXPLORATION = 0.9, 0.5, 2.0, 0.1
EPISODE, EVERY, MOST = 1_000, 1_000, 500_000

MAP = """
S....#......
..a..#...b..
.....#......
.........c..
..c..#......
###.####.###
.....#......
.b...#...a..
.....#......
..d......e..
.....#......
"""
"""Wood (a), workbenches (b), iron (c), a tool shed (d) and a factory (e)."""


class Task(NamedTuple):
    """A reward machine on the map."""

    name: str
    rules: list[tuple[str, str, str]]


TASKS = [
    Task("wood to workbench", [("start", "a", "wood"), ("wood", "b", "done")]),
    Task(
        "wood and iron to factory",
        [
            ("start", "a", "wood"),
            ("start", "c", "iron"),
            ("wood", "c", "both"),
            ("iron", "a", "both"),
            ("both", "e", "done"),
        ],
    ),
]


def machine_of(task: Task) -> Machine:
    """The reward machine of a task."""
    rules = [
        rule(here, guard, there, reward=float(there == "done")) for here, guard, there in task.rules
    ]
    return Machine(task.name, rules, final=["done"], exclusive=[list("abcde")])


def model_of(task: Task) -> recurl.RMDP:
    """The grid watched by the machine of a task."""
    return product(gridworld(MAP), machine_of(task))


Policies = Iterator[float]
"""The discounted return of the greedy policy after every thousand steps."""


def ours(model: recurl.RMDP, seed: int) -> Policies:
    """Flat learning on the model."""
    yield from _tests(_learner(model, seed))


def ours_on_env(model: recurl.RMDP, seed: int) -> Policies:
    """Flat learning on the environment of the model."""
    env = recurl.ModelEnv(model)
    yield from _tests(_learner(env, seed, evaluation_env=recurl.ModelEnv(model)))


def ours_without_replay(model: recurl.RMDP, seed: int) -> Policies:
    """Flat learning on the model, one update per step as in plain Q-learning."""
    yield from _tests(_learner(model, seed, preset="paper"))


def _learner(
    subject: recurl.RMDP | recurl.ModelEnv, seed: int, **settings: Any
) -> recurl.QLearning:
    return recurl.QLearning(
        subject,
        gamma=GAMMA,
        learning_rate=RATE,
        initial_value=FIRST,
        exploration=EXPLORATION,
        episode_limit=EPISODE,
        seed=seed,
        **settings,
    )


def _tests(learner: recurl.QLearning) -> Policies:
    while True:
        yield float(learner.learn(EVERY).test(1).mean)


def plain(model: recurl.RMDP, seed: int) -> Policies:
    """Plain Q-learning, in about twenty lines."""
    env, random = recurl.ModelEnv(model), np.random.default_rng(seed)
    q = np.full((model.tables.n_vertices, 4), FIRST)
    state, length = env.reset(seed=seed)[0], 0
    for step in range(1, MOST + 1):
        best = np.flatnonzero(q[state] == q[state].max())
        explores = random.random() < EXPLORATION
        action = int(random.integers(4) if explores else random.choice(best))
        after, reward, ended, _, _ = env.step(action)
        goal = reward + (0.0 if ended else GAMMA * q[after].max())
        q[state, action] += RATE * (goal - q[state, action])
        state, length = after, length + 1
        if ended or length == EPISODE:
            state, length = env.reset()[0], 0
        if step % EVERY == 0:
            yield _greedy_return(model, q)


def _greedy_return(model: recurl.RMDP, q: np.ndarray) -> float:
    env = recurl.ModelEnv(model)
    state = env.reset(seed=0)[0]
    total = 0.0
    for t in range(EPISODE):
        state, reward, ended, _, _ = env.step(int(q[state].argmax()))
        total += GAMMA**t * reward
        if ended:
            break
    return total


def steps_to_optimum(returns: Policies, optimum: float) -> int:
    """Steps until the greedy policy is optimal; more than `MOST` if it never is."""
    for steps, found in zip(range(EVERY, MOST + 1, EVERY), returns, strict=False):
        if found >= optimum - 1e-9:
            return steps
    return MOST + 1


LEARNERS: dict[str, Callable[[recurl.RMDP, int], Policies]] = {
    "QLearning, model": ours,
    "QLearning, environment": ours_on_env,
    "QLearning, paper preset": ours_without_replay,
    "plain Q-learning": plain,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    print(f"{'':50} {'median':>9} {'most':>9} {'optimal':>9}")
    for task in TASKS:
        model = model_of(task)
        optimum = recurl.solve(model, gamma=GAMMA, epsilon=1e-12).lower
        for name, learner in LEARNERS.items():
            took = np.array([steps_to_optimum(learner(model, seed), optimum) for seed in seeds])
            found = f"{(took <= MOST).sum()} of {len(seeds)}"
            title = f"{task.name}: {name}"
            print(f"{title:50} {np.median(took):>9,.0f} {took.max():>9,} {found:>9}", flush=True)


if __name__ == "__main__":
    main()
