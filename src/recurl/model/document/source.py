"""Documents of any kind: from a file to a tree, to what a function makes of it, with lines."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from recurl.errors import DocumentError, ModelError, Problem
from recurl.model.document.events import UnreadableError, json_events, yaml_events
from recurl.model.document.tree import Tree, find_lines, json_tree, yaml_tree
from recurl.model.limits import LARGEST_PLACED
from recurl.model.report import Report

Format = Literal["yaml", "json"]
Made = TypeVar("Made")

_SUFFIXES: dict[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


def format_of(path: str | os.PathLike[str]) -> Format | None:
    """The format that the name of a file tells.

    Example:
        >>> format_of("cloud.JSON"), format_of("cloud.yml"), format_of("cloud")
        ('json', 'yaml', None)
    """
    return _SUFFIXES.get(Path(path).suffix.lower())


def read_document(
    text: str,
    make: Callable[[Tree, Report], Made],
    file: str = "<text>",
    *,
    format: Format | None = None,
) -> Made:
    """Read a text as a tree, and make of it what a function says.

    Problems carry paths of the tree; here they get their lines.

    Args:
        text: The document.
        make: What to make of the tree; it may report problems, or raise a `ModelError`.
        file: What errors call the text.
        format: ``"yaml"`` or ``"json"``; if not given, JSON is tried first where it may be JSON.

    Raises:
        DocumentError: With all problems and their lines.

    Example:
        >>> read_document("a: [b, c]", lambda tree, report: len(tree["a"]))
        2
    """
    try:
        check_text(text)
        return _made(text, format or _guess(text), make, file)
    except UnreadableError as error:
        raise DocumentError([error.problem], file) from None


def check_text(text: str) -> None:
    """Refuse what no text file has, before a parser sees it."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableError("is a binary file, not a text", line, "give a YAML or JSON file")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise UnreadableError("has half a surrogate pair", line, "write the character") from None


def _guess(text: str) -> Format:
    """JSON, unless it is YAML that begins with a brace or without one."""
    if not text.lstrip().startswith("{"):
        return "yaml"
    try:
        json_tree(text, Report())
    except UnreadableError:
        return "yaml"
    return "json"


def _made(text: str, format: Format, make: Callable[[Tree, Report], Made], file: str) -> Made:
    report = Report()
    try:
        with _uncollected():
            tree = json_tree(text, report) if format == "json" else yaml_tree(text, report)
            made = make(tree, report)
            report.raise_any()
            return made
    except DocumentError:
        raise
    except ModelError as error:
        raise DocumentError(_with_lines(error.problems, text, format), file) from None


def _with_lines(problems: tuple[Problem, ...], text: str, format: Format) -> list[Problem]:
    """The problems with the lines of their paths, in the order of the lines.

    Of a text that is very large the lines are not looked for: paths have to do.
    """
    if len(text) > LARGEST_PLACED:
        return list(problems)
    events = json_events(text) if format == "json" else yaml_events(text)
    lines = find_lines(events, (problem.path for problem in problems))
    placed = [
        replace(problem, line=lines[problem.path]) if problem.path and not problem.line else problem
        for problem in problems
    ]
    return sorted(placed, key=lambda problem: problem.line or math.inf)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection: a growing tree has no cycles to find, and searching it takes long."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
