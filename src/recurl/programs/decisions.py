"""Decision tables as Python expressions over locals that are as simple as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from recurl.programs.code import Values
from recurl.programs.language import types_in
from recurl.programs.literals import Writer

MOST_ROWS = 2000
"""Rows up to which pairs of columns are tried, and nested conditions."""

Rows = list[tuple[Any, Any]]
"""Values of one column, with what to do for each."""


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same type, which 1 and True are not."""
    return bool(one == other) and bool(types_in(one) == types_in(other))


class DecisionTable(NamedTuple):
    """The results for given values of some columns, which come in the order of preference.

    A column is the text of an expression, mostly a name.
    """

    names: tuple[str, ...]
    rows: dict[Values, Any]

    @property
    def constant(self) -> bool:
        """Whether there is nothing that it depends on."""
        return not self.names

    @property
    def result(self) -> Any:
        """The only result of a constant table."""
        (found,) = self.rows.values()
        return found

    def keep(self, columns: Sequence[int]) -> DecisionTable | None:
        """The table over some of its columns, if these decide as well."""
        rows: dict[Values, Any] = {}
        for values, result in self.rows.items():
            short = tuple([values[i] for i in columns])
            if not same(rows.setdefault(short, result), result):
                return None
        return DecisionTable(tuple(self.names[i] for i in columns), rows)

    def map(self, function: Callable[[Any], Any]) -> DecisionTable:
        """The table of what a function makes of the results, over the columns that then matter."""
        rows = ((values, function(result)) for values, result in self.rows.items())
        return simplest(self.names, rows)


def simplest(names: Sequence[str], rows: Iterable[tuple[Values, Any]]) -> DecisionTable:
    """The table of rows over as few columns as possible, the first ones if there is a choice.

    Example:
        >>> simplest(("n", "m"), [((1, 5), "a"), ((2, 5), "b"), ((2, 6), "b")])
        DecisionTable(names=('n',), rows={(1,): 'a', (2,): 'b'})
    """
    table = DecisionTable(tuple(names), dict(rows))
    small = len(table.rows) <= MOST_ROWS
    for size in range(3 if small else 2):
        for columns in combinations(range(len(names)), size):
            if found := table.keep(columns):
                return found
    for name in reversed(names):
        kept = [i for i, known in enumerate(table.names) if known != name]
        table = table.keep(kept) or table
    return table


# Values


def expression(table: DecisionTable, writer: Writer | None = None) -> str:
    """A table as the text of a Python expression.

    Example:
        >>> expression(DecisionTable(("n",), {(n,): "few" if n < 3 else "many" for n in range(9)}))
        "'few' if n <= 2 else 'many'"
        >>> expression(DecisionTable(("a", "b"), {(1, 2): "x", (2, 3): "y", (3, 1): "z"}))
        "{(1, 2): 'x', (2, 3): 'y', (3, 1): 'z'}[a, b]"
    """
    writer = writer or Writer()
    if table.constant:
        return writer.literal(table.result)
    if all(isinstance(result, bool) for result in table.rows.values()):
        return condition(table, writer)
    if len(table.names) == 1:
        rows = [(value, result) for (value,), result in table.rows.items()]
        for form in (_by_shift, _by_thresholds, _by_cases):
            if short := form(table.names[0], rows, writer):
                return short
    return _by_branch(table, writer) or _by_lookup(table, writer)


def _by_lookup(table: DecisionTable, writer: Writer) -> str:
    rows = _in_order(table.rows)
    keys = _keys(table, rows, writer)
    items = [f"{k}: {writer.literal(table.rows[row])}" for k, row in zip(keys, rows, strict=True)]
    return f"{writer.table(items)}[{', '.join(table.names)}]"


def _in_order(rows: Iterable[Values]) -> list[Values]:
    """Rows in order, if they have one."""
    try:
        return sorted(rows)
    except TypeError:
        return list(rows)


def _keys(table: DecisionTable, rows: Iterable[Values], writer: Writer) -> list[str]:
    alone = len(table.names) == 1
    return [writer.literal(values[0] if alone else values) for values in rows]


def _by_shift(name: str, rows: Rows, writer: Writer) -> str | None:
    """``n + 2``, where that is what the results are."""
    if all(same(value, result) for value, result in rows):
        return name
    if not all(type(value) is int and type(result) is int for value, result in rows):
        return None
    differences = {result - value for value, result in rows}
    if len(differences) > 1:
        return None
    (d,) = differences
    return f"{name} {'+' if d > 0 else '-'} {abs(d)}"


def _is_ordered(rows: Rows) -> bool:
    return len(rows) >= 3 and all(type(value) in (int, float, Fraction) for value, _ in rows)


def _changes(rows: Rows) -> list[int]:
    """Where results change, going through rows in order."""
    return [i for i in range(1, len(rows)) if not same(rows[i][1], rows[i - 1][1])]


def _by_thresholds(name: str, rows: Rows, writer: Writer) -> str | None:
    """``a if n <= 3 else b``, where numbers in order change their mind once or twice."""
    if not _is_ordered(rows):
        return None
    rows = sorted(rows, key=lambda row: row[0])
    changes = _changes(rows)
    if len(changes) > 2:
        return None
    write = writer.literal
    parts = [f"{write(rows[i - 1][1])} if {name} <= {write(rows[i - 1][0])}" for i in changes]
    return " else ".join([*parts, write(rows[-1][1])])


def _by_cases(name: str, rows: Rows, writer: Writer) -> str | None:
    if len(rows) > 2:
        return None
    (value, result), (second, other) = rows
    if value is False and second is True:
        value, second, result, other = second, value, other, result
    is_truth = value is True and second is False
    test = name if is_truth else _equals(name, value, writer)
    return f"{writer.literal(result)} if {test} else {writer.literal(other)}"


def _equals(name: str, value: Any, writer: Writer, word: str = "") -> str:
    if value is None:
        return f"{name} is {word}None"
    return f"{name} {'!=' if word else '=='} {writer.literal(value)}"


# Truth


def condition(table: DecisionTable, writer: Writer | None = None) -> str:
    """A table of truth values as the text of a condition.

    Example:
        >>> condition(DecisionTable(("n",), {(n,): 3 <= n <= 5 for n in range(9)}))
        '3 <= n <= 5'
        >>> condition(DecisionTable(("way",), {("a",): True, ("b",): False, ("c",): True}))
        "way != 'b'"
    """
    writer = writer or Writer()
    if table.constant:
        return str(bool(table.result))
    if len(table.names) == 1:
        rows = [(value, bool(result)) for (value,), result in table.rows.items()]
        return (
            _by_truth(table.names[0], rows)
            or _by_order(table.names[0], rows, writer)
            or (_by_membership(table, writer))
        )
    return _by_branch(table, writer) or _by_membership(table, writer)


def _by_truth(name: str, rows: Rows) -> str | None:
    """The name itself, or its negation."""
    if not all(isinstance(value, bool) for value, _ in rows):
        return None
    return name if all(value == result for value, result in rows) else f"not {name}"


def _by_order(name: str, rows: Rows, writer: Writer) -> str | None:
    if not _is_ordered(rows):
        return None
    rows = sorted(rows, key=lambda row: row[0])
    changes, write = _changes(rows), writer.literal
    if len(changes) == 1:
        (i,) = changes
        low = rows[0][1]
        return f"{name} {'<=' if low else '>='} {write(rows[i - 1 if low else i][0])}"
    if len(changes) > 2 or changes[1] - changes[0] == 1:
        return None
    first, last = write(rows[changes[0]][0]), write(rows[changes[1] - 1][0])
    return f"{name} < {first} or {name} > {last}" if rows[0][1] else f"{first} <= {name} <= {last}"


def _by_membership(table: DecisionTable, writer: Writer) -> str:
    """``n in (1, 4)``, or the contrary, whichever is shorter."""
    holds = [values for values, result in table.rows.items() if result]
    fails = [values for values, result in table.rows.items() if not result]
    listed, word = (holds, "") if len(holds) <= len(fails) else (fails, "not ")
    if len(table.names) == 1 and len(listed) == 1:
        return _equals(table.names[0], listed[0][0], writer, word)
    key = table.names[0] if len(table.names) == 1 else f"({', '.join(table.names)})"
    if len(listed) == 1:
        return f"{key} {'!=' if word else '=='} {writer.literal(listed[0])}"
    items = _keys(table, _in_order(listed), writer)
    return f"{key} {word}in {writer.table(items)}"


# Nested conditions


def _by_branch(table: DecisionTable, writer: Writer) -> str | None:
    """``a if test else b``, by a column with two values, if that is short."""
    if len(table.names) == 1 or len(table.rows) > MOST_ROWS:
        return None
    truth = all(isinstance(result, bool) for result in table.rows.values())
    found = []
    for column, name in enumerate(table.names):
        values = list(dict.fromkeys(row[column] for row in table.rows))
        if len(values) == 2:
            yes, no = (_part(table, column, value) for value in values)
            test = condition(
                DecisionTable((name,), {(values[0],): True, (values[1],): False}), writer
            )
            found.append(_branch(test, yes, no, writer, truth))
    short = min(found, key=len, default="")
    return short if short and len(short) <= Writer.longest and "{" not in short else None


def _part(table: DecisionTable, column: int, value: Any) -> DecisionTable:
    """The rows with a value in a column, over the others."""
    rows = table.rows.items()
    names = table.names[:column] + table.names[column + 1 :]
    return simplest(
        names, [(v[:column] + v[column + 1 :], r) for v, r in rows if v[column] == value]
    )


def _branch(test: str, yes: DecisionTable, no: DecisionTable, writer: Writer, truth: bool) -> str:
    if not truth:
        return f"({expression(yes, writer)}) if {test} else ({expression(no, writer)})"
    if yes.constant:
        rest = condition(no, writer)
        return f"({test}) or ({rest})" if yes.result else f"not ({test}) and ({rest})"
    if no.constant:
        rest = condition(yes, writer)
        return f"not ({test}) or ({rest})" if no.result else f"({test}) and ({rest})"
    return f"({condition(yes, writer)}) if {test} else ({condition(no, writer)})"
