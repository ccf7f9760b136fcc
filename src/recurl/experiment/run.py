"""One run, from its settings to its record."""

from __future__ import annotations

import math
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recurl.errors import RecurlError
from recurl.experiment.options import learner_class, make_learner
from recurl.experiment.record import (
    Exact,
    Files,
    Record,
    curve_columns,
    is_done,
    machine,
    read_record,
    run_record,
    versions,
    write_record,
)
from recurl.experiment.study import begin_study
from recurl.interrupts import in_threads
from recurl.model.files import write_atomic
from recurl.model.limits import read_note

if TYPE_CHECKING:
    from recurl.experiment.settings import Experiment, Run
    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy


CHECKPOINT_SECONDS = 20.0
"""A run is saved when so long has passed since it was saved last."""

Report = Callable[[int, float], None]
"""Called with the steps done so far and the latest test."""

Tell = Callable[[str], None]
"""Called with messages to show."""


class Partial(msgspec.Struct, frozen=True):
    """Facts that a checkpoint lacks: which run it is of, and the time spent so far."""

    config: dict[str, Any]
    seconds: float


def execute(
    run: Run,
    model: RMDP,
    files: Files,
    *,
    stopping: Callable[[], bool] = lambda: False,
    report: Report = lambda steps, latest: None,
    tell: Tell = lambda text: None,
) -> Record | None:
    """Do a run, or the rest of it, and write its record; None if it was told to stop before.

    A run that fails leaves a record too, with its traceback.

    Args:
        run: Which run.
        model: Its model.
        files: Where its files are.
        stopping: Whether it should stop; asked several times a second.
        report: Told how it goes.
        tell: Told if it cannot be continued from where it was stopped.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        worker = _Worker(run, model, files, tell)
        if not worker.finish(stopping, report):
            return None
        record = worker.record(started)
    except Exception:
        record = _record(run, model, started, error=traceback.format_exc())
    write_record(files.record, record)
    files.forget_partial()
    return record


class _Worker:
    """A learner with the clock and the checkpoints of its run."""

    def __init__(self, run: Run, model: RMDP, files: Files, tell: Tell) -> None:
        self.run, self.model, self.files = run, model, files
        self.learner, self.before = self._begin(tell)
        self.clock = self.saved = time.perf_counter()

    def _begin(self, tell: Tell) -> tuple[Learner, float]:
        """A learner where the run was left, or a new one; and the seconds it has taken."""
        if self.files.partial.is_file():
            try:
                partial = read_note(self.files.partial, Partial)
                # One with other settings cannot begin this run.
                if partial.config == self.run.config:
                    kind = learner_class(self.run.method.algorithm)
                    return kind.load(self.files.checkpoint, self.model), partial.seconds
            except (OSError, ValueError, RecurlError) as error:
                name = f"{self.run.experiment.name} {self.run.name}"
                tell(f"{name} begins again: what was saved of it cannot be read ({error})")
            self.files.forget_partial()
        return make_learner(self.run, self.model), 0.0

    @property
    def seconds(self) -> float:
        return self.before + time.perf_counter() - self.clock

    def finish(self, stopping: Callable[[], bool], report: Report) -> bool:
        """Learn to the end; False if it was told to stop, with all that was learned saved."""
        learner, end = self.learner, self.run.experiment.steps
        if not learner.steps and not len(learner.curve) and learner.settings.evaluate_every:
            learner.curve.add(learner.test())

        def look(_: Any) -> None:
            latest = learner.curve.last.mean if len(learner.curve) else math.nan
            report(learner.steps, latest)
            if time.perf_counter() - self.saved > CHECKPOINT_SECONDS:
                self.save()

        learner.learn(max(0, end - learner.steps), look, stopping=stopping)
        if learner.steps < end:
            self.save()
        self.took = self.seconds
        return learner.steps >= end

    def save(self) -> None:
        """Save the run so that it can be continued."""
        self.files.record.parent.mkdir(parents=True, exist_ok=True)
        self.learner.save(self.files.checkpoint)
        write_atomic(
            self.files.partial, msgspec.json.encode(Partial(self.run.config, self.seconds))
        )
        self.saved = time.perf_counter()

    def record(self, started: str) -> Record:
        """The record of the finished run; its policy is saved beside it."""
        learner: Any = self.learner
        policy = learner.policy()
        self.files.record.parent.mkdir(parents=True, exist_ok=True)
        policy.save(self.files.policy)
        return _record(
            self.run,
            self.model,
            started,
            seconds=self.took,
            steps=learner.steps,
            episodes=int(learner.engine.episodes),
            curve=curve_columns(learner.curve),
            exact=exact_value(policy, self.run.gamma),
        )


def exact_value(policy: Policy, gamma: float = 1.0) -> Exact:
    """The exact worth of a policy with a discount, as far as that is finite.

    Example:
        >>> import recurl
        >>> round(exact_value(recurl.solve(recurl.zoo.cloud()).policy).value, 6)
        -5.342485
    """
    from recurl.solving.evaluate import evaluate

    found = evaluate(policy, gamma=gamma if gamma < 1 else None)
    return Exact(finite(found.value), finite(found.lower), finite(found.upper), note=found.reason)


def finite(number: float) -> float | None:
    """The number, or None if it is not finite, as JSON has it.

    Example:
        >>> finite(1.5), finite(math.inf)
        (1.5, None)
    """
    return number if math.isfinite(number) else None


def _record(run: Run, model: RMDP, started: str, **found: Any) -> Record:
    return run_record(
        run,
        model={"name": model.name, "kind": str(model.kind), "fingerprint": model.fingerprint},
        versions=versions(),
        machine=machine(),
        started=started,
        **found,
    )


class Watch:
    """Observer of runs; this one does nothing. Called from the threads of the runs."""

    def begin(self, todo: list[Run], done: int, workers: int) -> None:
        """These runs are to be done; a number of others were done before."""

    def advance(self, run: Run, steps: int, latest: float) -> None:
        """A run stands here, and its latest test was this."""

    def finish(self, run: Run, record: Record) -> None:
        """A run has its record."""

    def say(self, text: str) -> None:
        """Something that people should know."""


class _Job(NamedTuple):
    run: Run
    model: RMDP
    files: Files


def run_experiments(
    experiments: Iterable[Experiment],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    watch: Watch | None = None,
) -> list[Record]:
    """Do all runs that have no record yet; returns the records of all, failed ones included.

    Runs go in threads: what takes time is compiled code that runs beside other threads, and a
    program that one run compiled serves the next. An interrupt lets each running one save itself,
    so that the same call goes on from there.

    Args:
        experiments: What to run.
        out: Folder of the records; each experiment has a folder in it.
        workers: How many runs at once; all cores if not given.
        watch: Told how it goes.

    Raises:
        KeyboardInterrupt: After everything is saved.

    Example:
        >>> import tempfile
        >>> from recurl.experiment.paper import paper_experiments
        >>> cloud = paper_experiments(seeds=1)["cloud"]
        >>> records = run_experiments([cloud], tempfile.mkdtemp())
        >>> [record.method for record in records]
        ['rql', 'ql', 'rql-swift']
    """
    watch = watch or Watch()
    jobs = [job for experiment in experiments for job in _jobs(experiment, Path(out))]
    todo = [job for job in jobs if not _is_done(job, watch)]
    # A seed of everything first: then all methods have a pace, and the estimate is one.
    todo.sort(key=lambda job: job.run.seed)
    count = workers or os.cpu_count() or 1
    watch.begin([job.run for job in todo], len(jobs) - len(todo), count)
    stop = threading.Event()
    in_threads([partial(_do, job, stop, watch) for job in todo], count, stop=stop)
    return [read_record(job.files.record) for job in jobs]


def _jobs(experiment: Experiment, out: Path) -> list[_Job]:
    model = experiment.model.make()
    begin_study(out, experiment, model)
    return [_Job(run, model, Files(out, run)) for run in experiment.runs()]


def _is_done(job: _Job, watch: Watch) -> bool:
    return is_done(job.files.record, job.run, job.model.fingerprint, watch.say)


def _do(job: _Job, stop: threading.Event, watch: Watch) -> None:
    def report(steps: int, latest: float) -> None:
        watch.advance(job.run, steps, latest)

    if stop.is_set():
        return
    record = execute(
        job.run, job.model, job.files, stopping=stop.is_set, report=report, tell=watch.say
    )
    if record is not None:
        watch.finish(job.run, record)
