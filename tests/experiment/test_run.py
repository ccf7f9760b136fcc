from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recurl.errors import BusyError
from recurl.execution.engine import Mailbox, Said, Stopped
from recurl.execution.lock import locked
from recurl.execution.store import Store
from recurl.experiment.record import Files, Record, read_record
from recurl.experiment.run import (
    SAVE_EVERY,
    Finished,
    Shared,
    Watch,
    checkpoint_name,
    execute,
    run_experiments,
)
from recurl.experiment.settings import Experiment, Method, Run
from recurl.model.rmdp import RMDP


class Here(Mailbox):
    """A link that does what a test wants with what a run reports."""

    def __init__(self, report: Callable[[int], None] = lambda steps: None) -> None:
        super().__init__(0)
        self._on_report = report

    def report(self, done: int, latest: float) -> None:
        self._on_report(done)


def done(
    run: Run, model: RMDP, store: Store, link: Here, save_every: float = SAVE_EVERY
) -> Finished:
    return execute(Shared({run.experiment.name: model}, store, save_every), run, link)


def stopped() -> Here:
    link = Here()
    link.stop()
    return link


def test_a_stopped_run_continues_to_the_same_result(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    cut, whole = Store(tmp_path / "cut"), Store(tmp_path / "whole")
    with pytest.raises(Stopped):
        done(run, model, cut, stopped())
    assert (tmp_path / "cut/cloud/runs/rql-0.checkpoint").is_file()
    resumed, straight = done(run, model, cut, Here()), done(run, model, whole, Here())
    assert resumed.record.curve == straight.record.curve
    assert resumed.record.exact == straight.record.exact
    assert resumed.policy == straight.policy


def test_a_killed_run_continues_from_its_last_checkpoint(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    cut, whole = Store(tmp_path / "cut"), Store(tmp_path / "whole")
    seen: list[int] = []

    def die(steps: int) -> None:
        if steps == 700:
            raise SystemExit  # nothing is saved on the way out, as by a kill

    with pytest.raises(SystemExit):
        done(run, model, cut, Here(die), save_every=0.0)
    resumed = done(run, model, cut, Here(seen.append))
    straight = done(run, model, whole, Here())
    assert seen[0] == 700  # saved at 600
    assert resumed.record.curve == straight.record.curve


def test_record_has_what_is_needed_to_repeat_it(small: Experiment, tmp_path: Path) -> None:
    run, model = next(small.runs()), small.model.make()
    record = done(run, model, Store(tmp_path), Here()).record
    assert record.config["settings"]["learning_rate"] == 0.02
    assert record.model["fingerprint"] == model.fingerprint
    assert {"python", "recurl", "numpy"} <= set(record.versions)
    assert record.machine["cores"] >= 1
    assert record.curve["steps"][:2] == [0, 100]
    assert record.exact is not None
    assert record.exact.value == pytest.approx(-5.5, abs=2.6)


def test_a_checkpoint_that_cannot_be_read_is_named(small: Experiment, tmp_path: Path) -> None:
    run, model, store = next(small.runs()), small.model.make(), Store(tmp_path)
    with pytest.raises(Stopped):
        done(run, model, store, stopped())
    store.write(checkpoint_name(run), b"nonsense")
    link = Here()
    record = done(run, model, store, link).record
    assert record.steps == small.steps
    (line,) = [event.text for event in link.fetch() if isinstance(event, Said)]
    assert line.startswith("cloud rql-0 begins again")
    assert store.path(checkpoint_name(run)) in line


def test_a_checkpoint_of_other_settings_is_not_continued(small: Experiment, tmp_path: Path) -> None:
    run, model, store = next(small.runs()), small.model.make(), Store(tmp_path)
    with pytest.raises(Stopped):
        done(run, model, store, stopped())
    other = next(msgspec.structs.replace(small, steps=1_500).runs())
    record = done(other, model, store, Here()).record
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


def same(record: Record) -> Record:
    """A record without what differs between two runs of the same thing."""
    return msgspec.structs.replace(record, started="", seconds=0.0, machine={})


def test_records_and_policies_are_the_same_on_processes(small: Experiment, tmp_path: Path) -> None:
    one = msgspec.structs.replace(small, methods=small.methods[:2])
    here = run_experiments([one], tmp_path / "here")
    there = run_experiments([one], tmp_path / "there", on="processes", workers=2)
    assert [same(record) for record in there] == [same(record) for record in here]
    names = sorted(path.name for path in (tmp_path / "here/cloud/runs").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "there/cloud/runs").iterdir())
    for name in [name for name in names if name.endswith(".policy")]:
        policies = [tmp_path / place / "cloud/runs" / name for place in ("here", "there")]
        assert policies[0].read_bytes() == policies[1].read_bytes()


def test_checkpoints_can_be_kept_apart(small: Experiment, tmp_path: Path) -> None:
    kept, out = tmp_path / "kept", tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_experiments([small], out, watch=Interrupting(), workers=1, checkpoints=kept)
    assert not list(out.rglob("*.checkpoint"))
    again = run_experiments([small], out, checkpoints=kept)
    assert not list(kept.rglob("*.*"))
    assert means(again) == means(run_experiments([small], tmp_path / "whole"))


def test_a_folder_in_use_is_refused(small: Experiment, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(BusyError, match=f"in use by process {os.getpid()}"):
        run_experiments([small], tmp_path)


def test_a_failing_run_is_tried_again_as_often_as_asked(small: Experiment, tmp_path: Path) -> None:
    bad = Method("bad", "rql", {"learning_rate": 7}, label="bad")
    only = msgspec.structs.replace(small, methods=(bad,), seeds=(0,))
    watch = Saying()
    (record,) = run_experiments([only], tmp_path, retries=2, watch=watch)
    assert record.failed
    assert [line.split(":")[0] for line in watch.said] == ["cloud bad-0 is tried again"] * 2


class Saying(Watch):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)
