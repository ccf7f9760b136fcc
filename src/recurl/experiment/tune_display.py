"""Progress of a search: which trials are done, and what they are worth."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from recurl.experiment.tune import TuneWatch
from recurl.progress import Progress, is_live

if TYPE_CHECKING:
    from recurl.execution.pieces import Counts
    from recurl.experiment.search import Search


class TuneDisplay(TuneWatch):
    """Shows a search on stderr: a line about all trials, and one for each that ends.

    On a terminal trials that end are not listed, unless they failed.
    """

    def __init__(self, search: Search) -> None:
        self._progress = Progress("searching", search.trials, "trials")
        self._counts, self._best = "", ""
        self._score = float("-inf")

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.__exit__(kind, error, trace)

    def count(self, counts: Counts) -> None:
        """Show how many runs are done, running and waiting."""
        self._counts = str(counts)
        self._progress.update(note=f"{self._best}runs {self._counts}")

    def trial(self, number: int, score: float | None, state: str) -> None:
        """Show the end of a trial."""
        if score is not None and state == "complete" and score > self._score:
            self._score, self._best = score, f"best {score:.4g} (trial {number}), "
        self._progress.update(number + 1, f"{self._best}runs {self._counts}")
        if state == "fail" or not is_live():
            worth = "" if score is None else f", score {score:.4g}"
            self.say(f"trial {number}: {state}{worth}")

    def say(self, text: str) -> None:
        """Print a line, above the one that changes."""
        self._progress.say(text)
