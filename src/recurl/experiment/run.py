"""One run, from its settings to its record; and many of them on any engine."""

from __future__ import annotations

import io
import math
import os
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from recurl.errors import RecurlError
from recurl.execution.engine import PieceLink, Stopped, Work
from recurl.execution.lock import locked
from recurl.execution.pieces import Observer, PieceCounts, PieceOutcome, run_pieces
from recurl.execution.store import Store
from recurl.experiment.options import learner_class, make_learner
from recurl.experiment.record import (
    CurveColumns,
    Exact,
    Files,
    Record,
    curve_columns,
    finite,
    is_done,
    machine,
    read_record,
    run_record,
    versions,
    write_record,
)
from recurl.experiment.study import begin_study
from recurl.model.files import write_atomic

if TYPE_CHECKING:
    from recurl.experiment.settings import Experiment, Run
    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy


Saved = TypeVar("Saved")

SAVE_EVERY = 20.0
"""Seconds between two checkpoints of a run, if nothing else is asked for."""


class Partial(msgspec.Struct, frozen=True):
    """Facts that a checkpoint lacks: which run it is of, its time and, of the suite, its curve."""

    config: dict[str, Any]
    seconds: float
    curve: CurveColumns = {}


class Finished(NamedTuple):
    """A run that is done: its record, and the content of its policy's file, empty without one."""

    record: Record
    policy: bytes


def execute(shared: Shared, run: Run, link: PieceLink) -> Finished:
    """Do a run, or the rest of it: a piece for `run_jobs`.

    Args:
        shared: Its model, and the store of its checkpoint; what is there is continued, and stays.
        run: Which run.
        link: Told how it goes; asked several times a second whether to stop.

    Raises:
        Stopped: It was asked to stop, and is saved.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    worker = Worker(run, shared.models[run.experiment.name], shared.store, link)
    worker.learn(run.experiment.steps, shared.save_every)
    return worker.finished(started)


def learn_to(
    learner: Learner,
    end: int,
    link: PieceLink,
    save: Callable[[], None],
    *,
    save_every: float = SAVE_EVERY,
    logger: Any = None,
) -> None:
    """Learn up to a step, saved now and then, and also where it is asked to stop before.

    Args:
        learner: The learner.
        end: The step.
        link: Told how it goes; asked several times a second whether to stop.
        save: Saves the learner.
        save_every: Seconds between two calls of it.
        logger: One of `recurl.loggers`, or None.

    Raises:
        Stopped: It was asked to stop.
    """
    saved = time.perf_counter()

    def look(_: Any) -> None:
        nonlocal saved
        latest = learner.curve.last.mean if len(learner.curve) else math.nan
        link.report(learner.steps, latest)
        if time.perf_counter() - saved > save_every:
            save()
            saved = time.perf_counter()

    watching = [look] if logger is None else [look, logger]
    learner.learn(max(0, end - learner.steps), watching, stopping=link.stopping)
    if learner.steps < end:
        save()
        raise Stopped


class Worker:
    """A learner with the clock and the checkpoints of its run.

    Args:
        run: Which run.
        model: Its model.
        store: Where it keeps its checkpoint; what is there is continued.
        link: Told how it goes; asked several times a second whether to stop.
    """

    def __init__(self, run: Run, model: RMDP, store: Store, link: PieceLink) -> None:
        self.run, self.model, self.store, self.link = run, model, store, link
        kind = learner_class(run.method.algorithm)
        saved = read_partial(store, run, link, lambda data: kind.load(io.BytesIO(data), model))
        self.learner = saved[0] if saved else make_learner(run, model)
        self.before = saved[1].seconds if saved else 0.0
        self.clock = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time spent so far, in all attempts."""
        return self.before + time.perf_counter() - self.clock

    def learn(self, end: int, save_every: float = SAVE_EVERY) -> None:
        """Learn up to a step; if it is asked to stop before, all that was learned is saved.

        Raises:
            Stopped: It was asked to stop.
        """
        learner = self.learner
        learner.set_budget(self.run.experiment.steps)
        if not learner.steps and not len(learner.curve) and learner.settings.evaluate_every:
            learner.curve.add(learner.test())
        learn_to(learner, end, self.link, self.save, save_every=save_every)

    def save(self) -> None:
        """Save the run so that it can be continued."""
        write_partial(self.store, self.run, self.learner.to_bytes(), self.seconds)

    def finished(self, started: str) -> Finished:
        """The record and the policy of the finished run."""
        learner: Any = self.learner
        seconds, policy = self.seconds, learner.policy()
        record = full_record(
            self.run,
            self.model,
            started,
            seconds=seconds,
            steps=learner.steps,
            episodes=int(learner.engine.episodes),
            curve=curve_columns(learner.curve),
            exact=exact_value(policy, *self.run.discount),
        )
        return Finished(record, policy.to_json())


def checkpoint_name(run: Run) -> str:
    """Name of the checkpoint of a run in its store: beside its record, if that is the folder.

    Example:
        >>> from recurl.experiment.paper import PAPER
        >>> checkpoint_name(next(PAPER["cloud"].runs()))
        'cloud/runs/rql-0.checkpoint'
    """
    return f"{run.experiment.name}/runs/{run.name}.checkpoint"


def partial_name(run: Run) -> str:
    """Name of the note that says which run a checkpoint is of."""
    return f"{run.experiment.name}/runs/{run.name}.partial"


def read_partial(
    store: Store, run: Run, link: PieceLink, load: Callable[[bytes], Saved]
) -> tuple[Saved, Partial] | None:
    """The state in which a run was left, if it was saved; what cannot be continued is removed.

    Args:
        store: Where it is kept.
        run: Which run.
        link: Told if it cannot be read.
        load: Makes the state of the content of a checkpoint.
    """
    note, data = store.read(partial_name(run)), store.read(checkpoint_name(run))
    if note is None or data is None:
        return None
    try:
        partial = msgspec.json.decode(note, type=Partial)
        # One with other settings cannot begin this run.
        if partial.config == run.config:
            return load(data), partial
    except (ValueError, RecurlError) as error:
        name, where = f"{run.experiment.name} {run.name}", store.path(checkpoint_name(run))
        link.say(f"{name} begins again: {where} cannot be read ({error})")
    forget_partial(store, run)
    return None


def write_partial(
    store: Store, run: Run, data: bytes, seconds: float, curve: CurveColumns | None = None
) -> None:
    """Keep the content of a checkpoint, and what it lacks."""
    store.write(checkpoint_name(run), data)
    store.write(partial_name(run), msgspec.json.encode(Partial(run.config, seconds, curve or {})))


def forget_partial(store: Store, run: Run) -> None:
    """Remove what a run keeps to continue from."""
    store.remove(partial_name(run))
    store.remove(checkpoint_name(run))


def exact_value(policy: Policy, gamma: float = 1.0, box_gamma: float = 1.0) -> Exact:
    """The exact worth of a policy with its discounts, as far as that is finite.

    Example:
        >>> import recurl
        >>> round(exact_value(recurl.solve(recurl.zoo.cloud()).policy).value, 6)
        -5.342485
    """
    from recurl.solving.evaluate import evaluate

    found = evaluate(policy, gamma=gamma, box_gamma=box_gamma)
    return Exact(finite(found.value), finite(found.lower), finite(found.upper), note=found.reason)


def full_record(run: Run, model: RMDP, started: str, **found: Any) -> Record:
    """A record of a run with its model, versions and machine."""
    return run_record(
        run,
        model={"name": model.name, "kind": str(model.kind), "fingerprint": model.fingerprint},
        versions=versions(),
        machine=machine(),
        started=started,
        **found,
    )


class Watch:
    """Observer of runs; this one does nothing."""

    def begin(self, todo: list[Run], done: int, workers: int) -> None:
        """These runs are going to be done; a number of others were done before."""

    def count(self, counts: PieceCounts) -> None:
        """The numbers of runs that are done, running and waiting have changed."""

    def advance(self, run: Run, steps: int, latest: float) -> None:
        """A run stands here, and its latest test was this."""

    def finish(self, run: Run, record: Record) -> None:
        """A run has its record."""

    def say(self, text: str) -> None:
        """Something that people should know."""


class Job(NamedTuple):
    """A run, its model, and where its record and policy go."""

    run: Run
    model: RMDP
    files: Files


def run_experiments(
    experiments: Iterable[Experiment],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    watch: Watch | None = None,
    on: str = "local",
    checkpoints: str | os.PathLike[str] | None = None,
    save_every: float = SAVE_EVERY,
    retries: int = 0,
) -> list[Record]:
    """Do all runs that have no record yet; returns the records of all, failed ones included.

    Every run is a piece for `recurl.execution.pieces.run_pieces`; its record is the same on every
    engine. An interrupt lets each running one save itself: the same call goes on from there.

    Args:
        experiments: What to run.
        out: Folder of the records; each experiment has a folder in it.
        workers: How many runs at once; all cores if not given.
        watch: Told how it goes.
        on: The engine: ``"local"``, ``"processes"``, ``"ray"`` or ``"ray://HOST:PORT"``.
        checkpoints: Folder or URL where unfinished runs are kept, which all machines of the engine
            reach; the folder of the records if not given.
        save_every: Seconds between two checkpoints of a run.
        retries: How often a run that fails is tried again before its record says so.

    Raises:
        KeyboardInterrupt: After everything is saved.
        BusyError: Another process works in the folder.

    Example:
        >>> import tempfile
        >>> from recurl.experiment.paper import paper_experiments
        >>> cloud = paper_experiments(seeds=1)["cloud"]
        >>> records = run_experiments([cloud], tempfile.mkdtemp())
        >>> [record.method for record in records]
        ['rql', 'ql', 'rql-swift']
    """
    with locked(out):
        jobs = [job for experiment in experiments for job in _jobs(experiment, Path(out))]
        store = Store(out if checkpoints is None else checkpoints)
        shared, watch = Shared.of(jobs, store, save_every), watch or Watch()
        return run_jobs(execute, jobs, shared, watch, on=on, workers=workers, retries=retries)


class Shared(NamedTuple):
    """Things that all runs share: models by experiment, the store, and how often to save."""

    models: dict[str, RMDP]
    store: Store
    save_every: float

    @classmethod
    def of(cls, jobs: Iterable[Job], store: Store, save_every: float = SAVE_EVERY) -> Shared:
        """The shared part of jobs."""
        return cls({job.run.experiment.name: job.model for job in jobs}, store, save_every)


def run_jobs(
    work: Work,
    jobs: list[Job],
    shared: Shared,
    watch: Watch,
    *,
    workers: int | None = None,
    **how: Any,
) -> list[Record]:
    """Do the jobs that have no record yet on an engine; returns the records of all.

    Args:
        work: Does a run: a piece that gives a `Finished`.
        jobs: The jobs; the caller holds the lock of their folder.
        shared: What the work needs beside the run.
        watch: Told how it goes.
        workers: How many runs at once.
        **how: More that `run_pieces` takes.
    """
    todo = [
        job
        for job in jobs
        if not is_done(job.files.record, job.run, job.model.fingerprint, watch.say)
    ]
    # A seed of everything first: then all methods have a pace, and the estimate is one.
    todo.sort(key=lambda job: job.run.seed)
    watch.begin([job.run for job in todo], len(jobs) - len(todo), workers or os.cpu_count() or 1)
    runs, observer = [job.run for job in todo], _Writer(todo, shared.store, watch)
    run_pieces(work, runs, shared=shared, workers=workers, observer=observer, **how)
    return [read_record(job.files.record) for job in jobs]


def _jobs(experiment: Experiment, out: Path) -> list[Job]:
    model = experiment.model.make()
    begin_study(out, experiment, model)
    return [Job(run, model, Files(out, run)) for run in experiment.runs()]


class _Writer(Observer):
    """Writes the records of runs as they come in."""

    def __init__(self, jobs: list[Job], store: Store, watch: Watch) -> None:
        self._jobs, self._store, self._watch = jobs, store, watch

    def count(self, counts: PieceCounts) -> None:
        """Pass on how many runs are in which state."""
        self._watch.count(counts)

    def say(self, text: str) -> None:
        """Pass on a message."""
        self._watch.say(text)

    def report(self, piece: int, done: int, latest: float) -> None:
        """Pass on how far a run is."""
        self._watch.advance(self._jobs[piece].run, done, latest)

    def retry(self, piece: int, error: str) -> None:
        """Say which run is tried again, and why."""
        run = self._jobs[piece].run
        last = error.strip().splitlines()[-1]
        self._watch.say(f"{run.experiment.name} {run.name} is tried again: {last}")

    def end(self, outcome: PieceOutcome) -> Iterable[Any]:
        """Write the policy and the record; then nothing is left to continue."""
        run, model, files = self._jobs[outcome.piece]
        files.record.parent.mkdir(parents=True, exist_ok=True)
        if outcome.failed:
            started = datetime.now(UTC).isoformat(timespec="seconds")
            record = full_record(run, model, started, error=outcome.error)
        else:
            record = outcome.result.record
            if outcome.result.policy:
                write_atomic(files.policy, outcome.result.policy)
        write_record(files.record, record)
        forget_partial(self._store, run)
        self._watch.finish(run, record)
        return ()
