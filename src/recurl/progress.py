"""The progress display: one line on stderr for work that takes longer than a second.

A terminal or a notebook shows one line that changes; anything else gets a line every 10 seconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from recurl import compilation

PATIENCE = 1.0
"""Seconds of silence before a line appears on a terminal."""

REFRESH = 0.2
"""Seconds between changes of the line on a terminal."""

SPACING = 10.0
"""Seconds between lines where there is no terminal."""

BAR = 20

_open: list[Progress] = []


class Progress:
    """Shows what is done while a block runs, if the block takes its time.

    Args:
        text: What is being done.
        total: How much there is to do, if that is known.
        unit: What is counted, in the plural.
        shown: Whether to show anything.

    Attributes:
        left: Seconds left, where they do not follow from the speed; None for not known yet.

    Example:
        >>> with Progress("counting", total=3, unit="sheep") as progress:
        ...     for done in range(3):
        ...         progress.update(done + 1, "all white")
        >>> progress.line()
        'counting: 3 of 3 sheep, all white'
    """

    def __init__(
        self,
        text: str,
        total: int | None = None,
        unit: str = "",
        *,
        shown: bool = True,
    ) -> None:
        self.text, self.total, self.unit = text, total, unit
        self.left: Callable[[], float | None] | None = None
        self._shown = shown
        self.done, self._note = 0, ""
        self._first: tuple[int, compilation.Stopwatch] | None = None
        self._began = time.perf_counter()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="progress", daemon=True)
        self._width = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if self._shown:
            _open.append(self)
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._shown:
            _open.remove(self)
            self._ticker.join()
            self._write("")

    def update(self, done: int | None = None, note: str | None = None) -> None:
        """Say how much is done, and anything else worth knowing."""
        if done is not None:
            self.done = done
            if self._first is None:
                self._first = done, compilation.Stopwatch()
        if note is not None:
            self._note = note

    def interval(self, lower: float, upper: float, work: Mapping[str, float]) -> None:
        """Say what is known of a number that is being bounded, as solvers report it."""
        counts = ", ".join(f"{count:,.0f} {what}" for what, count in work.items())
        width = f"in [{lower:.8g}, {upper:.8g}], width {upper - lower:.2g}"
        self.update(note=f"{counts}, {width}" if counts else width)

    def say(self, text: str) -> None:
        """Print a line above the one that changes."""
        with self._lock:
            self._write("")
            print(text, file=sys.stderr, flush=True)

    def line(self) -> str:
        """The line: what is done, how much of it, how fast, and how long it takes yet."""
        parts = ["compiling"] if compilation.is_compiling() else []
        if self.total is not None:
            parts.append(self._done_text())
        parts += [part for part in (self._speed(), self._note, self._time()) if part]
        return f"{self.text}: {', '.join(parts)}" if parts else self.text

    def _done_text(self) -> str:
        if self.unit == "%":
            return f"{self.done} %"
        return f"{self.done:,} of {self.total:,} {self.unit}".rstrip()

    def _pace(self) -> float:
        """How much is done in a second."""
        if self._first is None:
            return 0.0
        begun, watch = self._first
        seconds = watch.seconds
        return (self.done - begun) / seconds if seconds > REFRESH else 0.0

    def _speed(self) -> str:
        pace = self._pace()
        return f"{pace:,.0f} {self.unit}/s" if pace >= 1 and self.unit not in ("", "%") else ""

    def _time(self) -> str:
        if self.left is not None:
            return f"time left {clock_text(self.left())}"
        pace = self._pace()
        if self.total is not None and pace:
            return f"{clock_text((self.total - self.done) / pace)} left"
        seconds = time.perf_counter() - self._began
        return clock_text(seconds) if seconds >= PATIENCE else ""

    def _tick(self) -> None:
        live = is_live()
        self._ended.wait(PATIENCE if live else SPACING)
        while not self._ended.is_set():
            compilation.listen()
            with self._lock:
                if _open[-1:] == [self]:
                    self._write(self._fitted() if live else self.line())
            self._ended.wait(REFRESH if live else SPACING)

    def _fitted(self) -> str:
        """The line with a bar, as wide as the terminal at most."""
        share = 0 if not self.total else min(1.0, self.done / self.total)
        full = round(BAR * share)
        bar = f"[{'#' * full}{'.' * (BAR - full)}] " if self.total else ""
        line, room = self.line(), _columns() - 1
        return bar + line if len(bar + line) <= room else line[:room]

    def _write(self, text: str) -> None:
        """Put a line in the place of the last one; nothing takes it away."""
        if not is_live():
            print(text, end="\n" if text else "", file=sys.stderr, flush=True)
        elif text or self._width:
            # Spaces, as notebooks do not know how to erase a line.
            erased = "" if text else "\r"
            print(f"\r{text:{self._width}}{erased}", end="", file=sys.stderr, flush=True)
            self._width = len(text)


def is_live() -> bool:
    """Whether stderr can show a line that changes: a terminal, or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        pass
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def activity() -> str:
    """The work that is shown now; empty if there is none."""
    return _open[-1].line() if _open else ""


def clock_text(seconds: float | None) -> str:
    """Seconds as readable text.

    Example:
        >>> clock_text(75), clock_text(None), clock_text(7500)
        ('1:15', 'not known yet', '2:05:00')
    """
    if seconds is None:
        return "not known yet"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
