"""What to do as an expression over locals, as simple as it can be made."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from recurl.programs.code import Values


class Table(NamedTuple):
    """What to do for given values of some names; names come in the order of preference."""

    names: tuple[str, ...]
    rows: dict[Values, Any]

    def without(self, name: str) -> Table | None:
        """The table over the other names, if these decide as well."""
        at = self.names.index(name)
        rows: dict[Values, Any] = {}
        for values, result in self.rows.items():
            short = values[:at] + values[at + 1 :]
            if rows.setdefault(short, result) != result:
                return None
        return Table(self.names[:at] + self.names[at + 1 :], rows)


def simplest(names: Sequence[str], rows: Iterable[tuple[Values, Any]]) -> Table:
    """The table of rows, without the names that it can do without, the last ones first.

    Example:
        >>> simplest(("n", "m"), [((1, 5), "a"), ((2, 5), "b"), ((2, 6), "b")])
        Table(names=('n',), rows={(1,): 'a', (2,): 'b'})
    """
    table = Table(tuple(names), dict(rows))
    for name in reversed(names):
        table = table.without(name) or table
    return table


def expression(table: Table) -> str:
    """A table as the text of a Python expression.

    Example:
        >>> expression(Table(("n",), {(n,): "few" if n < 3 else "many" for n in range(9)}))
        "'few' if n <= 2 else 'many'"
        >>> expression(Table(("a", "b"), {(1, 2): True, (2, 2): False, (2, 3): True}))
        '{(1, 2): True, (2, 2): False, (2, 3): True}[a, b]'
    """
    if not table.names:
        (result,) = table.rows.values()
        return literal(result)
    if len(table.names) == 1:
        rows = [(value, result) for (value,), result in table.rows.items()]
        for form in (_by_shift, _by_thresholds, _by_cases):
            if short := form(table.names[0], rows):
                return short
    key = table.names[0] if len(table.names) == 1 else ", ".join(table.names)
    items = (
        f"{literal(values[0] if len(values) == 1 else values)}: {literal(result)}"
        for values, result in table.rows.items()
    )
    return f"{{{', '.join(items)}}}[{key}]"


def _by_shift(name: str, rows: list[tuple[Any, Any]]) -> str | None:
    """``n + 2``, where that is what the results are."""
    if not all(type(value) is int and type(result) is int for value, result in rows):
        return None
    differences = {result - value for value, result in rows}
    if len(differences) > 1:
        return None
    (d,) = differences
    return f"{name} {'+' if d > 0 else '-'} {abs(d)}" if d else name


def _by_thresholds(name: str, rows: list[tuple[Any, Any]]) -> str | None:
    """``a if n <= 3 else b``, where numbers in order change their mind once or twice."""
    if not all(type(value) in (int, float, Fraction) for value, _ in rows) or len(rows) < 3:
        return None
    rows = sorted(rows)
    changes = [i for i in range(1, len(rows)) if rows[i][1] != rows[i - 1][1]]
    if len(changes) > 2:
        return None
    parts = [f"{literal(rows[i - 1][1])} if {name} <= {literal(rows[i - 1][0])}" for i in changes]
    return " else ".join([*parts, literal(rows[-1][1])])


def _by_cases(name: str, rows: list[tuple[Any, Any]]) -> str | None:
    if len(rows) > 2:
        return None
    (value, result), (_, other) = rows
    if value is True:
        return f"{literal(result)} if {name} else {literal(other)}"
    if value is False:
        return f"{literal(other)} if {name} else {literal(result)}"
    test = "is" if value is None else "=="
    return f"{literal(result)} if {name} {test} {literal(value)} else {literal(other)}"


def literal(value: Any) -> str:
    """A value as Python writes it.

    Example:
        >>> class Colour(enum.Enum):
        ...     RED = 1
        >>> literal((Colour.RED, "x", frozenset([2])))
        "(Colour.RED, 'x', frozenset({2}))"
    """
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if type(value) is tuple:
        inside = ", ".join(map(literal, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, type) or callable(value):
        return str(value.__name__)
    return repr(value)


def parsed(text: str) -> ast.expr:
    """The text of an expression as a syntax tree."""
    return ast.parse(text, mode="eval").body
