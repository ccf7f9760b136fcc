"""The engine of this process: pieces run in its threads."""

from __future__ import annotations

import os
import queue
import threading
from typing import Any

from recurl.execution.engine import Ended, Event, Mailbox, Work, attempt


class Threads:
    """Runs pieces in threads: compiled code of one runs beside that of others.

    Threads that still compile after an interrupt are left behind.
    """

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        self._slots = workers or os.cpu_count() or 1
        self._links: dict[int, Mailbox] = {}
        self._ended: queue.SimpleQueue[Ended | BaseException] = queue.SimpleQueue()
        self._todo: queue.SimpleQueue[tuple[int, Any, Mailbox] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def start(self, work: Work, shared: Any) -> None:
        """Keep the work; threads begin with the pieces."""
        self._work, self._shared = work, shared

    def slots(self) -> int:
        """The number of threads."""
        return self._slots

    def room(self) -> int:
        """Threads without a piece."""
        return self._slots - len(self._links)

    def submit(self, piece: int, item: Any) -> None:
        """Hand a piece to a thread."""
        link = self._links[piece] = Mailbox(piece)
        if len(self._threads) < len(self._links):
            thread = threading.Thread(target=self._serve, name="pieces", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._todo.put((piece, item, link))

    def _serve(self) -> None:
        while (job := self._todo.get()) is not None:
            piece, item, link = job
            try:
                ended = attempt(self._work, self._shared, piece, item, link)
            except BaseException as error:  # an interrupt is raised where the driver is
                self._ended.put(error)
            else:
                self._ended.put(ended)

    def events(self, timeout: float) -> list[Event]:
        """Ends of pieces, and what the running ones have reported."""
        found: list[Event] = []
        try:
            first = self._ended.get(timeout=timeout)
        except queue.Empty:
            return [event for link in self._links.values() for event in link.fetch()]
        ended = [first]
        while not self._ended.empty():
            ended.append(self._ended.get())
        found += [event for link in self._links.values() for event in link.fetch()]
        for one in ended:
            if isinstance(one, BaseException):
                raise one
            del self._links[one.piece]
            found.append(one)
        return found

    def stop(self) -> None:
        """Ask all running pieces to stop."""
        for link in self._links.values():
            link.stop()

    def close(self) -> None:
        """Let the threads end."""
        for _ in self._threads:
            self._todo.put(None)
