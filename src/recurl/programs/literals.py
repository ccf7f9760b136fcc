"""Values as Python writes them, with names that mean the same in the completed source."""

from __future__ import annotations

import ast
import dataclasses
import enum
import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

from recurl.errors import RecurlError
from recurl.programs.syntax import MISSING, Source

UNKNOWN = object()
"""The value of an option that differs from state to state."""


class Option(NamedTuple):
    """A result with the text that the program itself has for it."""

    value: Any
    text: str


class Writer:
    """Writes values and tables as source text, for one function.

    Args:
        source: The function, whose names are used where they fit.
        taken: Names that constants must not have; those that they get are added.

    Attributes:
        imported: What further names in the text must stand for.
        constants: Tables that are too long for a line, by the names that they are given.
        hint: What tables are about.
    """

    longest = 60
    """Length from which on a table is written above the function."""

    def __init__(self, source: Source | None = None, taken: set[str] | None = None) -> None:
        self.source, self.taken = source, set() if taken is None else taken
        self.imported: dict[str, Any] = {}
        self.constants: dict[str, str] = {}
        self.hint = "choice"

    def table(self, items: Iterable[str]) -> str:
        """A dict or set with these items: in place if it is short, else the name of a constant."""
        listed = list(items)
        short = f"{{{', '.join(listed)}}}"
        if len(short) <= self.longest or self.source is None:
            return short
        text = "{\n" + "".join(f"    {item},\n" for item in listed) + "}"
        for name, known in self.constants.items():
            if known == text:
                return name
        base = f"{self.source.name}_{self.hint}".upper()
        name, number = base, 1
        while name in self.taken or self.source.look_up(name) is not MISSING:
            number += 1
            name = f"{base}_{number}"
        self.constants[name] = text
        self.taken.add(name)
        return name

    def literal(self, value: Any) -> str:
        """A value as Python writes it.

        Raises:
            RecurlError: It cannot be written as a literal.

        Example:
            >>> Writer().literal(((), "x", frozenset([2]), float("inf")))
            "((), 'x', frozenset({2}), float('inf'))"
        """
        if isinstance(value, Option):
            return value.text
        if isinstance(value, enum.Enum):
            return self._enum(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            return self.name_of(value)
        if isinstance(value, ModuleType):
            return self._imported(value.__name__.partition(".")[0], value)
        if type(value) in _BRACKETS:
            return self._collection(value)
        return self._object(value)

    def _enum(self, value: enum.Enum) -> str:
        kind = self.name_of(type(value))
        known = value.name in type(value).__members__
        return f"{kind}.{value.name}" if known else f"{kind}({value.value!r})"

    def _collection(self, value: Any) -> str:
        begin, end, empty = _BRACKETS[type(value)]
        if not value:
            return empty
        if isinstance(value, dict):
            items = [f"{self.literal(key)}: {self.literal(v)}" for key, v in value.items()]
        else:
            items = [self.literal(item) for item in value]
        comma = "," if type(value) is tuple and len(items) == 1 else ""
        return f"{begin}{', '.join(items)}{comma}{end}"

    def _object(self, value: Any) -> str:
        kind = type(value)
        if dataclasses.is_dataclass(value):
            fields = [field.name for field in dataclasses.fields(value) if field.init]
            given = (f"{name}={self.literal(getattr(value, name))}" for name in fields)
            return f"{self.name_of(kind)}({', '.join(given)})"
        if isinstance(value, tuple):
            return f"{self.name_of(kind)}({', '.join(map(self.literal, value))})"
        if isinstance(value, Fraction | Decimal):
            return repr(value).replace(kind.__name__, self.name_of(kind), 1)
        if kind.__module__ == "numpy" and hasattr(value, "item"):
            return self.literal(value.item())
        return _parsable(repr(value))

    def name_of(self, thing: Any) -> str:
        """How a class or a function is called where the program stands."""
        if self.source is None:
            return str(thing.__name__)
        first, *inner = str(thing.__qualname__).split(".")
        if self._means(first, inner, thing):
            return str(thing.__qualname__)
        for name, value in (*self.source.closure.items(), *self.source.globals.items()):
            if value is thing and name not in self.source.locals:
                return name
        if "<" in thing.__qualname__:
            raise RecurlError(f"{thing.__qualname__} has no name at module level: define it there")
        return self._imported(first, thing) + "".join(f".{name}" for name in inner)

    def _means(self, first: str, inner: list[str], thing: Any) -> bool:
        assert self.source is not None
        found = self.source.look_up(first)
        for name in inner:
            found = getattr(found, name, MISSING)
        return found is thing

    def _imported(self, name: str, thing: Any) -> str:
        self.imported[name] = thing
        return name


_BRACKETS: dict[type, tuple[str, str, str]] = {
    tuple: ("(", ")", "()"),
    list: ("[", "]", "[]"),
    set: ("{", "}", "set()"),
    frozenset: ("frozenset({", "})", "frozenset()"),
    dict: ("{", "}", "{}"),
}


def _parsable(text: str) -> str:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        raise RecurlError(
            f"{text} cannot be written in source text: use numbers, texts, tuples, frozensets, "
            "enums or frozen dataclasses"
        ) from None
    return text


def parsed(text: str) -> ast.expr:
    """The text of an expression as a syntax tree."""
    return ast.parse(text, mode="eval").body
