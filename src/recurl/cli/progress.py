"""A progress bar for what lasts longer than a second: on stderr, and only on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds of silence before a bar appears."""


class Waiting:
    """Shows what is going on while a block runs, if the block takes its time.

    Args:
        text: What is being done.
        total: How much there is to do; without it the bar only shows that time passes.

    Example:
        >>> with Waiting("counting", total=3) as waiting:
        ...     for done in range(3):
        ...         waiting.update(done + 1)
    """

    def __init__(self, text: str, total: int | None = None) -> None:
        self._text, self._total, self._done = text, total, 0
        self._bar: Progress | None = None
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer.ident is not None:
            self._timer.cancel()
            self._timer.join()
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, text: str = "") -> None:
        """Say how much of the total is done, and what is going on now."""
        self._done, self._text = done, text or self._text
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, description=self._text)

    def interval(self, lower: float, upper: float, work: Mapping[str, float]) -> None:
        """Show an interval that narrows, as solvers report it."""
        self.update(0, f"in [{lower:.8g}, {upper:.8g}], width {upper - lower:.2g}")

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        bar = Progress(
            text,
            BarColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        bar.add_task(self._text, total=self._total, completed=self._done)
        self._bar = bar
        self.update(self._done)  # what was said while the bar was being made
        bar.start()
