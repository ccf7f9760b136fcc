"""The progress bar of a run."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from recurl.learn.curve import Curve


class Watched(Protocol):
    """What a progress bar shows: any learner."""

    curve: Curve

    @property
    def steps(self) -> int:
        """Steps learned so far."""


class Progress:
    """A bar with steps, steps per second and the latest test, if it is wanted."""

    def __init__(self, learner: Watched, end: int, *, shown: bool) -> None:
        self._learner, self._end, self._shown = learner, end, shown
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._shown:
            self._open()
        return self

    def _open(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
        self._bar = Bar(*columns, TimeRemainingColumn())
        self._bar.start()
        self._begin, self._clock = self._learner.steps, time.perf_counter()
        self._task = self._bar.add_task("", total=self._end, completed=self._begin, note="")

    def update(self) -> None:
        """Show where the run stands."""
        if self._bar is not None:
            self._bar.update(self._task, completed=self._learner.steps, note=self._note())

    def _note(self) -> str:
        seconds = max(time.perf_counter() - self._clock, 1e-9)
        rate = (self._learner.steps - self._begin) / seconds
        curve = self._learner.curve
        latest = f", greedy policy {curve.last.mean:.4g}" if len(curve) else ""
        return f"{rate:,.0f} steps/s{latest}"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
