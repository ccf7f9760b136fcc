"""One BLAS thread while a model is solved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread, also as a decorator.

    The solvers invert many small matrices. There two threads wait for each other most of the time:
    taxi took ten times as long with them where another process was busy.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    # numpy and scipy each bring a BLAS. It is found only if it is loaded.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
