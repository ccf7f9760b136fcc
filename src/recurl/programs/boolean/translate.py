"""From a parsed boolean program to a program: assertion violation is a cost of 1."""

from __future__ import annotations

import ast
import inspect
import os
from typing import Any

from recurl.errors import RecurlError
from recurl.model.limits import LARGEST_NOTE, read_text
from recurl.programs.boolean.parser import FAILED, RESULT, Parsed, parse, python_name
from recurl.programs.decorator import Program
from recurl.programs.language import choose, flip, reward
from recurl.programs.syntax import Source

START = "start"
"""The function that calls main, and pays if an assertion was violated."""


def boolean_program(text: str, file: str = "<text>") -> Program:
    """The program of a boolean program's text.

    Its greatest expected reward is minus the least probability that an assertion is violated. All
    variables are false at first.

    Raises:
        DocumentError: The text is not a boolean program.

    Example:
        >>> coin = boolean_program("var x; void main() { x = flip(0.3) || *; assert(!x); }")
        >>> round(coin.solve().value, 6)
        -0.3
    """
    parsed = parse(text, file)
    names: dict[str, Any] = {"choose": choose, "flip": flip, "reward": reward}
    for name, procedure in parsed.procedures.items():
        parameters = [*parsed.globals, *procedure.parameters]
        line = procedure.name.line
        names[python_name(name)] = _program(
            python_name(name), parameters, procedure.body, names, file=file, line=line
        )
    return _program(START, [], _start(parsed), names, file=file, line=1)


def load_boolean_program(path: str | os.PathLike[str]) -> Program:
    """The boolean program in a file.

    Raises:
        DocumentError: The file cannot be read, or is not a boolean program.
    """
    return boolean_program(read_text(path, LARGEST_NOTE), os.fspath(path))


def _start(parsed: Parsed) -> list[ast.stmt]:
    begin = "".join(f"{name} = False\n" for name in parsed.globals)
    left = ", ".join([FAILED, *parsed.globals, RESULT])
    call = f"{left} = main({', '.join(parsed.globals)})\n"
    return ast.parse(
        f"{begin}{call}if {FAILED}:\n    reward(-1)\n    return 'violated'\nreturn 'ok'"
    ).body


def _program(
    name: str,
    parameters: list[str],
    body: list[ast.stmt],
    names: dict[str, Any],
    *,
    file: str,
    line: int,
) -> Program:
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    tree = ast.FunctionDef(name, arguments, body, [], None, lineno=line, end_lineno=line)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(p, kind) for p in parameters])
    located = ast.fix_missing_locations(tree)

    def stands_for(*_: object) -> None:
        raise RecurlError(f"{name} is a boolean program: complete it to run it")

    stands_for.__name__ = stands_for.__qualname__ = name
    # The dictionary is shared, so that procedures may call others that come later.
    source = Source(name, located, file, names, {}, signature)
    return Program(stands_for, source)
