"""MODEL and KEY=VALUE on the command line, turned into a model."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recurl.cli.output import UsageError
from recurl.cli.programs import is_program, read_program
from recurl.errors import UnknownNameError
from recurl.registration import STEP_LIMITS

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

SUFFIXES = (".yaml", ".yml", ".json")


def completions(begun: str) -> list[str]:
    """What a shell offers for a model: names of the zoo, and paths.

    Example:
        >>> completions("clo")
        ['cloud']
    """
    paths = sorted(glob.glob(f"{glob.escape(begun)}*"))
    names = [name for name in STEP_LIMITS if name.startswith(begun)]
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
        metavar="KEY=VALUE", help="Parameters of a model of the zoo, or arguments of a program."
    ),
]


def read_model(name: str, parameters: Sequence[str] | None = None) -> RMDP:
    """The model that a name with parameters, the path of a file, or a program stands for.

    A name of the zoo comes first; write ``./cloud`` for a file of that name.

    Raises:
        UsageError: There is neither such a model nor such a file, or a parameter is wrong.
        DocumentError: The file is no model.

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
    path = Path(name)
    return path.exists() or path.suffix in (*SUFFIXES, ".txt") or len(path.parts) > 1


def _loaded(path: Path, parameters: Sequence[str]) -> RMDP:
    from recurl.automaton import load

    if parameters:
        raise UsageError(f"{path} is a file, and files take no parameters: {' '.join(parameters)}")
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    return load(path)
