"""Time spent compiling: it is shown as such, and not counted as work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from recurl import interrupts

Result = TypeVar("Result")


class _Clock:
    """Adds up the time in which at least one thing is being compiled."""

    def __init__(self) -> None:
        self._running, self._began, self._total = 0, 0.0, 0.0
        self.listens = False

    def start(self) -> None:
        if not self._running:
            self._began = time.perf_counter()
        self._running += 1

    def stop(self) -> None:
        self._running -= 1
        if not self._running:
            self._total += time.perf_counter() - self._began

    @property
    def runs(self) -> bool:
        return self._running > 0

    @property
    def seconds(self) -> float:
        return self._total + (time.perf_counter() - self._began if self._running else 0.0)


_clock = _Clock()


def listen() -> None:
    """Have numba, if it is loaded, say when it compiles.

    It imports nothing: another thread may be importing numba, and both would wait forever.
    """
    event: Any = sys.modules.get("numba.core.event")
    if _clock.listens or not (hasattr(event, "Listener") and hasattr(event, "register")):
        return

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            _clock.start()

        def on_end(self, event: Any) -> None:
            _clock.stop()

    _clock.listens = True
    event.register("numba:compile", Listener())


def is_compiling() -> bool:
    """Whether something is being compiled now."""
    return _clock.runs


class Stopwatch:
    """Seconds since it was made, without those spent compiling.

    Example:
        >>> watch = Stopwatch()
        >>> compiled_aside(lambda: time.sleep(0.2))
        >>> watch.seconds < 0.2
        True
    """

    def __init__(self) -> None:
        listen()
        self._began = self._now()

    @staticmethod
    def _now() -> float:
        return time.perf_counter() - _clock.seconds

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._now() - self._began


def compiled_aside(work: Callable[[], Result]) -> Result:
    """Do work that compiles, in a thread that an interrupt leaves behind.

    Example:
        >>> compiled_aside(lambda: 1 + 1)
        2
    """
    _clock.start()
    try:
        return interrupts.aside(work)
    finally:
        _clock.stop()
