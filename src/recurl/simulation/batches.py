"""Sharing episodes out to threads, in batches short enough that Ctrl-C is met between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

BATCH_SECONDS = 0.05
LOOK_SECONDS = 0.1


class _Counter:
    """Hands out the numbers below a total, a range at a time, until it is closed."""

    def __init__(self, first: int, total: int) -> None:
        self.taken, self._total, self._lock = first, total, threading.Lock()

    def take(self, size: int) -> range:
        with self._lock:
            begin = self.taken
            self.taken = min(begin + size, self._total)
            return range(begin, self.taken)

    def close(self) -> None:
        with self._lock:
            self._total = self.taken


def share_out(
    job: Callable[[int, int], None],
    total: int,
    threads: int,
    *,
    callback: Callable[[int], None] | None = None,
) -> None:
    """Call ``job(begin, end)`` on ranges that cover the numbers below a total, each once.

    Args:
        job: What to do with a range of numbers; called from several threads at once.
        total: How many numbers there are.
        threads: How many threads to use.
        callback: Called now and then with how many numbers have been given out.

    Example:
        >>> seen = [0] * 10
        >>> def mark(begin, end):
        ...     seen[begin:end] = [1] * (end - begin)
        >>> share_out(mark, 10, 2)
        >>> seen
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    job(0, 1)  # compiles, where it must, before the threads ask for it all at once
    counter = _Counter(1, total)
    with ThreadPoolExecutor(threads) as pool:
        workers = [pool.submit(_work, job, counter) for _ in range(threads)]
        try:
            while wait(workers, timeout=LOOK_SECONDS).not_done:
                if callback is not None:
                    callback(counter.taken)
        finally:
            counter.close()
        for worker in workers:
            worker.result()


def _work(job: Callable[[int, int], None], counter: _Counter) -> None:
    """Take ranges until none is left, longer ones as long as they are quickly done."""
    size = 1
    while span := counter.take(size):
        began = time.perf_counter()
        job(span.start, span.stop)
        quick = time.perf_counter() - began < BATCH_SECONDS
        size = size * 2 if quick else max(1, size // 2)
