"""Time and memory that solving may take.

Loops of methods ask `check_time` once a round, and whatever takes much memory asks `require_memory`
before. Who has proved an interval by then answers with it; others pass the error on to `solve`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from recurl.errors import LimitError

_end: ContextVar[float] = ContextVar("end", default=math.inf)
_memory: ContextVar[float | None] = ContextVar("memory", default=math.inf)
_LITTLE = 1e8
"""Bytes that any machine has: it is not asked for less, because that takes time."""


class TimeUpError(LimitError):
    """The time that solving may take is over."""


class MemoryLimitError(LimitError):
    """The next step takes more memory than there is, or than was allowed."""


SPENT = (TimeUpError, MemoryLimitError)


@contextmanager
def budget(seconds: float | None = None, memory: float | None = None) -> Iterator[None]:
    """Limits on what is done inside.

    Args:
        seconds: Time from now on; None for no limit.
        memory: Most bytes, about, for what one step needs; None for what is free on this machine.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    tokens = _end.set(end), _memory.set(memory)
    try:
        yield
    finally:
        _end.reset(tokens[0])
        _memory.reset(tokens[1])


@contextmanager
def without_limit_of_time() -> Iterator[None]:
    """Time does not count for what is done inside: the rest of an answer that is known."""
    token = _end.set(math.inf)
    try:
        yield
    finally:
        _end.reset(token)


def seconds_left() -> float:
    """Time that is left; infinite if it is not limited."""
    return max(0.0, _end.get() - time.monotonic())


def check_time() -> None:
    """Go on only if there is time left.

    Raises:
        TimeUpError: There is none.
    """
    if time.monotonic() > _end.get():
        raise TimeUpError("the time is up")


def require_memory(size: float, what: str) -> None:
    """Go on only if there is memory for what comes next.

    Args:
        size: Bytes that it takes, about.
        what: What it is, with its size.

    Raises:
        MemoryLimitError: There is not.
    """
    most = _memory.get()
    if most is None:
        most = _LITTLE if size <= _LITTLE else _free_memory()
    if size > most:
        raise MemoryLimitError(
            f"{what} would take about {size / 1e9:.3g} GB of memory, more than "
            f"{most / 1e9:.3g} GB: a model with fewer exits or vertices takes less, and "
            "memory=BYTES allows more"
        )


def _free_memory() -> float:
    """Bytes that are free on this machine; infinite where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return math.inf
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return 1024.0 * float(next(found, "inf"))
