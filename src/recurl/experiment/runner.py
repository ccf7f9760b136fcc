"""All runs of some experiments, on all cores, each into its record."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recurl.experiment.record import Files, Record, is_done, read_record
from recurl.experiment.run import execute
from recurl.experiment.study import begin_study
from recurl.interrupts import in_threads

if TYPE_CHECKING:
    from recurl.experiment.settings import Experiment, Run
    from recurl.model.rmdp import RMDP


class Watch:
    """Told how runs go; this one keeps it to itself. Called from the threads of the runs."""

    def begin(self, todo: list[Run], done: int, workers: int) -> None:
        """These runs are to be done; so many were done before."""

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
