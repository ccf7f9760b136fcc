"""Pieces of work for the tests of engines; other processes import them from here."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from recurl.execution.engine import Link, Stopped


def square(shared: int, item: int, link: Link) -> int:
    link.report(item, float(item))
    return shared + item * item


def where(shared: Any, item: int, link: Link) -> int:
    return os.getpid()


def fail_on_odd(shared: Any, item: int, link: Link) -> int:
    if item % 2:
        raise ValueError(f"{item} is odd")
    return item


def fail_at_first(folder: str, item: int, link: Link) -> str:
    """Fails until it has left two marks."""
    path = Path(folder, str(item))
    marks = path.read_text() if path.exists() else ""
    path.write_text(marks + "x")
    if len(marks) < 2:
        raise RuntimeError("not yet")
    return marks


def die(shared: Any, item: int, link: Link) -> int:
    if item == 1:
        os._exit(7)
    return item


def unsendable(shared: Any, item: int, link: Link) -> Any:
    return lambda: item


def wait_for_stop(folder: str, item: int, link: Link) -> None:
    """Saves itself when it is asked to stop."""
    Path(folder, f"{item}.begun").touch()
    end = time.monotonic() + 60
    while not link.stopping() and time.monotonic() < end:
        link.report(1, 0.0)
        time.sleep(0.01)
    Path(folder, f"{item}.saved").touch()
    raise Stopped
