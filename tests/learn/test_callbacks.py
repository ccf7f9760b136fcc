from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.deep.small import ON_MODEL

import recurl
from recurl.learn.callbacks import Callback, KeepBest, SaveEvery, StopAtReward
from recurl.learn.curve import Score
from recurl.learn.learner import Learner

TABULAR: dict[str, Any] = {"evaluate_every": 200, "episode_limit": 50}


class Noted(Callback):
    """Notes every event with its step."""

    def __init__(self, every: int = 0) -> None:
        self.every = every
        self.events: list[tuple[str, int]] = []

    def on_start(self, learner: Learner) -> None:
        self.events.append(("start", learner.steps))

    def on_test(self, learner: Learner, score: Score) -> None:
        assert learner.curve.last == score
        self.events.append(("test", learner.steps))

    def on_checkpoint(self, learner: Learner, path: Path) -> None:
        assert type(learner).load(path, recurl.zoo.cloud()).steps == learner.steps
        self.events.append(("checkpoint", learner.steps))

    def on_stop(self, learner: Learner) -> None:
        self.events.append(("stop", learner.steps))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(recurl.RecursiveQLearning, TABULAR), (recurl.DeepRecursiveQLearning, ON_MODEL)],
)
def test_every_event_comes_at_its_step(kind: Any, settings: Any, tmp_path: Path) -> None:
    unit = settings["evaluate_every"]
    between, end = 3 * unit // 4, 5 * unit // 2
    noted, often = Noted(), Noted(every=between)
    learner = kind(recurl.zoo.cloud(), **settings)
    learner.learn(end, [noted, [often]], checkpoint=tmp_path / "run")
    assert noted.events == [
        ("start", 0),
        *((name, unit) for name in ("test", "checkpoint", "stop")),
        *((name, 2 * unit) for name in ("test", "checkpoint", "stop")),
        *((name, end) for name in ("checkpoint", "stop")),
    ]
    stops = [step for name, step in often.events if name == "stop"]
    assert stops == [between, 2 * between, 3 * between, end]


def test_callbacks_do_not_change_the_run() -> None:
    def arrays(callback: Any) -> dict[str, bytes]:
        learner = recurl.RecursiveQLearning(recurl.zoo.cloud(), episode_limit=50)
        learner.learn(1000, callback)
        return {name: array.tobytes() for name, array in learner.engine.arrays().items()}

    assert arrays(None) == arrays(Noted(every=37))


def test_one_of_many_callbacks_ends_the_run() -> None:
    noted = Noted()
    learner = recurl.QLearning(recurl.zoo.cloud(), evaluate_every=100, episode_limit=50)
    learner.learn(1000, [StopAtReward(-1e9, tests=3), noted])
    assert learner.steps == 300
    assert noted.events[-1] == ("stop", 300)


@pytest.mark.parametrize("answer", [False, np.False_])
def test_false_of_any_kind_ends_the_run(answer: Any) -> None:
    learner = recurl.QLearning(recurl.zoo.cloud(), evaluate_every=100, episode_limit=100)
    assert learner.learn(300, lambda _: answer).steps == 100


@pytest.mark.parametrize("callback", [StopAtReward(-1), KeepBest("run")])
def test_callbacks_that_need_tests_refuse_a_run_without(callback: Callback) -> None:
    learner = recurl.QLearning(recurl.zoo.cloud(), evaluate_every=0)
    with pytest.raises(ValueError, match="needs tests, and there are none: set evaluate_every"):
        learner.learn(10, callback)


def test_a_run_stops_at_a_reward_only_if_tests_in_a_row_reach_it() -> None:
    stop = StopAtReward(1.0, tests=2)
    learner = recurl.QLearning(recurl.zoo.cloud())
    scores = [Score(0, mean, 0, 0, 0, 0, 0, 0) for mean in (1.0, 0.5, 1.5, 1.0)]
    assert [stop.on_test(learner, score) for score in scores] == [True, True, True, False]


def test_the_best_run_is_kept(tmp_path: Path) -> None:
    keeping = KeepBest(tmp_path / "best")
    learner = recurl.RecursiveQLearning(recurl.zoo.cloud(), evaluate_every=200, episode_limit=50)
    learner.learn(2000, keeping)
    best = max(learner.curve, key=lambda score: score.mean)
    assert keeping.score == best
    kept = recurl.RecursiveQLearning.load(tmp_path / "best", recurl.zoo.cloud())
    assert kept.steps == best.steps
    assert kept.curve.last == best


def test_a_run_that_is_loaded_keeps_its_best(tmp_path: Path) -> None:
    model, settings = recurl.zoo.cloud(), {"evaluate_every": 200, "episode_limit": 50}
    run: Learner = recurl.RecursiveQLearning(model, **settings)  # type: ignore[arg-type]
    run.learn(2000, KeepBest(tmp_path / "best"), checkpoint=tmp_path / "run")
    for _ in range(5):
        run = recurl.RecursiveQLearning.load(tmp_path / "run", model)
        run.learn(200, KeepBest(tmp_path / "best"), checkpoint=tmp_path / "run")
        kept = recurl.RecursiveQLearning.load(tmp_path / "best", model)
        assert kept.curve.last == max(run.curve, key=lambda score: score.mean)


def test_files_are_named_by_their_steps(tmp_path: Path) -> None:
    learner = recurl.QLearning(recurl.zoo.cloud(), episode_limit=50)
    learner.learn(700, SaveEvery(300, tmp_path / "{steps}"))
    assert {path.name for path in tmp_path.iterdir()} == {"300", "600", "700"}
    assert recurl.QLearning.load(tmp_path / "600", recurl.zoo.cloud()).steps == 600


def test_what_is_not_a_callback_is_refused() -> None:
    learner = recurl.QLearning(recurl.zoo.cloud())
    with pytest.raises(TypeError, match=r"callback takes a function.*not 3"):
        learner.learn(10, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"callback takes a function.*not <class '.*StopAtReward'>"):
        learner.learn(10, StopAtReward)
    with pytest.raises(ValueError, match="at least one step"):
        SaveEvery(0, "run")


def test_an_error_in_a_callback_loses_nothing(tmp_path: Path) -> None:
    def fail(learner: Learner) -> bool | None:
        raise RuntimeError("mine")

    learner = recurl.QLearning(recurl.zoo.cloud(), evaluate_every=100, episode_limit=50)
    with pytest.raises(RuntimeError, match="mine"):
        learner.learn(1000, [SaveEvery(60, tmp_path / "other"), fail], checkpoint=tmp_path / "run")
    assert recurl.QLearning.load(tmp_path / "run", recurl.zoo.cloud()).steps == 100
    assert learner.learn(100).steps == 200
