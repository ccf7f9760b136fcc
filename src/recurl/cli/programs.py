"""FILE.py:FUNCTION on the command line, with its arguments: a program, and what it unfolds to."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from recurl.cli.output import UsageError, readable
from recurl.errors import RecurlError, UnknownNameError
from recurl.registration import register_environments

if TYPE_CHECKING:
    from recurl.programs.decorator import Program
    from recurl.programs.unfold import Unfolded


class Called(NamedTuple):
    """A program unfolded from a call, and the arguments of that."""

    unfolded: Unfolded
    arguments: tuple[Any, ...] = ()


def is_program(name: str) -> bool:
    """Whether MODEL names a program: FILE.py:FUNCTION, or a file with a boolean program.

    Example:
        >>> is_program("prog.py:climb"), is_program("lock.bp"), is_program("cloud")
        (True, True, False)
    """
    file, _, _ = name.rpartition(":")
    return file.endswith(".py") or name.endswith((".py", ".bp"))


def read_program(
    name: str, parameters: Sequence[str] = (), arguments: Sequence[str] = ()
) -> Called:
    """The program that MODEL names, unfolded from a call.

    Args:
        name: FILE.py:FUNCTION, whose file is imported, or the path of a boolean program.
        parameters: Arguments by name, KEY=VALUE.
        arguments: Further arguments in order, as Python literals.

    Raises:
        UsageError: The file or the function does not exist, or the arguments do not fit.
        RecurlError: The file cannot be imported.
    """
    file, _, function = name.rpartition(":")
    path = Path(file if file.endswith(".py") else name)
    readable(path)
    if path.suffix == ".bp":
        return _boolean(path, [*parameters, *arguments])
    program = _find(path, _imported(path), function if file.endswith(".py") else "")
    bound = _bound(program, parameters, arguments)
    return Called(program.unfold(*bound), bound)


def _boolean(path: Path, arguments: Sequence[str]) -> Called:
    from recurl.programs.boolean.translate import load_boolean_program

    if arguments:
        raise UsageError(f"{path} is a file, and files take no parameters: {' '.join(arguments)}")
    return Called(load_boolean_program(path).unfold(name=path.stem))


def _imported(path: Path) -> ModuleType:
    """The module that a user's file defines; its folder is searched for imports."""
    register_environments()
    folder = str(path.absolute().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_program"
    spec = importlib.util.spec_from_file_location(name, path.absolute())
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise RecurlError(_failure(path, error)) from error
    return module


def _failure(path: Path, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path.absolute())]
    if isinstance(error, SyntaxError):
        lines.append(error.lineno)
    place = f"line {lines[-1]}: " if lines else ""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{path} cannot be imported: {place}{type(error).__name__}: {words}"


def _find(path: Path, module: ModuleType, name: str) -> Program:
    from recurl.programs.decorator import Program

    known = [key for key, value in vars(module).items() if isinstance(value, Program)]
    if not known:
        raise UsageError(f"{path} has no program: decorate a function with @recurl.program")
    if not name:
        raise UsageError(f"{path}: name one of its programs, as in {path}:{known[0]}")
    found = vars(module).get(name)
    if found is None:
        raise UnknownNameError(f"program of {path}", name, known)
    if not isinstance(found, Program):
        raise UsageError(f"{name} in {path} is not a program: decorate it with @recurl.program")
    return found


def _bound(
    program: Program, parameters: Sequence[str], arguments: Sequence[str]
) -> tuple[Any, ...]:
    """The arguments of a call, in order."""
    named: dict[str, Any] = {}
    for text in parameters:
        key, equals, value = text.partition("=")
        if not equals or key in named:
            wrong = "is given twice" if equals else "is not KEY=VALUE"
            raise UsageError(f"{text}: an argument of {program.name} that {wrong}")
        named[key] = _literal(value, text)
    signature = inspect.signature(program.function)
    shown = f"{program.name}({', '.join(map(str, signature.parameters))})"
    try:
        bound = signature.bind(*(_literal(text, f"--arg {text}") for text in arguments), **named)
    except TypeError as error:
        fix = "give each as NAME=VALUE"
        raise UsageError(f"{shown}: {error}; {fix}") from None
    if bound.kwargs:
        raise UsageError(f"{shown}: {', '.join(bound.kwargs)} cannot be given by position")
    return bound.args


def _literal(text: str, place: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise UsageError(
            f"{place}: {text!r} is not a Python literal: write numbers, True, None, tuples such as "
            "(1, 2), and texts in quotes, as in '\"net\"'"
        ) from None
