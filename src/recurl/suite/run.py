"""Runs of the suite, from settings and agents to records."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from recurl.execution.engine import PieceLink, Stopped
from recurl.execution.lock import locked
from recurl.execution.store import Store
from recurl.experiment.record import CurveColumns, Exact, Files, Record
from recurl.experiment.run import (
    Finished,
    Job,
    Shared,
    Watch,
    full_record,
    read_partial,
    run_jobs,
    write_partial,
)
from recurl.experiment.settings import Experiment, Method, ModelChoice, Run, SettingValues
from recurl.suite.agents import find_agent, make_trainee, suite_settings
from recurl.suite.tasks import Setting, find_setting

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

SHARES = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
"""Shares of the budget after which the value of the policy is noted."""


class TaskRun(Run, frozen=True):
    """One run of the suite: an agent on a setting with a seed."""

    @property
    def setting(self) -> Setting:
        """The setting."""
        return find_setting(self.experiment.name)

    @property
    def settings(self) -> SettingValues:
        """Settings of a learner: those of the suite, and the agent's own over them."""
        shared = suite_settings(self.method.algorithm, self.setting.task.observation)
        return {**shared, **self.method.settings}

    @property
    def points(self) -> list[int]:
        """Steps after which the value of the policy is noted."""
        return sorted({round(share * self.experiment.steps) for share in SHARES})

    @property
    def config(self) -> SettingValues:
        """All that the result depends on."""
        from recurl.experiment.options import algorithms, preset_settings

        own = self.method.algorithm in algorithms()
        preset = own and preset_settings(self.method.algorithm, self.settings.get("preset"))
        found: SettingValues = msgspec.to_builtins(
            {
                "model": self.experiment.model,
                "observation": self.setting.task.observation,
                "agent": self.method.algorithm,
                "settings": self.settings,
                **({"preset": preset} if preset else {}),
                "points": self.points,
                "steps": self.experiment.steps,
                "seed": self.seed,
            }
        )
        return found


def task_run(setting: Setting, agent: Method, seed: int, factor: float = 1.0) -> TaskRun:
    """The run of an agent on a setting.

    Args:
        setting: The setting.
        agent: The agent.
        seed: The seed.
        factor: Factor of the setting's budget.

    Example:
        >>> from recurl.suite.agents import find_agent
        >>> from recurl.suite.tasks import find_setting
        >>> task_run(find_setting("words-small"), find_agent("rql"), 0, factor=0.1).points[-1]
        2000
    """
    experiment = Experiment(
        name=setting.name,
        model=ModelChoice(setting.task.zoo, setting.parameters),
        methods=(agent,),
        steps=max(1, round(factor * setting.steps)),
        seeds=(seed,),
        title=setting.name,
    )
    return TaskRun(experiment, agent, seed)


class _Worker:
    """A trainee with the clock, the curve and the checkpoints of its run."""

    def __init__(self, run: TaskRun, model: RMDP, store: Store, link: PieceLink) -> None:
        self.run, self.model, self.store, self.link = run, model, store, link
        self.before, self.latest = 0.0, Exact(None, None, None)
        self.curve: CurveColumns = {"steps": [], "value": [], "lower": [], "upper": []}
        make = partial(make_trainee, run, run.setting, model)
        saved = read_partial(store, run, link, make)
        self.trainee = saved[0] if saved else make()
        if saved:
            self.before, self.curve = saved[1].seconds, self.curve | saved[1].curve
        self.clock = self.kept = time.perf_counter()

    @property
    def seconds(self) -> float:
        return self.before + time.perf_counter() - self.clock

    def finish(self, save_every: float) -> None:
        """Train to the end; if it is asked to stop before, what can be saved is saved."""

        def look(point: int) -> None:
            self.note(point, self.trainee.worth())
            self.link.report(point, math.nan if self.latest.value is None else self.latest.value)
            if time.perf_counter() - self.kept > save_every:
                self.save()

        done = len(self.curve["steps"])
        self.trainee.train(self.run.points[done:], look, self.link.stopping)
        if len(self.curve["steps"]) < len(self.run.points):
            self.save()
            raise Stopped

    def note(self, point: int, worth: Exact) -> None:
        """Note what the policy is worth at a point."""
        self.latest = worth
        found = (point, worth.value, worth.lower, worth.upper)
        for name, value in zip(self.curve, found, strict=True):
            self.curve[name].append(value)

    def save(self) -> None:
        """Save the run, if its agent can be saved, so that it can be continued."""
        content = self.trainee.saved()
        if content is not None:
            write_partial(self.store, self.run, content, self.seconds, self.curve)
        self.kept = time.perf_counter()

    def finished(self, started: str) -> Finished:
        """The record of the finished run, and its policy, if it has one."""
        seconds, policy = self.seconds, self.trainee.policy()
        record = full_record(
            self.run,
            self.model,
            started,
            seconds=seconds,
            steps=self.trainee.steps,
            episodes=self.trainee.episodes,
            curve=self.curve,
            exact=self.latest,
            episode=self.trainee.episode(),
        )
        return Finished(record, b"" if policy is None else policy.to_json())


def execute(shared: Shared, run: TaskRun, link: PieceLink) -> Finished:
    """Do a run, or the rest of it: a piece for `recurl.experiment.run.run_jobs`.

    Raises:
        Stopped: It was asked to stop, and what can be saved is saved.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    worker = _Worker(run, shared.models[run.experiment.name], shared.store, link)
    worker.finish(shared.save_every)
    return worker.finished(started)


def run_suite(
    agents: Iterable[str | Method],
    settings: Iterable[Setting],
    out: str | os.PathLike[str],
    *,
    seeds: int = 1,
    factor: float = 1.0,
    watch: Watch | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    **how: Any,
) -> list[Record]:
    """Run agents on settings; runs that have a record are not repeated.

    An interrupt lets running ones save themselves where they can be saved; the same call goes on
    from there.

    Args:
        agents: Names of agents, see `recurl.suite.agents.find_agent`; or a learner with settings of
            its own, such as a discount: ``Method("discounted", "rql", {"gamma": 0.95})``. Values
            and scores are those of total rewards all the same.
        settings: What to run them on.
        out: Folder of the records.
        seeds: Runs of each agent on each setting, with the seeds 0, 1, ...
        factor: Factor of the budget of every setting.
        watch: Told how it goes.
        checkpoints: Folder or URL where unfinished runs are kept; the folder of the records if not
            given.
        **how: ``on``, ``workers`` and ``retries``, as `recurl.execution.pieces.run_pieces` takes
            them.

    Returns:
        The records of all of these runs, failed ones included.

    Raises:
        KeyboardInterrupt: After everything is saved.
        BusyError: Another process works in the folder.

    Example:
        >>> import tempfile
        >>> from recurl.suite.tasks import settings
        >>> chosen = settings(["words"], ["small"])
        >>> records = run_suite(["rql"], chosen, tempfile.mkdtemp(), factor=0.1)
        >>> records[0].exact.value is not None
        True
    """
    methods = [find_agent(one) if isinstance(one, str) else one for one in agents]
    with locked(out):
        jobs = [job for one in settings for job in _jobs(one, methods, Path(out), seeds, factor)]
        shared = Shared.of(jobs, Store(out if checkpoints is None else checkpoints))
        return run_jobs(execute, jobs, shared, watch or Watch(), **how)


def _jobs(
    setting: Setting, methods: Sequence[Method], out: Path, seeds: int, factor: float
) -> list[Job]:
    model = setting.model()
    runs = [task_run(setting, method, seed, factor) for seed in range(seeds) for method in methods]
    return [Job(run, model, Files(out, run)) for run in runs]
