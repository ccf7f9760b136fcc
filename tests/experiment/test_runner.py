from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from recurl.experiment.record import Files, Record, read_record
from recurl.experiment.runner import Watch, run_experiments
from recurl.experiment.settings import Experiment, Method, Run


class Counting(Watch):
    def __init__(self) -> None:
        self.todo, self.done = 0, 0

    def begin(self, todo: list[Run], done: int, workers: int) -> None:
        self.todo, self.done = len(todo), done


class Interrupting(Watch):
    def advance(self, run: Run, steps: int, latest: float) -> None:
        if steps >= 500:
            raise KeyboardInterrupt


def means(records: list[Record]) -> list[list[float | None]]:
    return [record.curve["mean"] for record in records]


def test_finished_runs_are_not_repeated(small: Experiment, tmp_path: Path) -> None:
    first = run_experiments([small], tmp_path)
    watch = Counting()
    assert run_experiments([small], tmp_path, watch=watch) == first
    assert (watch.todo, watch.done) == (0, 6)


def test_other_settings_are_run_again(small: Experiment, tmp_path: Path) -> None:
    run_experiments([small], tmp_path)
    watch = Counting()
    run_experiments([msgspec.structs.replace(small, steps=1_000)], tmp_path, watch=watch)
    assert watch.todo == 6


def test_an_interrupted_command_continues(small: Experiment, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_experiments([small], tmp_path / "cut", watch=Interrupting(), workers=1)
    resumed = run_experiments([small], tmp_path / "cut")
    assert means(resumed) == means(run_experiments([small], tmp_path / "whole"))


def test_a_failing_run_is_recorded_and_the_others_go_on(small: Experiment, tmp_path: Path) -> None:
    bad = Method("bad", "rql", {"learning_rate": 7}, label="bad")
    both = msgspec.structs.replace(small, methods=(bad, *small.methods[:1]))
    records = run_experiments([both], tmp_path)
    assert [record.failed for record in records] == [True, False, True, False]
    assert "ValueError" in records[0].error
    assert read_record(Files(tmp_path, next(both.runs())).record) == records[0]
