"""Turns of learners that share an environment, and of threads and processes on one learner."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import recurl
from recurl.errors import BusyError
from recurl.execution.lock import locked_file
from recurl.learn.turns import begins_turn


class Equal:
    """Has no hash, as it says when it is equal to something."""

    @property
    def unwrapped(self) -> Equal:
        return self

    def __eq__(self, other: object) -> bool:
        return True


def test_wrappers_do_not_hide_what_is_shared() -> None:
    env, one, other = gym.make("CartPole-v1"), object(), object()
    wrapped = gym.wrappers.TimeLimit(env, 5)
    turns = [begins_turn(env, one), begins_turn(wrapped, other), begins_turn(wrapped, other)]
    assert turns == [False, True, False]
    assert begins_turn(env, one)


def test_what_has_no_hash_is_not_watched() -> None:
    env = Equal()
    assert not begins_turn(env, 1)
    assert not begins_turn(env, 2)


@pytest.mark.parametrize("kind", [recurl.RecursiveQLearning, recurl.ModelBasedRecursiveLearning])
def test_a_second_thread_on_a_learner_is_refused(kind: Any) -> None:
    learner, refused = kind(recurl.zoo.cloud(), episode_limit=200), []

    def disturb(_: Any) -> bool:
        for work in (lambda: learner.learn(1), learner.test, lambda: learner.predict(0)):
            try:
                pool.submit(work).result()
            except BusyError as error:
                refused.append(str(error))
        learner.test(1)  # by the same thread
        return False

    with ThreadPoolExecutor(1) as pool:
        learner.learn(100, callback=disturb)
        assert len(refused) == 3
        assert "another thread is using this " + kind.__name__ in refused[0]
        assert pool.submit(learner.learn, 100).result().steps == 200


def test_a_checkpoint_is_for_one_process(tmp_path: Path) -> None:
    path, learner = tmp_path / "run.zip", recurl.RecursiveQLearning(recurl.zoo.cloud())
    with (
        locked_file(path),
        pytest.raises(BusyError, match=rf"run.zip is in use by process {os.getpid()} on"),
    ):
        learner.learn(100, checkpoint=path)
    assert learner.learn(100, checkpoint=path).steps == 100
    assert [file.name for file in tmp_path.iterdir()] == ["run.zip"]
