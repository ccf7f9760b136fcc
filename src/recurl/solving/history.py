"""The intervals on the way to a solution, noted while it is sought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recurl.compilation import Stopwatch

if TYPE_CHECKING:
    from recurl.solving.one_exit_search import Callback

MOST = 2000
"""Intervals that are kept; of more, every other one is dropped."""


class History:
    """A callback that notes seconds, lower and upper end of every interval, and passes it on.

    Args:
        callback: Whoever else is to be told.

    Example:
        >>> history = History()
        >>> history(-2.0, 1.0, {})
        >>> [interval[1:] for interval in history.intervals]
        [(-2.0, 1.0)]
    """

    def __init__(self, callback: Callback | None = None) -> None:
        self.intervals: list[tuple[float, float, float]] = []
        self._watch, self._callback = Stopwatch(), callback

    @property
    def seconds(self) -> float:
        """Time since the search began, without compiling."""
        return self._watch.seconds

    def __call__(self, lower: float, upper: float, work: dict[str, float]) -> None:
        """Note an interval."""
        if len(self.intervals) >= MOST:
            del self.intervals[1::2]
        self.intervals.append((self.seconds, lower, upper))
        if self._callback is not None:
            self._callback(lower, upper, work)

    def is_heard(self) -> bool:
        """Whether there is another callback, for which a method may give more intervals."""
        return self._callback is not None


def is_watched(callback: Callback | None) -> bool:
    """Whether somebody watches how the interval shrinks."""
    return callback.is_heard() if isinstance(callback, History) else callback is not None
