"""Contexts are solved independently of each other within a step: on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

_ALONE = 20_000
"""Slots up to which handing work to threads costs more than it saves."""


def spread(count: int, slots: int, work: Callable[[int, int], None]) -> None:
    """Do ``work(a, b)`` for parts [a, b) of range(count), on threads if there are many slots.

    Example:
        >>> done = [0] * 100
        >>> def work(a, b):
        ...     done[a:b] = [1] * (b - a)
        >>> spread(100, 1_000_000, work)
        >>> sum(done)
        100
    """
    if slots <= _ALONE:
        work(0, count)
        return
    parts = 4 * _threads()
    edges = [count * i // parts for i in range(parts + 1)]
    for future in [_pool().submit(work, a, b) for a, b in pairwise(edges)]:
        future.result()


def _threads() -> int:
    return os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads())
