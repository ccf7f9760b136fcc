"""Counterfactual updates: how many steps they save where a machine watches an environment.

    python benchmarks/counterfactual.py [--seeds N] [--deep] [WORDS ...]

`MachineEnv(..., counterfactual=True)` reports with each step what the same action would have done
in the other states of the machine and below the other tops of its stack. Tasks are those of
benchmarks/discounted.py, fetching things on a craft-style grid, and the letter world: read A until
it turns into B, then C for every A, and a last C to end. A line shows the median and the greatest
number of steps after which the greedy policy is optimal, without and with counterfactual updates.
In the letter world it is optimal if it is so for every number of A from 0 to 4. With WORDS, only
the tasks whose name contains one of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from discounted import EXPLORATION, FIRST, GAMMA, MAP, RATE, TASKS, machine_of, model_of
from gymnasium import spaces

import recurl
from recurl.automaton import MachineEnv
from recurl.automaton.grid import MOVES, Cell, Grid
from recurl.zoo.models import letter_world as letters

EPISODE = 1_000


class Craft(gym.Env[Any, Any]):
    """The map of benchmarks/discounted.py; an observation is the number of a cell."""

    def __init__(self) -> None:
        self.grid = Grid.read(MAP, "#Sabcde.")
        self.cells = [cell for cell in self.grid.cells() if self.grid[cell] != "#"]
        self._number = {cell: number for number, cell in enumerate(self.cells)}
        self.observation_space = spaces.Discrete(len(self.cells))
        self.action_space = spaces.Discrete(len(MOVES))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin at S."""
        super().reset(seed=seed)
        (self._cell,) = self.grid.cells("S")
        return self._number[self._cell], {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Move by a cell."""
        self._cell = self.grid.moved(self._cell, list(MOVES)[action])
        return self._number[self._cell], 0.0, False, False, {}

    def labels(self, here: int, action: int, there: int) -> Iterable[str]:
        """The letter of the cell."""
        letter = self.grid[self.cells[there]]
        return letter if letter in "abcde" else ()


class Letters(gym.Env[Any, Any]):
    """The letter world; an observation is a cell, and whether A has turned into B.

    Args:
        counts: How often A is read in the first episode, the second, and so on, from the first
            again after the last; at random if there are none.
    """

    action_space = spaces.Discrete(len(MOVES))

    def __init__(self, counts: tuple[int, ...] = ()) -> None:
        self.cells = list(letters.GRID.cells())
        self.observation_space = spaces.Discrete(2 * len(self.cells))
        self._counts, self._episode = counts, -1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin in the middle."""
        super().reset(seed=seed)
        self._cell, self._turned, self._read = letters.FIRST, False, 0
        self._episode += 1
        return self._seen(), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Move by a cell; A turns into B before it is read, or not."""
        self._cell = letters.GRID.moved(self._cell, list(MOVES)[action])
        if self._cell == letters.LETTER and not self._turned:
            self._turned = self._turns()
            self._read += 1
        return self._seen(), -0.1, False, False, {}

    def _turns(self) -> bool:
        if self._counts:
            return self._read >= self._counts[self._episode % len(self._counts)]
        return bool(self.np_random.random() < 0.5)

    def _seen(self) -> int:
        return self.number(self._cell, self._turned)

    def number(self, cell: Cell, turned: bool) -> int:
        """The observation of a cell."""
        return 2 * self.cells.index(cell) + turned

    def labels(self, here: int, action: int, there: int) -> Iterable[str]:
        """The letter that lies there."""
        cell, turned = self.cells[there // 2], there % 2
        return "C" if cell == letters.LAST else "AB"[turned] if cell == letters.LETTER else ()


class Case(NamedTuple):
    """A task for a learner.

    Attributes:
        name: Its name.
        make: The environment, with counterfactual steps or without, for training or for tests.
        learner: The class of the learner.
        settings: Its settings.
        every: Steps between looks at the policy.
        episodes: Episodes of such a test.
        most: Steps after which a run is given up.
    """

    name: str
    make: Callable[[bool, bool], gym.Env[Any, Any]]
    learner: Any
    settings: dict[str, Any]
    every: int
    episodes: int
    most: int


def craft(task: int) -> Callable[[bool, bool], gym.Env[Any, Any]]:
    """The environments of a task on the craft-style grid."""
    machine = machine_of(TASKS[task])

    def make(counterfactual: bool, tests: bool) -> gym.Env[Any, Any]:
        world = Craft()
        return MachineEnv(world, machine, world.labels, counterfactual=counterfactual)

    return make


def letter_world(counterfactual: bool, tests: bool) -> gym.Env[Any, Any]:
    """The environments of the letter world."""
    world = Letters((0, 1, 2, 3, 4) if tests else ())
    exits = [world.number(letters.LAST, True)]
    return MachineEnv(
        world, letters.letter_machine(), world.labels, exits=exits, counterfactual=counterfactual
    )


PUBLISHED: dict[str, Any] = {
    "gamma": GAMMA, "learning_rate": RATE, "initial_value": FIRST, "exploration": EXPLORATION,
    "episode_limit": EPISODE, "preset": "paper",
}  # fmt: skip
DEEP: dict[str, Any] = {
    "episode_limit": EPISODE,
    "evaluate_every": 0,
    "exploration": 0.2,
    "gamma": GAMMA,
}


def cases(deep: bool) -> list[Case]:
    """All tasks and learners, or those of the deep learners."""
    found = []
    for number, task in enumerate(TASKS):
        make = craft(number)
        if deep:
            found.append(Case(task.name, make, recurl.DQN, DEEP, 1_000, 1, 50_000))
            continue
        flat = recurl.QLearning
        found.append(Case(task.name, make, flat, PUBLISHED, 1_000, 1, 500_000))
        swift = {**PUBLISHED, "preset": "swift"}
        found.append(Case(f"{task.name}, swift", make, flat, swift, 1_000, 1, 500_000))
    if deep:
        settings = {**DEEP, "gamma": 1.0, "max_exits": 2}
        recursive: Any = recurl.DeepRecursiveQLearning
        return [*found, Case("letter world", letter_world, recursive, settings, 1_000, 5, 50_000)]
    for preset in ("paper", "swift"):
        settings = {"episode_limit": EPISODE, "preset": preset}
        case = Case(f"letter world, {preset}", letter_world, recurl.RecursiveQLearning, settings,
                    1_000, 5, 500_000)  # fmt: skip
        found.append(case)
    return found


def optimum(case: Case) -> float:
    """The mean return of an optimal policy in a test."""
    if case.name.startswith("letter"):
        return float(np.mean([1 - 0.1 * (5 + 4 * n) for n in range(5)]))
    task = next(task for task in TASKS if case.name.startswith(task.name))
    return float(recurl.solve(model_of(task), gamma=GAMMA, epsilon=1e-12).lower)


def steps_to_optimum(case: Case, counterfactual: bool, seed: int, best: float) -> int:
    """Steps until the greedy policy is optimal; more than asked for if it never is."""
    learner = case.learner(
        case.make(counterfactual, False), evaluation_env=case.make(False, True), seed=seed,
        **case.settings,
    )  # fmt: skip
    for steps in range(case.every, case.most + 1, case.every):
        if learner.learn(case.every).test(case.episodes).mean >= best - 1e-6:
            return steps
    return case.most + 1


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    print(f"{'':58} {'median':>9} {'most':>9} {'optimal':>9}")
    for case in cases(given.deep):
        if given.words and not any(word in case.name for word in given.words):
            continue
        best = optimum(case)
        for counterfactual in (False, True):
            seeds = range(given.seeds)
            took = np.array([steps_to_optimum(case, counterfactual, s, best) for s in seeds])
            found = f"{(took <= case.most).sum()} of {given.seeds}"
            way = "counterfactual" if counterfactual else "plain"
            title = f"{case.learner.__name__}, {case.name}: {way}"
            print(f"{title:58} {np.median(took):>9,.0f} {took.max():>9,} {found:>9}", flush=True)


if __name__ == "__main__":
    main()
