"""One driver for each folder and file of runs: a lock that ends with the process that holds it."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from recurl.errors import BusyError
from recurl.model.limits import read_note

NAME = "driver.lock"


class Holder(msgspec.Struct, frozen=True):
    """The process that holds a lock.

    Example:
        >>> str(Holder("node7", 4711, "recurl reproduce all", "2026-01-01T12:00:00+00:00"))
        'process 4711 on node7 (recurl reproduce all), since 2026-01-01T12:00:00+00:00'
    """

    machine: str
    process: int
    command: str
    since: str

    def __str__(self) -> str:
        where = f"process {self.process} on {self.machine}"
        return f"{where} ({self.command}), since {self.since}"


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is not there.

    The operating system ends the lock with the process, however that ends; the file stays behind
    and is taken over. Where these locks do not exist (Windows), folders are not locked.

    Raises:
        BusyError: Another process holds it; the error names that process.

    Example:
        >>> import tempfile
        >>> with locked(tempfile.mkdtemp()):
        ...     pass  # no other driver works in the folder
    """
    path = Path(folder) / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    with _held(path, path.parent):
        yield


@contextmanager
def locked_file(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Hold the lock of a file that is written again and again; nothing is held for None.

    Raises:
        BusyError: Another process holds it, or another thread; the error names the process.

    Example:
        >>> import tempfile
        >>> with locked_file(tempfile.mkdtemp() + "/run.zip"):
        ...     pass  # no other run saves itself there
    """
    if path is None:
        yield
        return
    target = Path(path)
    with _held(target.with_name(f".{target.name}.lock"), target):
        yield


@contextmanager
def _held(path: Path, what: Path) -> Iterator[None]:
    """Hold the lock that a file is, on behalf of what it locks."""
    if os.name != "posix":
        yield
        return
    with _taken(path, what) as file:
        file.truncate(0)
        file.write(msgspec.json.encode(_this_process()))
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _taken(path: Path, what: Path) -> BinaryIO:
    """The file of the lock, open and locked."""
    import fcntl

    while True:
        file = path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise BusyError(f"{what} is in use by {_holder(path)}") from error
        # Its holder may have removed it between the two calls: then it locks nothing.
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
        file.close()


def _this_process() -> Holder:
    command = shlex.join([os.path.basename(sys.argv[0] or "python"), *sys.argv[1:]])
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return Holder(platform.node(), os.getpid(), command, since)


def _holder(path: Path) -> str:
    try:
        return str(read_note(path, Holder))
    except (OSError, ValueError):
        return "another process"
