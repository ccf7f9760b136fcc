"""Speed of tabular learning, beside C and plain Python; all in one run, as ratios.

    python benchmarks/tabular.py

Times are of the processor, best of three, on one core.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from plain import PlainLearner

import recurl
from recurl.learn.env_engine import EnvEngine
from recurl.learn.loop_kernel import CUT
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALLS, EXITS, STEP

PAPER: dict[str, Any] = {
    "preset": "paper",
    "learning_rate": 0.02,
    "exploration": 0.1,
    "quantum": 0.001,
    "episode_limit": 200,
}
STEPS = 20_000_000
ROUNDS = 200
"""Rounds of which the median counts, where two loops that differ little are compared."""


def best_rate(run: Callable[[], None], steps: int, times: int = 3) -> float:
    """Steps per second of processor time."""
    rates = []
    for _ in range(times):
        begin = time.process_time()
        run()
        rates.append(steps / (time.process_time() - begin))
    return max(rates)


def kernel_rate(model: RMDP, steps: int = STEPS, **settings: Any) -> float:
    learner = recurl.RecursiveQLearning(model, **{**PAPER, **settings}).learn(1000)
    return best_rate(lambda: _ignore(learner.learn(steps)), steps)


def _ignore(_: object) -> None: ...


def plain_rate(model: RMDP, steps: int = 100_000) -> float:
    learner = PlainLearner(model, learning_rate=0.02, exploration=0.1, quantum=0.001)
    return best_rate(lambda: learner.learn(steps, 200), steps)


def c_rate(model: RMDP, folder: Path, steps: int = STEPS) -> float | None:
    """The loop in tabular.c; None if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    binary, source = folder / "tabular", Path(__file__).with_name("tabular.c")
    subprocess.run([compiler, "-O3", "-march=native", "-o", binary, source, "-lm"], check=True)
    text = c_input(model, steps)
    rates = []
    for _ in range(3):
        done = subprocess.run([binary], input=text, capture_output=True, text=True, check=True)
        rates.append(steps / float(done.stdout.split()[0]))
    return max(rates)


def c_input(model: RMDP, steps: int) -> str:
    t, outcomes = model.tables, model.outcomes
    numbers = [t.n_vertices, t.n_actions, t.n_transitions, t.n_boxes, t.n_components]
    numbers += [int(outcomes.start[0]), t.start_component, steps, PAPER["episode_limit"]]
    rates = [PAPER["learning_rate"], PAPER["exploration"], PAPER["quantum"]]
    first = t.action_start[t.component_start]
    arrays = (t.action_start, t.transition_start, t.box_component, t.box_return, first, t.n_exits)
    rows = [" ".join(map(repr, [*numbers, *rates]))]
    rows += [" ".join(map(str, array.tolist())) for array in arrays]
    fields = ("below", "reward", "landing", "box", "move")
    rows += [" ".join(repr(o[f].item()) for f in fields) for o in outcomes.packed()]
    return "\n".join(rows)


class Tape(gym.Env[Any, Any]):
    """Recorded runs, replayed at almost no cost, whatever the actions."""

    def __init__(self, model: RMDP, steps: int) -> None:
        self.env = recurl.ModelEnv(model)
        self.observation_space = self.env.observation_space
        self.action_space = self.env.action_space
        self.random = np.random.default_rng(0)
        self.tape: list[tuple[Any, float, bool, bool, dict[str, Any]]] = []
        self.start: tuple[Any, dict[str, Any]] = self.env.reset(seed=0)
        while len(self.tape) < steps:
            self._record_episode()
        self.place = 0

    def _record_episode(self) -> None:
        _, info = self.env.reset()
        ended = False
        while not ended:
            action = int(self.random.choice(np.flatnonzero(info["action_mask"])))
            result = self.env.step(action)
            self.tape.append(result)
            ended, info = result[2], result[4]

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self.start

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place += 1
        return self.tape[self.place - 1]


def foreign_cost(model: RMDP) -> float:
    """Microseconds that the learner itself takes per step of an environment."""
    env = Tape(model, 100_000)
    steps = len(env.tape)  # whole episodes, so that each round begins with a new one
    learner = recurl.RecursiveQLearning(env, **{**PAPER, "episode_limit": None})

    def learn() -> None:
        env.place = 0
        learner.learn(steps)

    def only_step() -> None:
        env.place = 0
        step = env.step
        for _ in range(steps):
            _observation, _reward, _terminated, _truncated, _info = step(0)

    learn()
    return 1e6 * (1 / best_rate(learn, steps) - 1 / best_rate(only_step, steps))


class Unchecked(EnvEngine):
    """The same loop without the checks of the protocol."""

    def _advance(self, steps: int) -> None:
        step, limit = self.env.step, self.settings.episode_limit or -1
        visit = self.numbering.visit
        for _ in range(steps):
            if self._pending is None:
                self._begin()
            observation, gain, terminated, truncated, info = step(self._pending)
            reward: Any = gain
            self._length += 1
            self._return += reward
            if "counterfactuals" in info:
                self._learn_counterfactuals(info["counterfactuals"])
            if terminated:
                self._act(0, EXITS, -1, reward)
                self._finish(cut=False)
                continue
            vertex = visit(observation, info.get("action_mask"))
            event = None if self.flat else info.get("event")
            cut = CUT if truncated or self._length == limit else 0
            if event is None:
                self._act(vertex, STEP + cut, 0, reward)
            elif event == "call":
                exits = info["exits"] if self.view is None else self.view(info["exits"])
                self._act(vertex, CALLS + cut, self.numbering.box(exits), reward)
            else:
                self._act(vertex, EXITS + cut, info["exit"], reward)
            if cut:
                self._finish(cut=True)


def check_cost(make: Callable[[], gym.Env[Any, Any]], steps: int = 3_000) -> float:
    """Share of the time of a step in an environment that the checks of the protocol take."""
    learners, times = [], np.empty((ROUNDS, 2))
    for engine in (EnvEngine, Unchecked):
        learners.append(recurl.RecursiveQLearning(make(), **PAPER))
        learners[-1].engine.__class__ = engine
        learners[-1].learn(steps)
    for row in times:
        for i, learner in enumerate(learners):
            begin = time.process_time()
            learner.learn(steps)
            row[i] = time.process_time() - begin
    return float(np.median(times[:, 0] / times[:, 1])) - 1


def size_curve() -> list[tuple[int, float]]:
    """Nanoseconds per step for models of growing size."""
    found = []
    for nodes in (20, 200, 2000, 20_000, 200_000):
        model = recurl.zoo.random_model(0, 5, nodes, kind="one_exit", boxes=max(1, nodes // 10))
        rate = kernel_rate(model, 3_000_000)
        found.append((model.tables.n_vertices, 1e9 / rate))
    return found


def main() -> None:
    model = recurl.zoo.cloud()
    kernel = kernel_rate(model)
    print(f"training on cloud: {kernel / 1e6:.1f} million steps/s (asked: 20)")
    with tempfile.TemporaryDirectory() as folder:
        rate = c_rate(model, Path(folder))
    if rate is not None:
        print(f"against C ({rate / 1e6:.1f} million steps/s): {kernel / rate:.2f} (asked: 0.5)")
    plain = plain_rate(model)
    print(f"against plain Python ({plain:,.0f} steps/s): {kernel / plain:.0f}x (asked: 400x)")
    print(f"own cost in an environment: {foreign_cost(model):.2f} us a step (asked: at most 2)")
    checks = check_cost(lambda: recurl.ModelEnv(model))
    print(f"checks of the protocol: {checks:.1%} of a step in an environment (asked: 5 %)")
    swift = kernel_rate(model, 5_000_000, preset="swift", learning_rate=None)
    print(f"preset swift, 8 replays a step: {swift / 1e6:.2f} million steps/s")
    for vertices, cost in size_curve():
        print(f"{vertices:>9,} vertices: {cost:6.1f} ns a step")


if __name__ == "__main__":
    main()
