"""The engine of many machines: pieces run as tasks of a Ray cluster."""

from __future__ import annotations

import logging
import sys
import threading
import time
from contextlib import redirect_stdout
from typing import Any

from recurl.errors import MissingExtraError
from recurl.execution.engine import POLL, Ended, Event, Mailbox, PieceState, Work, attempt

AHEAD = 8
"""Pieces that are sent to the cluster beyond those that can run, so that no core waits."""

LOOK_AT_NODES = 1.0
"""Seconds between looks at which nodes are there."""


class RayCluster:
    """Runs pieces on the cores of a Ray cluster.

    The cluster gets a piece when one of its cores is free for it, so nodes may come and go: a piece
    whose node dies goes to another one, and a node that is added gets the next pieces. Running
    pieces exchange messages with an actor, the board, which the driver reads.

    Args:
        on: ``"ray"`` for the cluster that this process or machine belongs to, else one that is
            started here; ``"ray://HOST:PORT"`` for a Ray client server.
        workers: Most pieces at once; as many as the cluster has cores if not given.
    """

    def __init__(self, on: str = "ray", workers: int | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("Running on Ray", "ray") from error
        self._ray: Any = ray
        self.name, self._limit = on, workers
        self._running: dict[Any, int] = {}
        self._cores, self._looked = 0, -LOOK_AT_NODES
        self._posted: Any = None
        self._asked = 0.0

    def start(self, work: Work, shared: Any) -> None:
        """Connect, and put the shared data where all nodes get it from."""
        ray = self._ray
        # Ray prints what happens to nodes; stdout is for answers.
        self._aside = redirect_stdout(sys.stderr)
        self._aside.__enter__()
        self._ours = not ray.is_initialized()
        if self._ours:
            self._connect()
        self._board = self._make_board()
        self._shared = ray.put((work, shared, self._board))
        # Attempts are counted here, where it is known why one ended.
        self._task = ray.remote(_do).options(num_cpus=1, max_retries=0)

    def _make_board(self) -> Any:
        """The board, on the node of the driver as long as that is there."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self._ray.get_runtime_context().get_node_id()
        near = NodeAffinitySchedulingStrategy(here, soft=True)
        made = self._ray.remote(_Board)
        return made.options(num_cpus=0, max_restarts=-1, scheduling_strategy=near).remote()

    def _connect(self) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.name != "ray":
            self._ray.init(self.name, **quiet)
            return
        try:
            self._ray.init("auto", **quiet)
        except ConnectionError:
            self._ray.init("local", num_cpus=self._limit, include_dashboard=False, **quiet)

    def slots(self) -> int:
        """The cores of all nodes that are alive, up to the limit."""
        now = time.monotonic()
        if now - self._looked >= LOOK_AT_NODES:
            nodes = [node for node in self._ray.nodes() if node["Alive"]]
            self._cores = int(sum(node["Resources"].get("CPU", 0) for node in nodes))
            self._looked = now
        return min(self._cores, self._limit or self._cores) or 1

    def room(self) -> int:
        """Free cores, and a few more unless the number of pieces is limited."""
        ahead = 0 if self._limit else AHEAD
        return self.slots() + ahead - len(self._running)

    def submit(self, piece: int, item: Any) -> None:
        """Send a piece to the cluster."""
        self._running[self._task.remote(self._shared, piece, item)] = piece

    def events(self, timeout: float) -> list[Event]:
        """Ends of pieces, and what the board has."""
        found = self._posts()
        if not self._running:
            time.sleep(timeout)
            return found
        ready, _ = self._ray.wait(list(self._running), timeout=timeout)
        return found + [self._ended(one) for one in ready]

    def _ended(self, task: Any) -> Ended:
        """How a task ended; one that was lost with its node or its process can be done again."""
        piece = self._running.pop(task)
        try:
            ended: Ended = self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:  # a result that cannot be sent
            return Ended(piece, PieceState.FAILED, error=str(error))
        except self._ray.exceptions.RayError as error:
            return Ended(piece, PieceState.LOST, error=str(error))
        return ended

    def _posts(self) -> list[Event]:
        """The messages on the board, as far as they have arrived: nothing waits for them."""
        ray, found = self._ray, []
        if self._posted is not None and ray.wait([self._posted], timeout=0)[0]:
            try:
                found = ray.get(self._posted)
            except ray.exceptions.RayError:
                found = []  # the board has moved to another node
            self._posted = None
        if self._posted is None and time.monotonic() - self._asked >= POLL:
            self._posted, self._asked = self._board.take.remote(), time.monotonic()
        return found

    def stop(self) -> None:
        """Ask all running pieces to stop."""
        self._board.stop.remote()

    def close(self) -> None:
        """Leave the cluster as it was."""
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._running = {}
        self._ray.kill(self._board)
        if self._ours:
            self._ray.shutdown()
        self._aside.__exit__(None, None, None)


class _Board:
    """An actor between pieces and their driver: keeps reports, and whether to stop."""

    def __init__(self) -> None:
        self._stopping = False
        self._events: list[Event] = []

    def exchange(self, events: list[Event]) -> bool:
        """Keep what a piece has to report; returns whether it should stop."""
        self._events += events
        return self._stopping

    def take(self) -> list[Event]:
        """Everything since the last call."""
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        """Ask all pieces to stop."""
        self._stopping = True


def _do(given: tuple[Work, Any, Any], piece: int, item: Any) -> Ended:
    """Do one piece on a node; a second thread exchanges messages meanwhile."""
    work, shared, board = given
    link, over = Mailbox(piece), threading.Event()
    thread = threading.Thread(target=_exchange, args=(link, over, board), daemon=True)
    thread.start()
    try:
        # Not every exception can be sent.
        return attempt(work, shared, piece, item, link)._replace(cause=None)
    finally:
        over.set()


def _exchange(link: Mailbox, over: threading.Event, board: Any) -> None:
    import ray

    while not over.wait(POLL):
        try:
            if ray.get(board.exchange.remote(link.fetch()), timeout=10):
                link.stop()
        except ray.exceptions.RayError:
            continue  # the board moves to another node
