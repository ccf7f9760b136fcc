"""Filling holes: choices take the place of `choose`, and what they decide is folded away.

Tests that are the same in every run go, and with them branches that are never taken, code that is
never reached, and locals that nothing reads any more. All other statements stay the objects that
they were in the original tree, so that their text can be kept.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from recurl.programs.fill_expressions import Filling, value_of
from recurl.programs.holes import Turns
from recurl.programs.literals import parsed
from recurl.programs.liveness import reads
from recurl.programs.syntax import stored_names

_PASSES = 20
"""Most passes over a function."""


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


def fold(fill: Filling) -> Folded:
    """Fill the holes of a function.

    Args:
        fill: Fills the holes in its expressions.
    """
    unread: frozenset[str] = frozenset()
    for left in reversed(range(_PASSES)):
        folding = _Folding(fill, unread if left else frozenset())
        body = folding.made.body = folding.block(fill.source.tree.body) or [ast.Pass()]
        found = frozenset(folding.found)
        module = ast.Module(body, [])
        now, needed = found - reads(module, found), fill.holes.needed(module)
        if found == fill.known.keys() and now == unread and needed == fill.holes:
            break
        fill, unread = fill.next_pass(needed, folding.found), now
    return folding.made


class _Folding:
    """One pass over the statements of a function.

    Args:
        fill: Fills the holes in expressions.
        unread: Locals that choices make the same in every run, and that nothing reads.

    Attributes:
        made: What the function becomes.
        found: Locals that this pass found to be the same in every run, with their values.
    """

    def __init__(self, fill: Filling, unread: frozenset[str]) -> None:
        self.fill, self.unread = fill, unread
        self.made = Folded()
        self.found: dict[str, Any] = {}
        source = fill.source
        counts = Counter(stored_names(source.tree.body))
        self.once = {n for n, k in counts.items() if k == 1} - set(source.signature.parameters)

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements, up to where choices make an end."""
        found: list[ast.stmt] = []
        passed: list[tuple[ast.stmt, int]] = []
        for statement in statements:
            made = self._statement(statement)
            if not made and isinstance(statement, ast.Assign | ast.AnnAssign):
                passed.append((statement, -1))
            elif made and passed:
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
        with self.fill.hoisting(before if with_hoisting else None):
            made = self.fill.rebuilt(node)
        return [*before, self._changed(made, node)]

    def _changed(self, made: ast.stmt, origin: ast.stmt) -> ast.stmt:
        if made is not origin:
            self.made.origins[made] = origin
        return made

    def _assign(self, node: ast.Assign | ast.AnnAssign, name: str) -> list[ast.stmt]:
        if node.value is None:
            return [node]
        before: list[ast.stmt] = []
        with self.fill.hoisting(before):
            part = self.fill.expression(node.value)
        if part.settled and name in self.once and part.table is not None:
            self.found[name] = value_of(part.table.result)
            if name in self.unread and not self.fill.has_effects(part.node):
                return before
        if part.node is node.value:
            return [node]
        made = copy.copy(node)
        made.value = part.node
        return [*before, self._changed(made, node)]

    def _if(self, node: ast.If, is_elif: bool = False) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        with self.fill.hoisting(None if is_elif else before):
            test = self.fill.test(node.test)
        if test.settled and test.table is not None:
            arm = 0 if test.table.result else 1
            return [*before, *self._inline(node, [node.body, node.orelse][arm], arm)]
        if test.always is not None:
            arm = 0 if test.always else 1
            effects = self.fill.effects(test.node, node)
            return [*before, *effects, *self._inline(node, [node.body, node.orelse][arm], arm)]
        body, orelse = self._body(node.body), self._orelse(node)
        if test.node is node.test and body == node.body and orelse == node.orelse:
            return [node]
        made: ast.stmt = ast.If(test.node, body, orelse)
        if _is_pass(body) and not _is_pass(node.body):
            if orelse:
                made = ast.If(_negated(test.node), orelse, [])
            elif self.fill.has_effects(test.node):
                made = ast.Expr(_without_not(test.node))
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
        test = self.fill.test(node.test)
        if test.settled and test.table is not None and not test.table.result:
            return self._inline(node, node.orelse, 1)
        if test.always is False:
            return [*self.fill.effects(test.node, node), *self._inline(node, node.orelse, 1)]
        body = self._body(node.body)
        orelse = [] if test.settled else self.block(node.orelse)
        if test.node is node.test and body == node.body and orelse == node.orelse:
            return [node]
        made = ast.copy_location(ast.While(test.node, body, orelse), node)
        return [self._changed(made, node)]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        it = self.fill.expression(node.iter).node
        body, orelse = self._body(node.body), self.block(node.orelse)
        turns = self.fill.holes.turns.get(node)
        if it is node.iter and body == node.body and orelse == node.orelse and turns is None:
            return [node]
        made = ast.copy_location(ast.For(node.target, it, body, orelse), node)
        before = [] if turns is None else _named_turns(made, turns)
        return [*before, self._changed(made, node)]

    def _match(self, node: ast.Match) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        with self.fill.hoisting(before):
            subject = self.fill.expression(node.subject)
        if subject.settled and subject.table is not None:
            arm = self._matched(value_of(subject.table.result), node.cases)
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
                table = self.fill.expression(pattern.value).table
                return None if table is None else bool(value == value_of(table.result))
            case ast.MatchOr():
                fits = [self._fits(value, part) for part in pattern.patterns]
                return None if None in fits else any(fits)
        return None


def _without_not(node: ast.expr) -> ast.expr:
    """An expression whose value is not needed."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    return node


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
