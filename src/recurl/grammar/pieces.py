"""Reading documents of other kinds than models: trees with lines, and the pieces of trees."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from recurl.errors import DocumentError, ModelError, Problem
from recurl.model.document.events import UnreadableError, yaml_events
from recurl.model.document.tree import Tree, find_lines, yaml_tree
from recurl.model.report import Path, Report

Made = TypeVar("Made")
_LARGEST = 1 << 26


def read_file(path: str) -> str:
    """The text of a file; `DocumentError` if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as stream:
            text = stream.read(_LARGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        problem = Problem("", f"cannot be read: {str(reason).lower()}", "check the path")
        raise DocumentError([problem], path) from None
    if len(text) > _LARGEST:
        raise DocumentError([Problem("", "is larger than 64 MiB", "divide it")], path)
    return text


def read_document(text: str, make: Callable[[Tree, Report], Made], file: str = "<text>") -> Made:
    """Read a YAML (or JSON) text as a tree, and make of it what a function says.

    Problems carry paths of the tree; here they get their lines.

    Raises:
        DocumentError: With all problems and their lines.

    Example:
        >>> read_document("a: [b, c]", lambda tree, report: len(tree["a"]))
        2
    """
    report = Report()
    try:
        made = make(yaml_tree(text, report), report)
        report.raise_any()
        return made
    except UnreadableError as error:
        raise DocumentError([error.problem], file) from None
    except DocumentError:
        raise
    except ModelError as error:
        raise DocumentError(_placed(error.problems, text), file) from None


def _placed(problems: tuple[Problem, ...], text: str) -> list[Problem]:
    lines = find_lines(yaml_events(text), (problem.path for problem in problems))
    placed = [
        replace(problem, line=lines[problem.path]) if problem.path and not problem.line else problem
        for problem in problems
    ]
    return sorted(placed, key=lambda problem: problem.line or math.inf)


class Pieces:
    """Reads the pieces of a tree; what does not fit is reported and replaced by something harmless.

    Args:
        report: Where problems go.
    """

    def __init__(self, report: Report) -> None:
        self.report = report

    def fields(self, tree: Tree, path: Path, known: tuple[str, ...]) -> dict[str, Tree]:
        """The values of known keys; others are reported."""
        found = {}
        for key, value in self.mapping(tree, path).items():
            if key in known:
                found[key] = value
            else:
                fix = self.report.hint(key, known, f"known keys: {', '.join(known)}")
                self.report.add((*path, key), "there is no such key here", fix)
        return found

    def mapping(self, tree: Tree, path: Path) -> dict[str, Tree]:
        """A mapping."""
        if isinstance(tree, dict):
            return tree
        self.report.add(path, "is no mapping", "write KEY: VALUE")
        return {}

    def text(self, tree: Tree, path: Path) -> str:
        """A text."""
        if isinstance(tree, str):
            return tree
        self.report.add(path, "is no text", "write one, in quotes if need be")
        return "unreadable"

    def words(self, tree: Tree, path: Path) -> list[str]:
        """A list of texts, or one text with words divided by blanks."""
        if isinstance(tree, str):
            return tree.split()
        return [self.text(item, (*path, i)) for i, item in enumerate(self.list(tree, path))]

    def list(self, tree: Tree, path: Path) -> list[Tree]:
        """A list."""
        if isinstance(tree, list):
            return tree
        self.report.add(path, "is no list", "write [ITEM, ITEM]")
        return []

    def texts(self, tree: Tree, path: Path) -> dict[str, str]:
        """A mapping of texts."""
        return {k: self.text(v, (*path, k)) for k, v in self.mapping(tree, path).items()}
