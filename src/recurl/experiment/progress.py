"""Progress of many runs and of searches: how far they are, and how long the rest will take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recurl.experiment.run import Watch
from recurl.experiment.tune import TuneWatch
from recurl.progress import Progress, clock_text, is_live

if TYPE_CHECKING:
    from recurl.execution.pieces import PieceCounts
    from recurl.experiment.record import Record
    from recurl.experiment.search import SettingsSearch
    from recurl.experiment.settings import Run


class TimeEstimate:
    """How long the rest will take, from how long the same kind of run took so far.

    A step of one method may take a thousand times as long as one of another. So the pace is kept
    per experiment and method; where an experiment has not begun, it is that of the method in the
    others. As long as a method has not begun, there is no estimate. A run that was continued counts
    with the steps taken since. The rest is shared by all workers, but no run takes less than its
    own time.

    Example:
        >>> from recurl.experiment.paper import PAPER
        >>> first, *_ = PAPER["cloud"].runs()
        >>> estimate = TimeEstimate([first], workers=1)
        >>> estimate.seconds() is None
        True
        >>> estimate.note(first, 25_000, 10.0)
        >>> estimate.seconds()
        30.0
    """

    def __init__(self, todo: list[Run], workers: int) -> None:
        self._left = {_key(run): run.experiment.steps for run in todo}
        self._total = sum(self._left.values())
        self._done: dict[tuple[str, str, int], tuple[int, int, float]] = {}
        self.workers = workers

    def note(self, run: Run, steps: int, seconds: float, before: int = 0) -> None:
        """Note the steps of a run, and the seconds that all but those before took."""
        self._done[_key(run)] = steps, steps - before, seconds

    def complete(self, run: Run, seconds: float = 0.0) -> None:
        """A run is over; its seconds tell the pace if it was too short to report on its way."""
        _, reported, _ = self._done.get(_key(run), (0, 0, 0.0))
        if not reported:
            self.note(run, run.experiment.steps, seconds)
        self._left[_key(run)] = 0

    @property
    def share(self) -> float:
        """Share of all steps that is done."""
        left = sum(max(0, left - self._here(key)) for key, left in self._left.items())
        return 1 - left / self._total if self._total else 1.0

    def _here(self, key: tuple[str, str, int]) -> int:
        return self._done.get(key, (0, 0, 0.0))[0]

    def seconds(self) -> float | None:
        """Seconds left; None as long as that cannot be said."""
        pace = self._pace()
        rests = []
        for key, left in self._left.items():
            rest = max(0, left - self._here(key))
            experiment, method, _ = key
            step = pace.get((experiment, method), pace.get(("", method)))
            if rest and step is None:
                return None
            rests.append(rest * (step or 0.0))
        return max(sum(rests) / self.workers, *rests, 0.0)

    def _pace(self) -> dict[tuple[str, str], float]:
        """Seconds a step, by experiment and method, and with ``""`` by method in all of them."""
        sums: dict[tuple[str, str], tuple[int, float]] = {}
        for key, (_, steps, seconds) in self._done.items():
            experiment, method, _ = key
            for kind in ((experiment, method), ("", method)):
                before = sums.get(kind, (0, 0.0))
                sums[kind] = before[0] + steps, before[1] + seconds
        return {kind: seconds / steps for kind, (steps, seconds) in sums.items() if steps}


def _key(run: Run) -> tuple[str, str, int]:
    return run.experiment.name, run.method.name, run.seed


class Display(Progress, Watch):
    """Shows runs on stderr: a line about all of them, and one for each run that ends.

    On a terminal runs that end well are not listed. Use it as a context:
    ``with Display() as watch: run_experiments(..., watch=watch)``.

    Args:
        sampled: Whether tests are sampled, and not exact.
    """

    def __init__(self, *, sampled: bool = True) -> None:
        super().__init__("running experiments")
        self._suffix = " (sampled)" if sampled else ""
        self._clock: dict[tuple[str, str, int], tuple[float, int]] = {}

    def begin(self, todo: list[Run], done: int, workers: int) -> None:
        """Show how much there is to do."""
        self._estimate, self._runs, self._ended_runs = TimeEstimate(todo, workers), len(todo), 0
        self._counts = ""
        if done:
            self.say(f"{done} of {done + len(todo)} runs are done already")
        self.left, self.total, self.unit = self._estimate.seconds, 100, "%"

    def count(self, counts: PieceCounts) -> None:
        """Show how many runs are done, running and waiting."""
        self._counts, self._estimate.workers = str(counts), counts.slots
        self._show()

    def advance(self, run: Run, steps: int, latest: float) -> None:
        """Note where a run stands."""
        now = time.perf_counter()
        begun, first = self._clock.setdefault(_key(run), (now, steps))
        self._estimate.note(run, steps, now - begun, first)
        name = f"{run.experiment.name} {run.name}"
        self._show(f"{name} at {steps:,} steps, latest test {latest:.4g}{self._suffix}")

    def _show(self, text: str = "") -> None:
        note = f"{self._counts}; {text}" if text else self._counts
        self.update(round(100 * self._estimate.share), note)

    def finish(self, run: Run, record: Record) -> None:
        """Say how a run ended: on a terminal only if it failed."""
        self._ended_runs += 1
        # One may have failed before its first step, and others like it will.
        self._estimate.complete(run, 0.0 if record.failed else record.seconds)
        self._show()
        if record.failed or not is_live():
            self.say(self._end_line(run, record))

    def _end_line(self, run: Run, record: Record) -> str:
        head = f"[{self._ended_runs}/{self._runs}] {run.experiment.name} {run.name}"
        if record.failed:
            return f"{head} FAILED: {record.error.strip().splitlines()[-1]}"
        worth = record.exact.value if record.exact else None
        value = "not finite" if worth is None else f"{worth:.6g}"
        left = clock_text(self._estimate.seconds())
        return f"{head}: policy worth {value}, {record.seconds:.1f} s; time left {left}"


class TuneDisplay(Progress, TuneWatch):
    """Shows a search on stderr: a line about all trials, and one for each that ends.

    On a terminal trials that end are not listed, unless they failed.
    """

    def __init__(self, search: SettingsSearch) -> None:
        super().__init__("searching", search.trials, "trials")
        self._counts, self._best = "", ""
        self._score = float("-inf")

    def count(self, counts: PieceCounts) -> None:
        """Show how many runs are done, running and waiting."""
        self._counts = str(counts)
        self.update(note=f"{self._best}runs {self._counts}")

    def trial(self, number: int, score: float | None, state: str) -> None:
        """Show the end of a trial."""
        if score is not None and state == "complete" and score > self._score:
            self._score, self._best = score, f"best {score:.4g} (trial {number}), "
        self.update(number + 1, f"{self._best}runs {self._counts}")
        if state == "fail" or not is_live():
            worth = "" if score is None else f", score {score:.4g}"
            self.say(f"trial {number}: {state}{worth}")
