"""MODEL and KEY=VALUE on the command line, turned into a model."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli.output import UsageError, readable
from recurl.cli.programs import is_program, read_program
from recurl.errors import UnknownNameError
from recurl.registration import zoo_names

if TYPE_CHECKING:
    from recurl.model.formats.format import Options
    from recurl.model.rmdp import RMDP

REPEATED = "goal"
"""The one option of files that may be given several times."""


def completions(begun: str) -> list[str]:
    """Completions of a shell for a model: names of the zoo, and paths.

    Example:
        >>> completions("clo")
        ['cloud']
    """
    paths = sorted(glob.glob(f"{glob.escape(begun)}*"))
    names = [name for name in zoo_names() if name.startswith(begun)]
    return [*names, *(f"{path}/" if Path(path).is_dir() else path for path in paths)]


ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A name from `recurl zoo`, a file, or FILE.py:FUNCTION for a program, whose file is "
        "imported: its code runs.",
        autocompletion=completions,
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Parameters of a model of the zoo, arguments of a program, or how to read a file: "
        "goal=LABEL, rewards=NAME, constants=N=3, property=..., problem=FILE, slips=FILE.",
    ),
]


def read_model(name: str, parameters: Sequence[str] | None = None) -> RMDP:
    """The model that a name with parameters, the path of a file, or a program stands for.

    A name of the zoo comes first; write ``./cloud`` for a file of that name.

    Raises:
        UsageError: There is neither such a model nor such a file, or a parameter is wrong.
        DocumentError: The file is not a model.

    Example:
        >>> read_model("cloud", ["exits=1"])
        <RMDP cloud: 3 components, 20 vertices, 1-exit, recursive>
    """
    from recurl import zoo
    from recurl.progress import Progress

    with Progress(f"making {name}"):
        if name in zoo.names():
            return _made(name, parameters or ())
        if is_program(name):
            return read_program(name, parameters or ()).unfolded.model
        if not _looks_like_file(name):
            raise UnknownNameError("model", name, zoo.names())
        return _loaded(Path(name), parameters or ())


def _made(name: str, parameters: Sequence[str]) -> RMDP:
    from recurl import zoo

    try:
        return zoo.make_from_text(name, parameters)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _looks_like_file(name: str) -> bool:
    from recurl.model.formats import suffixes

    path = Path(name)
    known = (*suffixes(), ".txt")
    return name == "-" or path.exists() or path.suffix.lower() in known or len(path.parts) > 1


def _loaded(path: Path, parameters: Sequence[str]) -> RMDP:
    from recurl.automaton.document import load_with

    options = read_options(path, parameters)
    readable(path)
    return load_with(path, options)


def read_options(path: Path, parameters: Sequence[str]) -> Options:
    """How to read a file, as KEY=VALUE says.

    Example:
        >>> read_options(Path("a.umb"), ["goal=won", "goal=lost"]).goal
        ('won', 'lost')
    """
    from recurl.model.formats.format import Options

    known = {field.name for field in fields(Options)}
    given: dict[str, Any] = {}
    for text in parameters:
        key, equals, value = text.partition("=")
        if not equals or key not in known:
            raise UsageError(f"{path} is a file, which takes {', '.join(sorted(known))}: {text}")
        if key in given and key != REPEATED:
            raise UsageError(f"{text}: {key} is given twice")
        given[key] = [*given.get(key, []), value] if key == REPEATED else value
    try:
        return Options.of(**given)
    except ValueError as error:
        raise UsageError(str(error)) from None
