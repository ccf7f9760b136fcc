"""What a completed program needs from the module that it was written in, as source text."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from recurl.programs.decisions import literal
from recurl.programs.decorator import Program
from recurl.programs.language import WORDS
from recurl.programs.syntax import MISSING, Source

LITERALS = (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple, type(None))


def needed(functions: Iterable[tuple[str, Source]]) -> tuple[list[str], list[str]]:
    """Statements that define the names that functions use: imports, and the rest in order.

    Args:
        functions: Text of each function, and the source that its names are seen from.
    """
    found = _Finder()
    for text, source in functions:
        found.add(ast.parse(text), source)
    return list(found.imports), list(found.definitions)


class _Finder:
    def __init__(self) -> None:
        self.imports: dict[str, None] = {}
        self.definitions: dict[str, None] = {}
        self._known: set[str] = set()

    def add(self, tree: ast.AST, source: Source) -> None:
        """Define what a tree mentions, as seen from a source."""
        for name in _mentioned(tree):
            value = source.look_up(name)
            if name not in self._known and value is not MISSING and not _is_given(name, value):
                self._known.add(name)
                self._define(name, value, source)

    def _define(self, name: str, value: Any, source: Source) -> None:
        if isinstance(value, ModuleType):
            alias = "" if value.__name__ == name else f" as {name}"
            self.imports[f"import {value.__name__}{alias}"] = None
        elif isinstance(value, LITERALS):
            self._mention_types(value, source)
            self.definitions[f"{name} = {literal(value)}"] = None
        elif self._is_local(value, source):
            text = textwrap.dedent(inspect.getsource(value))
            tree = ast.parse(text)
            self.add(tree, _seen_from(value, source))
            self.definitions[text.strip()] = None
        else:
            self._import_from(name, value)

    def _mention_types(self, value: Any, source: Source) -> None:
        self.add(ast.parse(literal(value)), source)

    def _import_from(self, name: str, value: Any) -> None:
        original = getattr(value, "__qualname__", name)
        module = getattr(value, "__module__", None) or type(value).__module__
        alias = "" if original == name else f" as {name}"
        self.imports[f"from {module} import {original}{alias}"] = None

    def _is_local(self, value: Any, source: Source) -> bool:
        """Whether a function or class comes from the same module as the program."""
        module = getattr(value, "__module__", None)
        is_defined = inspect.isfunction(value) or inspect.isclass(value)
        return is_defined and module == source.globals.get("__name__")


def _seen_from(value: Any, source: Source) -> Source:
    """The source of a helper, or of the program where it is as good."""
    closure = inspect.getclosurevars(value).nonlocals if inspect.isfunction(value) else {}
    names = {**source.closure, **closure}
    return Source(value.__name__, source.tree, source.file, source.globals, names)


def _mentioned(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id


def _is_given(name: str, value: Any) -> bool:
    """Whether a name is there anyway: builtins, programs, and words of the language."""
    if isinstance(value, Program) or (inspect.isfunction(value) and value in WORDS):
        return True
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "recurl":
        return True
    return getattr(builtins, name, MISSING) is value
