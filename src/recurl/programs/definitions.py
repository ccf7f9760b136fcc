"""The definitions that a completed program needs from its module, as source text."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from recurl.programs.decorator import Program
from recurl.programs.language import WORDS
from recurl.programs.literals import Writer
from recurl.programs.syntax import MISSING, Source, source_lines, stored_names


def needed(
    functions: Iterable[tuple[str, Source]], imported: Mapping[str, Any] | None = None
) -> tuple[list[str], list[str]]:
    """Statements that define the names that functions use: imports, and the rest in order.

    Args:
        functions: Text of each function, and the source that its names are seen from.
        imported: Further names, and what they must stand for.
    """
    found = _Finder()
    for name, value in (imported or {}).items():
        found.take(name, value)
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
            self.take(name, value)
        elif fields := _fields_of(value):
            self.imports["import collections"] = None
            made = f"collections.namedtuple({value.__name__!r}, {fields!r})"
            self.definitions[f"{name} = {made}"] = None
        elif self._is_local(value, source):
            text = textwrap.dedent("".join(source_lines(value)[0]))
            self.add(ast.parse(text), _seen_from(value, source))
            self.definitions[text.strip()] = None
            if value.__name__ != name:
                self.definitions[f"{name} = {value.__name__}"] = None
        elif hasattr(value, "__qualname__"):
            self.take(name, value)
        else:
            self._assign(name, value, source)

    def _assign(self, name: str, value: Any, source: Source) -> None:
        """Define a name by writing its value."""
        writer = Writer(source)
        text = writer.literal(value)
        for other, thing in writer.imported.items():
            self.take(other, thing)
        self.add(ast.parse(text), source)
        self.definitions[f"{name} = {text}"] = None

    def take(self, name: str, value: Any) -> None:
        """Import a module, or what a module defines."""
        if isinstance(value, ModuleType):
            alias = "" if value.__name__ == name else f" as {name}"
            self.imports[f"import {value.__name__}{alias}"] = None
            return
        original = value.__qualname__.partition(".")[0]
        module = getattr(value, "__module__", None) or type(value).__module__
        alias = "" if original == name else f" as {name}"
        self.imports[f"from {module} import {original}{alias}"] = None

    def _is_local(self, value: Any, source: Source) -> bool:
        """Whether a function or class comes from the same module as the program."""
        module = getattr(value, "__module__", None)
        plain = inspect.unwrap(value) if callable(value) else value
        is_defined = inspect.isfunction(plain) or inspect.isclass(plain)
        return is_defined and module == source.globals.get("__name__")


def _fields_of(value: Any) -> tuple[str, ...]:
    """Names of the fields of a class that `namedtuple` made, which has no source."""
    made = inspect.isclass(value) and value.__bases__ == (tuple,) and hasattr(value, "_fields")
    return tuple(value._fields) if made and "__annotations__" not in vars(value) else ()


def _seen_from(value: Any, source: Source) -> Source:
    """The source of a helper, or of the program where both see the same names."""
    plain = inspect.unwrap(value)
    closure = inspect.getclosurevars(plain).nonlocals if inspect.isfunction(plain) else {}
    names = {**source.closure, **closure}
    return Source(value.__name__, source.tree, source.file, source.globals, names)


def _mentioned(tree: ast.AST) -> Iterator[str]:
    """Names that a tree reads, apart from those that classes in it define for themselves."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    own = {name for node in classes for name in stored_names(node.body)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            yield node.id


def _is_given(name: str, value: Any) -> bool:
    """Whether a name is there anyway: builtins, programs, and words of the language."""
    if isinstance(value, Program) or (inspect.isfunction(value) and value in WORDS):
        return True
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "recurl":
        return True
    return getattr(builtins, name, MISSING) is value
