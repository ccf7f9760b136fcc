"""Filling holes: choices take the place of `choose`, and what they decide is folded away.

Tests that are the same in every run go, and with them branches that are never taken, code that is
never reached, and locals that nothing reads any more. All other statements stay the objects that
they were in the original tree, so that their text can be kept.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from recurl.programs.decisions import Table, condition, expression
from recurl.programs.decorator import Program
from recurl.programs.holes import Holes, Turns
from recurl.programs.literals import UNKNOWN, Option, Writer, parsed
from recurl.programs.liveness import reads
from recurl.programs.syntax import COMPREHENSIONS, Source, stored_names

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


_PASSES = 20
"""Passes over a function after which what is left to fold is left."""


@dataclass(eq=False)
class Part:
    """An expression after its holes were filled.

    Attributes:
        node: The expression.
        table: Its value, where that is known.
        chosen: Whether choices decide the value; what the program says itself is not folded.
        always: The truth of a test that choices decide, but that must still be evaluated.
    """

    node: ast.expr
    table: Table | None = None
    chosen: bool = False
    always: bool | None = None

    @property
    def settled(self) -> bool:
        """Whether choices make it the same in every run."""
        return self.chosen and self.table is not None and self.table.constant


@dataclass(eq=False)
class Folded:
    """A function with its holes filled.

    Attributes:
        body: Its statements; those of the original tree as far as they are unchanged.
        origins: The original of each statement that has been changed.
        inlined: Statements whose place the branch that begins with a statement has taken, and the
            number of that branch.
    """

    body: list[ast.stmt] = field(default_factory=list)
    origins: dict[ast.stmt, ast.stmt] = field(default_factory=dict)
    inlined: dict[ast.stmt, list[tuple[ast.stmt, int]]] = field(default_factory=dict)


def fold(
    source: Source,
    holes: Holes,
    writer: Writer,
    names: Mapping[Any, str],
    contexts: Callable[[Program], bool],
) -> Folded:
    """Fill the holes of a function.

    Args:
        source: The function.
        holes: What fills them.
        writer: Writes values.
        names: How words of the language and programs are called.
        contexts: Whether a program takes a context.
    """
    known: dict[str, Any] = {}
    unread: frozenset[str] = frozenset()
    for left in reversed(range(_PASSES)):
        folding = _Folding(source, holes, writer, names, contexts)
        folding.known, folding.unread = dict(known), unread if left else frozenset()
        body = folding.made.body = folding.block(source.tree.body) or [ast.Pass()]
        found = frozenset(folding.found)
        now = found - reads(ast.Module(body, []), found)
        if found == known.keys() and now == unread:
            break
        known, unread = folding.found, now
    return folding.made


class _Folding:
    """One pass over a function.

    Attributes:
        known: Locals that choices make the same in every run.
        found: Those of them that this pass found.
        unread: Those that nothing reads.
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
        self.known: dict[str, Any] = {}
        self.found: dict[str, Any] = {}
        self.unread: frozenset[str] = frozenset()
        self.made = Folded()
        self.effective: set[ast.AST] = set()
        counts = Counter(stored_names(source.tree.body))
        self.once = {n for n, k in counts.items() if k == 1} - set(source.signature.parameters)
        self.hoisted: list[ast.stmt] | None = None

    # Statements

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements, up to where choices make an end."""
        found: list[ast.stmt] = []
        passed: list[tuple[ast.stmt, int]] = []
        for statement in statements:
            made = self._statement(statement)
            if not made:
                passed.append((statement, -1))
            elif passed:
                self.made.inlined.setdefault(made[0], [])[:0] = passed
                passed = []
            found += made
            if made != [statement] and _ends(made):
                break
        return found

    def _body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return self.block(statements) or [ast.Pass()]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.If():
                return self._if(node)
            case ast.While():
                return self._while(node)
            case ast.For():
                return self._for(node)
            case ast.Match():
                return self._match(node)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return self._assign(node, name)
            case ast.Expr(value=ast.Constant()) | ast.Try() | ast.With() | ast.TryStar():
                return [node]
        before: list[ast.stmt] = []
        with_hoisting = isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)
        self.hoisted = before if with_hoisting else None
        made = self._rebuilt(node)
        self.hoisted = None
        return [*before, self._changed(made, node)]

    def _changed(self, made: ast.stmt, origin: ast.stmt) -> ast.stmt:
        if made is not origin:
            self.made.origins[made] = origin
        return made

    def _assign(self, node: ast.Assign | ast.AnnAssign, name: str) -> list[ast.stmt]:
        if node.value is None:
            return [node]
        before: list[ast.stmt] = []
        self.hoisted = before
        part = self._expression(node.value)
        self.hoisted = None
        if part.settled and name in self.once and part.table is not None:
            self.found[name] = _value(part.table.result)
            if name in self.unread and not self._has_effects(part.node):
                return []
        if part.node is node.value:
            return [node]
        made = copy.copy(node)
        made.value = part.node
        return [*before, self._changed(made, node)]

    def _if(self, node: ast.If, is_elif: bool = False) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        self.hoisted = None if is_elif else before
        test = self._test(node.test)
        self.hoisted = None
        if test.settled and test.table is not None:
            arm = 0 if test.table.result else 1
            return [*before, *self._inline(node, [node.body, node.orelse][arm], arm)]
        if test.always is not None:
            arm = 0 if test.always else 1
            effects = self._effects(test.node, node)
            return [*before, *effects, *self._inline(node, [node.body, node.orelse][arm], arm)]
        body, orelse = self._body(node.body), self._orelse(node)
        if test.node is node.test and body == node.body and orelse == node.orelse:
            return [node]
        made: ast.stmt = ast.If(test.node, body, orelse)
        if _is_pass(body) and not _is_pass(node.body):
            if orelse:
                made = ast.If(_negated(test.node), orelse, [])
            elif self._has_effects(test.node):
                made = ast.Expr(test.node)
            else:
                return before
        return [*before, self._changed(ast.copy_location(made, node), node)]

    def _orelse(self, node: ast.If) -> list[ast.stmt]:
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            return self._if(node.orelse[0], is_elif=True)
        return self.block(node.orelse)

    def _inline(self, node: ast.stmt, statements: Sequence[ast.stmt], arm: int) -> list[ast.stmt]:
        made = self.block(statements)
        if made:
            self.made.inlined.setdefault(made[0], []).insert(0, (node, arm))
        return made

    def _while(self, node: ast.While) -> list[ast.stmt]:
        test = self._test(node.test)
        if test.settled and test.table is not None and not test.table.result:
            return self._inline(node, node.orelse, 1)
        if test.always is False:
            return [*self._effects(test.node, node), *self._inline(node, node.orelse, 1)]
        body = self._body(node.body)
        orelse = [] if test.settled else self.block(node.orelse)
        if test.node is node.test and body == node.body and orelse == node.orelse:
            return [node]
        made = ast.copy_location(ast.While(test.node, body, orelse), node)
        return [self._changed(made, node)]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        it = self._expression(node.iter).node
        body, orelse = self._body(node.body), self.block(node.orelse)
        turns = self.holes.turns.get(node)
        if it is node.iter and body == node.body and orelse == node.orelse and turns is None:
            return [node]
        made = ast.copy_location(ast.For(node.target, it, body, orelse), node)
        before = [] if turns is None else _named_turns(made, turns)
        return [*before, self._changed(made, node)]

    def _match(self, node: ast.Match) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        self.hoisted = before
        subject = self._expression(node.subject)
        self.hoisted = None
        if subject.settled and subject.table is not None:
            arm = self._matched(_value(subject.table.result), node.cases)
            if arm == len(node.cases):
                return before
            if arm >= 0:
                return [*before, *self._inline(node, node.cases[arm].body, arm)]
        bodies = [self._body(case.body) for case in node.cases]
        if subject.node is node.subject and bodies == [case.body for case in node.cases]:
            return [node]
        cases = [
            ast.match_case(case.pattern, case.guard, body)
            for case, body in zip(node.cases, bodies, strict=True)
        ]
        made = ast.copy_location(ast.Match(subject.node, cases), node)
        return [*before, self._changed(made, node)]

    def _matched(self, value: Any, cases: Sequence[ast.match_case]) -> int:
        """Number of the case that a value matches; -1 if that is not clear."""
        for number, case in enumerate(cases):
            fits = None if case.guard is not None else self._fits(value, case.pattern)
            if fits is None:
                return -1
            if fits:
                return number
        return len(cases)

    def _fits(self, value: Any, pattern: ast.pattern) -> bool | None:
        match pattern:
            case ast.MatchAs(pattern=None, name=None):
                return True
            case ast.MatchSingleton():
                return value is pattern.value
            case ast.MatchValue():
                table = self._expression(pattern.value).table
                return None if table is None else bool(value == _value(table.result))
            case ast.MatchOr():
                fits = [self._fits(value, part) for part in pattern.patterns]
                return None if None in fits else any(fits)
        return None

    # Expressions

    def _has_effects(self, node: ast.AST) -> bool:
        nodes = list(ast.walk(node))
        return any(n in self.effective or isinstance(n, ast.NamedExpr) for n in nodes)

    def _effects(self, test: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """Statements that do what a test does apart from deciding."""
        assert isinstance(test, ast.BoolOp)
        left, _ = test.values
        parts: list[ast.expr] = [left]
        while not all(part in self.effective for part in parts):
            part = next(part for part in parts if part not in self.effective)
            if not isinstance(part, ast.Compare | ast.UnaryOp | ast.BinOp):
                return [ast.copy_location(ast.Expr(left), node)]
            inner = [n for n in ast.iter_child_nodes(part) if isinstance(n, ast.expr)]
            at = parts.index(part)
            parts[at : at + 1] = [n for n in inner if self._has_effects(n)]
        return [ast.copy_location(ast.Expr(part), node) for part in parts]

    def _test(self, node: ast.expr) -> Part:
        """An expression of which only the truth matters."""
        if node in self.holes.named:
            return self._truth(self._expression(node))
        match node:
            case ast.BoolOp():
                return self._short_circuit(node, self._test)
            case ast.UnaryOp(op=ast.Not()):
                return self._not(node)
            case ast.IfExp():
                return self._conditional(node, self._test)
        return self._truth(self._expression(node))

    def _truth(self, part: Part) -> Part:
        if not part.chosen or part.table is None:
            return part
        return self._known(part.table.map(lambda result: bool(_value(result))))

    def _known(self, table: Table) -> Part:
        """An expression whose truth choices decide."""
        return Part(parsed(condition(table, self.writer)), table, chosen=True)

    def _expression(self, node: ast.expr) -> Part:
        name = self.holes.named.get(node)
        outer = self.hoisted
        part = self._shaped(node)
        if name is None:
            return part
        target = ast.Name(name, ast.Store())
        if outer is not None and self.hoisted is outer:
            outer.append(ast.copy_location(ast.Assign([target], part.node), node))
            return Part(ast.Name(name, ast.Load()))
        return Part(ast.NamedExpr(target, part.node))

    def _shaped(self, node: ast.expr) -> Part:
        match node:
            case ast.Constant():
                return Part(node, Table((), {(): node.value}))
            case ast.Name() | ast.Attribute():
                return self._mentioned(node)
            case ast.Call() if (word := self.source.word(node)) is not None:
                return self._event(node, word)
            case ast.BoolOp():
                return self._short_circuit(node, self._expression)
            case ast.UnaryOp(op=ast.Not()):
                return self._not(node)
            case ast.IfExp():
                return self._conditional(node, self._expression)
            case ast.Compare():
                return self._compare(node)
            case ast.UnaryOp(op=ast.USub()):
                return self._minus(node)
            case (
                ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
            ):
                return Part(node)
        return Part(self._rebuilt(node))

    def _mentioned(self, node: ast.Name | ast.Attribute) -> Part:
        if isinstance(node, ast.Name) and node.id in self.known:
            return Part(node, Table((), {(): self.known[node.id]}), chosen=True)
        base = node.value if isinstance(node, ast.Attribute) else node
        found = self.source.resolve(base) if isinstance(base, ast.Name) else None
        if isinstance(node, ast.Attribute):
            found = getattr(found, node.attr, None) if isinstance(found, type) else None
        if isinstance(found, Enum | str | int | float):
            return Part(node, Table((), {(): found}))
        return Part(node) if isinstance(node, ast.Name) else Part(self._rebuilt(node))

    def _rebuilt(self, node: N) -> N:
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
            return self._rebuilt(value)
        if isinstance(value, ast.expr) and not isinstance(value, COMPREHENSIONS):
            return self._expression(value).node
        return value

    def _not(self, node: ast.UnaryOp) -> Part:
        inner = self._test(node.operand)
        if inner.chosen and inner.table is not None:
            return self._known(inner.table.map(operator.not_))
        if inner.node is node.operand:
            return Part(node)
        return Part(ast.UnaryOp(ast.Not(), inner.node))

    def _minus(self, node: ast.UnaryOp) -> Part:
        inner = self._expression(node.operand)
        value = _value(inner.table.result) if inner.table and inner.table.constant else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            table = Table((), {(): -value})
            made = node if inner.node is node.operand else parsed(repr(-value))
            return Part(made, table, inner.chosen)
        return Part(node if inner.node is node.operand else ast.UnaryOp(node.op, inner.node))

    def _compare(self, node: ast.Compare) -> Part:
        parts = [
            self._in_turn(number, part)
            for number, part in enumerate([node.left, *node.comparators])
        ]
        decided = self._compared(node.ops, parts)
        if decided is not None:
            return decided
        if parts[0].node is node.left and [p.node for p in parts[1:]] == node.comparators:
            return Part(node)
        return Part(ast.Compare(parts[0].node, node.ops, [part.node for part in parts[1:]]))

    def _in_turn(self, number: int, node: ast.expr) -> Part:
        """An operand that is evaluated only if those before it allow it, from the third on."""
        return self._expression(node) if number < 2 else self._apart(self._expression, node)

    def _compared(self, ops: Sequence[ast.cmpop], parts: Sequence[Part]) -> Part | None:
        if not any(part.chosen for part in parts):
            return None
        if any(part.table is None or self._has_effects(part.node) for part in parts):
            return None
        tables = [part.table for part in parts if part.table is not None]
        varied = [i for i, table in enumerate(tables) if not table.constant]
        if len(varied) > 1:
            return None
        at = varied[0] if varied else 0
        constants = [_value(t.result) if t.constant else None for t in tables]

        def holds(result: Any) -> bool:
            values = [*constants[:at], _value(result), *constants[at + 1 :]]
            pairs = zip(ops, values, values[1:], strict=False)
            return all(_COMPARE[type(op)](a, b) for op, a, b in pairs)

        try:
            return self._known(tables[at].map(holds))
        except TypeError:
            return None

    def _apart(self, shape: Callable[[ast.expr], Part], node: ast.expr) -> Part:
        """An expression that is not always evaluated: nothing is hoisted out of it."""
        outer, self.hoisted = self.hoisted, None
        part = shape(node)
        self.hoisted = None if any(True for _ in self.source.events(node)) else outer
        return part

    def _short_circuit(self, node: ast.BoolOp, shape: Callable[[ast.expr], Part]) -> Part:
        stops = isinstance(node.op, ast.Or)
        parts: list[Part] = []
        for number, value in enumerate(node.values):
            part = shape(value) if number == 0 else self._apart(shape, value)
            last = number + 1 == len(node.values)
            neutral = False
            if part.settled and part.table is not None:
                neutral = bool(_value(part.table.result)) != stops
            if not neutral or (last and (shape == self._expression or not parts)):
                parts.append(part)
            if part.settled and not neutral:
                break
        if len(parts) == 1:
            return parts[0]
        free = not any(self._has_effects(part.node) for part in parts)
        if shape == self._test and parts[-1].settled:
            if free:
                return parts[-1]
            others = [part.node for part in parts[:-1]]
            made = others[0] if len(others) == 1 else ast.BoolOp(node.op, others)
            return Part(ast.BoolOp(node.op, [made, parts[-1].node]), always=stops)
        if [part.node for part in parts] == node.values:
            return Part(node)
        return Part(ast.BoolOp(node.op, [part.node for part in parts]))

    def _conditional(self, node: ast.IfExp, shape: Callable[[ast.expr], Part]) -> Part:
        test = self._test(node.test)
        if test.settled and test.table is not None:
            return shape(node.body if test.table.result else node.orelse)
        body, orelse = (self._apart(shape, part) for part in (node.body, node.orelse))
        if test.node is node.test and body.node is node.body and orelse.node is node.orelse:
            return Part(node)
        return Part(ast.IfExp(test.node, body.node, orelse.node))

    # Events

    def _event(self, node: ast.Call, word: Any) -> Part:
        if word == "choose":
            return self._chosen(node)
        made = self._rebuilt_arguments(node)
        name = self.names.get(word, getattr(word, "name", str(word)))
        if not (isinstance(node.func, ast.Name) and node.func.id == name):
            made = _with(made, node, func=ast.Name(name, ast.Load()))
        if isinstance(word, Program) and self.contexts(word):
            table, self.writer.hint = self.holes.contexts.get(node), "context"
            entered = parsed("0" if table is None else expression(table, self.writer))
            made = _with(made, node, args=[entered, *made.args])
        if word not in ("flip", "pick"):
            self.effective.add(made)
        if self.hoisted is not None and node not in self.holes.named:
            self.hoisted = None  # what comes later must not be evaluated before this event
        return Part(made)

    def _rebuilt_arguments(self, node: ast.Call) -> ast.Call:
        args, keywords = self._field(node.args), self._field(node.keywords)
        if args is node.args and keywords is node.keywords:
            return node
        made = copy.copy(node)
        made.args, made.keywords = args, keywords
        return made

    def _chosen(self, node: ast.Call) -> Part:
        choice = self.holes.choices.get(node)
        self.writer.hint = "choice" if choice is None else choice.name
        if choice is not None and not choice.indexed:
            known = all(_value(result) is not UNKNOWN for result in choice.table.rows.values())
            made = parsed(expression(choice.table, self.writer))
            return Part(made, choice.table if known else None, chosen=known)
        args = self._rebuilt_arguments(node).args
        if choice is None and not any(self._has_effects(part) for part in args):
            # Never reached under this policy: any option will do.
            return Part(_first_option(args))
        index = parsed("0" if choice is None else expression(choice.table, self.writer))
        alone = len(args) == 1 and not isinstance(args[0], ast.Starred)
        return Part(_item(args[0] if alone else ast.Tuple(args, ast.Load()), index))


def _value(result: Any) -> Any:
    return result.value if isinstance(result, Option) else result


def _with(made: ast.Call, node: ast.Call, **fields: Any) -> ast.Call:
    """A call with other fields; the original is left as it is."""
    made = copy.copy(made) if made is node else made
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _first_option(args: Sequence[ast.expr]) -> ast.expr:
    first = args[0]
    if isinstance(first, ast.Starred):
        return _item(first.value, ast.Constant(0))
    many = len(args) == 1 and isinstance(first, ast.List | ast.Tuple | ast.Call)
    return _item(first, ast.Constant(0)) if many else first


def _item(value: ast.expr, index: ast.expr) -> ast.expr:
    return ast.Subscript(value, index, ast.Load())


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _is_pass(body: Sequence[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Pass)


def _ends(statements: Sequence[ast.stmt]) -> bool:
    """Whether nothing after these statements is reached."""
    match statements[-1] if statements else None:
        case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
            return True
        case ast.If(body=body, orelse=orelse):
            return _ends(body) and _ends(orelse)
        case ast.While(test=ast.Constant(value=True), body=body):
            return not any(_breaks(statement) for statement in body)
    return False


def _breaks(node: ast.AST) -> bool:
    """Whether a statement leaves the loop that it stands in."""
    if isinstance(node, ast.Break):
        return True
    if isinstance(node, ast.For | ast.While):
        return any(map(_breaks, node.orelse))
    return any(map(_breaks, ast.iter_child_nodes(node)))


def _named_turns(loop: ast.For, turns: Turns) -> list[ast.stmt]:
    """Give names to how far a loop has come; returns what must stand before it."""
    if turns.item:
        loop.target = ast.Name(turns.item, ast.Store())
    if not turns.items:
        return []
    items = ast.Name(turns.items, ast.Store())
    plain = all(issubclass(kind, range | str) for kind in turns.kinds)
    simple = plain or isinstance(loop.iter, ast.Tuple)
    made = all(issubclass(kind, tuple) for kind in turns.kinds) and not simple
    value = parsed("tuple()") if made else loop.iter
    if isinstance(value, ast.Call) and made:
        value.args = [loop.iter]
    before: list[ast.stmt] = [ast.Assign([items], value, lineno=loop.lineno)]
    if not made and not simple:
        cut = f"{turns.items} if isinstance({turns.items}, (range, str)) else tuple({turns.items})"
        before.append(ast.Assign([items], parsed(cut), lineno=loop.lineno))
    index = ast.Name(turns.index, ast.Store())
    loop.target = ast.Tuple([index, loop.target], ast.Store())
    loop.iter = parsed(f"enumerate({turns.items})")
    return before
