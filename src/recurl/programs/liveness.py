"""Which locals matter at a point of a function: those that may be read before they are written.

Only these belong to the state there: states that differ in the others behave in the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from recurl.programs.syntax import COMPREHENSIONS, stored_names

Locals = frozenset[str]
NOTHING: Locals = frozenset()


def reads(node: ast.AST | None, known: Locals) -> Locals:
    """Locals that an expression, or any statement inside a node, may read."""
    if node is None:
        return NOTHING
    found: set[str] = set()
    todo: list[tuple[ast.AST, Locals]] = [(node, NOTHING)]
    while todo:
        at, hidden = todo.pop()
        if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Load | ast.Del):
            found.update({at.id} - hidden)
        elif isinstance(at, COMPREHENSIONS):
            hidden = hidden | {name for g in at.generators for name in writes(g.target)}
        elif isinstance(at, ast.Lambda):
            hidden = hidden | {a.arg for a in ast.walk(at.args) if isinstance(a, ast.arg)}
        todo.extend((below, hidden) for below in ast.iter_child_nodes(at))
    return known & found


def writes(node: ast.AST) -> Locals:
    """Names that a target assigns."""
    return frozenset(
        at.id for at in ast.walk(node) if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Store)
    )


def before(statements: Sequence[ast.stmt], after: Locals, known: Locals) -> Locals:
    """Locals that matter before statements without events, given those that matter after them."""
    for statement in reversed(statements):
        after = _before_one(statement, after, known)
    return after


def _before_one(node: ast.stmt, after: Locals, known: Locals) -> Locals:
    match node:
        case ast.Assign(targets=targets, value=value):
            plain = [t for t in targets if not isinstance(t, ast.Subscript)]
            items = [t for t in targets if isinstance(t, ast.Subscript)]
            rest = after - _union(writes(t) for t in plain)
            return rest | reads(value, known) | _union(reads(t, known) for t in items)
        case ast.AnnAssign(target=target, value=value):
            return (after - writes(target) if value else after) | reads(value, known)
        case ast.AugAssign(target=target, value=value):
            return after | reads(value, known) | (known & writes(target)) | reads(target, known)
        case ast.If(test=test, body=body, orelse=orelse):
            branches = before(body, after, known) | before(orelse, after, known)
            return reads(test, known) | branches
        case ast.While(test=test, body=body, orelse=orelse):
            leave = before(orelse, after, known) | after
            head = reads(test, known) | leave
            return head | before(body, head | before(body, head, known), known)
        case ast.For(target=target, iter=it, body=body, orelse=orelse):
            leave = before(orelse, after, known) | after
            turn = before(body, leave, known) - writes(target)
            again = before(body, leave | turn, known) - writes(target)
            return reads(it, known) | leave | turn | again
        case ast.Import() | ast.ImportFrom():
            return after - frozenset(stored_names([node]))
        case ast.Match(subject=subject, cases=cases):
            # A case that does not match may lose an old value of what it binds; reading that value
            # later is an error when the program is explored.
            bound = _union(_bound(case.pattern) for case in cases)
            inside = _union(
                reads(case.pattern, known)
                | reads(case.guard, known)
                | before(case.body, after, known)
                for case in cases
            )
            return reads(subject, known) | ((after | inside) - bound)
        case _:
            return after | reads(node, known)


def _bound(pattern: ast.pattern) -> Locals:
    """Names that a pattern binds."""
    return frozenset(stored_names([ast.Expr(pattern)]))  # type: ignore[arg-type]


def _union(names: Iterable[Locals]) -> Locals:
    return frozenset().union(*names)
