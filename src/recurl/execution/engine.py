"""The interface between a driver and its engine, and what passes between them."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol

POLL = 0.25
"""Seconds between two messages of a running piece to its driver."""


class Stopped(Exception):  # noqa: N818 - it ends a piece, it is not a failure
    """Raised by a piece that was asked to stop and has saved its state."""


class PieceLink(Protocol):
    """The connection of a running piece to its driver. All methods are cheap to call."""

    def stopping(self) -> bool:
        """Whether the piece should save its state and raise `Stopped`."""

    def report(self, done: int, latest: float) -> None:
        """Say how much is done, and the latest result."""

    def say(self, text: str) -> None:
        """Say something that people should know."""


Work = Callable[[Any, Any, PieceLink], Any]
"""The work of a piece: a function of the shared data, the item and the link.

It is a function at the top level of a module, so that other processes find it by its name. Shared
data, items and results must be picklable; they travel between processes and never to disk.
"""


class PieceState(Enum):
    """How an attempt at a piece ended."""

    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
    """The machine that ran it is gone."""


class Ended(NamedTuple):
    """The end of an attempt at the piece with this number.

    Attributes:
        piece: Number of the piece.
        state: How it ended.
        result: Its result, if it is done.
        error: Traceback, if it failed.
        cause: The exception itself, if the attempt was made in this process.
    """

    piece: int
    state: PieceState
    result: Any = None
    error: str = ""
    cause: Exception | None = None


class PieceReport(NamedTuple):
    """How far a piece is."""

    piece: int
    done: int
    latest: float


class Said(NamedTuple):
    """A message of a piece."""

    piece: int
    text: str


Event = Ended | PieceReport | Said


class Engine(Protocol):
    """Runs attempts at pieces. The driver calls all methods from one thread."""

    name: str

    def start(self, work: Work, shared: Any) -> None:
        """Get ready to run pieces of this work."""

    def slots(self) -> int:
        """How many pieces run at once now; nodes that come and go change it."""

    def room(self) -> int:
        """How many more pieces the engine takes now."""

    def submit(self, piece: int, item: Any) -> None:
        """Take a piece."""

    def events(self, timeout: float) -> list[Event]:
        """Wait for something to happen, at most this many seconds."""

    def stop(self) -> None:
        """Ask all running pieces to stop."""

    def close(self) -> None:
        """End everything that `start` began."""


def attempt(work: Work, shared: Any, piece: int, item: Any, link: PieceLink) -> Ended:
    """Do a piece once, and say how it ended."""
    try:
        return Ended(piece, PieceState.DONE, work(shared, item, link))
    except Stopped:
        return Ended(piece, PieceState.STOPPED)
    except Exception as error:
        return Ended(piece, PieceState.FAILED, error=traceback.format_exc(), cause=error)


class Mailbox:
    """A link that keeps the latest report and the messages until they are fetched."""

    def __init__(self, piece: int) -> None:
        self._piece = piece
        self._stop = threading.Event()
        self._report: PieceReport | None = None
        self._said: list[Said] = []

    def stopping(self) -> bool:
        """Whether the driver has asked the piece to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the piece to stop."""
        self._stop.set()

    def report(self, done: int, latest: float) -> None:
        """Keep how far the piece is."""
        self._report = PieceReport(self._piece, done, latest)

    def say(self, text: str) -> None:
        """Keep a message."""
        self._said.append(Said(self._piece, text))

    def fetch(self) -> list[Event]:
        """Everything since the last call."""
        said, self._said = self._said, []
        report, self._report = self._report, None
        return [*said, *([report] if report else [])]
