"""The engine of this machine: pieces run in separate processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from recurl.execution.engine import POLL, Ended, Event, Mailbox, PieceState, Work, attempt

CLOSING = 1.0
"""Seconds that processes have to end."""


class _Worker(NamedTuple):
    process: BaseProcess
    pipe: Connection


class Processes:
    """Runs pieces in processes, each of which has its own copy of the shared data.

    A process that dies is replaced; its piece counts as failed. Processes end with their driver,
    however that ends.
    """

    name = "processes"

    def __init__(self, workers: int | None = None) -> None:
        self._slots = workers or os.cpu_count() or 1
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}

    def start(self, work: Work, shared: Any) -> None:
        """Keep the work; processes begin with the pieces."""
        self._work, self._shared = work, shared
        # A fork would copy locks that threads of this process hold.
        self._context = multiprocessing.get_context("spawn")

    def slots(self) -> int:
        """The number of processes."""
        return self._slots

    def room(self) -> int:
        """Processes without a piece."""
        return self._slots - len(self._busy)

    def submit(self, piece: int, item: Any) -> None:
        """Send a piece to a process that has none."""
        worker = self._idle.pop() if self._idle else self._new_worker()
        self._busy[piece] = worker
        with suppress(OSError):  # if it died while it was idle, `events` says so
            worker.pipe.send((piece, item))

    def _new_worker(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        arguments = (theirs, self._work, self._shared)
        process = self._context.Process(target=_serve, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def events(self, timeout: float) -> list[Event]:
        """Everything that the processes have sent."""
        busy = {worker.pipe: piece for piece, worker in self._busy.items()}
        found: list[Event] = []
        for pipe in wait(list(busy), timeout):
            assert isinstance(pipe, Connection)
            found += self._received(busy[pipe], pipe)
        return found

    def _received(self, piece: int, pipe: Connection) -> list[Event]:
        try:
            events: list[Event] = pipe.recv()
        except (EOFError, OSError):
            worker = self._busy.pop(piece)
            worker.process.join(CLOSING)
            code = worker.process.exitcode
            error = f"the process that ran the piece ended with exit code {code}"
            return [Ended(piece, PieceState.FAILED, error=error)]
        if isinstance(events[-1], Ended):
            self._idle.append(self._busy.pop(piece))
        return events

    def stop(self) -> None:
        """Ask all running pieces to stop."""
        for worker in self._busy.values():
            with suppress(OSError):  # it may have died
                worker.pipe.send(None)

    def close(self) -> None:
        """End all processes."""
        workers = [*self._idle, *self._busy.values()]
        for worker in workers:
            worker.pipe.close()
        for worker in workers:
            worker.process.join(CLOSING)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join(CLOSING)
            worker.process.close()
        self._idle, self._busy = [], {}


def _serve(pipe: Connection, work: Work, shared: Any) -> None:
    """Do pieces in a process until the driver is gone or closes the pipe."""
    # Ctrl-C reaches all processes of a terminal; the driver decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while (job := pipe.recv()) is not None:
            _send_all(pipe, _do(pipe, work, shared, *job))
    except (EOFError, OSError):
        pass  # the driver is gone


def _send_all(pipe: Connection, events: list[Event]) -> None:
    try:
        pipe.send(events)
    except OSError:
        raise
    except Exception:  # a result that cannot be sent
        pipe.send([Ended(events[-1].piece, PieceState.FAILED, error=traceback.format_exc())])


def _do(pipe: Connection, work: Work, shared: Any, piece: int, item: Any) -> list[Event]:
    """Do one piece; a second thread exchanges messages meanwhile."""
    link, over = Mailbox(piece), threading.Event()

    def exchange() -> None:
        while not over.wait(POLL):
            try:
                if pipe.poll():
                    pipe.recv()  # only a request to stop comes while a piece runs
                    link.stop()
                if events := link.fetch():
                    pipe.send(events)
            except (EOFError, OSError):
                link.stop()  # the driver is gone: save and end
                return

    thread = threading.Thread(target=exchange, daemon=True)
    thread.start()
    ended = attempt(work, shared, piece, item, link)
    over.set()
    thread.join()
    # Not every exception can be sent.
    return [*link.fetch(), ended._replace(cause=None)]
