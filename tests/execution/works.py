"""Pieces of work for the tests of engines; other processes import them from here."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from recurl.execution.engine import PieceLink, Stopped
from recurl.execution.store import Store


def square(shared: int, item: int, link: PieceLink) -> int:
    link.report(item, float(item))
    return shared + item * item


def where(shared: Any, item: int, link: PieceLink) -> int:
    return os.getpid()


def fail_on_odd(shared: Any, item: int, link: PieceLink) -> int:
    if item % 2:
        raise ValueError(f"{item} is odd")
    return item


def fail_at_first(folder: str, item: int, link: PieceLink) -> str:
    """Fails until it has left two marks."""
    path = Path(folder, str(item))
    marks = path.read_text() if path.exists() else ""
    path.write_text(marks + "x")
    if len(marks) < 2:
        raise RuntimeError("not yet")
    return marks


def die(shared: Any, item: int, link: PieceLink) -> int:
    if item == 1:
        os._exit(7)
    return item


def unsendable(shared: Any, item: int, link: PieceLink) -> Any:
    return lambda: item


def count_up(shared: tuple[Store, int], item: int, link: PieceLink) -> int:
    """Counts slowly, keeps the count in the store, and notes where each attempt began."""
    store, end = shared
    count = int(store.read(f"{item}.count") or 0)
    store.write(f"{item}.begun", (store.read(f"{item}.begun") or b"") + b"%d " % count)
    while count < end:
        if link.stopping():
            raise Stopped
        count += 1
        store.write(f"{item}.count", b"%d" % count)
        link.report(count, 0.0)
        time.sleep(0.02)
    return count


def node_of(shared: Any, item: int, link: PieceLink) -> str:
    """The node of a cluster that a piece runs on."""
    import ray

    time.sleep(0.2)
    return str(ray.get_runtime_context().get_node_id())


def wait_for_stop(folder: str, item: int, link: PieceLink) -> None:
    """Saves itself when it is asked to stop."""
    Path(folder, f"{item}.begun").touch()
    end = time.monotonic() + 60
    while not link.stopping() and time.monotonic() < end:
        link.report(1, 0.0)
        time.sleep(0.01)
    Path(folder, f"{item}.saved").touch()
    raise Stopped


def address_here(shared: Any, item: Any, link: PieceLink) -> str:
    """The address at which the cluster reaches its node."""
    import ray

    (node,) = ray.nodes()
    return str(node["NodeManagerAddress"])
