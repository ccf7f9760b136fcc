"""Parts that all formats share: what a format is, and the options that readers take."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from recurl.errors import DocumentError, ModelError, Problem

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a reader, besides the file.

    Attributes:
        goal: Labels whose states are the exits, in order.
        rewards: Name of the reward structure, where a file has several.
        constants: Values of undefined constants, by name.
        property: A property such as ``Pmax=? [ F "done" ]``; it says goal and rewards.
        problem: File of the problem, where a format has two files.
        slips: File with outcomes that actions may have beside the intended one.
    """

    goal: tuple[str, ...] = ()
    rewards: str | None = None
    constants: tuple[tuple[str, str], ...] = ()
    property: str | None = None
    problem: str | None = None
    slips: str | None = None

    @classmethod
    def of(
        cls,
        *,
        goal: str | Sequence[str] | None = None,
        rewards: str | None = None,
        constants: str | Mapping[str, object] | None = None,
        property: str | None = None,
        problem: str | os.PathLike[str] | None = None,
        slips: str | os.PathLike[str] | None = None,
    ) -> Options:
        """Options as people give them.

        Example:
            >>> Options.of(goal="done", constants="N=3,p=0.5").constants
            (('N', '3'), ('p', '0.5'))
        """
        return cls(
            goal=(goal,) if isinstance(goal, str) else tuple(goal or ()),
            rewards=rewards,
            constants=_constants(constants),
            property=property,
            problem=None if problem is None else os.fspath(problem),
            slips=None if slips is None else os.fspath(slips),
        )

    def given(self) -> list[str]:
        """Names of the options that are given."""
        return [field.name for field in fields(self) if getattr(self, field.name)]


def _constants(given: str | Mapping[str, object] | None) -> tuple[tuple[str, str], ...]:
    if isinstance(given, Mapping):
        return tuple((str(name), str(value)) for name, value in given.items())
    pairs = []
    for text in filter(None, (given or "").split(",")):
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ValueError(f"constants are written NAME=VALUE,NAME=VALUE, not {text!r}")
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)


Read = Callable[[Path, Options], "RMDP"]
Write = Callable[["RMDP", Path], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One format of model files.

    Attributes:
        name: Short name, such as ``umb``.
        title: Its full name.
        suffixes: Endings of the names of its files, in lower case.
        read: Reads a model, if the format can be read.
        write: Writes a model, if the format can be written; recursive models only where
            `recursive` is true.
        extra: Extra of recurl that reading needs.
        takes: Options that reading takes.
        recursive: Whether the format has calls.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: Read | None = None
    write: Write | None = None
    extra: str = ""
    takes: tuple[str, ...] = ()
    recursive: bool = False


def refuse(file: str | os.PathLike[str], message: str, fix: str = "", place: str = "") -> NoReturn:
    """Raise one clear error about a file."""
    raise DocumentError([Problem(place, message, fix)], os.fspath(file))


def refuse_line(file: str | os.PathLike[str], line: int, message: str, fix: str = "") -> NoReturn:
    """Raise one clear error about a line of a file."""
    raise DocumentError([Problem("", message, fix, (), line)], os.fspath(file))


@contextmanager
def errors_of(file: str | os.PathLike[str]) -> Iterator[None]:
    """Raise problems of a model as problems of the file that it comes from."""
    try:
        yield
    except DocumentError:
        raise
    except ModelError as error:
        raise DocumentError(error.problems, os.fspath(file)) from None
