from __future__ import annotations

from pathlib import Path

import pytest

from recurl.execution.engine import Mailbox, Stopped
from recurl.execution.store import Store
from recurl.experiment.record import Record
from recurl.experiment.run import Shared, Watch, checkpoint_name, partial_name
from recurl.experiment.settings import Method
from recurl.suite.agents import find_agent
from recurl.suite.run import SHARES, TaskRun, execute, run_suite, task_run
from recurl.suite.score import score_rows
from recurl.suite.tasks import find_setting, settings

SARSA = "tests.suite.sarsa:Sarsa"


@pytest.fixture
def one() -> TaskRun:
    return task_run(find_setting("words-small"), find_agent("rql"), 0, factor=0.05)


class Once(Mailbox):
    """A link that asks to stop after some questions whether to."""

    def __init__(self, calls: int) -> None:
        super().__init__(0)
        self.left = calls

    def stopping(self) -> bool:
        self.left -= 1
        return self.left < 0


def done(run: TaskRun, folder: Path, calls: int = 10**9) -> Record:
    model = run.setting.model()
    shared = Shared({run.experiment.name: model}, Store(folder), 20.0)
    return execute(shared, run, Once(calls)).record


def test_a_stopped_run_continues_to_the_same_result(one: TaskRun, tmp_path: Path) -> None:
    saved = tmp_path / "cut" / checkpoint_name(one)
    with pytest.raises(Stopped):
        done(one, tmp_path / "cut", calls=6)
    assert saved.is_file()
    resumed, straight = done(one, tmp_path / "cut"), done(one, tmp_path / "whole")
    assert resumed.curve == straight.curve
    assert resumed.exact == straight.exact


def test_a_saved_run_that_is_damaged_begins_again(one: TaskRun, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        done(one, tmp_path, calls=6)
    (tmp_path / partial_name(one)).write_text("{")
    assert len(done(one, tmp_path).curve["steps"]) == len(SHARES)


def test_a_run_that_cannot_be_saved_begins_again(tmp_path: Path) -> None:
    run = task_run(find_setting("words-small"), find_agent(SARSA), 0, factor=0.05)
    with pytest.raises(Stopped):
        done(run, tmp_path, calls=6)
    assert not (tmp_path / partial_name(run)).exists()
    assert done(run, tmp_path).steps == 1_000


def test_the_curve_holds_exact_values_at_shares_of_the_budget(one: TaskRun, tmp_path: Path) -> None:
    record = done(one, tmp_path)
    assert record.curve["steps"] == [share * 1_000 for share in SHARES]
    assert record.exact is not None
    assert record.exact.value == record.curve["value"][-1]
    assert record.exact.note == ""


def test_finished_runs_are_not_repeated(tmp_path: Path) -> None:
    class Count(Watch):
        todo = -1

        def begin(self, todo: list, done: int, workers: int) -> None:
            self.todo = len(todo)

    chosen = settings(["words"], ["small"])
    first = run_suite(["rql", "q"], chosen, tmp_path, factor=0.02, watch=Count())
    watch = Count()
    again = run_suite(["rql", "q", "uniform"], chosen, tmp_path, factor=0.02, watch=watch)
    assert watch.todo == 1
    assert again[:2] == first
    assert (tmp_path / "words-small" / "runs" / "rql-0.policy").is_file()


def test_a_learner_may_have_settings_of_its_own(tmp_path: Path) -> None:
    discounted = Method("rql-discounted", "rql", {"gamma": 0.5}, label="discounted")
    chosen = settings(["words"], ["small"])
    [record] = run_suite([discounted], chosen, tmp_path, factor=0.2)
    assert record.config["settings"]["gamma"] == 0.5
    value, (_, most) = record.exact.value, chosen[0].known.optimum
    assert value is not None
    assert value == record.curve["value"][-1] <= most  # not discounted
    [row, *_] = score_rows([record])
    assert row.score.value == pytest.approx(chosen[0].known.score(value))


def test_a_run_that_fails_leaves_a_record_and_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(["words"], ["small"])
    with monkeypatch.context() as broken:
        broken.setattr("tests.suite.sarsa.Sarsa.observe", lambda *_: 1 / 0)
        (record,) = run_suite([SARSA], chosen, tmp_path, factor=0.02)
    assert "ZeroDivisionError" in record.error
    (record,) = run_suite([SARSA], chosen, tmp_path, factor=0.02)
    assert not record.failed


def test_the_same_seed_gives_the_same_run(one: TaskRun, tmp_path: Path) -> None:
    assert done(one, tmp_path / "a").curve == done(one, tmp_path / "b").curve
