from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from recurl.experiment.record import Files, Record, read_record
from recurl.experiment.run import Watch, execute, run_experiments
from recurl.experiment.settings import Experiment, Method, Run


def test_a_stopped_run_continues_to_the_same_result(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    cut, whole = Files(tmp_path / "cut", run), Files(tmp_path / "whole", run)
    assert execute(run, model, cut, stopping=lambda: True) is None
    assert cut.checkpoint.is_file()
    assert not cut.record.exists()
    resumed, straight = execute(run, model, cut), execute(run, model, whole)
    assert resumed is not None
    assert straight is not None
    assert resumed.curve == straight.curve
    assert resumed.exact == straight.exact
    assert not cut.checkpoint.exists()


def test_a_killed_run_continues_from_its_last_checkpoint(
    small: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recurl.experiment.run.CHECKPOINT_SECONDS", 0.0)
    run, model = next(small.runs()), small.model.make()
    cut, whole = Files(tmp_path / "cut", run), Files(tmp_path / "whole", run)
    seen: list[int] = []

    def die(steps: int, latest: float) -> None:
        if steps == 700:
            raise SystemExit  # nothing is saved on the way out, as by a kill

    with pytest.raises(SystemExit):
        execute(run, model, cut, report=die)
    resumed = execute(run, model, cut, report=lambda steps, _: seen.append(steps))
    straight = execute(run, model, whole)
    assert seen[0] == 700  # saved at 600
    assert resumed is not None
    assert straight is not None
    assert resumed.curve == straight.curve


def test_record_has_what_is_needed_to_repeat_it(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    record = execute(run, model, Files(tmp_path, run))
    assert record is not None
    assert record.config["settings"]["learning_rate"] == 0.02
    assert record.model["fingerprint"] == model.fingerprint
    assert {"python", "recurl", "numpy"} <= set(record.versions)
    assert record.machine["cores"] >= 1
    assert record.curve["steps"][:2] == [0, 100]
    assert record.exact is not None
    assert record.exact.value == pytest.approx(-5.5, abs=2.6)


def test_a_checkpoint_that_cannot_be_read_is_named(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    files = Files(tmp_path, run)
    assert execute(run, model, files, stopping=lambda: True) is None
    files.checkpoint.write_bytes(b"nonsense")
    told: list[str] = []
    record = execute(run, model, files, tell=told.append)
    assert record is not None
    assert not record.failed
    assert record.steps == small.steps
    (line,) = told
    assert line.startswith("cloud rql-0 begins again")
    assert str(files.checkpoint) in line


def test_a_checkpoint_of_other_settings_is_not_continued(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    files = Files(tmp_path, run)
    assert execute(run, model, files, stopping=lambda: True) is None
    other = next(msgspec.structs.replace(small, steps=1_500).runs())
    record = execute(other, model, files)
    assert record is not None
    assert record.curve["steps"][:2] == [0, 100]
    assert record.steps == 1_500


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
