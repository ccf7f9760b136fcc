"""The holes of a function and what fills them: choices, and the contexts that calls enter.

What to do depends on locals, on the context, or on values without a name: how far a for loop has
come, or what was drawn earlier in the same expression. The latter get names where they matter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from recurl.model.names import unused_name
from recurl.programs.decisions import DecisionTable, expression, same, simplest
from recurl.programs.literals import UNKNOWN, Option, Writer
from recurl.programs.liveness import reads
from recurl.programs.syntax import stored_names

if TYPE_CHECKING:
    from recurl.programs.code import Code, Values
    from recurl.programs.explore import State
    from recurl.programs.program_policy import ProgramPolicy

CONTEXT = "context"
"""Parameter of functions whose choices depend on who called, unless the name is taken."""

_LOCAL, _BY_CONTEXT, _COUNTED, _NAMED, _REST, _TYPE, _REPR = range(7)


class ChoiceColumn(NamedTuple):
    """Something that a choice may depend on.

    Attributes:
        text: How it is written.
        rank: How well it reads; the least is best.
        value: Its value, given the context and the locals of a state.
        temporary: The temporary that must get a name if it is used.
    """

    text: str
    rank: int
    value: Callable[[int, Values], Any]
    temporary: str | None = None


@dataclass(eq=False)
class FilledChoice:
    """The filling of a `choose`.

    Attributes:
        table: The values to take.
        indexed: Whether the table holds numbers of options instead: these must all be evaluated.
        name: What is chosen.
    """

    table: DecisionTable
    indexed: bool = False
    name: str = "choice"


@dataclass(eq=False)
class Turns:
    """Names that a for loop gets for how far it has come, where these are needed.

    Attributes:
        item: In place of ``_``.
        index: For the number of the turn.
        items: For what the loop goes through.
        kinds: Types of that: tuples if it is something that has to be made a tuple first.
    """

    item: str = ""
    index: str = ""
    items: str = ""
    kinds: frozenset[type] = frozenset()

    @property
    def names(self) -> set[str]:
        """Names that conditions may read."""
        return {self.item, self.index} - {""}


@dataclass(eq=False)
class Holes:
    """The fillings of the holes of a function under a policy.

    Attributes:
        choices: By the call of `choose`.
        contexts: What calls hand over, by the call, where there are several contexts.
        named: Names for the values of expressions.
        turns: Names for how far loops have come.
    """

    choices: dict[ast.Call, FilledChoice] = field(default_factory=dict)
    contexts: dict[ast.Call, DecisionTable] = field(default_factory=dict)
    named: dict[ast.expr, str] = field(default_factory=dict)
    turns: dict[ast.For, Turns] = field(default_factory=dict)

    def needed(self, tree: ast.AST) -> Holes:
        """The same, without names that a function does not read after its holes were filled."""
        nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
        read = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
        named = {node: name for node, name in self.named.items() if name in read}
        turns = {loop: turns for loop, turns in self.turns.items() if turns.names & read}
        if named == self.named and turns == self.turns:
            return self
        return Holes(self.choices, self.contexts, named, turns)


def holes_of(chosen: ProgramPolicy, function: int, context: str, writer: Writer) -> Holes:
    """The fillings of the holes of a function.

    Args:
        chosen: The policy of the program.
        function: Number of the function.
        context: Name of the parameter for contexts.
        writer: Writes values.
    """
    return _Filling(chosen, function, context, writer).run()


class _Filling:
    def __init__(self, chosen: ProgramPolicy, function: int, context: str, writer: Writer) -> None:
        self.all, self.x = chosen, chosen.unfolded.exploration
        self.code: Code = self.x.codes[function]
        self.groups = chosen.groups.get(function, [])
        self.context, self.writer = context, writer
        self.flow, self.holes = self.code.flow, Holes()
        self.taken = {*self.code.source.locals, context}
        self.taken.update(n.id for n in ast.walk(self.code.source.tree) if isinstance(n, ast.Name))
        self.names: dict[tuple[str, str], str] = {}

    def run(self) -> Holes:
        """Fill all holes that are reached."""
        for position, states in self._states(lambda group: group.choices).items():
            node, target = self.flow.origin(position), self.flow.blocks[position].target
            choice = self.holes.choices[node] = self._choice(position, node, states)
            if target and target not in self.flow.meanings:
                choice.name = target
        for position, states in self._states(lambda group: group.calls).items():
            rows = [
                (c, s, self.all.group_of[callee][1])
                for c, s, callee in states
                if s.entry in self.x.deciding  # where nothing is chosen, any context will do
            ]
            if rows and len(self.all.groups_of(self.code.events[position].word)) > 1:
                self.holes.contexts[self.flow.origin(position)] = self._table(position, rows)
        return self.holes

    def _states(self, part: Callable[[Any], dict[int, int]]) -> dict[int, list[Any]]:
        """By position: context, state, and what is done there."""
        found: dict[int, list[Any]] = {}
        for number, group in enumerate(self.groups):
            for state, done in part(group).items():
                at = self.x.states[state]
                found.setdefault(at.position, []).append((number, at, done))
        return found

    # Choices

    def _choice(self, position: int, node: ast.Call, states: list[Any]) -> FilledChoice:
        event = self.code.events[position]
        rows, places = [], []
        for context, state, option in states:
            arguments, _ = self.code.operands(event, state.values, self.x.limit)
            alone = len(arguments) == 1 and isinstance(arguments[0], list | tuple | range)
            given = list(arguments[0]) if alone else list(arguments)
            value = state.options[option]
            rows.append((context, state, value))
            place = next(i for i, other in enumerate(given) if same(other, value))
            places.append((context, state, place))
        inside = [*node.args, *(k.value for k in node.keywords)]
        if any(map(self.code.source.has_events, inside)):
            return FilledChoice(self._table(position, places), indexed=True)
        if alone or any(isinstance(part, ast.Starred) for part in node.args):
            return FilledChoice(self._table(position, rows))
        if all(isinstance(part, ast.Constant) for part in node.args):
            return FilledChoice(self._table(position, rows))
        known = self.code.source.locals
        options = [
            (c, s, Option(UNKNOWN if reads(part, known) else value, ast.unparse(part)))
            for (c, s, value), (_, _, place) in zip(rows, places, strict=True)
            for part in [node.args[place]]
        ]
        table = self._table(position, options)
        if any(o.value is UNKNOWN for _, _, o in options) and "{" in expression(table):
            # A table whose options are computed from locals would be computed as a whole.
            return FilledChoice(self._table(position, places), indexed=True)
        return FilledChoice(table)

    # Columns

    def _table(self, position: int, rows: list[tuple[int, State, Any]]) -> DecisionTable:
        columns = self._columns(position)
        read = _read_rows(columns, rows)
        for word, rank in (("type", _TYPE), ("repr", _REPR)):
            # Equal values may be of different types, or made of parts that are.
            if _contradict(read):
                columns += [_made_of(c, word, rank) for c in columns if c.rank < _REST]
                read = _read_rows(columns, rows)
        table = simplest([column.text for column in columns], read)
        for column in columns:
            if column.text in table.names and column.temporary is not None:
                self._name(column)
        return DecisionTable(tuple(map(self._named, table.names)), table.rows)

    def _columns(self, position: int) -> list[ChoiceColumn]:
        names = self.code.events[position].names
        found: dict[str, ChoiceColumn] = {}
        for i, name in enumerate(names):
            if name not in self.flow.meanings:
                found[name] = ChoiceColumn(name, _LOCAL, _local(i))
        if len(self.groups) > 1:
            found[self.context] = ChoiceColumn(
                self.context, _BY_CONTEXT, lambda context, _: context
            )
        for i, name in enumerate(names):
            for column in self._unnamed(name, i):
                found.setdefault(column.text, column)
        return sorted(found.values(), key=lambda column: column.rank)

    def _unnamed(self, name: str, i: int) -> Iterable[ChoiceColumn]:
        """Columns for the value of a temporary."""
        if name in self.flow.rewriter.loops:
            yield from self._loop_columns(name, self.flow.rewriter.loops[name], i)
        elif name in self.flow.rewriter.values:
            text = _placeholder(name, _kind(name))
            yield ChoiceColumn(text, _NAMED, lambda _, values: values[i], name)

    def _loop_columns(self, rest: str, loop: ast.For, i: int) -> Iterable[ChoiceColumn]:
        changed = set(stored_names(loop.body))
        for name, path in _paths(loop.target):
            if name == "_" and "_" not in reads(self.code.source.tree, self.code.source.locals):
                if not path:
                    turn = _placeholder(rest, "turn")
                    yield ChoiceColumn(turn, _LOCAL, lambda _, values: values[i][0], rest)
            elif name not in changed:
                yield ChoiceColumn(name, _LOCAL, _item(i, path))
        index, items = _placeholder(rest, "index"), _placeholder(rest, "items")
        left = f"len({items}) - {index}"
        yield ChoiceColumn(left, _COUNTED, lambda _, values: len(values[i]), rest)
        yield ChoiceColumn(f"{items}[{index}:]", _REST, lambda _, values: values[i], rest)

    def _named(self, text: str) -> str:
        """A column with names in place of placeholders."""
        return _PLACEHOLDER.sub(lambda found: self._fresh(found[1], found[2]), text)

    def _fresh(self, temporary: str, name: str) -> str:
        """A name for a temporary, unlike all others."""
        key = (temporary, name)
        if key not in self.names:
            self.names[key] = unused_name(name, self.taken, "_")
            self.taken.add(self.names[key])
        return self.names[key]

    def _name(self, column: ChoiceColumn) -> None:
        """Let a value without a name get one."""
        assert column.temporary is not None
        rewriter, temporary = self.flow.rewriter, column.temporary
        if temporary in rewriter.values:
            name = self._fresh(temporary, _kind(temporary))
            self.holes.named[rewriter.values[temporary]] = name
            return
        turns = self.holes.turns.setdefault(rewriter.loops[temporary], Turns())
        if _placeholder(temporary, "turn") in column.text:
            turns.item = self._fresh(temporary, "turn")
        else:
            turns.index, turns.items = (self._fresh(temporary, n) for n in ("index", "items"))
            turns.kinds = self._kinds(temporary)

    def _kinds(self, rest: str) -> frozenset[type]:
        """Types of what a loop goes through."""
        found = set()
        for state in self.x.states:
            event = self.code.events.get(state.position)
            if self.x.codes[state.function] is self.code and event and rest in event.names:
                found.add(type(state.values[event.names.index(rest)]))
        return frozenset(found)


_PLACEHOLDER = re.compile(r"<(\w+) (\w+)>")


def _placeholder(temporary: str, name: str) -> str:
    """Stands in the text of a column for a name that a temporary gets if the column is used."""
    return f"<{temporary} {name}>"


def _kind(temporary: str) -> str:
    """The name of a temporary without its number: result, coin, ..."""
    return temporary.rstrip("_").rpartition("_")[0]


def _read_rows(
    columns: list[ChoiceColumn], rows: list[tuple[int, State, Any]]
) -> list[tuple[Values, Any]]:
    """The values of columns in each context and state, with what is done there."""
    return [
        (tuple([column.value(context, state.values) for column in columns]), result)
        for context, state, result in rows
    ]


def _contradict(rows: list[tuple[Values, Any]]) -> bool:
    known: dict[Values, Any] = {}
    return not all(same(known.setdefault(values, result), result) for values, result in rows)


def _made_of(column: ChoiceColumn, word: str, rank: int) -> ChoiceColumn:
    function: Callable[[Any], Any] = type if word == "type" else repr

    def value(context: int, values: Values) -> Any:
        return function(column.value(context, values))

    return ChoiceColumn(f"{word}({column.text})", rank, value, column.temporary)


def _paths(target: ast.expr, path: tuple[int, ...] = ()) -> Iterable[tuple[str, tuple[int, ...]]]:
    """Names in the target of a loop, with where their values stand in an item."""
    if isinstance(target, ast.Name):
        yield target.id, path
    elif isinstance(target, ast.Tuple | ast.List):
        is_fixed = not any(isinstance(part, ast.Starred) for part in target.elts)
        for number, part in enumerate(target.elts if is_fixed else ()):
            yield from _paths(part, (*path, number))


def _local(i: int) -> Callable[[int, Values], Any]:
    """The value of a local, by its place among those of a state."""
    return lambda _, values: values[i]


def _item(i: int, path: tuple[int, ...]) -> Callable[[int, Values], Any]:
    """A part of the item that a loop has come to."""

    def value(_: int, values: Values) -> Any:
        item = values[i][0]
        for number in path:
            item = tuple(item)[number]
        return item

    return value
