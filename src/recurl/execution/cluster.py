"""The engine of many machines: pieces run as tasks of a Ray cluster."""

from __future__ import annotations

import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import redirect_stdout, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from recurl.errors import MissingExtraError, RecurlError
from recurl.execution.engine import POLL, Ended, Event, Mailbox, PieceState, Work, attempt

AHEAD = 8
"""Pieces that are sent to the cluster beyond those that can run, so that no core waits."""

LOOK_AT_NODES = 1.0
"""Seconds between looks at which nodes are there."""

CONNECT = 5.0
"""Seconds within which an address accepts a connection."""

ANSWER = 20.0
"""Seconds within which a cluster answers; a process that asks it must start, too."""

LOOPBACK = "127.0.0.2"
"""An address of this machine alone; Ray takes 127.0.0.1 for the machine's other address."""


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
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.name != "ray":
            self._connect_client(quiet)
            return
        known = _known_address()
        try:
            if known is None or _is_cluster(known):
                self._ray.init("auto", **quiet)
                return
            text = f"the Ray cluster at {known} does not answer: one is started on this machine"
            warnings.warn(text, stacklevel=2)
        except ConnectionError:  # there is none
            pass
        if not _hears_itself(self._ray.util.get_node_ip_address()):
            quiet["_node_ip_address"] = LOOPBACK
        self._ray.init("local", num_cpus=self._limit, include_dashboard=False, **quiet)

    def _connect_client(self, quiet: dict[str, Any]) -> None:
        """Connect to a Ray client server."""
        try:
            if not _listens(self.name.removeprefix("ray://")):
                raise ConnectionError
            self._ray.init(self.name, **quiet)
        except ConnectionError:
            raise RecurlError(
                f"no Ray client server answers at {self.name}: check the address, or leave it out "
                "to run on this machine"
            ) from None

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
        except self._ray.exceptions.RayTaskError as error:  # what cannot be sent, or read there
            missing = re.search(r"No module named '([^']+)'", str(error))
            text = str(error)
            if missing is not None:
                text = (
                    f"the machines of the cluster cannot import {missing[1]}, which this process "
                    "finds: install it there, or put its folder into PYTHONPATH before Ray starts"
                )
            return Ended(piece, PieceState.FAILED, error=text)
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


def _known_address() -> str | None:
    """Where Ray looks for a cluster first: by its variable, then by the file that a cluster leaves.

    A cluster that was killed leaves its file behind, and `ray.init` waits for it without end.
    """
    named = os.environ.get("RAY_ADDRESS", "")
    if not named:
        folder = os.environ.get("RAY_TMPDIR") or (
            "/tmp" if sys.platform == "darwin" else gettempdir()
        )
        with suppress(OSError):
            named = Path(folder, "ray", "ray_current_cluster").read_text().strip()
    return named if ":" in named else None


def _is_cluster(address: str) -> bool:
    """Whether a Ray cluster answers at an address, asked in a process that can be given up."""
    if not _listens(address):
        return False
    ask = "import ray, sys; ray.init(sys.argv[1], log_to_driver=False)"
    command = [sys.executable, "-c", ask, address]
    try:
        return not subprocess.run(command, capture_output=True, timeout=ANSWER).returncode
    except subprocess.TimeoutExpired:
        return False


def _listens(address: str) -> bool:
    """Whether anything accepts connections at an address."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT):
            return True
    except (OSError, ValueError, OverflowError):
        return False


def _hears_itself(host: str) -> bool:
    """Whether this machine reaches itself at an address, as the processes of a cluster must."""
    try:
        with socket.create_server((host, 0)) as server:
            return _listens(f"{host}:{server.getsockname()[1]}")
    except OSError:
        return False


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
