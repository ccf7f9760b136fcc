"""Expressions with their holes filled: what choices decide in them is folded."""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from recurl.programs.decisions import DecisionTable, condition
from recurl.programs.decisions import expression as table_text
from recurl.programs.decorator import Program
from recurl.programs.holes import Holes
from recurl.programs.literals import UNKNOWN, Option, Writer, parsed
from recurl.programs.syntax import COMPREHENSIONS, Source

N = TypeVar("N", bound=ast.AST)

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


UNREACHED = "unreached"
"""Name of the function that stands for a choice to which no run comes."""


@dataclass(eq=False)
class FilledPart:
    """An expression after its holes were filled.

    Attributes:
        node: The expression.
        table: Its value, where that is known.
        chosen: Whether choices decide the value; what the program says itself is not folded.
        always: The truth of a test that choices decide, but that must still be evaluated.
    """

    node: ast.expr
    table: DecisionTable | None = None
    chosen: bool = False
    always: bool | None = None

    @property
    def settled(self) -> bool:
        """Whether choices make it the same in every run."""
        return self.chosen and self.table is not None and self.table.constant


class Filling:
    """Fills the holes in the expressions of a function.

    Nodes in which nothing changes stay the objects that they were.

    Args:
        source: The function.
        holes: What fills them.
        writer: Writes values.
        names: How words of the language and programs are called.
        contexts: Whether a program takes a context.

    Attributes:
        known: Locals that choices make the same in every run.
    """

    def __init__(
        self,
        source: Source,
        holes: Holes,
        writer: Writer,
        names: Mapping[Any, str],
        contexts: Callable[[Program], bool],
    ) -> None:
        self.source, self.holes, self.writer = source, holes, writer
        self.names, self.contexts = names, contexts
        self.known: Mapping[str, Any] = {}
        self._effective: set[ast.AST] = set()
        self._hoisted: list[ast.stmt] | None = None

    def next_pass(self, holes: Holes, known: Mapping[str, Any]) -> Filling:
        """The same for the next pass, with the holes and the known locals found in this one."""
        following = Filling(self.source, holes, self.writer, self.names, self.contexts)
        following.known = known
        return following

    @contextmanager
    def hoisting(self, before: list[ast.stmt] | None) -> Iterator[None]:
        """Let values that need names be assigned in statements before the expression, if any."""
        self._hoisted = before
        yield
        self._hoisted = None

    def has_effects(self, node: ast.AST) -> bool:
        """Whether an expression must be evaluated even if its value is not needed."""
        nodes = list(ast.walk(node))
        return any(n in self._effective or isinstance(n, ast.NamedExpr) for n in nodes)

    def effects(self, test: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """Statements that do what a test does apart from deciding."""
        assert isinstance(test, ast.BoolOp)
        left, _ = test.values
        parts: list[ast.expr] = [left]
        while not all(part in self._effective for part in parts):
            part = next(part for part in parts if part not in self._effective)
            if not isinstance(part, ast.Compare | ast.UnaryOp | ast.BinOp):
                return [ast.copy_location(ast.Expr(left), node)]
            inner = [n for n in ast.iter_child_nodes(part) if isinstance(n, ast.expr)]
            at = parts.index(part)
            parts[at : at + 1] = [n for n in inner if self.has_effects(n)]
        return [ast.copy_location(ast.Expr(part), node) for part in parts]

    def test(self, node: ast.expr) -> FilledPart:
        """An expression of which only the truth matters."""
        if node in self.holes.named:
            return self._truth(self.expression(node))
        match node:
            case ast.BoolOp():
                return self._short_circuit(node, self.test)
            case ast.UnaryOp(op=ast.Not()):
                return self._not(node)
            case ast.IfExp():
                return self._conditional(node, self.test)
        return self._truth(self.expression(node))

    def _truth(self, part: FilledPart) -> FilledPart:
        if not part.chosen or part.table is None:
            return part
        return self._known(part.table.map(lambda result: bool(value_of(result))))

    def _known(self, table: DecisionTable) -> FilledPart:
        """An expression whose truth choices decide."""
        return FilledPart(parsed(condition(table, self.writer)), table, chosen=True)

    def expression(self, node: ast.expr) -> FilledPart:
        """An expression with its holes filled."""
        name = self.holes.named.get(node)
        outer = self._hoisted
        part = self._shaped(node)
        if name is None:
            return part
        target = ast.Name(name, ast.Store())
        if outer is not None and self._hoisted is outer:
            outer.append(ast.copy_location(ast.Assign([target], part.node), node))
            return FilledPart(ast.Name(name, ast.Load()))
        return FilledPart(ast.NamedExpr(target, part.node))

    def _shaped(self, node: ast.expr) -> FilledPart:
        match node:
            case ast.Constant():
                return FilledPart(node, DecisionTable((), {(): node.value}))
            case ast.Name() | ast.Attribute():
                return self._mentioned(node)
            case ast.Call() if (word := self.source.word(node)) is not None:
                return self._event(node, word)
            case ast.BoolOp():
                return self._short_circuit(node, self.expression)
            case ast.UnaryOp(op=ast.Not()):
                return self._not(node)
            case ast.IfExp():
                return self._conditional(node, self.expression)
            case ast.Compare():
                return self._compare(node)
            case ast.UnaryOp(op=ast.USub()):
                return self._minus(node)
            case ast.Tuple(ctx=ast.Load()):
                return self._tuple(node)
            case (
                ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
            ):
                return FilledPart(node)
        return FilledPart(self.rebuilt(node))

    def _mentioned(self, node: ast.Name | ast.Attribute) -> FilledPart:
        if isinstance(node, ast.Name) and node.id in self.known:
            return FilledPart(node, DecisionTable((), {(): self.known[node.id]}), chosen=True)
        base = node.value if isinstance(node, ast.Attribute) else node
        found = self.source.resolve(base) if isinstance(base, ast.Name) else None
        if isinstance(node, ast.Attribute):
            found = getattr(found, node.attr, None) if isinstance(found, type) else None
        if isinstance(found, Enum | str | int | float):
            return FilledPart(node, DecisionTable((), {(): found}))
        return FilledPart(node) if isinstance(node, ast.Name) else FilledPart(self.rebuilt(node))

    def rebuilt(self, node: N) -> N:
        """A node with its expressions filled; the same if nothing changes."""
        fields = {}
        for name, value in ast.iter_fields(node):
            new = self._field(value)
            if new is not value:
                fields[name] = new
        if not fields:
            return node
        made = copy.copy(node)
        for name, new in fields.items():
            setattr(made, name, new)
        return made

    def _field(self, value: Any) -> Any:
        if isinstance(value, list):
            new = [self._field(item) for item in value]
            return value if all(a is b for a, b in zip(new, value, strict=True)) else new
        if isinstance(value, ast.keyword | ast.Slice):
            return self.rebuilt(value)
        if isinstance(value, ast.expr) and not isinstance(value, COMPREHENSIONS):
            return self.expression(value).node
        return value

    def _not(self, node: ast.UnaryOp) -> FilledPart:
        inner = self.test(node.operand)
        if inner.chosen and inner.table is not None:
            return self._known(inner.table.map(operator.not_))
        if inner.node is node.operand:
            return FilledPart(node)
        return FilledPart(ast.UnaryOp(ast.Not(), inner.node))

    def _minus(self, node: ast.UnaryOp) -> FilledPart:
        inner = self.expression(node.operand)
        value = value_of(inner.table.result) if inner.table and inner.table.constant else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            table = DecisionTable((), {(): -value})
            made = node if inner.node is node.operand else parsed(repr(-value))
            return FilledPart(made, table, inner.chosen)
        return FilledPart(node if inner.node is node.operand else ast.UnaryOp(node.op, inner.node))

    def _tuple(self, node: ast.Tuple) -> FilledPart:
        parts = [self.expression(part) for part in node.elts]
        nodes = [part.node for part in parts]
        made = node if nodes == node.elts else ast.Tuple(nodes, ast.Load())
        tables = [part.table for part in parts if part.table is not None and part.table.constant]
        if len(tables) < len(parts):
            return FilledPart(made)
        values = tuple(value_of(table.result) for table in tables)
        return FilledPart(made, DecisionTable((), {(): values}), any(part.chosen for part in parts))

    def _compare(self, node: ast.Compare) -> FilledPart:
        parts = [
            self._in_turn(number, part)
            for number, part in enumerate([node.left, *node.comparators])
        ]
        decided = self._compared(node.ops, parts)
        if decided is not None:
            return decided
        if parts[0].node is node.left and [p.node for p in parts[1:]] == node.comparators:
            return FilledPart(node)
        return FilledPart(ast.Compare(parts[0].node, node.ops, [part.node for part in parts[1:]]))

    def _in_turn(self, number: int, node: ast.expr) -> FilledPart:
        """An operand that is evaluated only if those before it allow it, from the third on."""
        return self.expression(node) if number < 2 else self._apart(self.expression, node)

    def _compared(self, ops: Sequence[ast.cmpop], parts: Sequence[FilledPart]) -> FilledPart | None:
        if not any(part.chosen for part in parts):
            return None
        if any(part.table is None or self.has_effects(part.node) for part in parts):
            return None
        tables = [part.table for part in parts if part.table is not None]
        varied = [i for i, table in enumerate(tables) if not table.constant]
        if len(varied) > 1:
            return None
        at = varied[0] if varied else 0
        constants = [value_of(t.result) if t.constant else None for t in tables]

        def holds(result: Any) -> bool:
            values = [*constants[:at], value_of(result), *constants[at + 1 :]]
            pairs = zip(ops, values, values[1:], strict=False)
            return all(_COMPARE[type(op)](a, b) for op, a, b in pairs)

        try:
            return self._known(tables[at].map(holds))
        except TypeError:
            return None

    def _apart(self, shape: Callable[[ast.expr], FilledPart], node: ast.expr) -> FilledPart:
        """An expression that is not always evaluated: nothing is hoisted out of it."""
        outer, self._hoisted = self._hoisted, None
        part = shape(node)
        self._hoisted = None if self.source.has_events(node) else outer
        return part

    def _short_circuit(
        self, node: ast.BoolOp, shape: Callable[[ast.expr], FilledPart]
    ) -> FilledPart:
        stops = isinstance(node.op, ast.Or)
        parts: list[FilledPart] = []
        for number, value in enumerate(node.values):
            part = shape(value) if number == 0 else self._apart(shape, value)
            last = number + 1 == len(node.values)
            neutral = False
            if part.settled and part.table is not None:
                neutral = bool(value_of(part.table.result)) != stops
            if not neutral or (last and (shape == self.expression or not parts)):
                parts.append(part)
            if part.settled and not neutral:
                break
        if len(parts) == 1:
            return parts[0]
        free = not any(self.has_effects(part.node) for part in parts)
        if shape == self.test and parts[-1].settled:
            if free:
                return parts[-1]
            others = [part.node for part in parts[:-1]]
            made = others[0] if len(others) == 1 else ast.BoolOp(node.op, others)
            return FilledPart(ast.BoolOp(node.op, [made, parts[-1].node]), always=stops)
        if [part.node for part in parts] == node.values:
            return FilledPart(node)
        return FilledPart(ast.BoolOp(node.op, [part.node for part in parts]))

    def _conditional(self, node: ast.IfExp, shape: Callable[[ast.expr], FilledPart]) -> FilledPart:
        test = self.test(node.test)
        if test.settled and test.table is not None:
            return shape(node.body if test.table.result else node.orelse)
        body, orelse = (self._apart(shape, part) for part in (node.body, node.orelse))
        if test.node is node.test and body.node is node.body and orelse.node is node.orelse:
            return FilledPart(node)
        return FilledPart(ast.IfExp(test.node, body.node, orelse.node))

    # Events

    def _event(self, node: ast.Call, word: Any) -> FilledPart:
        if word == "choose":
            return self._chosen(node)
        made = self._rebuilt_arguments(node)
        name = self.names.get(word, getattr(word, "name", str(word)))
        if not (isinstance(node.func, ast.Name) and node.func.id == name):
            made = _with(made, node, func=ast.Name(name, ast.Load()))
        if isinstance(word, Program) and self.contexts(word):
            table, self.writer.hint = self.holes.contexts.get(node), "context"
            entered = parsed("0" if table is None else table_text(table, self.writer))
            made = _with(made, node, args=[entered, *made.args])
        if word not in ("flip", "pick"):
            self._effective.add(made)
        if self._hoisted is not None and node not in self.holes.named:
            self._hoisted = None  # what comes later must not be evaluated before this event
        return FilledPart(made)

    def _rebuilt_arguments(self, node: ast.Call) -> ast.Call:
        args, keywords = self._field(node.args), self._field(node.keywords)
        if args is node.args and keywords is node.keywords:
            return node
        made = copy.copy(node)
        made.args, made.keywords = args, keywords
        return made

    def _chosen(self, node: ast.Call) -> FilledPart:
        choice = self.holes.choices.get(node)
        self.writer.hint = "choice" if choice is None else choice.name
        if choice is not None and not choice.indexed:
            known = all(value_of(result) is not UNKNOWN for result in choice.table.rows.values())
            made = parsed(table_text(choice.table, self.writer))
            return FilledPart(made, choice.table if known else None, chosen=known)
        made = self._rebuilt_arguments(node)
        if choice is None:
            name = ast.Name(self.names[UNREACHED], ast.Load())
            return FilledPart(_with(made, node, func=name))
        args = made.args
        starred = any(isinstance(part, ast.Starred) for part in args)
        if choice.table.constant and len(args) > 1 and not starred:
            others = [part for i, part in enumerate(args) if i != choice.table.result]
            if not any(map(self.has_effects, others)):
                return FilledPart(args[choice.table.result])
        index = parsed(table_text(choice.table, self.writer))
        alone = len(args) == 1 and not isinstance(args[0], ast.Starred)
        return FilledPart(_item(args[0] if alone else ast.Tuple(args, ast.Load()), index))


def value_of(result: Any) -> Any:
    """The value of a result, which may be an option with its text."""
    return result.value if isinstance(result, Option) else result


def _with(made: ast.Call, node: ast.Call, **fields: Any) -> ast.Call:
    """A call with other fields; the original is left as it is."""
    made = copy.copy(made) if made is node else made
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _item(value: ast.expr, index: ast.expr) -> ast.expr:
    return ast.Subscript(value, index, ast.Load())
