"""Learners interrupted and killed at random moments: nothing learned may be lost.

The tests interrupt each learner a few times. Many times:

    python -m tests.learn.stress interrupt --times 200
    python -m tests.learn.stress interrupt --times 200 --presses 2
    python -m tests.learn.stress anywhere --times 200
    python -m tests.learn.stress kill --times 50

`anywhere` presses Ctrl-C twice at bytecodes of the learners' own code, drawn at random from all
that run in a call of ``learn``: so moments that take no time are met as often as others.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium as gym
import numpy as np

import recurl
from recurl.interrupts import requested
from recurl.learn.callbacks import SaveEvery
from recurl.learn.learner import Learner

BUDGET = 10_000
"""Steps that fractions refer to: runs are compared with one that is learned in other parts."""

SETTINGS: dict[str, Any] = {"episode_limit": 100, "evaluate_every": 700, "evaluate_episodes": 5}
SMALL: dict[str, Any] = {**SETTINGS, "hidden": (8,), "batch": 8, "warm_up": 50, "buffer": 500}
PARALLEL: dict[str, Any] = {
    **SETTINGS, "preset": "parallel", "hidden": (8,), "batch": 8, "warm_up": 50, "copies": 4,
    "rollout": 5,
}  # fmt: skip
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "RecursiveQLearning": ("RecursiveQLearning", SETTINGS),
    "QLearning": ("QLearning", SETTINGS),
    "DeepRecursiveQLearning": ("DeepRecursiveQLearning", SMALL),
    "DQN": ("DQN", SMALL),
    "parallel": ("DeepRecursiveQLearning", PARALLEL),
    "ModelBasedRecursiveLearning": ("ModelBasedRecursiveLearning", SETTINGS),
}
"""Names of learners, which are imported when they are made, and their settings."""
LOOPS: dict[str, Callable[[], Any]] = {
    "model": recurl.zoo.cloud,
    "environment": lambda: gym.make("recurl/Cloud-v0"),
}
ENDLESS = 10**12


def learner_class(kind: str) -> Any:
    """The class of a kind of learner."""
    return getattr(recurl, KINDS[kind][0])


def make(kind: str, loop: str) -> Learner:
    """A new learner."""
    made: Learner = learner_class(kind)(LOOPS[loop](), **KINDS[kind][1])
    made.set_budget(BUDGET)
    return made


@contextmanager
def alarm(seconds: float, presses: int = 1) -> Iterator[None]:
    """Press Ctrl-C after some time, wherever the block is then.

    Python drops an interrupt that comes while it collects garbage: it is pressed again then.

    Args:
        seconds: Time to the first press.
        presses: How often it is pressed, milliseconds apart. The second press ends whatever runs,
            also a test or a save.
    """
    heard = 0

    def press(*_: object) -> None:
        nonlocal heard
        if heard < presses:
            heard += requested() or presses > 1
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5.0 if presses == 1 else 0.002)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interrupt(kind: str, loop: str, times: int, seed: int, presses: int = 1) -> int:
    """Interrupt a run at random moments, check it after each, and compare it with a whole run.

    An environment begins a new episode where a second press comes between its step and what is
    learned from it: then there is nothing to compare.

    Returns:
        Steps of the run.
    """
    draw, learner = random.Random(seed), make(kind, loop)
    learner.learn(100)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(times):
            before = learner.steps
            try:
                with alarm(draw.uniform(1e-4, 0.05), presses):
                    learner.learn(ENDLESS)
            except KeyboardInterrupt:
                pass
            assert learner.steps >= before, "steps were lost"
            check(learner, loop, Path(folder) / "run")
    end = (learner.steps // 1000 + 1) * 1000
    learner.learn(end - learner.steps)
    if presses == 1 or loop == "model":
        same(learner, make(kind, loop).learn(end))
    return end


def check(learner: Learner, loop: str, path: Path) -> None:
    """A learner saves, predicts and has a policy."""
    learner.save(path)
    assert type(learner).load(path, LOOPS[loop]()).steps == learner.steps
    if loop == "model":
        few = {"max_contexts": 20} if hasattr(learner.settings, "hidden") else {}
        assert learner.policy(**few) is not None  # type: ignore[attr-defined]
        learner.predict(0)
    else:
        observation, info = gym.make("recurl/Cloud-v0").reset(seed=0)
        learner.predict(observation, info=info)


def same(one: Learner, other: Learner) -> None:
    """Two learners are the same to the bit."""
    np.testing.assert_array_equal(one.curve.array, other.curve.array)
    theirs = other.engine.arrays()
    for name, array in one.engine.arrays().items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


class Bytecodes:
    """Counts the bytecodes of the learners' own code, and presses Ctrl-C twice at one of them.

    Args:
        at: Number of the bytecode, counted from 1; 0 for none.
    """

    def __init__(self, at: int = 0) -> None:
        self.at, self.count = at, 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        """Follow a function if it is the learners' own."""
        if not frame.f_globals.get("__name__", "").startswith("recurl.learn."):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._count

    def _count(self, frame: FrameType, event: str, argument: object) -> Any:
        self.count += event == "opcode"
        if event == "opcode" and self.count == self.at:
            sys.settrace(None)
            press: Any = signal.getsignal(signal.SIGINT)
            press(signal.SIGINT, frame)
            press(signal.SIGINT, frame)
        return self._count

    def watch(self, learner: Learner, steps: int) -> int:
        """Learn, until Ctrl-C or to the end; returns the number of bytecodes."""
        sys.settrace(self)
        try:
            learner.learn(steps)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        return self.count


def anywhere(kind: str, loop: str, times: int, seed: int, steps: int = 30) -> int:
    """Interrupt first calls of ``learn`` at random bytecodes, and compare them with a whole run.

    Returns:
        Bytecodes of such a call.
    """
    draw, end = random.Random(seed), 10 * steps
    last = Bytecodes().watch(make(kind, loop).learn(1), steps)
    whole = make(kind, loop).learn(end)
    with tempfile.TemporaryDirectory() as folder:
        for at in draw.choices(range(1, last + 1), k=times):
            learner = make(kind, loop)
            Bytecodes(at).watch(learner, steps)
            check(learner, loop, Path(folder) / "run")
            learner.learn(end - learner.steps)
            check(learner, loop, Path(folder) / "run")
            if loop == "model":
                same(learner, whole)
    return last


def kill(kind: str, loop: str, times: int, seed: int) -> int:
    """Kill a run that saves itself at random moments; every file it leaves can be loaded.

    Returns:
        Steps of the run.
    """
    draw, steps = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        for _ in range(times):
            command = [sys.executable, "-m", "tests.learn.stress", "run", kind, loop, str(path)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
                assert child.stdout is not None
                assert child.stdout.readline() == b"running\n"
                time.sleep(draw.uniform(0, 1))
                child.kill()
            loaded = learner_class(kind).load(path, LOOPS[loop]()).steps
            assert loaded > steps, f"{steps - loaded} steps were lost"
            steps = loaded
        left = [name.name for name in Path(folder).iterdir() if name != path]
        assert len(left) <= 1, f"files are left behind: {left}"
    return steps


def run(kind: str, loop: str, path: Path) -> None:
    """Learn on from a file, saving there, until killed."""
    if path.exists():
        learner: Learner = learner_class(kind).load(path, LOOPS[loop]())
    else:
        learner = make(kind, loop)
    learner.learn(1, checkpoint=path)
    print("running", flush=True)
    learner.learn(ENDLESS, SaveEvery(50, path))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["interrupt", "anywhere", "kill", "run"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--presses", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--loops", nargs="*", default=list(LOOPS))
    given = parser.parse_args()
    if given.what == "run":
        run(given.rest[0], given.rest[1], Path(given.rest[2]))
        return
    works: dict[str, Callable[[str, str, int, int], int]] = {
        "interrupt": partial(interrupt, presses=given.presses),
        "anywhere": anywhere,
        "kill": kill,
    }
    unit = "bytecodes" if given.what == "anywhere" else "steps"
    for kind in given.kinds:
        for loop in given.loops:
            count = works[given.what](kind, loop, given.times, given.seed)
            print(
                f"{given.what} {kind} on {loop}: {given.times} times, {count:,} {unit}, no loss",
                flush=True,
            )


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
