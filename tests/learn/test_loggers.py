from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.learn.deep.small import ON_MODEL

import recurl
from recurl.learn.loggers import CSVLogger, RunLogger, TensorBoard
from recurl.learn.tensorboard import read_events

NAMES = {"time/fps", "rollout/ep_rew_mean", "eval/mean_reward", "eval/mean_ep_length"}


class Run:
    """Takes numbers as a run of Weights & Biases does."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, dict[str, float]]] = []

    def log(self, numbers: dict[str, float], *, step: int) -> None:
        self.rows.append((step, numbers))


def test_all_loggers_write_the_same_numbers(tmp_path: Path) -> None:
    board, table, run = TensorBoard(tmp_path / "new"), CSVLogger(tmp_path / "a" / "run.csv"), Run()
    learner = recurl.DeepRecursiveQLearning(recurl.zoo.cloud(), **ON_MODEL)
    learner.learn(100, [board, table, RunLogger(run)])
    assert [step for step, _ in run.rows] == [50, 100]
    last = run.rows[-1][1]
    assert set(last) == {*NAMES, "train/loss"}
    assert last["eval/mean_reward"] == learner.curve.last.mean
    assert last["train/loss"] == learner.engine.loss
    events = read_events(board.path)
    assert [step for step, _ in events] == [0, 50, 100]
    with table.path.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["50", "100"]
    for name in NAMES - {"time/fps"}:
        assert events[2][1][name] == pytest.approx(last[name], rel=1e-6)
        assert float(rows[1][name]) == last[name]


def test_a_csv_file_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    learner = recurl.QLearning(recurl.zoo.cloud(), episode_limit=50)
    for _ in range(2):
        learner.learn(100, CSVLogger(path))
    lines = path.read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["step", "100", "200"]
    assert lines[1].split(",")[1] == ""


def test_a_run_that_takes_no_numbers_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"an object with log\(numbers, step=\.\.\.\), .* not <object"
    ):
        RunLogger(object())  # type: ignore[arg-type]
