"""Run many independent pieces of work on an engine: the driver."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from recurl.errors import RecurlError, UnknownNameError
from recurl.execution.engine import Ended, Engine, PieceReport, PieceState, Work
from recurl.interrupts import LOOK, PATIENCE, check, deferred

ENGINES = ("local", "processes", "ray", "ray://HOST:PORT")

LOSSES = 10
"""A piece whose machine was lost this often has failed."""


class PieceOutcome(NamedTuple):
    """How a piece ended for good.

    Attributes:
        piece: Number of the piece: its place among the items.
        item: The item.
        result: The result of its work; None if it failed.
        error: Traceback of the last attempt, if it failed.
        attempts: How often it was tried.
        cause: The exception of the last attempt, if that was made in this process.
    """

    piece: int
    item: Any
    result: Any
    error: str
    attempts: int
    cause: Exception | None = None

    @property
    def failed(self) -> bool:
        """Whether all attempts failed."""
        return bool(self.error)


class PieceCounts(NamedTuple):
    """How many pieces are in which state.

    Example:
        >>> str(PieceCounts("processes", slots=2, done=3, failed=1, running=2, waiting=4))
        '3 done, 1 failed, 2 running, 4 waiting on processes'
    """

    engine: str
    slots: int
    done: int
    failed: int
    running: int
    waiting: int

    def __str__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        rest = f"{self.running} running, {self.waiting} waiting on {self.engine}"
        return f"{self.done} done{failed}, {rest}"


class Observer:
    """Observer of pieces; this one does nothing. Called from the thread of `run_pieces`."""

    def count(self, counts: PieceCounts) -> None:
        """The number of pieces in some state has changed."""

    def report(self, piece: int, done: int, latest: float) -> None:
        """A piece is this far."""

    def say(self, text: str) -> None:
        """A message that people should see."""

    def retry(self, piece: int, error: str) -> None:
        """A piece failed, with this traceback, and will be tried again."""

    def end(self, outcome: PieceOutcome) -> Iterable[Any]:
        """A piece has ended for good; returns items that are to be done because of it."""
        return ()


def run_pieces(
    work: Work,
    items: Iterable[Any],
    *,
    shared: Any = None,
    on: str = "local",
    workers: int | None = None,
    retries: int = 0,
    observer: Observer | None = None,
) -> list[PieceOutcome]:
    """Do a piece of work for every item, on any engine; returns the outcomes in their order.

    A piece calls ``work(shared, item, link)``. It should depend on nothing else: then its result is
    the same on every engine. A piece that takes long keeps its own checkpoints (see
    `recurl.execution.store`), asks ``link.stopping()`` several times a second and raises `Stopped`
    after it has saved its state; if it is done again, it continues from there.

    Results stream back: ``observer.end`` is called in this thread as soon as a piece has ended, and
    is the place to write them down. Items that it returns are done too.

    Args:
        work: A function at the top level of a module.
        items: What to do it for; they begin in this order.
        shared: Given to every piece; sent once to each process or node.
        on: ``"local"`` (threads of this process), ``"processes"`` (on this machine), ``"ray"`` (the
            Ray cluster that this machine belongs to, else one that is started for the call) or
            ``"ray://HOST:PORT"`` (a Ray cluster somewhere else).
        workers: How many pieces at once; as many as there are cores if not given.
        retries: How often a piece that fails is tried again. The others go on.
        observer: Follows what happens.

    Raises:
        KeyboardInterrupt: After Ctrl-C, when running pieces have had a moment to save themselves.
        UnknownNameError: The engine is unknown.
        MissingExtraError: The engine is not installed.

    Example:
        >>> def square(shared, item, link):
        ...     return item * item
        >>> [outcome.result for outcome in run_pieces(square, [1, 2, 3])]
        [1, 4, 9]
    """
    with Session(work, shared=shared, on=on, workers=workers) as session:
        return session.run(items, retries=retries, observer=observer)


class Session:
    """Workers that stay for many calls: for rounds of pieces that depend on the rounds before.

    Args:
        work: As for `run_pieces`.
        shared: As there.
        on: As there.
        workers: As there.

    Example:
        >>> def square(shared, item, link):
        ...     return item * item
        >>> with Session(square, workers=2) as session:
        ...     [results_of(session.run([n, n + 1])) for n in range(2)]
        [[0, 1], [1, 4]]
    """

    def __init__(
        self, work: Work, *, shared: Any = None, on: str = "local", workers: int | None = None
    ) -> None:
        self._engine = make_engine(on, workers)
        self._work, self._shared = work, shared

    def __enter__(self) -> Self:
        self._engine.start(self._work, self._shared)
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def run(
        self, items: Iterable[Any], *, retries: int = 0, observer: Observer | None = None
    ) -> list[PieceOutcome]:
        """Do a piece for every item; returns the outcomes in their order."""
        driver = _Driver(self._engine, items, retries, observer or Observer())
        with deferred():
            driver.run()
        return [driver.outcomes[piece] for piece in range(len(driver.items))]


def results_of(outcomes: Iterable[PieceOutcome]) -> list[Any]:
    """The results of pieces none of which may fail.

    Raises:
        Exception: The first failure: the exception itself if it was raised in this process, else a
            `RecurlError` with its traceback.

    Example:
        >>> results_of([PieceOutcome(0, "a", 1, "", 1), PieceOutcome(1, "b", 2, "", 1)])
        [1, 2]
    """
    results = []
    for outcome in outcomes:
        if outcome.failed:
            raise outcome.cause or RecurlError(f"a piece of the work failed:\n{outcome.error}")
        results.append(outcome.result)
    return results


def make_engine(on: str, workers: int | None = None) -> Engine:
    """The engine with this name.

    Raises:
        UnknownNameError: The engine is unknown.
        MissingExtraError: It is not installed.
    """
    if on == "local":
        from recurl.execution.threads import Threads

        return Threads(workers)
    if on == "processes":
        from recurl.execution.processes import Processes

        return Processes(workers)
    if on == "ray" or on.startswith("ray://"):
        from recurl.execution.cluster import RayCluster

        return RayCluster(on, workers)
    raise UnknownNameError("engine", on, ENGINES)


class _Driver:
    """Hands out pieces as the engine has room for them, and collects what becomes of them."""

    def __init__(
        self, engine: Engine, items: Iterable[Any], retries: int, observer: Observer
    ) -> None:
        self.engine, self.retries, self.observer = engine, retries, observer
        self.items: list[Any] = []
        self.outcomes: dict[int, PieceOutcome] = {}
        self._waiting: deque[int] = deque()
        self._running: set[int] = set()
        self._attempts: dict[int, int] = {}
        self._losses: dict[int, int] = {}
        self._failed = 0
        self._counts: PieceCounts | None = None
        self._add(items)

    def _add(self, items: Iterable[Any]) -> None:
        for item in items:
            self._waiting.append(len(self.items))
            self.items.append(item)

    def run(self) -> None:
        """Work until all pieces have ended; after an interrupt, until they are saved."""
        try:
            while self._waiting or self._running:
                self._hand_out()
                self._handle(LOOK)
                check()
        except BaseException:
            self.engine.stop()
            self._wait_for_saves()
            raise

    def _hand_out(self) -> None:
        while self._waiting and self.engine.room() > 0:
            piece = self._waiting.popleft()
            self._running.add(piece)
            self.engine.submit(piece, self.items[piece])
        self._count()

    def _wait_for_saves(self) -> None:
        """Give running pieces a moment to stop; those that end keep their results."""
        self._waiting.clear()
        end = time.monotonic() + PATIENCE
        while self._running and (left := end - time.monotonic()) > 0:
            self._handle(min(LOOK, left))
            self._waiting.clear()

    def _handle(self, timeout: float) -> None:
        for event in self.engine.events(timeout):
            if isinstance(event, Ended):
                self._end(event)
            elif isinstance(event, PieceReport):
                self.observer.report(event.piece, event.done, event.latest)
            else:
                self.observer.say(event.text)

    def _end(self, event: Ended) -> None:
        piece, state = event.piece, event.state
        self._running.discard(piece)
        if state is PieceState.LOST:
            self._losses[piece] = self._losses.get(piece, 0) + 1
            if self._losses[piece] < LOSSES:
                self._waiting.appendleft(piece)
                return
        elif state is PieceState.STOPPED:
            return
        attempts = self._attempts[piece] = self._attempts.get(piece, 0) + 1
        if state is not PieceState.DONE and attempts <= self.retries:
            self.observer.retry(piece, event.error)
            self._waiting.append(piece)
            return
        error = event.error or (state.value if state is not PieceState.DONE else "")
        item = self.items[piece]
        self._settle(PieceOutcome(piece, item, event.result, error, attempts, event.cause))

    def _settle(self, outcome: PieceOutcome) -> None:
        self.outcomes[outcome.piece] = outcome
        self._failed += outcome.failed
        self._add(self.observer.end(outcome) or ())

    def _count(self) -> None:
        slots = self.engine.slots()
        running = min(len(self._running), slots)
        counts = PieceCounts(
            engine=self.engine.name,
            slots=slots,
            done=len(self.outcomes) - self._failed,
            failed=self._failed,
            running=running,
            waiting=len(self._waiting) + len(self._running) - running,
        )
        if counts != self._counts:
            self._counts = counts
            self.observer.count(counts)
