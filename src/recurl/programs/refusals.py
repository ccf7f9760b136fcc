"""Source that a model cannot express: the line, and what to write instead.

The state of a program in a model is its position and its locals, nothing else. So anything else
that a function could read, write or wait for is refused; live runs are free of these rules.
"""

from __future__ import annotations

import ast
import inspect

from recurl.errors import ModelError, Problem
from recurl.programs.decorator import Program
from recurl.programs.language import WORDS
from recurl.programs.purity import FIX, comes_from_outside, impurity, is_random
from recurl.programs.syntax import COMPREHENSIONS, MISSING, Source

MUTATORS = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem",
    "popleft", "remove", "reverse", "setdefault", "sort", "update",
}  # fmt: skip


def check(source: Source) -> None:
    """Refuse what a model cannot express.

    Raises:
        ModelError: With every such construct, its line, and what to write instead.
    """
    visitor = _Visitor(source)
    for parameter in source.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            visitor.refuse(source.tree, f"takes **{parameter.name}", "name the parameters")
    for statement in source.tree.body:
        visitor.visit(statement)
    if visitor.problems:
        raise ModelError(visitor.problems, headline=f"program {source.name} ({source.file}): ")


class _Visitor(ast.NodeVisitor):
    def __init__(self, source: Source) -> None:
        self.source, self.problems = source, list[Problem]()

    def refuse(self, node: ast.AST, message: str, fix: str) -> None:
        line = getattr(node, "lineno", self.source.tree.lineno)
        self.problems.append(Problem(self.source.name, message, fix, line=line))

    def visit(self, node: ast.AST) -> None:
        """Visit a node; of a statement, also look at its expressions as a whole."""
        for part in ast.iter_child_nodes(node) if isinstance(node, ast.stmt) else ():
            named = [at for at in ast.walk(part) if isinstance(at, ast.NamedExpr)]
            if isinstance(part, ast.expr) and named and self.source.has_events(part):
                fix = "assign it on a separate line"
                self.refuse(named[0], "`:=` and an event in one expression", fix)
        super().visit(node)

    # Statements

    def _outer_names(self, node: ast.Global | ast.Nonlocal) -> None:
        names, word = ", ".join(node.names), type(node).__name__.lower()
        fix = "pass it as an argument and return what changed"
        self.refuse(node, f"`{word} {names}` changes state outside the function", fix)

    visit_Global = visit_Nonlocal = _outer_names  # noqa: N815 (names that ast calls)

    def _inner_definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) -> None:
        self.refuse(node, f"{node.name} is defined inside it", "define it at module level")

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _inner_definition  # noqa: N815

    def _guarded(self, node: ast.Try | ast.TryStar | ast.With | ast.AsyncWith) -> None:
        word = "try" if isinstance(node, ast.Try | ast.TryStar) else "with"
        if self.source.has_events(node):
            fix = "move the guarded work into a helper that returns what happened, or run it live"
            self.refuse(node, f"choices, draws, rewards or calls inside `{word}`", fix)
        elif any(isinstance(below, ast.Return) for below in ast.walk(node)):
            self.refuse(node, f"`return` inside `{word}`", "assign the result, return it after")
        self.generic_visit(node)

    visit_Try = visit_TryStar = visit_With = visit_AsyncWith = _guarded  # noqa: N815

    def visit_Expr(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Call) and not (
            self.source.has_events(value)
            or self._is_impure(value)
            or self._works_on_local(value)
            or impurity(self.source.resolve(value.func))[0]
        ):
            what = self.source.text(value)
            fix = "nothing in a model could see it: remove it, or run the program live"
            self.refuse(node, f"{what} is called for a side effect", fix)
        self.generic_visit(node)

    def _works_on_local(self, call: ast.Call) -> bool:
        return (
            isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id in self.source.locals
        )

    def _targets(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete) -> None:
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        for target in targets:
            self._check_target(target)
        self.generic_visit(node)

    visit_Assign = visit_AugAssign = visit_AnnAssign = visit_Delete = _targets  # noqa: N815

    def _check_target(self, target: ast.expr) -> None:
        for part in ast.walk(target):
            if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
                fix = "keep the value in a local, and return it"
                self.refuse(part, f"assigns to {self.source.text(part)}, outer state", fix)
            elif isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
                self._check_item(part)
        if self.source.has_events(target):
            self.refuse(target, "an event inside the target of an assignment", "use a local")

    def _check_item(self, target: ast.Subscript) -> None:
        base = target.value
        if not (isinstance(base, ast.Name) and base.id in self.source.locals):
            fix = "use a tuple in a local: xs = xs[:i] + (new,) + xs[i + 1:]"
            self.refuse(target, f"assigns to {self.source.text(target)}, outer state", fix)

    # Expressions

    def _waits(self, node: ast.Await | ast.Yield | ast.YieldFrom) -> None:
        word = {"YieldFrom": "yield from"}.get(type(node).__name__, type(node).__name__.lower())
        fix = "return a tuple of values" if word != "await" else "call an ordinary function"
        self.refuse(node, f"`{word}`: generators and async functions cannot be programs", fix)

    visit_Await = visit_Yield = visit_YieldFrom = _waits  # noqa: N815

    def _inner_scope(self, node: ast.AST) -> None:
        if self.source.has_events(node):
            loop = isinstance(node, COMPREHENSIONS)
            what = "a comprehension" if loop else "a lambda"
            fix = "write a for loop" if loop else "write it out, or decorate a function"
            self.refuse(node, f"an event inside {what}", fix)
        else:
            self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _inner_scope  # noqa: N815
    visit_Lambda = _inner_scope  # noqa: N815

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None and self.source.has_events(node.guard):
            self.refuse(node.guard, "an event in the guard of a case", "draw it before the match")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        word = self.source.word(node)
        if word is None and self._is_impure(node):
            what = self.source.text(node)
            self.refuse(node, f"{what} depends on, or changes, what is outside", FIX)
        given = len(node.args) + len(node.keywords)
        if word == "outcome":
            fix = "say how likely each result is: pick({...})"
            self.refuse(node, "outcome does real work, which only live runs do", fix)
        elif word in ("flip", "pick", "reward") and given != 1:
            self.refuse(node, f"{word} takes one argument", f"write {word}(x)")
        if word == "choose" and (node.keywords or not node.args):
            self.refuse(node, "choose takes options, at least one", 'write choose("a", "b")')
        for below in (*node.args, *(k.value for k in node.keywords)):
            self.visit(below)
        if word is None:
            self.visit(node.func)

    def _is_impure(self, call: ast.Call) -> bool:
        found = self.source.resolve(call.func)
        if found is not MISSING:
            return comes_from_outside(found)
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in MUTATORS:
            base = self.source.resolve(func.value)
            return base is not MISSING and getattr(type(base), "__hash__", None) is None
        return isinstance(func, ast.Attribute) and is_random(self.source.resolve(func.value))

    def _mention(self, node: ast.Name | ast.Attribute) -> None:
        found = self.source.resolve(node)
        if isinstance(found, Program) or (inspect.isfunction(found) and found in WORDS):
            name = self.source.text(node)
            self.refuse(node, f"{name} is used without calling it", f"call it: {name}(...)")
        elif found is not MISSING and not comes_from_outside(found):
            where, fix = impurity(found)
            if where:
                name = self.source.text(node)
                self.refuse(node, f"{name} depends on, or changes, what is outside: {where}", fix)
        self.generic_visit(node)

    visit_Name = visit_Attribute = _mention  # noqa: N815
