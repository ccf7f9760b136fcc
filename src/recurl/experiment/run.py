"""One run, from its settings to its record."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from recurl.errors import RecurlError
from recurl.experiment.machine import machine, versions
from recurl.experiment.options import learner_class, make_learner
from recurl.experiment.record import Exact, Files, Record, curve_columns, run_record, write_record
from recurl.model.files import write_atomic
from recurl.model.limits import read_note

if TYPE_CHECKING:
    from recurl.experiment.settings import Run
    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy

CHECKPOINT_SECONDS = 20.0
"""A run is saved when so long has passed since it was saved last."""

Report = Callable[[int, float], None]
"""Told the steps done so far and the latest test."""

Tell = Callable[[str], None]
"""Told what people should know."""


class Partial(msgspec.Struct, frozen=True):
    """What a checkpoint does not say: which run it is of, and the time spent so far."""

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
                # One of other settings is no beginning of this run.
                if partial.config == self.run.config:
                    kind = learner_class(self.run.method.algorithm)
                    return kind.load(self.files.checkpoint, self.model), partial.seconds
            except (OSError, ValueError, RecurlError) as error:
                name = f"{self.run.experiment.name} {self.run.name}"
                tell(f"{name} begins anew: what was saved of it cannot be read ({error})")
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
            exact=exact_value(policy),
        )


def exact_value(policy: Policy) -> Exact:
    """What a policy is worth exactly, as far as that is finite.

    Example:
        >>> import recurl
        >>> round(exact_value(recurl.solve(recurl.zoo.cloud()).policy).value, 6)
        -5.342485
    """
    from recurl.solving.evaluate import evaluate

    found = evaluate(policy)
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
