"""Runs that are stopped: at once, between two steps, and as good as never stopped."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from tests.learn import stress
from tests.learn.stress import ENDLESS, SETTINGS, SMALL

import recurl
from recurl.learn.curve import Curve
from recurl.learn.deep.env_engine import take_in
from recurl.learn.learner import Learner


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C raises, also where the tests run in the background of a shell."""
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, ours)


def budgeted(learner: Learner) -> Learner:
    """A learner whose schedules do not depend on the steps of the first call."""
    learner.set_budget(2_000)
    return learner


def tabular() -> Learner:
    return budgeted(recurl.RecursiveQLearning(recurl.zoo.cloud(), preset="swift", **SETTINGS))


def deep() -> Learner:
    return budgeted(recurl.DeepRecursiveQLearning(recurl.zoo.cloud(), **SMALL))


def on_environment() -> Learner:
    return budgeted(recurl.RecursiveQLearning(gym.make("recurl/Cloud-v0"), **SETTINGS))


def deep_on_environment() -> Learner:
    return budgeted(recurl.DeepRecursiveQLearning(gym.make("recurl/Cloud-v0"), **SMALL))


def press_after(learner: Learner, steps: int) -> None:
    """Press Ctrl-C when a learner has taken so many steps, from another thread."""

    def wait() -> None:
        while learner.steps < steps:
            pressed.wait(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    pressed = threading.Event()
    threading.Thread(target=wait, daemon=True).start()


MAKERS = [tabular, deep, on_environment, deep_on_environment]


@pytest.mark.parametrize("make", MAKERS)
def test_ctrl_c_leaves_a_learner_that_goes_on_to_the_bit(make: Callable[[], Learner]) -> None:
    stopped, whole = make(), make()
    press_after(stopped, 200)
    with pytest.raises(KeyboardInterrupt):
        stopped.learn(ENDLESS)
    assert 200 <= stopped.steps < ENDLESS
    end = stopped.steps + 900
    stopped.learn(900)
    whole.learn(end)
    assert whole.steps == stopped.steps
    np.testing.assert_array_equal(stopped.curve.array, whole.curve.array)
    for name, array in whole.engine.arrays().items():
        np.testing.assert_array_equal(stopped.engine.arrays()[name], array)


@pytest.mark.parametrize("loop", stress.LOOPS)
@pytest.mark.parametrize("kind", ["RecursiveQLearning", "parallel"])
def test_interrupts_at_random_moments_lose_nothing(kind: str, loop: str) -> None:
    stress.interrupt(kind, loop, times=3, seed=1)


@pytest.mark.parametrize(
    ("kind", "loop", "times"),
    [
        ("RecursiveQLearning", "model", 20),
        ("RecursiveQLearning", "environment", 60),
        ("ModelBasedRecursiveLearning", "model", 5),
        ("ModelBasedRecursiveLearning", "environment", 5),
        ("DeepRecursiveQLearning", "environment", 5),
    ],
)
def test_a_second_ctrl_c_at_any_bytecode_loses_nothing(kind: str, loop: str, times: int) -> None:
    stress.anywhere(kind, loop, times, seed=1)


@pytest.mark.parametrize("loop", stress.LOOPS)
@pytest.mark.parametrize("kind", stress.KINDS)
def test_a_learner_that_has_not_begun_is_saved_and_loaded(
    kind: str, loop: str, tmp_path: Path
) -> None:
    stress.check(stress.make(kind, loop), loop, tmp_path / "run")


class Failing(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose 50th step fails after it was taken; notes what is called after that."""

    def __init__(self, env: gym.Env[Any, Any], error: BaseException) -> None:
        super().__init__(env)
        self._error, self._count = error, 0
        self.after: list[str] = []

    def reset(self, **options: Any) -> Any:
        if self._count >= 50:
            self.after.append("reset")
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        self._count += 1
        found = self.env.step(action)
        if self._count == 50:
            raise self._error
        if self._count > 50:
            self.after.append("step")
        return found


@pytest.mark.parametrize("error", [RuntimeError("lost connection"), KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (recurl.RecursiveQLearning, SETTINGS),
        (recurl.DeepRecursiveQLearning, SMALL),
        (recurl.ModelBasedRecursiveLearning, SETTINGS),
    ],
)
def test_an_episode_begins_after_a_step_that_failed(
    kind: Any, settings: dict[str, Any], error: BaseException
) -> None:
    env = Failing(gym.make("recurl/Cloud-v0"), error)
    learner = kind(env, **settings)
    with pytest.raises(type(error)):
        learner.learn(100)
    assert learner.steps == 49
    assert learner.learn(10).steps == 59
    assert env.after[:2] == ["reset", "step"]


def test_a_deep_learner_outlives_an_interrupt_that_loses_its_networks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    learner = deep_on_environment().learn(60)
    before, taken = {name: x.copy() for name, x in learner.engine.arrays().items()}, []

    def lose(*arguments: Any) -> Any:
        taken.append(take_in(*arguments))
        if len(taken) == 3:
            raise KeyboardInterrupt
        return taken[-1]

    with monkeypatch.context() as patched:
        patched.setattr("recurl.learn.deep.env_engine.take_in", lose)
        with pytest.raises(KeyboardInterrupt):
            learner.learn(10)
    learner.save(tmp_path / "run.ckpt")
    for name, array in learner.engine.arrays().items():
        np.testing.assert_array_equal(before[name], array, err_msg=name)
    assert learner.learn(10).steps == 70


def test_a_test_that_was_interrupted_is_made_when_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    learner = tabular()
    with monkeypatch.context() as patched:
        patched.setattr(Curve, "add", press)
        with pytest.raises(KeyboardInterrupt):
            learner.learn(1_500)
    assert learner.steps == 700
    learner.learn(800)
    np.testing.assert_array_equal(learner.curve.array, tabular().learn(1_500).curve.array)


def test_a_killed_run_on_an_environment_leaves_a_file_that_loads() -> None:
    stress.kill("RecursiveQLearning", "environment", times=2, seed=1)


@pytest.mark.parametrize("make", [tabular, deep])
def test_what_was_learned_is_saved(make: Callable[[], Learner], tmp_path: Path) -> None:
    learner = make()
    press_after(learner, 100)
    with pytest.raises(KeyboardInterrupt):
        learner.learn(ENDLESS, checkpoint=tmp_path / "run.ckpt")
    assert learner.model is not None
    assert type(learner).load(tmp_path / "run.ckpt", learner.model).steps == learner.steps


@pytest.mark.parametrize("make", MAKERS)
def test_a_run_ends_when_it_is_told_to(make: Callable[[], Learner]) -> None:
    learner = make()
    learner.learn(ENDLESS, stopping=lambda: learner.steps >= 100)
    assert 100 <= learner.steps < ENDLESS


def test_many_runs_stop_together() -> None:
    made: list[Learner] = []

    def make(*arguments: Any, **settings: Any) -> Learner:
        made.append(recurl.RecursiveQLearning(*arguments, **settings))
        if len(made) == 3:
            press_after(made[-1], 1000)
        return made[-1]

    with pytest.raises(KeyboardInterrupt):
        recurl.learn_many(recurl.zoo.cloud(), 3, ENDLESS, algorithm=make, workers=3, **SETTINGS)
    steps = [learner.steps for learner in made]
    assert min(steps) >= 1
    assert steps[-1] >= 1000
    assert [learner.steps for learner in made] == steps  # none of them goes on


def test_nothing_is_compiled_to_the_end_before_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = threading.Event()

    def compile_for_long(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        release.wait(60)
        return 0

    learner = tabular()
    with monkeypatch.context() as patched:
        patched.setattr("recurl.learn.loop_kernel.learn_steps", compile_for_long)
        with pytest.raises(KeyboardInterrupt):
            learner.learn(1000)
    assert not release.is_set()
    release.set()
    assert learner.learn(1000).steps == 1000


class Pressed(gym.Wrapper[Any, Any, Any, Any]):
    """Ctrl-C is pressed twice in the first reset."""

    presses = 2

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        for _ in range(self.presses):
            signal.raise_signal(signal.SIGINT)
        return super().reset(seed=seed, options=options)


@pytest.mark.parametrize("kind", ["RecursiveQLearning", "ModelBasedRecursiveLearning", "tests"])
def test_an_interrupt_in_a_reset_that_gymnasium_checks_leaves_it_fit(kind: str) -> None:
    pressed = Pressed(gym.make("recurl/Cloud-v0").unwrapped)
    checked = gym.wrappers.PassiveEnvChecker(pressed)
    tests = kind == "tests"
    name = "RecursiveQLearning" if tests else kind
    env = gym.make("recurl/Cloud-v0") if tests else checked
    learner = getattr(recurl, name)(env, evaluation_env=checked if tests else None, **SETTINGS)

    def work() -> None:
        if tests:
            learner.test(2)
        else:
            learner.learn(50)

    with pytest.raises(KeyboardInterrupt):
        work()
    pressed.presses = 0
    work()
    assert learner.steps == (0 if tests else 50)
