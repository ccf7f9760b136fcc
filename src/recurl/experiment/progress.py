"""Progress on a terminal, per run and overall; elsewhere a line per finished run."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from recurl.experiment.runner import Watch

if TYPE_CHECKING:
    from recurl.experiment.record import Record
    from recurl.experiment.settings import Run

REFRESH = 0.2


class Estimate:
    """How long the rest will take, from how long the same kind of run took so far.

    A step of one method may take a thousand times as long as one of another. So the pace is kept
    per experiment and method, and as long as one of them that is still to do has not begun, there
    is no estimate. A run that was continued counts with the steps taken since. The rest is shared
    by all workers, but no run takes less than its own time.

    Example:
        >>> from recurl.experiment.paper import PAPER
        >>> first, *_ = PAPER["cloud"].runs()
        >>> estimate = Estimate([first], workers=1)
        >>> estimate.seconds() is None
        True
        >>> estimate.note(first, 25_000, 10.0)
        >>> estimate.seconds()
        30.0
    """

    def __init__(self, todo: list[Run], workers: int) -> None:
        self._left = {_key(run): run.experiment.steps for run in todo}
        self._total = sum(self._left.values())
        self._kind = {_key(run): _kind(run) for run in todo}
        self._done: dict[tuple[str, str, int], tuple[int, int, float]] = {}
        self._workers = workers

    def note(self, run: Run, steps: int, seconds: float, before: int = 0) -> None:
        """A run stands at so many steps; all but those before took so many seconds."""
        self._done[_key(run)] = steps, steps - before, seconds

    def complete(self, run: Run) -> None:
        """A run is over, whatever it took."""
        self._left[_key(run)] = 0

    @property
    def share(self) -> float:
        """Share of all steps that is done."""
        return 1 - self._steps_left() / self._total if self._total else 1.0

    def _steps_left(self) -> int:
        return sum(max(0, left - self._here(key)) for key, left in self._left.items())

    def _here(self, key: tuple[str, str, int]) -> int:
        return self._done.get(key, (0, 0, 0.0))[0]

    def seconds(self) -> float | None:
        """Seconds left; None as long as that cannot be said."""
        pace = self._pace()
        rests = []
        for key, left in self._left.items():
            rest = max(0, left - self._here(key))
            if rest and self._kind[key] not in pace:
                return None
            rests.append(rest * pace.get(self._kind[key], 0.0))
        return max(sum(rests) / self._workers, *rests, 0.0)

    def _pace(self) -> dict[tuple[str, str], float]:
        """Seconds a step, by experiment and method."""
        sums: dict[tuple[str, str], tuple[int, float]] = {}
        for key, (_, steps, seconds) in self._done.items():
            before = sums.get(self._kind[key], (0, 0.0))
            sums[self._kind[key]] = before[0] + steps, before[1] + seconds
        return {kind: seconds / steps for kind, (steps, seconds) in sums.items() if steps}


def _key(run: Run) -> tuple[str, str, int]:
    return run.experiment.name, run.method.name, run.seed


def _kind(run: Run) -> tuple[str, str]:
    return run.experiment.name, run.method.name


def clock_text(seconds: float | None) -> str:
    """Seconds for people.

    Example:
        >>> clock_text(75), clock_text(None), clock_text(7500)
        ('1:15', 'not known yet', '2:05:00')
    """
    if seconds is None:
        return "not known yet"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Display(Watch):
    """Shows runs on stderr: bars on a terminal, else a line for each run that ends.

    Use it as a context: ``with Display() as watch: run_experiments(..., watch=watch)``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bars: Any = None
        self._tasks: dict[tuple[str, str, int], Any] = {}
        self._clock: dict[tuple[str, str, int], tuple[float, int]] = {}
        self._shown = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def begin(self, todo: list[Run], done: int, workers: int) -> None:
        """Show how much there is to do."""
        self._estimate, self._count, self._ended = Estimate(todo, workers), len(todo), 0
        self._failed = 0
        if done:
            self.say(f"{done} of {done + len(todo)} runs are done already")
        if todo and sys.stderr.isatty():
            self._open()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[note]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._all = self._bars.add_task(f"{self._count} runs", total=1.0, note="")
        self._bars.start()

    def advance(self, run: Run, steps: int, latest: float) -> None:
        """Move the bar of a run, and that of all."""
        now = time.perf_counter()
        with self._lock:
            begun, first = self._clock.setdefault(_key(run), (now, steps))
            self._estimate.note(run, steps, now - begun, first)
            if self._bars is not None and now - self._shown > REFRESH:
                self._shown = now
                self._draw(run, steps, latest)

    def _draw(self, run: Run, steps: int, latest: float) -> None:
        key = _key(run)
        if key not in self._tasks:
            name = f"{run.experiment.name} {run.name}"
            self._tasks[key] = self._bars.add_task(name, total=run.experiment.steps, note="")
        note = f"{steps:,} steps, latest test {latest:.4g}"
        self._bars.update(self._tasks[key], completed=steps, note=note)
        self._draw_all()

    def _draw_all(self) -> None:
        failed = f", {self._failed} failed" if self._failed else ""
        left = clock_text(self._estimate.seconds())
        note = f"{self._ended} of {self._count} done{failed}, time left {left}"
        self._bars.update(self._all, completed=self._estimate.share, note=note)

    def finish(self, run: Run, record: Record) -> None:
        """Take away the bar of a run, and say how it ended where there are no bars."""
        with self._lock:
            self._ended += 1
            self._failed += record.failed
            if record.failed:  # it may have failed before its first step, and others like it will
                self._estimate.note(run, run.experiment.steps, 0.0)
            self._estimate.complete(run)
            if self._bars is not None and _key(run) in self._tasks:
                self._bars.remove_task(self._tasks.pop(_key(run)))
            if self._bars is not None:
                self._draw_all()
            if self._bars is None or record.failed:
                self.say(self._line(run, record))

    def _line(self, run: Run, record: Record) -> str:
        head = f"[{self._ended}/{self._count}] {run.experiment.name} {run.name}"
        if record.failed:
            return f"{head} FAILED: {record.error.strip().splitlines()[-1]}"
        worth = record.exact.value if record.exact else None
        value = "not finite" if worth is None else f"{worth:.6g}"
        left = clock_text(self._estimate.seconds())
        return f"{head}: policy worth {value}, {record.seconds:.1f} s; time left {left}"

    def say(self, text: str) -> None:
        """Print a line, above the bars if there are some."""
        if self._bars is not None:
            self._bars.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)
