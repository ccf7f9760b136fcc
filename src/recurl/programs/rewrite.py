"""Rewriting: every event becomes a separate statement: then position and locals are the state.

An *event* is a `choose`, `flip`, `pick` or `reward`, or a call of another program. Afterwards each
stands alone, as ``x = event(...)`` or ``event(...)``, and its arguments contain none. All other
expressions are pure and may be evaluated after the event whose result they use; short-circuits and
conditional expressions become ifs where an event is inside.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import TypeVar

from recurl.programs.decorator import Program
from recurl.programs.liveness import reads
from recurl.programs.syntax import Source

N = TypeVar("N", bound=ast.AST)
E = TypeVar("E", bound=ast.expr)

HOISTED = ("flip", "reward")
"""Events whose arguments are numbers, computed before the event."""

RESULT_NAMES = {"choose": "choice", "flip": "coin", "pick": "drawn", "reward": "paid"}


class EventWhile(ast.While):
    """A while loop with statements that are run before each test, for the events in it."""

    _fields = ("head", "test", "body", "orelse")

    def __init__(
        self, head: list[ast.stmt], test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]
    ) -> None:
        self.head, self.test, self.body, self.orelse = head, test, body, orelse


class Rewriter:
    """Rewrites the body of one function.

    Attributes:
        origins: The call in the original that each event of the rewritten body stands for.
        meanings: What each temporary stands for, in words.
        values: The expression of the original whose value a temporary is, where there is one.
        loops: The loop of the original that a temporary holds the rest of.
        rests: That temporary, for each loop of the rewritten body.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.origins: dict[int, ast.Call] = {}
        self.meanings: dict[str, str] = {}
        self.values: dict[str, ast.expr] = {}
        self.loops: dict[str, ast.For] = {}
        self.rests: dict[int, str] = {}
        self._made: list[ast.AST] = []  # what the keys above are the identities of
        self._busy = self._nodes_with_events()
        self._out: list[ast.stmt] = []

    def body(self) -> list[ast.stmt]:
        """The rewritten body."""
        return self._block(self.source.tree.body)

    def _nodes_with_events(self) -> set[int]:
        busy: set[int] = set()

        def visit(node: ast.AST) -> bool:
            inside = [visit(child) for child in ast.iter_child_nodes(node)]
            own = isinstance(node, ast.Call) and self.source.word(node) is not None
            if own or any(inside):
                busy.add(id(node))
            return id(node) in busy

        visit(self.source.tree)
        return busy

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        outer, self._out = self._out, []
        for statement in statements:
            self._statement(statement)
        made, self._out = self._out, outer
        return made

    # Statements

    def _statement(self, node: ast.stmt) -> None:
        if id(node) not in self._busy:
            self._out.append(node)
            return
        match node:
            case ast.Expr(value=ast.Call() as call) if self.source.word(call) is not None:
                self._event(call, None)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if (
                self.source.word(call) is not None
            ):
                self._event(call, name)
            case ast.While():
                self._while(node)
            case ast.For():
                self._for(node)
            case ast.If():
                test = self._pure(node.test)
                self._emit(ast.If(test, self._block(node.body), self._block(node.orelse)), node)
            case ast.Match():
                self._match(node)
            case _:
                self._simple(node)

    def _while(self, node: ast.While) -> None:
        if id(node.test) not in self._busy:
            body, orelse = self._block(node.body), self._block(node.orelse)
            self._emit(ast.While(node.test, body, orelse), node)
            return
        outer, self._out = self._out, []
        test = self._pure(node.test)
        head, self._out = self._out, outer
        body, orelse = self._block(node.body), self._block(node.orelse)
        self._emit(EventWhile(head, test, body, orelse), node)

    def _for(self, node: ast.For) -> None:
        rest = self._unused(f"rest_{1 + len(self.meanings)}")
        self.meanings[rest], self.loops[rest] = rest_meaning(node), node
        it, body, orelse = self._pure(node.iter), self._block(node.body), self._block(node.orelse)
        made = ast.For(node.target, it, body, orelse)
        self.rests[id(made)] = rest
        self._made.append(made)
        self._emit(made, node)

    def _match(self, node: ast.Match) -> None:
        subject = self._pure(node.subject)
        cases = [
            ast.match_case(case.pattern, case.guard, self._block(case.body)) for case in node.cases
        ]
        self._emit(ast.Match(subject, cases), node)

    def _simple(self, node: ast.stmt) -> None:
        """A statement whose expressions are evaluated once, in order."""
        made = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(made, name, self._pure(value))
        self._emit(made, node)

    def _emit(self, made: ast.stmt, origin: ast.AST) -> None:
        self._out.append(_at(made, origin))

    # Expressions

    def _pure(self, node: ast.expr) -> ast.expr:
        """The expression without events; those that it had are emitted before."""
        if id(node) not in self._busy:
            return node
        match node:
            case ast.Call() if self.source.word(node) is not None:
                return self._event(node, self._temporary(node))
            case ast.BoolOp():
                return self._short_circuit(node)
            case ast.IfExp():
                return self._conditional(node)
            case ast.Compare() if len(node.ops) > 1:
                return self._chain(node)
            case _:
                return self._operands(node)

    def _operands(self, node: E) -> E:
        made = copy.copy(node)
        for name, value in ast.iter_fields(node):
            setattr(made, name, self._field(value))
        return made

    def _field(self, value: object) -> object:
        if isinstance(value, list):
            return [self._field(item) for item in value]
        if isinstance(value, ast.keyword):
            return _at(ast.keyword(value.arg, self._pure(value.value)), value)
        return self._pure(value) if isinstance(value, ast.expr) else value

    def _event(self, call: ast.Call, target: str | None) -> ast.expr:
        made = self._operands(call)
        if self.source.word(call) in HOISTED:
            made.args = [self._hoisted(argument) for argument in made.args]
        self.origins[id(made)] = call
        self._made.append(made)
        if target is None:
            self._emit(ast.Expr(made), call)
            return _at(ast.Constant(None), call)
        self._emit(ast.Assign([_at(ast.Name(target, ast.Store()), call)], made), call)
        return _at(ast.Name(target, ast.Load()), call)

    def _hoisted(self, node: ast.expr) -> ast.expr:
        """A computed number as a temporary: what it was computed from may not matter any more."""
        if isinstance(node, ast.Name | ast.Starred) or not reads(node, self.source.locals):
            return node
        name = self._temporary(node, "amount")
        self._assign(name, node, node)
        return _at(ast.Name(name, ast.Load()), node)

    def _temporary(self, node: ast.expr, kind: str = "") -> str:
        if isinstance(node, ast.Call):
            word = self.source.word(node)
            kind = "result" if isinstance(word, Program) else RESULT_NAMES.get(word, "value")
        name = self._unused(f"{kind}_{1 + len(self.meanings)}")
        self.meanings[name] = f"the value of {self.source.text(node)} on line {node.lineno}"
        self.values[name] = node
        return name

    def _unused(self, name: str) -> str:
        while name in self.source.locals or name in self.meanings:
            name += "_"
        return name

    def _short_circuit(self, node: ast.BoolOp) -> ast.expr:
        """``t = a; if t: t = b`` for ``a and b``."""
        name = self._temporary(node, "test")
        self._assign(name, self._pure(node.values[0]), node)
        outer = self._out
        for value in node.values[1:]:
            test: ast.expr = _at(ast.Name(name, ast.Load()), node)
            if isinstance(node.op, ast.Or):
                test = _at(ast.UnaryOp(ast.Not(), test), node)
            branch = _at(ast.If(test, [], []), node)
            self._out.append(branch)
            self._out = branch.body
            self._assign(name, self._pure(value), node)
        self._out = outer
        return _at(ast.Name(name, ast.Load()), node)

    def _conditional(self, node: ast.IfExp) -> ast.expr:
        name = self._temporary(node, "value")
        branch = _at(ast.If(self._pure(node.test), [], []), node)
        self._out.append(branch)
        outer = self._out
        for self._out, value in ((branch.body, node.body), (branch.orelse, node.orelse)):
            self._assign(name, self._pure(value), node)
        self._out = outer
        return _at(ast.Name(name, ast.Load()), node)

    def _chain(self, node: ast.Compare) -> ast.expr:
        """``a < b < c`` as ``a < t and t < c``, t standing for the one value of b."""
        name, left, outer = self._temporary(node, "test"), self._pure(node.left), self._out
        for number, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            middle = self._temporary(right, "value")
            self._assign(middle, self._pure(right), node)
            value: ast.expr = _at(ast.Name(middle, ast.Load()), node)
            self._assign(name, _at(ast.Compare(left, [op], [value]), node), node)
            left = value
            if number + 1 < len(node.ops):
                branch = _at(ast.If(_at(ast.Name(name, ast.Load()), node), [], []), node)
                self._out.append(branch)
                self._out = branch.body
        self._out = outer
        return _at(ast.Name(name, ast.Load()), node)

    def _assign(self, name: str, value: ast.expr, origin: ast.AST) -> None:
        self._emit(ast.Assign([_at(ast.Name(name, ast.Store()), origin)], value), origin)


def _at(made: N, origin: ast.AST) -> N:
    return ast.copy_location(made, origin)


def rest_meaning(node: ast.For) -> str:
    """A description of the rest of a loop."""
    return f"what the loop on line {node.lineno} goes through from here"


def located(made: N, origin: ast.AST) -> N:
    """A node at the line of another one, with what is new in it."""
    return ast.fix_missing_locations(ast.copy_location(made, origin))
