"""Limits of all readers, in one place: how large a file may be, how deep, how long it may take.

Every reader of files gets its bytes from `read_bytes` or its text from `read_text`, so that a
device, a pipe without a writer, or a file without end is refused before it is opened.
"""

from __future__ import annotations

import os
import stat
import time
from typing import TypeVar

import msgspec

from recurl.errors import DocumentError, LimitError, Problem

Kind = TypeVar("Kind")

LARGEST_FILE = 1 << 30
"""Bytes of the largest file that is read as a whole."""
LARGEST_NOTE = 1 << 26
"""Bytes of the largest recurl file that is not a model: settings, certificates, records."""
DEEPEST = 50
"""Levels of brackets, of negations and of nested statements in a text."""
MOST_STATES = 50_000_000
"""States that a file may claim to have."""
LARGEST_PLACED = 1 << 24
"""Characters of the largest text in which the lines of problems are looked for."""
MOST_CELLS = 100_000
"""Cells of the largest map of a grid."""
MOST_SEEDS = 100_000
"""Seeds of an experiment."""
LONGEST_MESSAGE = 400
"""Characters that a message shows of what a file says."""
LONGEST_EXPLORATION = 300.0
"""Seconds for which the states of a description (a program, a planning problem) are explored."""


def read_bytes(file: str | os.PathLike[str], most: int | None = None) -> bytes:
    """The content of a regular file.

    Args:
        file: Its path.
        most: Bytes that it may have; `LARGEST_FILE` if not given.

    Raises:
        DocumentError: It cannot be read, is not a regular file, or is too large.
    """
    name, most = os.fspath(file), LARGEST_FILE if most is None else most
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise _unread(name, "is not a regular file", "give the path of a file")
        with open(name, "rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _unread(name, f"cannot be read: {reason}", "check the path") from None
    except ValueError:
        raise _unread(name, "cannot be read: the path has a null character") from None
    if len(data) > most:
        raise _unread(name, f"is larger than {_size(most)}", "build it with RMDP.from_arrays")
    return data


def read_text(file: str | os.PathLike[str], most: int | None = None) -> str:
    """The text of a regular file in UTF-8.

    Raises:
        DocumentError: It cannot be read, is too large, or is not UTF-8; the line is named.
    """
    name = os.fspath(file)
    data = read_bytes(name, most)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem("", "is not text in UTF-8", "save it as UTF-8", (), line)
        raise DocumentError([problem], name) from None


def read_note(file: str | os.PathLike[str], kind: type[Kind]) -> Kind:
    """A JSON file of ours that is not a model, as a type.

    Raises:
        ValueError: It cannot be read, or does not hold that; one line says why.
    """
    try:
        return msgspec.json.decode(read_bytes(file, LARGEST_NOTE), type=kind)
    except DocumentError as error:
        raise ValueError(error.problems[0].message) from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except (msgspec.MsgspecError, ValueError, OverflowError) as error:
        raise ValueError(cut(str(error))) from None


def cut(text: str) -> str:
    """A text as far as a message shows it, in one line.

    Example:
        >>> cut("a   b"), len(cut("x" * 10_000))
        ('a b', 403)
    """
    line = " ".join(text[: 2 * LONGEST_MESSAGE].split())
    return line if len(line) <= LONGEST_MESSAGE else line[:LONGEST_MESSAGE] + "..."


def _unread(file: str, message: str, fix: str = "") -> DocumentError:
    return DocumentError([Problem("", message, fix)], file)


def _size(count: int) -> str:
    """A number of bytes in words.

    Example:
        >>> _size(1 << 30), _size(1 << 26)
        ('1 GiB', '64 MiB')
    """
    for unit, shift in (("GiB", 30), ("MiB", 20)):
        if count >> shift:
            return f"{count >> shift} {unit}"
    return f"{count} bytes"


class Clock:
    """Ends an exploration that takes too long.

    Args:
        what: What is explored, for the message.
        seconds: How long it may take.

    Example:
        >>> Clock("the program", seconds=0).check(12)
        Traceback (most recent call last):
        recurl.errors.LimitError: the program is not explored after 0 s, with 12 states: make it
        smaller
    """

    def __init__(self, what: str, seconds: float = LONGEST_EXPLORATION) -> None:
        self._what, self._seconds = what, seconds
        self._end = time.monotonic() + seconds

    def check(self, states: int) -> None:
        """Raise `LimitError` when the time is over."""
        if time.monotonic() >= self._end:
            raise LimitError(
                f"{self._what} is not explored after {self._seconds:g} s, with {states:,} states: "
                "make it smaller"
            )
