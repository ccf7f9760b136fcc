"""Loggers: callbacks that write the numbers of a run somewhere.

A logger is a callback with one more method, ``log(numbers, step)``. Loggers for TensorBoard and for
CSV files are here; `RunLogger` hands the numbers to any object with such a ``log``, as a run of
Weights & Biases is.
"""

from __future__ import annotations

import csv
import os
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from recurl.arguments import with_known_names
from recurl.learn.callbacks import Callback
from recurl.learn.tensorboard import EventFile

if TYPE_CHECKING:
    from recurl.learn.learner import Learner


class Logger(Callback, ABC):
    """Writes named numbers at each stop of a run: override `log`.

    The numbers are ``time/fps``; after a test also ``eval/mean_reward``, ``eval/mean_ep_length``
    and ``rollout/ep_rew_mean`` (training); for a network also ``train/loss``.
    """

    _clock: float | None = None
    _steps = 0

    @abstractmethod
    def log(self, numbers: dict[str, float], step: int) -> None:
        """Write named numbers of a step."""

    def on_stop(self, learner: Learner) -> bool | None:
        """Write the numbers of the learner."""
        self.log(self._numbers(learner), learner.steps)
        return None

    def on_start(self, learner: Learner) -> bool | None:
        """Start the clock."""
        self._clock, self._steps = time.perf_counter(), learner.steps
        return None

    def _numbers(self, learner: Learner) -> dict[str, float]:
        clock, before = time.perf_counter(), self._clock
        numbers = {}
        if before is not None:
            numbers["time/fps"] = (learner.steps - self._steps) / max(clock - before, 1e-9)
        self._clock, self._steps = clock, learner.steps
        if len(learner.curve):
            last = learner.curve.last
            numbers["rollout/ep_rew_mean"] = last.training_mean
            numbers["eval/mean_reward"] = last.mean
            numbers["eval/mean_ep_length"] = last.length
        loss = getattr(learner.engine, "loss", None)
        if loss is not None:
            numbers["train/loss"] = loss
        return numbers


class TensorBoard(Logger):
    """Writes an event file that TensorBoard reads.

    Args:
        folder: Where to write; it is made if need be.

    Example:
        >>> import recurl, tempfile
        >>> from recurl.learn.tensorboard import read_events
        >>> board = TensorBoard(tempfile.mkdtemp())
        >>> learner = recurl.QLearning(recurl.zoo.cloud(), evaluate_every=500, episode_limit=200)
        >>> _ = learner.learn(1000, board)
        >>> [step for step, numbers in read_events(board.path) if numbers]
        [500, 1000]
    """

    @with_known_names
    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._file = EventFile(folder)
        self.path = self._file.path

    def log(self, numbers: dict[str, float], step: int) -> None:
        """Add the numbers to the event file."""
        self._file.add(step, numbers)


class CSVLogger(Logger):
    """Writes a CSV file, a row for each stop; a file that exists is continued.

    Args:
        path: The file. The first row names the columns; what comes later in a run than the first
            stop (a loss, say) has its column as well, empty at first.

    Example:
        >>> import recurl, tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp()) / "run.csv"
        >>> settings = {"evaluate_every": 500, "episode_limit": 200}
        >>> _ = recurl.QLearning(recurl.zoo.cloud(), **settings).learn(1000, CSVLogger(path))
        >>> [line.split(",")[0] for line in path.read_text().splitlines()]
        ['step', '500', '1000']
    """

    columns = (
        "step",
        "eval/mean_reward",
        "eval/mean_ep_length",
        "rollout/ep_rew_mean",
        "train/loss",
        "time/fps",
    )

    @with_known_names
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists() or not self.path.stat().st_size:
            self._write(self.columns)

    def log(self, numbers: dict[str, float], step: int) -> None:
        """Add a row to the file."""
        self._write([step, *(numbers.get(name, "") for name in self.columns[1:])])

    def _write(self, row: Any) -> None:
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(row)


class LoggedRun(Protocol):
    """An object that takes named numbers, as a run of Weights & Biases does."""

    def log(self, numbers: dict[str, float], *, step: int) -> object:
        """Take named numbers of a step."""


class RunLogger(Logger):
    """Hands the numbers to ``run.log(numbers, step=...)``, as Weights & Biases takes them.

    Args:
        run: What ``wandb.init()`` returns, or any object with such a method.

    Example:
        >>> import recurl
        >>> class Printed:
        ...     def log(self, numbers, step):
        ...         print(step, sorted(numbers))
        >>> _ = recurl.QLearning(recurl.zoo.cloud()).learn(1000, RunLogger(Printed()))
        1000 ['time/fps']
    """

    @with_known_names
    def __init__(self, run: LoggedRun) -> None:
        if not callable(getattr(run, "log", None)):
            raise TypeError(
                f"RunLogger takes an object with log(numbers, step=...), as wandb.init() returns "
                f"it, not {run!r}"
            )
        self.run = run

    def log(self, numbers: dict[str, float], step: int) -> None:
        """Hand the numbers over."""
        self.run.log(numbers, step=step)
