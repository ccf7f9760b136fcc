"""A decorated function as a syntax tree, and what the names in it stand for."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

from recurl.errors import RecurlError
from recurl.programs.language import WORDS

MISSING = object()
"""Stands for the meaning of a name that nothing defines."""

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *COMPREHENSIONS)
"""Nodes that open a scope of names."""


@dataclass(eq=False)
class Source:
    """The source of one function.

    Attributes:
        name: Name of the function.
        tree: Its definition, with the line numbers of the file.
        file: The file.
        globals: The module in which its names are looked up.
        closure: Names that it has from the functions around it.
        signature: Its parameters.
        lines: Its text, which begins on the line of its first decorator; none if it has no text.
        first_line: Number of the first of these lines in the file.
        comment: The comment above it.
    """

    name: str
    tree: ast.FunctionDef
    file: str
    globals: dict[str, Any]
    closure: Mapping[str, Any] = field(default_factory=dict)
    signature: inspect.Signature = field(default_factory=inspect.Signature)
    lines: Sequence[str] = ()
    first_line: int = 1
    comment: str = ""

    @cached_property
    def locals(self) -> frozenset[str]:
        """Names that are assigned in the function, parameters included."""
        return frozenset([*self.signature.parameters, *stored_names(self.tree.body)])

    def resolve(self, node: ast.expr) -> Any:
        """The object that a name, or an attribute of a module or a class, stands for."""
        if isinstance(node, ast.Name):
            return self.look_up(node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            known = isinstance(base, ModuleType | type)
            return getattr(base, node.attr, MISSING) if known else MISSING
        return MISSING

    def look_up(self, name: str) -> Any:
        """The object of a name that is not a local, or `MISSING`."""
        if name in self.locals:
            return MISSING
        if name in self.closure:
            return self.closure[name]
        return self.globals.get(name, getattr(builtins, name, MISSING))

    def word(self, call: ast.Call) -> Any:
        """The kind of event that a call is: a word of the language, a program, or None."""
        from recurl.programs.decorator import Program

        found = self.resolve(call.func)
        if isinstance(found, Program):
            return found
        return WORDS.get(found) if inspect.isfunction(found) else None

    def events(self, node: ast.AST) -> Iterator[ast.Call]:
        """The calls below a node that are events."""
        for below in ast.walk(node):
            if isinstance(below, ast.Call) and self.word(below) is not None:
                yield below

    def has_events(self, node: ast.AST) -> bool:
        """Whether a call below a node is an event."""
        return any(True for _ in self.events(node))

    def text(self, node: ast.AST) -> str:
        """A node as source text, on one line and not too long."""
        line = " ".join(ast.unparse(node).split())
        return line if len(line) <= 60 else line[:57] + "..."


def read_source(function: Callable[..., Any]) -> Source:
    """The source of a function.

    Raises:
        RecurlError: There is none, as for functions typed at a bare prompt.
    """
    lines, first = source_lines(function)
    definition = _definition("".join(lines), first)
    if not isinstance(definition, ast.FunctionDef):
        raise RecurlError(f"{function.__name__} must be defined by `def` to be a model")
    return Source(
        function.__name__,
        definition,
        inspect.getsourcefile(function) or "<unknown>",
        function.__globals__,
        _closure(function),
        inspect.signature(function),
        lines,
        first,
        textwrap.dedent(inspect.getcomments(function) or "").strip(),
    )


_NOTHING = ast.arguments([], [], None, [], [], None, [])


def read_helper(function: FunctionType) -> Source | None:
    """The source of a helper, a lambda as the statement that makes it; None if there is none."""
    try:
        lines, first = source_lines(function)
        tree = _definition("".join(lines), first)
    except (RecurlError, SyntaxError):
        return None
    if not isinstance(tree, ast.FunctionDef):
        tree = ast.FunctionDef(function.__name__, _NOTHING, [tree], [], lineno=first)
    file, signature = function.__code__.co_filename, inspect.signature(function)
    return Source(
        function.__name__, tree, file, function.__globals__, _closure(function), signature
    )


def source_lines(thing: Any) -> tuple[list[str], int]:
    """The lines that define a function or a class, and the number of the first of them.

    Raises:
        RecurlError: There are none.
    """
    try:
        return inspect.getsourcelines(thing)
    except (OSError, TypeError):
        raise RecurlError(
            f"the source of {thing.__name__} cannot be found: define it in a file or a notebook"
        ) from None


def _definition(text: str, first: int) -> ast.stmt:
    """The first statement of a text, with the lines and columns of its file."""
    if not text[0].isspace():
        tree = ast.parse(text)
        ast.increment_lineno(tree, first - 1)
        return tree.body[0]
    inside = ast.parse(f"if True:\n{text}").body[0]
    assert isinstance(inside, ast.If)
    ast.increment_lineno(inside, first - 2)
    return inside.body[0]


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    """Values of names from functions around, as far as they have any yet."""
    found = {}
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def stored_names(body: list[ast.stmt]) -> Iterator[str]:
    """Names that statements assign, those of inner scopes apart."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if not isinstance(node, SCOPES):
            todo.extend(ast.iter_child_nodes(node))
        else:
            todo.extend(below for below in ast.walk(node) if isinstance(below, ast.NamedExpr))
