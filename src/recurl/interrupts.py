"""Ctrl-C: heard at any moment, obeyed where nothing is half done.

In Python an interrupt is a `KeyboardInterrupt`, raised between two instructions. Work that must not
be left half done runs in a `deferred` block: there the interrupt waits until the work asks for it.
A second Ctrl-C does not wait, except for the end of a `whole` block, which is short.

The command ``recurl`` calls `watch_command` before it imports anything large. From then on a thread
hears the signal, also while the main thread imports, compiles or runs compiled code. It ends the
process with exit code 130: at once, or after the `deferred` block that runs, but at the latest
`GRACE` seconds later. A second Ctrl-C ends it at once. Signals within `ONE_PRESS` seconds are one
Ctrl-C: ``timeout -s INT`` signals the process, and then the group that the process is in.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

EXIT_CODE = 130
GRACE = 1.5
"""Seconds that a deferred block of the command has to come to its end."""

ONE_PRESS = 0.2
"""Seconds after a first signal in which others belong to the same Ctrl-C."""

PATIENCE = 1.0
"""Seconds to wait for threads that were asked to stop; what still compiles is left behind."""

LOOK = 0.1
"""Seconds between looks at threads and at the flag."""

Result = TypeVar("Result")


class _State:
    """The one interrupt of this process: whether it came, and what is said about it."""

    pending = False
    again = False
    blocks = 0
    shields = 0
    said = False

    def __init__(self) -> None:
        self.farewells: list[Callable[[], str]] = []


_state = _State()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def deferred() -> Iterator[None]:
    """Put Ctrl-C off to the next `check`, or to the end of the block.

    Only the main thread is ever interrupted: in other threads the block changes nothing. A second
    Ctrl-C raises `KeyboardInterrupt` at once.

    Example:
        >>> with deferred():
        ...     check()  # Ctrl-C was not pressed
    """
    if not _in_main_thread():
        yield
        return
    ours = not _state.blocks and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        _state.pending = _state.again = False
        signal.signal(signal.SIGINT, _put_off)
    _state.blocks += 1
    try:
        yield
        check()
    finally:
        _state.blocks -= 1
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _state.pending = _state.again = False


@contextmanager
def whole() -> Iterator[None]:
    """Put every Ctrl-C off to the end of the block, a second one as well.

    For short changes that belong together, such as an entry in two tables. In a `deferred` block a
    first Ctrl-C waits on after it, and only a second one is raised at its end.

    Example:
        >>> with whole():
        ...     pass
    """
    if not _in_main_thread():
        yield
        return
    with nullcontext() if _state.blocks else deferred():
        _state.shields += 1
        try:
            yield
        finally:
            _state.shields -= 1
        if _state.again and not _state.shields:
            _state.again = False
            raise KeyboardInterrupt


def _put_off(number: int, frame: FrameType | None) -> None:
    if _state.pending and not _is_entering_or_leaving(frame):
        if not _state.shields:
            raise KeyboardInterrupt
        _state.again = True
    _state.pending = True


def _is_entering_or_leaving(frame: FrameType | None) -> bool:
    """Whether a block is entered or left: while it runs, its function is not on the stack."""
    own = [(__name__, block.__name__) for block in (deferred, whole)]
    while frame is not None and (frame.f_globals.get("__name__"), frame.f_code.co_name) not in own:
        frame = frame.f_back
    return frame is not None


def requested() -> bool:
    """Whether Ctrl-C was pressed in the running `deferred` block; in other threads never."""
    return _state.pending and _in_main_thread()


def check() -> None:
    """Raise `KeyboardInterrupt` if Ctrl-C was pressed in the running `deferred` block."""
    if requested():
        raise KeyboardInterrupt


def in_threads(
    jobs: Iterable[Callable[[], object]],
    workers: int,
    *,
    stop: threading.Event | None = None,
    look: Callable[[], None] = lambda: None,
    patience: float = PATIENCE,
) -> None:
    """Run jobs in threads, so that Ctrl-C is met within a moment whatever they do.

    Raises the first error of a job after all have ended.

    Args:
        jobs: What to do.
        workers: How many at once.
        stop: Set on an interrupt: jobs should end soon then.
        look: Called several times a second in this thread.
        patience: Seconds to wait, after an interrupt, for jobs that run.

    Example:
        >>> done = []
        >>> in_threads([lambda: done.append(1), lambda: done.append(2)], 1)
        >>> done
        [1, 2]
    """
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    pool = ThreadPoolExecutor(workers)
    waiting: set[Future[object]] = {pool.submit(job) for job in jobs}
    errors: list[Exception] = []
    with deferred():
        try:
            while waiting:
                ended, waiting = wait(waiting, timeout=LOOK, return_when=FIRST_COMPLETED)
                errors += _errors(ended)
                look()
                check()
        except BaseException:
            if stop is not None:
                stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            wait(waiting, timeout=patience)
            raise
    pool.shutdown()
    if errors:
        raise errors[0]


def _errors(ended: Iterable[Future[object]]) -> list[Exception]:
    """The errors of jobs; an interrupt among them is raised."""
    found = [error for job in ended if (error := job.exception()) is not None]
    for error in found:
        if not isinstance(error, Exception):
            raise error
    return [error for error in found if isinstance(error, Exception)]


def aside(work: Callable[[], Result]) -> Result:
    """Do work in another thread, which an interrupt leaves behind: for compiling.

    Example:
        >>> aside(lambda: 1 + 1)
        2
    """
    if not _in_main_thread():
        return work()
    found: list[Result] = []
    in_threads([lambda: found.append(work())], 1, patience=0.0)
    return found[0]


@contextmanager
def farewell(text: Callable[[], str]) -> Iterator[None]:
    """Say something on stderr if the block is interrupted: what is saved, and how to go on."""
    if not _state.farewells:
        _state.said = False
    _state.farewells.append(text)
    try:
        yield
    except KeyboardInterrupt:
        _say_farewell()
        raise
    finally:
        _state.farewells.remove(text)


def _say_farewell() -> None:
    """Say what the innermost block has to say, once."""
    if _state.said or not _state.farewells:
        return
    _state.said = True
    line = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{line}{_state.farewells[-1]()}", file=sys.stderr, flush=True)


def watch_command() -> None:
    """Hear Ctrl-C in a thread of its own, if this process is the command ``recurl``."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not heard or not _in_main_thread() or not is_command():
        return
    if os.name != "posix":
        signal.signal(signal.SIGINT, lambda number, frame: leave())
        return
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(ear,), name="interrupts", daemon=True).start()


@cache
def is_command() -> bool:
    """Whether this process runs ``recurl`` or ``python -m recurl``, as it began."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    if name != "-m":
        return name in ("recurl", "recurl.exe")
    return "recurl" in sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1]


def _listen(ear: int) -> None:
    """Wait for a first interrupt, then for the end of what must not be left half done."""
    while signal.SIGINT not in os.read(ear, 1):
        pass
    _state.pending = True
    if _state.blocks:
        time.sleep(ONE_PRESS)
        if select.select([ear], [], [], 0)[0]:
            os.read(ear, 4096)
        select.select([ear], [], [], GRACE - ONE_PRESS)
    leave()


def ignore() -> None:
    """Ignore Ctrl-C from now on: all is done, and the end of the interpreter takes a moment."""
    if _in_main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave() -> None:
    """End the process with the exit code of an interrupt, whatever other threads do."""
    try:
        _say_farewell()
    finally:
        os._exit(EXIT_CODE)
